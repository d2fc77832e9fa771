"""Model files: their kind, by first bytes and directory and never by unpickling; their digests, tensors and weights."""

from __future__ import annotations

import hashlib
import json
import os
import re
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import numpy as np

from transect.errors import BadInput, MissingExtra, TargetChanged
from transect.runs import bounds
from transect.runs.json_records import loads
from transect.texts import one_line, words_of

if TYPE_CHECKING:
    from torch import Tensor


CARD: Final = "classifier.toml"
"""The file beside the weights of a classifier that was trained here: how it is built, asked and read."""
_SIGNATURES = (
    (b"version https://git-lfs", "a Git LFS pointer (the file itself was not downloaded: git lfs pull)"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"\x89HDF", "an HDF5 file"),
    (b"GGUF", "a GGUF file"),
    (b"\x80", "a Python pickle"),
    (b"<", "an HTML or XML page"),
    (b"{", "a JSON text"),
)


def check_readable(path: Path) -> Path:
    """The path itself; raises BadInput where there is no file that can be read."""
    try:
        with path.open("rb"):
            return path
    except FileNotFoundError:
        raise BadInput(f"model file {path}: no such file; check the path") from None
    except OSError as error:
        raise BadInput(
            f"model file {path}: cannot be read ({words_of(error)}): check its path and permissions"
        ) from None


def sha256(path: Path) -> str:
    """Hexadecimal SHA-256 of the file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


Stamp: TypeAlias = tuple[int, int, int]


def stamps_of(paths: Iterable[Path]) -> dict[Path, Stamp]:
    """What changes where a file is written or replaced: its number, size and time. Raises BadInput without the file."""
    return {check_readable(path): _stamp(path.stat()) for path in paths}


def check_unchanged(stamps: Mapping[Path, Stamp]) -> None:
    """Raises TargetChanged where a file is another than when its stamp was taken."""
    for path, stamp in stamps.items():
        try:
            same = _stamp(path.stat()) == stamp
        except OSError:
            same = False
        if not same:
            raise TargetChanged(
                f"model file {path}: changed while a run read it; restore it and rerun the command to resume, "
                "or choose another --out"
            )


def _stamp(status: os.stat_result) -> Stamp:
    return status.st_ino, status.st_size, status.st_mtime_ns


def read_safetensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and metadata of a safetensors file, which may be written again afterwards."""
    from safetensors import SafetensorError, safe_open

    bounds.check_holes(check_readable(path))
    try:
        with safe_open(path, "pt") as file:
            # The library maps the file into memory: without a copy, later writing to it would change the tensors.
            _check_real(file, path)
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118  (it is no dictionary)
            return tensors, file.metadata() or {}
    except (SafetensorError, OSError, ValueError) as error:
        raise BadInput(f"{path}: expected a safetensors file, found a damaged one ({words_of(error)})") from None


def check_real(path: Path) -> None:
    """Raises BadInput for a safetensors file of complex numbers: loaders cut them to their real part."""
    from safetensors import SafetensorError, safe_open

    with suppress(SafetensorError, OSError, ValueError), safe_open(path, "numpy") as file:
        _check_real(file, path)


def _check_real(file: Any, path: Path) -> None:
    kinds = {name: file.get_slice(name).get_dtype() for name in file.keys()}  # noqa: SIM118  (no dictionary)
    if name := next((name for name, kind in kinds.items() if kind.startswith("C")), ""):
        raise BadInput(f"{path}: expected real numbers, got complex ones in {name:.200}; save them as real ones")


def in_order(content: bytes) -> bytes:
    """A safetensors file with its metadata in the order of their names; the library writes them in any order.

    >>> from safetensors.numpy import save
    >>> in_order(save({}, {"b": "2", "a": "1"}))[8:]
    b'{"__metadata__":{"a":"1","b":"2"}}      '
    """
    size = int.from_bytes(content[:8], "little")
    header = loads(content[8 : 8 + size])
    header["__metadata__"] = dict(sorted(header.get("__metadata__", {}).items()))
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + content[8 + size :]


def metadata_of(path: Path) -> dict[str, str]:
    """The metadata of a safetensors file, without its tensors. Raises BadInput as `read_safetensors`."""
    from safetensors import SafetensorError, safe_open

    check_readable(path)
    try:
        with safe_open(path, "numpy") as file:
            return file.metadata() or {}
    except (SafetensorError, OSError, ValueError) as error:
        raise BadInput(f"{path}: expected a safetensors file, found a damaged one ({words_of(error)})") from None


def kind_of(path: Path) -> str:
    """What the file seems to be, in words for an error message."""
    with path.open("rb") as file:
        head = file.read(32)
    if not head:
        return "an empty file"
    if zipfile.is_zipfile(path):
        return _kind_of_archive(path)
    if len(head) > 8 and int.from_bytes(head[:8], "little") < path.stat().st_size and head[8:9] == b"{":
        return "a safetensors file"
    return next((kind for signature, kind in _SIGNATURES if head.startswith(signature)), "an unknown kind of file")


def _kind_of_archive(path: Path) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name.partition("/")[2] for name in archive.namelist()]
    except (zipfile.BadZipFile, NotImplementedError):
        return "a damaged zip archive"
    if "constants.pkl" in names or any(name.startswith("code/") for name in names):
        return "a TorchScript archive"
    return "a PyTorch checkpoint (state_dict or pickled module)" if "data.pkl" in names else "a zip archive"


_SPECS: Final = ("run.json", "training.json")
"""A folder with one of these is known by it: what a run or a training was made with."""


def digest_of_input(path: Path) -> str:
    """SHA-256 of a file, of a run's spec, or of the names and sizes of the files of another folder."""
    if path.is_file():
        return sha256(path)
    for name in _SPECS:
        if (path / name).is_file():
            return sha256(path / name)
    files = (file for file in sorted(path.rglob("*")) if file.is_file())
    lines = [f"{file.relative_to(path).as_posix()} {file.stat().st_size}" for file in files]
    return hashlib.sha256("\n".join(lines).encode(errors="surrogateescape")).hexdigest()


def external_digests(path: Path) -> dict[str, str]:
    """SHA-256 of each file of weights that the model at `path` names, by its name relative to the model's folder.

    Source: https://onnx.ai/onnx/repo-docs/ExternalData.html.
    """
    return {name: sha256(file) for name, file in external_files(path).items()}


def external_files(path: Path) -> dict[str, Path]:
    """The files that `external_digests` reads, by name. Raises as it does."""
    return {name: _inside(path, name) for name in sorted(set(_locations(path)))}


def _locations(path: Path) -> list[str]:
    try:
        import onnx
    except ModuleNotFoundError:
        raise MissingExtra("onnx", f"onnx:{path}") from None
    from google.protobuf.message import DecodeError
    from onnx.external_data_helper import ExternalDataInfo, uses_external_data

    try:
        model = onnx.load(str(path), format="protobuf", load_external_data=False)  # whatever its name ends in
        return [str(ExternalDataInfo(tensor).location) for tensor in _tensors(model) if uses_external_data(tensor)]
    except DecodeError:
        kind = kind_of(path)
        raise BadInput(f"model file {path}: expected an ONNX model, found {kind}") from None
    except ValueError as error:
        raise BadInput(f"model file {path}: expected weights in a file, got {words_of(error)}; save it again") from None


def _tensors(message: Any) -> Iterator[Any]:
    """Every tensor of a model: initializers, sparse ones, and those of attributes of nodes, subgraphs and functions."""
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        for part in [value] if hasattr(value, "DESCRIPTOR") else value:
            if part.DESCRIPTOR.name == "TensorProto":
                yield part
            else:
                yield from _tensors(part)


def _inside(path: Path, name: str) -> Path:
    """The file, which must lie in the model's folder also once links are followed."""
    folder, file = path.resolve().parent, path.parent / name
    if "\0" in name or Path(name).is_absolute() or not file.resolve().is_relative_to(folder):
        raise BadInput(f"model file {path}: expected weights in its folder, got {name!r}; move them and save it again")
    return check_readable(file)


Content = TypeVar("Content")
Arrays = Mapping[str, np.ndarray]
Facts = Mapping[str, str]


def content_of(kind: str, tensors: Arrays, **facts: object) -> bytes:
    """The bytes of such a file, the same for the same content; facts that are not text are kept as JSON."""
    from safetensors.numpy import save

    texts = {name: fact if isinstance(fact, str) else json.dumps(fact, sort_keys=True) for name, fact in facts.items()}
    return in_order(save(dict(tensors), {"kind": kind, **texts}))


def read_content(
    path: Path, parsers: Mapping[str, Callable[[Arrays, Facts], Content]], *, expected: str, remedy: str
) -> Content:
    """What the parser of the file's kind makes of its tensors and facts; its errors become one refusal."""
    from safetensors import SafetensorError, safe_open

    bounds.check_holes(check_readable(path))
    try:
        with safe_open(path, "numpy") as file:
            facts = file.metadata() or {}
            kind = str(facts.get("kind"))[:100]
            if kind not in parsers:
                raise ValueError(f"its kind is {kind!r} instead of {' or '.join(parsers)}")
            _check_real(file, path)
            return parsers[kind]({name: file.get_tensor(name) for name in file.keys()}, facts)  # noqa: SIM118  (no dictionary)
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        reason = f"{type(error).__name__}: {words_of(error)}"
        raise BadInput(f"{path}: expected {expected}, found something else ({reason}); {remedy}") from None


def read_weights(path: Path, *, pytorch: bool = False) -> dict[str, Tensor]:
    """The tensors of a safetensors file; with `pytorch` also of a state_dict, by PyTorch's loader of weights alone."""
    kind = kind_of(check_readable(path))
    if kind == "a safetensors file":
        return read_safetensors(path)[0]
    if not pytorch:
        advice = "load it where you trust it, and save its state_dict with safetensors.torch.save_file"
        raise BadInput(f"{path}: expected safetensors, found {kind}; {advice}")
    if kind not in ("a PyTorch checkpoint (state_dict or pickled module)", "a Python pickle"):
        raise BadInput(f"{path}: expected a state_dict or safetensors, found {kind}")
    return _read_state(path)


def _read_state(path: Path) -> dict[str, Tensor]:
    import torch

    state = read_tensors(path)
    state = state.get("state_dict", state) if isinstance(state, Mapping) else state
    if not isinstance(state, Mapping) or not all(isinstance(value, torch.Tensor) for value in state.values()):
        raise BadInput(f"{path}: expected a state_dict of tensors, found {type(state).__name__}")
    if name := next((name for name, value in state.items() if value.is_complex()), ""):
        raise BadInput(f"{path}: expected real numbers, got complex ones in {name!s:.200}; save them as real ones")
    return {str(name): value for name, value in state.items()}


def read_tensors(path: Path) -> object:
    """What PyTorch's loader of weights finds in a file: tensors, plain values, lists and dictionaries of these."""
    import torch

    bounds.check_torch(path)
    try:
        with path.open("rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # about pickle protocols, before it refuses them
            return torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged or hostile file makes the reader fail in any way
        raise BadInput(
            f"{path}: holds more than tensors or is damaged ({refused_by_torch(error)}): save model.state_dict(), "
            "best with safetensors"
        ) from None


def refused_by_torch(error: Exception) -> str:
    """What PyTorch's loader of weights refused, without its own words: they advise to load the file unsafely.

    >>> refused_by_torch(ValueError("Unsupported global: GLOBAL os.system was not an allowed global by default."))
    'a call of os.system, which is not executed'
    >>> refused_by_torch(ValueError("In PyTorch 2.6, we changed the default value"))
    'no reader accepts it'
    """
    named = re.search(r"(?:GLOBAL|global:?|class:?) ([\w.]*\.\w+)", one_line(str(error)))
    return f"a call of {named[1]}, which is not executed" if named else "no reader accepts it"


def check_weights(
    tensors: Mapping[str, Tensor], expected: Mapping[str, Tensor], source: str, *, finite: bool = True
) -> None:
    """Raise BadInput for weights that are missing, of no network of this shape, of another shape, or not finite.

    source: what messages call the file; finite: also refuse NaN, infinity, and whole numbers for floating-point ones.

    >>> import torch
    >>> check_weights({"bias": torch.zeros(3)}, {"bias": torch.zeros(4)}, "a.safetensors")
    Traceback (most recent call last):
    transect.errors.BadInput: a.safetensors: expected the weights of this network, but it...
    """
    faults = [f"lacks {name}" for name in expected if name not in tensors]
    faults += [f"has an unexpected {name:.200}" for name in tensors if name not in expected]
    common = {name: (tensors[name], place) for name, place in expected.items() if name in tensors}
    faults += [
        f"has {name} of shape {list(value.shape)} instead of {list(place.shape)}"
        for name, (value, place) in common.items()
        if value.shape != place.shape
    ]
    if finite:
        faults += [
            f"has numbers of type {value.dtype} in {name}"
            for name, (value, place) in common.items()
            if value.is_floating_point() != place.is_floating_point()
        ]
        faults += [
            f"has NaN or infinity in {name}" for name, (value, _) in common.items() if not value.isfinite().all()
        ]
    if faults:
        more = f" and has {len(faults) - 1} more differences" if len(faults) > 1 else ""
        raise BadInput(f"{source}: expected the weights of this network, but it {faults[0]}{more}; give another file")
