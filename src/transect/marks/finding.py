"""Finders of marks by name, alone and joined."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, final, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int, UInt8

from transect.errors import BadInput, UnknownName
from transect.marks.records import MASKS, Marks
from transect.runs.trust import check_trusted

if TYPE_CHECKING:
    from transect.datasets import LabelledImages


FINDERS: Final = {
    "network": "points and masks by the built-in network, which learned from rendered faces only",
    "dataset": "the data set's own points and masks, where it has them",
    "dlib:FILE": "68 points by dlib's shape predictor, on the face that dlib's own detector finds",
    "onnx:FILE": "masks by an ONNX network of the 19 classes of CelebAMask-HQ",
    "mediapipe:FILE": "68 points and masks of face, eyes and mouth by a face landmarker of MediaPipe's (.task)",
}
"""The names that `open_marks` knows, FILE a file of yours -> meaning in one line."""


@runtime_checkable
class Finder(Protocol):
    """Finds the marks of pictures; each picture's depend on it alone."""

    name: str
    threshold: float
    """The confidence below which pictures are left out."""

    def find(self, pixels: UInt8[np.ndarray, "n h w 3"], rows: Int[np.ndarray, " n"] | None = None) -> Marks:
        """The marks of each picture. rows: which rows of the data set they are, which `dataset` alone needs."""

    def describe(self) -> dict[str, Any]:
        """Name, settings and the SHA-256 of files, as JSON values; no path."""


def open_marks(text: str, labelled: LabelledImages | None = None) -> Finder:
    """The finder of that name. labelled: the data set whose own marks `dataset` gives.

    Several joined by +, as dataset+network or dlib:FILE+onnx:FILE: each picture takes its points, and each mask, from
    the first that is sure of it.
    """
    kinds = {name.partition(":")[0]: ":" in name for name in FINDERS}
    first, *more = re.split(rf"\+(?=(?:{'|'.join(kinds)})(?::|\+|$))", text)
    if more:
        return JoinedMarks([open_marks(part, labelled) for part in (first, *more)])
    kind, colon, file = text.partition(":")
    if kind not in kinds:
        raise UnknownName("finder of marks", text, FINDERS)
    if kinds[kind] != bool(colon and file):
        wanted = f"{kind}:FILE" if kinds[kind] else kind
        raise BadInput(f"marks: expected {wanted}, got {text!r}")
    return _opened(kind, Path(file), labelled)


def _opened(kind: str, file: Path, labelled: LabelledImages | None) -> Finder:
    if file.name:
        check_trusted(f"{kind}:{file}")
    if kind == "network":
        from transect.marks.shipped import NetworkMarks

        return NetworkMarks()
    if kind == "dataset":
        from transect.marks.dataset_marks import OwnMarks

        return OwnMarks(labelled)
    if kind == "onnx":
        from transect.marks.outside_finders import OnnxMarks

        return OnnxMarks(file)
    if kind == "mediapipe":
        from transect.marks.mediapipe import MediaPipeMarks

        return MediaPipeMarks(file)
    from transect.marks.outside_finders import DlibMarks

    return DlibMarks(file)


UNSURE = "no finder is sure of it"


@final
class JoinedMarks:
    """The finders in that order. A picture of which none is sure, in points or a known mask, is left out."""

    threshold = 0.0

    def __init__(self, finders: Sequence[Finder]) -> None:
        self._finders = tuple(finders)
        self.name = "+".join(finder.name for finder in finders)

    def describe(self) -> dict[str, Any]:
        """What each finder says of itself."""
        return {"name": self.name, "finders": [finder.describe() for finder in self._finders]}

    def find(self, pixels: UInt8[np.ndarray, "n h w 3"], rows: Int[np.ndarray, " n"] | None = None) -> Marks:
        """The marks of each picture. Raises as the finders do."""
        found = [finder.find(pixels, rows) for finder in self._finders]
        sure = [marks.kept(finder.threshold) for marks, finder in zip(found, self._finders, strict=True)]
        five_from = _first([ok & _finite(marks.five) for ok, marks in zip(sure, found, strict=True)])
        points_from = _first([ok & _finite(marks.points) for ok, marks in zip(sure, found, strict=True)])
        masks_from = {
            name: _first([ok & (name in marks.masks) for ok, marks in zip(sure, found, strict=True)])
            for name in MASKS
            if any(name in marks.masks for marks in found)
        }
        used = np.array([five_from, *masks_from.values()])
        there = np.asarray((used >= 0).all(axis=0))
        lowest = np.array([marks.confidence for marks in found])[used, np.arange(len(pixels))].min(axis=0)
        blank = np.zeros(pixels.shape[:3], dtype=np.float32)
        masks = {
            name: _taken([marks.masks.get(name, blank) for marks in found], which, 0.0)
            for name, which in masks_from.items()
        }
        reasons = tuple("" if one else UNSURE for one in there)
        points = _taken([marks.points for marks in found], points_from, np.nan)
        five = _taken([marks.five for marks in found], five_from, np.nan)
        return Marks(points, five, masks, np.where(there, lowest, 0.0), reasons, self.name)


def _finite(points: Float[np.ndarray, "n k 2"]) -> Bool[np.ndarray, " n"]:
    return np.asarray(np.isfinite(points).all(axis=(1, 2)))


def _first(known: list[Bool[np.ndarray, " n"]]) -> Int[np.ndarray, " n"]:
    """The place of the first that knows each picture; -1 where none does."""
    stacked = np.array(known)
    return np.where(stacked.any(axis=0), stacked.argmax(axis=0), -1)


def _taken(
    parts: list[Float[np.ndarray, "n ..."]], which: Int[np.ndarray, " n"], nothing: float
) -> Float[np.ndarray, "n ..."]:
    """Each picture's row of the part that is named for it."""
    whole = np.full_like(parts[0], nothing)
    for place, part in enumerate(parts):
        whole[which == place] = part[which == place]
    return whole
