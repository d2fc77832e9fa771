"""The networks of a MediaPipe bundle (`.task`): a zip archive of LiteRT files, which is read in memory.

LiteRT runs them on one thread without its delegates, so that an answer depends on the picture alone.
"""

from __future__ import annotations

import threading
import zipfile
import zlib
from pathlib import Path
from typing import Any, Final, Protocol, final, runtime_checkable

import numpy as np
from jaxtyping import Float

from transect.errors import BadInput, MissingExtra
from transect.runs import model_files
from transect.texts import words_of

DETECTOR: Final = "face_detector.tflite"
LANDMARKS: Final = "face_landmarks_detector.tflite"
LARGEST: Final = 64 << 20
"""Bytes that a network may have; MediaPipe's have a few millions."""
_VALUES: Final = 1 << 28
"""Values that a network's tensors may have in all."""
_ENCRYPTED: Final = 0x1


@runtime_checkable
class LiteNetwork(Protocol):
    """A network from one square picture to arrays."""

    name: str
    """Of the file, and of the network in it."""
    size: int
    """Width and height of the picture."""
    shapes: tuple[tuple[int, ...], ...]
    """Of the answers."""

    def answers(self, picture: Float[np.ndarray, "s s 3"]) -> tuple[Float[np.ndarray, "*shape"], ...]:
        """What it says of the picture, in the order of `shapes`."""
        ...


def read_bundle(file: Path) -> dict[str, bytes]:
    """The two networks by name; nothing else of the archive is read, and nothing is written."""
    model_files.check_readable(file)
    try:
        with zipfile.ZipFile(file) as archive:
            return {name: _member(archive, name, file) for name in (DETECTOR, LANDMARKS)}
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, ValueError) as error:
        kind = model_files.kind_of(file)
        raise BadInput(
            f"{file}: expected a bundle of MediaPipe's (face_landmarker.task), got {kind} ({words_of(error, 100)})"
        ) from None


def _member(archive: zipfile.ZipFile, name: str, file: Path) -> bytes:
    found = [info for info in archive.infolist() if info.filename == name]
    if len(found) != 1:
        got = "none" if not found else f"{len(found)}"
        raise BadInput(f"{file}: expected one {name} in the bundle, got {got}; name a face_landmarker.task")
    if found[0].flag_bits & _ENCRYPTED:
        raise BadInput(f"{file}: expected {name} as it is, got it encrypted; name another bundle")
    with archive.open(found[0]) as stream:
        # What the archive says about its size may be wrong.
        content = stream.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise BadInput(f"{file}: expected {name} of at most {LARGEST >> 20} MiB, got a larger one; name another bundle")
    return content


def load_library() -> Any:
    """LiteRT's module of interpreters. Raises MissingExtra where it is not installed."""
    try:
        from ai_edge_litert import interpreter
    except ModuleNotFoundError:
        raise MissingExtra("mediapipe", "marks mediapipe:FILE") from None
    return interpreter


@final
class LiteRT:
    """A network that LiteRT runs. Raises MissingExtra without it, BadInput for a file that is no such network."""

    def __init__(self, content: bytes, name: str) -> None:
        library = load_library()
        plain = library.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
        self.name, self._alone = name, threading.Lock()
        try:
            self._run: Any = library.Interpreter(
                model_content=content, num_threads=1, experimental_op_resolver_type=plain
            )
            shape = self._checked()
            self._run.allocate_tensors()
            self._outputs = self._run.get_output_details()
        except (ValueError, RuntimeError) as error:
            raise BadInput(
                f"{name}: expected a network that LiteRT runs, got another ({words_of(error, 100)}); name another file"
            ) from None
        self.size = shape[1]
        self.shapes = tuple(tuple(map(int, each["shape"])) for each in self._outputs)
        if any(each["dtype"] != np.float32 for each in self._outputs):
            raise BadInput(f"{name}: expected answers of 32-bit floats, got others; name another bundle")

    def _checked(self) -> tuple[int, ...]:
        """The shape of the one input."""
        values = sum(int(np.prod(each["shape"], dtype=np.float64)) for each in self._run.get_tensor_details())
        if values > _VALUES:
            raise ValueError(f"tensors of {values:,} values")
        (entry, *more) = self._run.get_input_details()
        shape = tuple(map(int, entry["shape"]))
        if more or entry["dtype"] != np.float32 or shape != (1, *shape[1:2] * 2, 3) or not shape[1]:
            raise ValueError(f"an input {list(shape)} where one of floats [1, s, s, 3] is expected")
        self._input = entry["index"]
        return shape

    def answers(self, picture: Float[np.ndarray, "s s 3"]) -> tuple[Float[np.ndarray, "*shape"], ...]:
        """What it says of the picture, float32, in the order of `shapes`. Raises BadInput where it cannot be run."""
        with self._alone:
            self._run.set_tensor(self._input, picture[None].astype(np.float32))
            try:
                self._run.invoke()
            except RuntimeError as error:
                raise BadInput(f"{self.name}: cannot be run ({words_of(error, 100)}); name another bundle") from None
            return tuple(np.array(self._run.get_tensor(each["index"])) for each in self._outputs)
