"""Which marks are used: the network's that ships, the data set's own, or those of a model of the user's.

A finder is named by a text, as `network`, `dataset` or `dlib:FILE`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int, UInt8

from transect.errors import BadInput, UnknownName
from transect.marks.records import Marks

if TYPE_CHECKING:
    from transect.datasets import LabelledImages

FINDERS: Final = {
    "network": "points and masks by the network that ships, which learned from rendered faces alone",
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
        ...

    def describe(self) -> dict[str, Any]:
        """Name, settings and the SHA-256 of files, as JSON values; no path."""
        ...


def open_marks(text: str, labelled: LabelledImages | None = None) -> Finder:
    """The finder of that name. labelled: the data set whose own marks `dataset` gives.

    Several joined by +, as dataset+network or dlib:FILE+onnx:FILE: each picture takes its points, and each mask, from
    the first that is sure of it.
    """
    kinds = {name.partition(":")[0]: ":" in name for name in FINDERS}
    first, *more = re.split(rf"\+(?=(?:{'|'.join(kinds)})(?::|\+|$))", text)
    if more:
        from transect.marks.joined import JoinedMarks

        return JoinedMarks([open_marks(part, labelled) for part in (first, *more)])
    kind, colon, file = text.partition(":")
    if kind not in kinds:
        raise UnknownName("finder of marks", text, FINDERS)
    if kinds[kind] != bool(colon and file):
        wanted = f"{kind}:FILE" if kinds[kind] else kind
        raise BadInput(f"marks: expected {wanted}, got {text!r}; change it")
    return _opened(kind, Path(file), labelled)


def _opened(kind: str, file: Path, labelled: LabelledImages | None) -> Finder:
    if kind == "network":
        from transect.marks.shipped import NetworkMarks

        return NetworkMarks()
    if kind == "dataset":
        from transect.marks.own import OwnMarks

        return OwnMarks(labelled)
    if kind == "onnx":
        from transect.marks.onnx_parser import OnnxMarks

        return OnnxMarks(file)
    if kind == "mediapipe":
        from transect.marks.mediapipe_points import MediaPipeMarks

        return MediaPipeMarks(file)
    from transect.marks.dlib_points import DlibMarks

    return DlibMarks(file)
