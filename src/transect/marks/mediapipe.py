"""Points by the networks of MediaPipe's bundles."""

from __future__ import annotations

import math
import threading
import zipfile
import zlib
from pathlib import Path
from typing import Any, Final, NamedTuple, final

import numpy as np
from jaxtyping import Float, Int, UInt8

from transect.errors import BadInput, MissingExtra
from transect.marks import geometry
from transect.marks.geometry import MESHES, OUTLINES, TurnedSquare, as_68, mesh_masks, seen_turned
from transect.marks.records import NO_FACE, POINTS, SEVERAL, Marks, five_points
from transect.runs import bounds, model_files
from transect.texts import words_of

DETECTOR: Final = "face_detector.tflite"
LANDMARKS: Final = "face_landmarks_detector.tflite"
LARGEST: Final = 64 << 20
"""Bytes that a network may have; MediaPipe's have a few millions."""
_VALUES: Final = 1 << 28
"""Values that a network's tensors may have in all."""


def read_bundle(file: Path) -> dict[str, bytes]:
    """The two networks by name; nothing else of the archive is read, and nothing is written."""
    bounds.check_archive(model_files.check_readable(file))
    try:
        with zipfile.ZipFile(file) as archive:
            return {name: _member(archive, name, file) for name in (DETECTOR, LANDMARKS)}
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, ValueError) as error:
        kind = model_files.kind_of(file)
        raise BadInput(
            f"{file}: expected a MediaPipe bundle (face_landmarker.task), got {kind} ({words_of(error, 100)})"
        ) from None


def _member(archive: zipfile.ZipFile, name: str, file: Path) -> bytes:
    found = [info for info in archive.infolist() if info.filename == name]
    if len(found) != 1:
        got = "none" if not found else f"{len(found)}"
        raise BadInput(f"{file}: expected one {name} in the bundle, got {got}; give a face_landmarker.task")
    if found[0].file_size > LARGEST:
        raise BadInput(f"{file}: expected {name} of at most {LARGEST >> 20} MiB, got a larger one; use another bundle")
    with archive.open(found[0]) as stream:
        return stream.read(LARGEST)  # without a number it would unpack more than the directory says


def load_library() -> Any:
    """LiteRT's module of interpreters. Raises MissingExtra where it is not installed."""
    try:
        from ai_edge_litert import interpreter
    except ModuleNotFoundError:
        raise MissingExtra("mediapipe", "marks mediapipe:FILE") from None
    return interpreter


def interpreter(content: bytes) -> Any:
    """LiteRT's interpreter of a network, on one thread and without accelerators. Raises ValueError or RuntimeError."""
    library = load_library()
    plain = library.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    return library.Interpreter(model_content=content, num_threads=1, experimental_op_resolver_type=plain)


@final
class LiteRT:
    """A network that LiteRT runs, from one square picture to arrays. name: of the file, and of the network in it; size:
    of the picture; shapes: of the answers. Raises MissingExtra without LiteRT, BadInput for no such network.
    """

    def __init__(self, content: bytes, name: str) -> None:
        self.name, self._alone = name, threading.Lock()
        try:
            self._run = interpreter(content)
            shape = self._checked()
            self._run.allocate_tensors()
            self._outputs = self._run.get_output_details()
        except (ValueError, RuntimeError) as error:
            raise BadInput(
                f"{name}: expected a network that LiteRT runs, got something else ({words_of(error, 100)}); use "
                "another file"
            ) from None
        self.size = shape[1]
        self.shapes = tuple(tuple(map(int, each["shape"])) for each in self._outputs)
        if any(each["dtype"] != np.float32 for each in self._outputs):
            raise BadInput(f"{name}: expected 32-bit float outputs; use another bundle")

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
                raise BadInput(f"{self.name}: cannot be run ({words_of(error, 100)}); use another bundle") from None
            return tuple(np.array(self._run.get_tensor(each["index"])) for each in self._outputs)


_AXES: Final = 3


class _Face(NamedTuple):
    """mesh: in pixels of the picture, None where there is no face, for that reason."""

    mesh: Float[np.ndarray, "k 2"] | None
    confidence: float
    reason: str


@final
class MediaPipeMarks:
    """68 points and three masks of the mesh. Confidence: the lower of detector's score and the mesh's probability."""

    threshold = 0.5

    def __init__(self, file: Path) -> None:
        load_library()
        networks = {name: LiteRT(content, f"{file}, {name}") for name, content in read_bundle(file).items()}
        self._look = Look(networks[DETECTOR], networks[LANDMARKS])
        self.name, self._sha256 = f"mediapipe:{file.name}", model_files.sha256(file)

    def describe(self) -> dict[str, Any]:
        """Name, SHA-256 of the file, and what its networks take and give, as JSON values."""
        look = self._look
        known = {"name": self.name, "sha256": self._sha256, "threshold": self.threshold}
        return known | {"sizes": [look.detector.size, look.landmarks.size], "points": look.count}

    def find(self, pixels: UInt8[np.ndarray, "n h w 3"], rows: Int[np.ndarray, " n"] | None = None) -> Marks:
        """The marks of the largest face on each picture; none where there is no face, or several of about one size."""
        del rows
        height, width = pixels.shape[1:3]
        found = [self._look.at(picture) for picture in pixels]
        nothing = np.full((POINTS, 2), np.nan)
        placed = [nothing if one.mesh is None else as_68(one.mesh) for one in found]
        points = np.array(placed, dtype=np.float64).reshape(-1, POINTS, 2)
        drawn = [mesh_masks(one.mesh, width, height) for one in found]
        masks = {
            name: np.array([each[name] for each in drawn], np.float32).reshape(-1, height, width) for name in OUTLINES
        }
        sure = np.array([one.confidence for one in found], dtype=np.float64)
        return Marks(points, five_points(points), masks, sure, tuple(one.reason for one in found), self.name)


@final
class Look:
    """Both networks on one picture. Raises BadInput for networks of other shapes."""

    def __init__(self, detector: LiteRT, landmarks: LiteRT) -> None:
        if detector.size not in geometry.GRIDS:
            sizes = " or ".join(f"{size}" for size in geometry.GRIDS)
            raise BadInput(f"{detector.name}: expected an input of {sizes} pixels, got {detector.size}; choose another")
        self.detector, self.landmarks = detector, landmarks
        count = len(geometry.anchors(detector.size))
        self._numbers = _place(detector, {(1, count, geometry.NUMBERS)})
        self._logits = _place(detector, {(1, count, 1)})
        flat = {(1,) * ones + (points * _AXES,) for ones in (1, 3) for points in MESHES}
        self._mesh = _place(landmarks, flat)
        self.count = landmarks.shapes[self._mesh][-1] // _AXES
        self._presence = _place(landmarks, {(1,) * ones for ones in (2, 4)})

    def at(self, picture: UInt8[np.ndarray, "h w 3"]) -> _Face:
        """The mesh of the picture's face."""
        height, width = picture.shape[:2]
        whole = TurnedSquare(width / 2, height / 2, max(width, height))
        faces = self._faces(picture, whole)
        place = geometry.largest(faces)
        if place is None:
            return _Face(None, 0.0, SEVERAL if len(faces) else NO_FACE)
        square = geometry.about(faces, place, whole)
        size = self.landmarks.size
        answers = self.landmarks.answers(seen_turned(picture, square, size) / 255)
        mesh = answers[self._mesh].reshape(-1, _AXES)[:, :2].astype(np.float64)
        if not np.isfinite(mesh).all():
            return _Face(None, 0.0, NO_FACE)
        logit = float(answers[self._presence].item())
        there = 1 / (1 + math.exp(-min(max(logit, -100.0), 100.0)))
        return _Face(square.placed(mesh / size), min(there, float(faces.scores[place])), "")

    def _faces(self, picture: UInt8[np.ndarray, "h w 3"], whole: TurnedSquare) -> geometry.Boxes:
        seen = seen_turned(picture, whole, self.detector.size, black=True)
        answers = self.detector.answers(seen / 127.5 - 1)
        numbers, logits = (answers[place][0].astype(np.float64) for place in (self._numbers, self._logits))
        return geometry.merged(geometry.decoded(numbers, logits[:, 0], self.detector.size))


def _place(network: LiteRT, wanted: set[tuple[int, ...]]) -> int:
    """Which answer has one of those shapes: the first."""
    for place, shape in enumerate(network.shapes):
        if shape in wanted:
            return place
    names = " or ".join(f"{list(shape)}" for shape in sorted(wanted))
    got = ", ".join(f"{list(shape)}" for shape in network.shapes) or "none"
    raise BadInput(f"{network.name}: expected an answer {names}, got {got}; use another bundle")
