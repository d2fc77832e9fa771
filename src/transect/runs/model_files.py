"""The kind of a model file, recognized by its first bytes and its directory, never by unpickling it."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from transect.errors import BadInput, TargetChanged
from transect.runs import bounds
from transect.runs.plain_json import loads
from transect.texts import words_of

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
        raise BadInput(f"model file {path}: expected a file, found none: check the path") from None
    except OSError as error:
        raise BadInput(f"model file {path}: cannot be read ({words_of(error)}): check path and permissions") from None


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
                f"model file {path}: changed while a run read it: one run asks one model; restore the file and rerun "
                "the command to resume, or choose another --out"
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
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118  (it is no dictionary)
            return tensors, file.metadata() or {}
    except (SafetensorError, OSError, ValueError) as error:
        raise BadInput(f"{path}: expected a safetensors file, found a damaged one ({words_of(error)})") from None


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
