"""Reads weights of a StyleGAN2 from safetensors and official checkpoints; nothing that a file names is run."""

from __future__ import annotations

import argparse
import io
import math
import pickle
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar, TypeAlias, cast

import torch
from torch import Tensor

from transect.errors import BadInput
from transect.generators.stylegan2.network import make_filter
from transect.runs import bounds, model_files
from transect.runs.json_records import loads
from transect.runs.model_files import refused_by_torch

LARGEST = 4 << 30
"""Bytes of the largest pickle that is read; official ones have up to 400 MB."""

MOST_OBJECTS = 1_000_000
"""Names that may be looked up and objects that may be created; official files need a few thousand."""

BYTES_PER_BYTE, SPARE_BYTES = 4, 16 << 20
"""Memory for objects, and for tensors as float32: bytes per byte of the file, plus spare ones. Sound files need two."""

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
        raise BadInput(f"{path}: the pickle needs more memory than there is; it is damaged or malicious") from None
    except RecursionError:
        raise BadInput(f"{path}: the pickle is nested too deeply; it is damaged or malicious") from None
    except Exception as error:
        # A damaged stream of operation codes can fail anywhere in it, with any exception.
        kind = type(error).__name__
        raise BadInput(f"{path}: expected a pickle of weights, found a damaged or malicious one ({kind})") from None


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
            raise _Refused("expected weights of about the file's size, found more; the file is damaged or malicious")

    def count(self) -> None:
        self._objects -= 1
        if self._objects < 0:
            raise _Refused(f"more than {MOST_OBJECTS} objects; the file is damaged or malicious")


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
            raise _Refused(f"expected names or numbers as keys, found {type(key).__name__}; the file is malicious")


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
        if _TF.fullmatch(module):
            raise _Refused(f"expected StyleGAN2, found {_PROGRESSIVE}" if module == "tfutil" else _OF_TF)
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
        raise _Refused(f"expected names, found the extension code {code}; the file is damaged or malicious")

    def _build(self) -> None:
        """The state of a Record is kept; that of anything else is dropped, since setting it would run its methods."""
        state, record = self.stack.pop(), self.stack[-1]
        if isinstance(record, Record):
            record.state = state

    def _refuse_buffer(self) -> None:
        raise _Refused("expected weights, found a writable buffer; the file is damaged or malicious")

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
        raise _Refused("expected the description of a network, found something else; unknown file version")
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


_DEEPEST, _MOST = 8, 20_000
_OFFICIAL = ("mapping.", "synthesis.")
_TF = re.compile(r"dnnlib\.tflib(\.\w+)*|tfutil")
"""Modules of the networks that TensorFlow pickled: StyleGAN and StyleGAN2, and the Progressive GAN."""
_OF_TF = (
    "expected a PyTorch network, found a pickle of TensorFlow's StyleGAN2; convert it first, with legacy.py of "
    "NVIDIA's stylegan2-ada-pytorch: python legacy.py --source=OLD.pkl --dest=NEW.pkl"
)
_PROGRESSIVE = (
    "a Progressive GAN as its authors released it, which no converter brings here; train one: transect train gan "
    "--arch progressive"
)


@dataclass(frozen=True, slots=True)
class Weights:
    """Tensors by official name, where activations are cut, and whether the constant noise was drawn here."""

    tensors: dict[str, Tensor]
    clamp: float | None = None
    noise_drawn: bool = False


def of_pickle(content: object, source: str) -> Weights:
    """The averaged generator of an official pickle: a dictionary with G_ema, or the network itself."""
    network = content.get("G_ema", content.get("G")) if isinstance(content, dict) else content
    if isinstance(network, dict) and network and all(isinstance(value, Tensor) for value in network.values()):
        return of_names(network, source)
    if not isinstance(network, Record):
        raise BadInput(f"{source}: expected a dictionary with G_ema, found {_kind(content)}; give a StyleGAN2 network")
    tensors: dict[str, Tensor] = {}
    clamps: set[float | None] = set()
    _collect(network, "", 0, tensors, clamps, [_MOST])
    if not tensors:
        raise BadInput(f"{source}: expected a network with weights, found {network.class_name} without any")
    clamps.discard(None)
    return Weights(_as_float32(tensors, source), float(max(c for c in clamps if c is not None)) if clamps else None)


def _kind(content: object) -> str:
    if isinstance(content, dict):
        return f"one with {', '.join(sorted(map(str, content))[:6]) or 'nothing'}"
    return type(content).__name__


def check_clamp(value: object, where: str) -> float | None:
    """Where activations are cut: a finite number above 0, or None. Raises BadInput for another thing."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= sys.float_info.max:
        text = "a huge number" if isinstance(value, int) and value.bit_length() > 64 else f"{value!r:.40}"
        raise BadInput(f"{where}: expected a finite number above 0, or null, got {text}")
    return float(value)


def _collect(
    network: Record,
    prefix: str,
    depth: int,
    tensors: dict[str, Tensor],
    clamps: set[float | None],
    left: list[int],
) -> None:
    """left: how many parts may still be visited: parts that name one another many times are endless in a few bytes."""
    left[0] -= 1
    state = network.state if isinstance(network.state, dict) else {}
    if depth > _DEEPEST or left[0] < 0 or len(tensors) > _MOST:
        raise BadInput("expected a network of a few blocks, found an endless one; the file is damaged or malicious")
    for group in ("_parameters", "_buffers"):
        members = state.get(group)
        for name, value in members.items() if isinstance(members, dict) else ():
            if isinstance(value, Tensor):
                tensors[f"{prefix}{name}"] = value
    clamp = state.get("conv_clamp")
    clamps.add(check_clamp(clamp, "conv_clamp") if isinstance(clamp, int | float) else None)
    parts = state.get("_modules")
    for name, part in parts.items() if isinstance(parts, dict) else ():
        if isinstance(part, Record):
            _collect(part, f"{prefix}{name}.", depth + 1, tensors, clamps, left)


def of_names(tensors: Mapping[str, object], source: str, extra: Mapping[str, object] | None = None) -> Weights:
    """Weights from tensors in official or the community's names. extra: entries beside them, as `latent_avg`."""
    named_tensors = {str(name): value.detach() for name, value in tensors.items() if isinstance(value, Tensor)}
    for prefix in ("G_ema.", "g_ema.", "generator.", "module."):
        if named_tensors and all(name.startswith(prefix) for name in named_tensors):
            named_tensors = {name.removeprefix(prefix): value for name, value in named_tensors.items()}
    if any(name.startswith("synthesis.b4.") for name in named_tensors):
        return Weights(_as_float32({n: v for n, v in named_tensors.items() if n.startswith(_OFFICIAL)}, source))
    if "input.input" in named_tensors and "conv1.conv.weight" in named_tensors:
        try:
            average = (extra or {}).get("latent_avg")
            average_entry = {"latent_avg": average} if isinstance(average, Tensor) else {}
            weights = _of_community(_as_float32({**named_tensors, **average_entry}, source), source)
            without = not any(name.startswith("noises.") for name in named_tensors)
            return Weights(weights | _drawn_noise(weights) if without else weights, noise_drawn=without)
        except (IndexError, RuntimeError):  # a tensor without the axes or numbers that its name implies
            raise BadInput(
                f"{source}: expected the community's StyleGAN2, found weights of other shapes; it is damaged"
            ) from None
    if any(re.match(r"synthesis\.L\d+_", name) for name in named_tensors):
        raise BadInput(f"{source}: expected StyleGAN2, found StyleGAN3, which has different layers; give StyleGAN2")
    if named_tensors.keys() & {"layer0.conv.weight", "scaleLayers.0.0.module.weight"}:
        raise BadInput(f"{source}: expected StyleGAN2, found {_PROGRESSIVE}")
    names = ", ".join(sorted(named_tensors)[:4]) or "no tensor"
    raise BadInput(f"{source}: expected StyleGAN2's weights, found an unknown architecture ({names} …)")


def _as_float32(held: Mapping[str, Tensor], source: str) -> dict[str, Tensor]:
    """The same tensors in float32. Raises BadInput for one that is not numbers in memory, or far more than the file."""
    stored: dict[int, int] = {}
    for name, value in held.items():
        if fault := _unsound(value):
            raise BadInput(f"{source}: {name}: expected dense floating-point numbers, found {fault}; convert it first")
        memory = value.untyped_storage()
        stored[memory.data_ptr()] = memory.nbytes()
    if 4 * sum(value.numel() for value in held.values()) > BYTES_PER_BYTE * sum(stored.values()) + SPARE_BYTES:
        raise BadInput(f"{source}: expected weights of about the file's size, found more; it is damaged or malicious")
    return {name: value.detach().float() for name, value in held.items()}


def _unsound(value: Tensor) -> str:
    """Why a tensor is not dense floating-point numbers in memory; empty where it is."""
    if value.is_nested:
        return "a nested tensor"
    if value.layout != torch.strided:
        return f"a {str(value.layout).removeprefix('torch.')} tensor"
    if value.device.type != "cpu":
        return f"a tensor on {value.device.type}"
    return "" if value.is_floating_point() else str(value.dtype).removeprefix("torch.")


_RENAMED = {"conv.modulation.": "affine.", "activate.bias": "bias", "noise.weight": "noise_strength"}


def _of_community(held: dict[str, Tensor], source: str) -> dict[str, Tensor]:
    tensors = {"synthesis.b4.const": held["input.input"][0]}
    for name, value in held.items():
        if name.endswith((".blur.kernel", ".upsample.kernel")) and not torch.allclose(value, 4 * make_filter()):
            raise BadInput(
                f"{source}: {name}: expected the filter 1, 3, 3, 1, found a different one; the file is not StyleGAN2's"
            )
        if match := re.fullmatch(r"style\.(\d+)\.(weight|bias)", name):
            tensors[f"mapping.fc{int(match[1]) - 1}.{match[2]}"] = value
        elif match := re.fullmatch(r"noises\.noise_(\d+)", name):
            tensors[f"synthesis.{_noisy(int(match[1]))}.noise_const"] = value[0, 0]
        elif place := _place(name):
            tensors |= _part(place, name.split(".", 2 if name.startswith(("convs.", "to_rgbs.")) else 1)[-1], value)
    if "latent_avg" in held:
        tensors["mapping.w_avg"] = held["latent_avg"].reshape(-1)
    return tensors


def _drawn_noise(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """A constant noise for each layer that takes one. The port's first versions drew it at every start."""
    draws = torch.Generator().manual_seed(0)
    sizes = {
        index: 4 << ((index + 1) // 2) for index in range(sum(name.endswith("noise_strength") for name in tensors))
    }
    return {
        f"synthesis.{_noisy(index)}.noise_const": torch.randn(size, size, generator=draws)
        for index, size in sizes.items()
    }


def _noisy(index: int) -> str:
    """The i-th noisy layer: b4.conv1, b8.conv0, b8.conv1, b16.conv0 ..."""
    return f"b{4 << ((index + 1) // 2)}.conv{(index + 1) % 2}"


def _place(name: str) -> str | None:
    """The official layer of a community name."""
    if match := re.match(r"(convs|to_rgbs)\.(\d+)\.", name):
        index = int(match[2])
        return _noisy(index + 1) if match[1] == "convs" else f"b{8 << index}.torgb"
    return {"conv1": "b4.conv1", "to_rgb1": "b4.torgb"}.get(name.partition(".")[0])


def _part(place: str, rest: str, value: Tensor) -> dict[str, Tensor]:
    """One tensor of a layer. Kernels are scaled as the community's code scales them before it demodulates."""
    if rest == "conv.weight":
        kernel = value[0]
        scale = 1.0 if place.endswith("torgb") else 1 / math.sqrt(kernel[0].numel())
        return {f"synthesis.{place}.weight": kernel * scale}
    if rest == "bias":
        return {f"synthesis.{place}.bias": value.reshape(-1)}
    if rest == "noise.weight":
        return {f"synthesis.{place}.noise_strength": value.reshape([])}
    for old, new in _RENAMED.items():
        if rest.startswith(old):
            return {f"synthesis.{place}.{new}{rest.removeprefix(old)}": value}
    return {}


_PREFERRED = ("g_ema", "G_ema", "generator", "g", "G", "state_dict", "netG", "generator_smooth")


def read_checkpoint(path: Path) -> Weights:
    """The generator in an official pickle, a `.pt` of the community port, or safetensors. Raises BadInput otherwise."""
    model_files.check_readable(path)
    kind = model_files.kind_of(path)
    if kind == "a safetensors file":
        return read_safetensors(path)
    if kind == "a PyTorch checkpoint (state_dict or pickled module)":
        return _read_torch(path)
    if kind == "a Python pickle":
        with path.open("rb") as file:
            if file.read(len(_LEGACY)) == _LEGACY:  # as PyTorch wrote them before version 1.6: several pickles
                return _read_torch(path)
        content = read_pickle(path)
        return _weights_of(content, str(path)) if _is_state(content) else of_pickle(content, str(path))
    raise BadInput(f"{path}: expected an official pickle, a .pt or a safetensors file, found {kind}")


def read_safetensors(path: Path) -> Weights:
    """The generator in a safetensors file, in official or community names."""
    tensors, metadata = model_files.read_safetensors(path)
    weights, text = of_names(tensors, str(path)), metadata.get("clamp") or "null"
    try:
        clamp = loads(text)
    except (ValueError, RecursionError):
        clamp = text
    return Weights(weights.tensors, check_clamp(clamp, f"{path}: metadata clamp"))


def _read_torch(path: Path) -> Weights:
    """Through PyTorch's loader of weights alone. The community's training keeps its options in a namespace."""
    bounds.check_torch(path)
    try:
        with torch.serialization.safe_globals([argparse.Namespace]):
            content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        # PyTorch's own unpickler fails with any exception on damaged or malicious files.
        raise BadInput(
            f"{path}: expected only weights, found content that cannot be read safely ({refused_by_torch(error)})"
        ) from None
    return _weights_of(content, str(path))


def _is_state(content: object) -> bool:
    return isinstance(content, Mapping) and any(
        isinstance(value, Tensor) or (isinstance(value, Mapping) and any(isinstance(v, Tensor) for v in value.values()))
        for value in content.values()
    )


def _weights_of(content: object, source: str) -> Weights:
    if not isinstance(content, Mapping) or not _is_state(content):
        raise BadInput(f"{source}: expected a dictionary of weights, found {type(content).__name__}")
    for name in _PREFERRED:
        if isinstance(content.get(name), Mapping):
            return of_names(content[name], source, content)
    return of_names(content, source, content)
