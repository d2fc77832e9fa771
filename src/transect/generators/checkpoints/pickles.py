"""A pickle read as data: classes become inert records, and no name in it is ever imported or called.

Official StyleGAN checkpoints are pickles whose networks carry their own source text, which the official loader runs.
Here the few names that such files need are mapped to functions of this module; every other name ends the reading.
"""

from __future__ import annotations

import io
import math
import pickle
import re
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import ClassVar, TypeAlias, cast

import torch
from torch import Tensor

from transect.errors import BadInput
from transect.runs import bounds

LARGEST = 4 << 30
"""Bytes of the largest pickle that is read; official ones have up to 400 MB."""

MOST_OBJECTS = 1_000_000
"""Names that may be looked up and objects that may be created; official files need a few thousand."""

BYTES_PER_BYTE, SPARE_BYTES = 4, 16 << 20
"""Memory for objects: bytes per byte of the file, plus spare ones. Sound files need two: storages and clones."""

_CLASS_BYTES, _ITEM_BYTES = 2048, 100
"""Approximate memory of a class, and of an item of a container."""

_LEGACY = pickle.dumps(0x1950A86A20F9469CFC6C, protocol=2)
"""First bytes of a storage within a pickle, by any PyTorch. Archives, which can be compressed, begin otherwise."""

_MODULES = re.compile(r"torch\.nn\.modules\.\w+(\.\w+)*|(training|torch_utils|dnnlib|metrics)(\.\w+)*")
"""Modules whose classes become records. They are not imported; only the name is used."""

_DTYPES = {name: getattr(torch, name) for name in ("float16", "bfloat16", "float32", "float64", "int64", "uint8")}


Loader: TypeAlias = Callable[["_DataUnpickler"], None]
"""What the unpickler does for one operation code."""


class Record:
    """An object whose class is not known here: the class's name and its state."""

    class_name = ""

    def __init__(self, *_: object, **__: object) -> None:
        self.state: object = {}

    def __setitem__(self, key: object, value: object) -> None:
        if isinstance(self.state, dict):
            self.state[key] = value

    def append(self, _: object) -> None:
        """Items of unknown lists are not needed."""

    def extend(self, _: object) -> None:
        """Several items are not needed either."""


class _Refused(pickle.UnpicklingError):
    """The file names something that is not needed for weights."""


def read_pickle(path: Path) -> object:
    """What the file holds: dictionaries, lists, text, numbers, tensors and Records. Raises BadInput otherwise."""
    size = path.stat().st_size
    if size > LARGEST:
        raise BadInput(f"{path}: expected a checkpoint of at most {LARGEST >> 30} GiB, got {size >> 30} GiB")
    try:
        with path.open("rb") as file:
            bounds.check_operations(str(path), _Bounded(file, size))
            file.seek(0)
            return _DataUnpickler(_Bounded(file, size), size).load()
    except BadInput:
        raise
    except _Refused as refused:
        raise BadInput(f"{path}: {refused}") from None
    except MemoryError:
        raise BadInput(f"{path}: the pickle asks for more memory than is available; it is damaged or hostile") from None
    except RecursionError:
        raise BadInput(f"{path}: the pickle is nested too deeply; it is damaged or hostile") from None
    except Exception as error:
        # A damaged stream of operation codes can fail anywhere in it, with any exception.
        kind = type(error).__name__
        raise BadInput(f"{path}: expected a pickle of weights, found a damaged or hostile one ({kind})") from None


def is_legacy(path: Path) -> bool:
    """Whether the file is a checkpoint as PyTorch wrote them before version 1.6: no archive, but several pickles."""
    with path.open("rb") as file:
        return file.read(len(_LEGACY)) == _LEGACY


class _Bounded:
    """A file that never allocates more bytes than it has left."""

    def __init__(self, file: io.BufferedReader, size: int) -> None:
        self._file, self._size = file, size

    def _check(self, wanted: int) -> None:
        remaining = self._size - self._file.tell()
        if wanted > remaining:
            raise _Refused(f"expected {wanted} more bytes, found {remaining}: the file is truncated or damaged")

    def read(self, n: int = -1) -> bytes:
        self._check(n)
        return self._file.read(n)

    def readinto(self, buffer: bytearray) -> int:
        self._check(len(buffer))
        return self._file.readinto(buffer)

    def readline(self) -> bytes:
        return self._file.readline(1 << 20)


class _Budget:
    """How many bytes, and how many objects, a file may still ask for."""

    def __init__(self, size: int) -> None:
        self._bytes, self._objects = BYTES_PER_BYTE * size + SPARE_BYTES, MOST_OBJECTS

    def take(self, wanted: int) -> None:
        self._bytes -= wanted
        if self._bytes < 0:
            raise _Refused("expected weights of about the file's size, found more; the file is damaged or hostile")

    def count(self) -> None:
        self._objects -= 1
        if self._objects < 0:
            raise _Refused(f"more than {MOST_OBJECTS} objects; the file is damaged or hostile")


def _count_calls(load: Loader) -> Loader:
    """Counts a call that the file names, and the items that it creates: a few bytes can copy a long list."""

    def count(unpickler: _DataUnpickler) -> None:
        unpickler._budget.count()
        load(unpickler)
        item = unpickler.stack[-1]
        if isinstance(item, tuple | set | dict):
            unpickler._budget.take(_ITEM_BYTES * len(item))

    return count


def _check_keys(load: Loader, keys: Callable[[list[object]], list[object]]) -> Loader:
    """Accepts plain keys and members alone: hashing deeply nested tuples would never end."""

    def check(unpickler: _DataUnpickler) -> None:
        _check_plain(keys(unpickler.stack))
        load(unpickler)

    return check


def _check_plain(keys: Iterable[object]) -> None:
    for key in keys:
        if not (key is None or isinstance(key, str | bytes | float) or (isinstance(key, int) and abs(key) < 1 << 64)):
            raise _Refused(f"expected names or numbers as keys, found {type(key).__name__}; the file is hostile")


_KEYS: dict[int, Callable[[list[object]], list[object]]] = {
    pickle.SETITEM[0]: lambda stack: stack[-2:-1],
    pickle.SETITEMS[0]: lambda stack: stack[::2],
    pickle.DICT[0]: lambda stack: stack[::2],
    pickle.ADDITEMS[0]: list,
    pickle.FROZENSET[0]: list,
}
_OPERATIONS = cast("dict[int, Loader]", pickle._Unpickler.dispatch)
_CALLS = tuple(code[0] for code in (pickle.REDUCE, pickle.NEWOBJ, pickle.NEWOBJ_EX, pickle.OBJ, pickle.INST))


class _DataUnpickler(pickle._Unpickler):
    """Python's own unpickler, restricted: names are looked up in `_KNOWN` and nowhere else.

    The version in Python is used, since the one in C allocates lengths and memo places before it reads them.
    """

    stack: list[object]

    def __init__(self, file: _Bounded, size: int) -> None:
        super().__init__(file)
        self._budget = _Budget(size)
        self._records: dict[str, type[Record]] = {}

    def find_class(self, module: str, name: str) -> object:
        self._budget.count()
        function = _KNOWN.get((module, name))
        if function is not None:
            return partial(function, self._budget) if function in (_storage, _tensor) else function
        if module == "torch" and name in _DTYPES:
            return _DTYPES[name]
        if _MODULES.fullmatch(module) and re.fullmatch(r"[A-Za-z_]\w*", name):
            return self._record(name, f"{module}.{name}")
        raise _Refused(
            f"expected weights alone, found a call of {module}.{name}, which is not run; convert only networks"
            " (official StyleGAN2 pickles, state dictionaries)"
        )

    def _record(self, name: str, full_name: str) -> type[Record]:
        if full_name not in self._records:
            self._budget.take(_CLASS_BYTES)
            self._records[full_name] = type(name, (Record,), {"class_name": full_name})
        return self._records[full_name]

    def persistent_load(self, pid: object) -> object:
        reference = pid[:80] if isinstance(pid, str) else type(pid).__name__  # the text of nested tuples can be endless
        raise _Refused(f"expected weights inside the file, found a reference to outside: {reference}")

    def get_extension(self, code: int) -> object:
        raise _Refused(f"expected names, found the extension code {code}; the file is damaged or hostile")

    def _build(self) -> None:
        """The state of a Record is kept; that of anything else is dropped, since setting it would run its methods."""
        state, record = self.stack.pop(), self.stack[-1]
        if isinstance(record, Record):
            record.state = state

    def _refuse_buffer(self) -> None:
        raise _Refused("expected weights, found a writable buffer; the file is damaged or hostile")

    dispatch: ClassVar[dict[int, Callable[..., None]]] = {
        **_OPERATIONS,
        **{code: _count_calls(_OPERATIONS[code]) for code in _CALLS},
        **{code: _check_keys(_OPERATIONS[code], keys) for code, keys in _KEYS.items()},
        pickle.BUILD[0]: _build,
        pickle.BYTEARRAY8[0]: _refuse_buffer,
        pickle.NEXT_BUFFER[0]: _refuse_buffer,
    }


def _persistent_object(meta: object) -> Record:
    """An object of the official code with its source text: the name and the state are kept, the text is not."""
    if not isinstance(meta, dict) or not isinstance(meta.get("class_name"), str):
        raise _Refused("expected the description of a network, found another; the file is of an unknown version")
    record = Record()
    record.class_name = meta["class_name"][:200]
    record.state = meta.get("state") or {}
    return record


def _storage(budget: _Budget, data: object) -> object:
    """A tensor's numbers, stored as a file within the file; read by PyTorch's loader of weights alone."""
    if not isinstance(data, bytes):
        raise _Refused("expected the bytes of a tensor's storage, found something else")
    if not data.startswith(_LEGACY):
        raise _Refused("expected a tensor's storage as PyTorch pickles it, found an archive or something else")
    storage = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    if not isinstance(storage, torch.storage.TypedStorage):
        raise _Refused("expected a tensor's storage, found something else")
    budget.take(storage._untyped_storage.nbytes())
    return storage


def _tensor(
    budget: _Budget, storage: object, offset: int, size: Iterable[int], stride: Iterable[int], *_: object
) -> Tensor:
    """A view of a storage; PyTorch refuses what reaches beyond it."""
    if not isinstance(storage, torch.storage.TypedStorage):
        raise _Refused("expected a tensor's storage, found something else")
    shape = tuple(map(int, size))
    numbers = torch.empty(0, dtype=storage.dtype).set_(storage._untyped_storage)
    if math.prod(shape) > numbers.numel():
        raise _Refused(f"expected a tensor within its storage of {numbers.numel()} numbers, got shape {list(shape)}")
    budget.take(math.prod(shape) * numbers.element_size())
    return torch.as_strided(numbers, shape, tuple(map(int, stride)), int(offset)).clone()


def _parameter(data: object, *_: object) -> Tensor:
    if not isinstance(data, Tensor):
        raise _Refused("expected a tensor as parameter, found something else")
    return data


class _Dictionary(dict[object, object]):
    """An ordered or plain dictionary; its items follow it in the file, and their keys are checked there."""

    def __new__(cls, *items: object) -> _Dictionary:
        if items:
            raise _Refused("expected an empty dictionary that is filled later, found one with items")
        return super().__new__(cls)


def _set(members: object = ()) -> set[object]:
    if not isinstance(members, list | tuple):
        raise _Refused("expected the members of a set, found something else")
    _check_plain(members)
    return set(members)


def _nothing(*_: object) -> None:
    """Stands in for what weights do not need: devices, and NumPy's numbers and arrays, such as a layer's gain."""


_NUMPY = [(f"numpy.{core}.multiarray", name) for core in ("core", "_core") for name in ("scalar", "_reconstruct")]


_KNOWN: dict[tuple[str, str], Callable[..., object]] = {
    ("torch_utils.persistence", "_reconstruct_persistent_obj"): _persistent_object,
    ("torch._utils", "_rebuild_tensor_v2"): _tensor,
    ("torch._utils", "_rebuild_parameter"): _parameter,
    ("torch.storage", "_load_from_bytes"): _storage,
    ("torch", "Size"): tuple,
    ("torch", "device"): _nothing,
    ("collections", "OrderedDict"): _Dictionary,
    ("dnnlib.util", "EasyDict"): _Dictionary,
    ("builtins", "set"): _set,
    ("__builtin__", "set"): _set,
    **dict.fromkeys((*_NUMPY, ("numpy", "dtype"), ("numpy", "ndarray")), _nothing),
}
