"""Points by dlib, and masks by an ONNX parser of faces."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, Final, final

import numpy as np
from jaxtyping import Float, Int, UInt8
from PIL import Image

from transect.errors import BadInput, MissingExtra
from transect.marks.geometry import Square, brought_back, seen
from transect.marks.records import MASKS, NO_FACE, POINTS, SEVERAL, Marks, five_points
from transect.runs import model_files
from transect.runs.model_files import external_digests
from transect.texts import words_of

SHORTER_SIDE: Final = 256
"""Pixels to which smaller pictures are enlarged, since the smallest face that the detector finds is 80 wide."""
_SURE: Final = 1.0
"""dlib's score at which confidence is one half."""


@final
class DlibMarks:
    """68 points without masks. Confidence is s / (s + 1) of dlib's detection score s, which is no probability.

    dlib's detector keeps the picture that it looks at, so that each thread has its own; the predictor, whose file may
    be large, is asked by one thread at a time.
    """

    threshold = 0.0

    def __init__(self, file: Path) -> None:
        try:
            import dlib
        except ModuleNotFoundError:
            raise MissingExtra("dlib", "marks dlib:FILE") from None
        self._new_detector, self._own, self._alone = dlib.get_frontal_face_detector, threading.local(), threading.Lock()
        model_files.check_readable(file)
        try:
            self._predictor: Any = dlib.shape_predictor(str(file))
        except RuntimeError as error:
            message = words_of(error, 100)
            raise BadInput(f"{file}: expected a dlib model file (shape_predictor), got {message}") from None
        found = int(self._predictor(np.zeros((64, 64, 3), np.uint8), dlib.rectangle(8, 8, 55, 55)).num_parts)
        if found != POINTS:
            raise BadInput(f"{file}: expected a shape predictor of 68 points, got {found}; choose another")
        self.name, self._sha256 = f"dlib:{file.name}", model_files.sha256(file)

    def describe(self) -> dict[str, Any]:
        """Name and SHA-256 of the file, as JSON values."""
        return {"name": self.name, "sha256": self._sha256, "shorter_side": SHORTER_SIDE}

    def find(self, pixels: UInt8[np.ndarray, "n h w 3"], rows: Int[np.ndarray, " n"] | None = None) -> Marks:
        """The points of the one face on each picture; none where there are several or no face."""
        del rows
        found = [self._one(picture) for picture in pixels]
        points = np.array([row[0] for row in found], dtype=np.float64).reshape(-1, POINTS, 2)
        marks = Marks.of_points(points, self.name, confidence=np.array([row[1] for row in found], dtype=np.float64))
        reasons = tuple(row[2] for row in found)
        return Marks(marks.points, marks.five, {}, marks.confidence, reasons, self.name)

    def _one(self, picture: UInt8[np.ndarray, "h w 3"]) -> tuple[Float[np.ndarray, "68 2"], float, str]:
        factor = max(1.0, SHORTER_SIDE / min(picture.shape[:2]))
        size = (round(picture.shape[1] * factor), round(picture.shape[0] * factor))
        large = np.asarray(Image.fromarray(picture).resize(size, Image.Resampling.BICUBIC)) if factor > 1 else picture
        large = np.ascontiguousarray(large)
        if not hasattr(self._own, "detector"):
            self._own.detector = self._new_detector()
        boxes, scores, _ = self._own.detector.run(large, 0, 0.0)
        if len(boxes) != 1:
            return np.full((POINTS, 2), np.nan), 0.0, SEVERAL if len(boxes) else NO_FACE
        with self._alone:
            shape = self._predictor(large, boxes[0])
        scale = np.array(size) / (picture.shape[1], picture.shape[0])
        points = np.array([(part.x + 0.5, part.y + 0.5) for part in shape.parts()]) / scale
        return points, scores[0] / (scores[0] + _SURE), ""


CLASSES: Final = 19
OF_MASK: Final = {
    "skin": (1, 2, 3, 7, 8, 10, 14),
    "hair": (17,),
    "face": (1, 2, 3, 4, 5, 6, 10, 11, 12, 13),
    "eyes": (4, 5),
    "mouth": (11, 12, 13),
    "glasses": (6,),
    "person": tuple(range(1, CLASSES)),
    "hat": (18,),
}
"""The classes that each mask consists of."""
MEAN: Final = (0.485, 0.456, 0.406)
SPREAD: Final = (0.229, 0.224, 0.225)
"""Of ImageNet's channels, by which pictures from 0 to 1 are scaled for the network."""
_SMALLEST: Final = 0.01
"""Share of the picture below which a face is none."""
_SIZE: Final = 512


@final
class OnnxMarks:
    """Masks without points. Confidence is the mean probability of the likeliest class over the face's pixels."""

    threshold = 0.5

    def __init__(self, file: Path) -> None:
        try:
            import onnxruntime
        except ModuleNotFoundError:
            raise MissingExtra("onnx", "marks onnx:FILE") from None
        model_files.check_readable(file)
        self._external = external_digests(file)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        try:
            self._session: Any = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # ONNX Runtime's own kinds
            raise BadInput(f"{file}: expected an ONNX model, got something else ({words_of(error, 100)})") from None
        self.name, self._sha256 = f"onnx:{file.name}", model_files.sha256(file)
        (entry, *more), self._file = self._session.get_inputs(), file
        shape = entry.shape
        if more or len(shape) != 4 or shape[1] != 3 or entry.type != "tensor(float)":
            raise BadInput(f"{file}: expected one float input [n, 3, h, w], got {entry.type} {shape}; choose another")
        sides = [side if isinstance(side, int) else _SIZE for side in shape[2:]]
        if sides[0] != sides[1]:
            raise BadInput(f"{file}: expected a square input, got {sides[0]} x {sides[1]}; choose another")
        self._input, self._size = entry.name, sides[0]

    def describe(self) -> dict[str, Any]:
        """Name, SHA-256 of the file and of weights beside it, and size of its input, as JSON values."""
        beside = {"external_data": self._external} if self._external else {}
        return {"name": self.name, "sha256": self._sha256, **beside, "size": self._size, "threshold": self.threshold}

    def find(self, pixels: UInt8[np.ndarray, "n h w 3"], rows: Int[np.ndarray, " n"] | None = None) -> Marks:
        """The masks of each picture. Raises BadInput where the network answers in another form."""
        del rows
        height, width = pixels.shape[1:3]
        found = [self._shares(picture) for picture in pixels]
        square = Square.whole(width, height)
        masks = {}
        for name, classes in OF_MASK.items():
            whole = [brought_back(one[list(classes)].sum(axis=0), square, width, height)[0] for one in found]
            masks[name] = np.array(whole, dtype=np.float32).reshape(-1, height, width)
        sure = np.array([_sure(one) for one in found], dtype=np.float64)
        there = np.array([(mask >= 0.5).mean() >= _SMALLEST for mask in masks["face"]], dtype=np.bool_)
        nothing = np.full((len(pixels), POINTS, 2), np.nan)
        reasons = tuple("" if one else NO_FACE for one in there)
        ordered = {name: masks[name] for name in MASKS}
        return Marks(nothing, five_points(nothing), ordered, np.where(there, sure, 0.0), reasons, self.name)

    def _shares(self, picture: UInt8[np.ndarray, "h w 3"]) -> Float[np.ndarray, "c s s"]:
        """Probabilities of the classes."""
        square = Square.whole(picture.shape[1], picture.shape[0])
        scaled = (seen(picture, square, self._size) / 255 - MEAN) / SPREAD
        try:
            answer = self._session.run(None, {self._input: scaled.transpose(2, 0, 1)[None].astype(np.float32)})[0]
        except Exception as error:  # ONNX Runtime's own kinds
            raise BadInput(f"{self._file}: expected masks, got an error ({words_of(error, 100)})") from None
        if answer.ndim != 4 or answer.shape[1] != CLASSES or answer.shape[2] != answer.shape[3]:
            shape = list(answer.shape)
            raise BadInput(f"{self._file}: expected a first output [n, {CLASSES}, s, s], got {shape}; choose another")
        logits = answer[0].astype(np.float64)
        raised = np.exp(logits - logits.max(axis=0))
        return np.asarray(raised / raised.sum(axis=0))


def _sure(shares: Float[np.ndarray, "c s s"]) -> float:
    face = shares[list(OF_MASK["face"])].sum(axis=0) >= 0.5
    return float(shares.max(axis=0)[face].mean()) if face.any() else 0.0
