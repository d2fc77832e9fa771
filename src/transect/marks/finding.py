"""Which marks are used: the data set's own, or those of a model of the user's.

A finder is named by a text, as `dataset` or `dlib:FILE`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int, UInt8

from transect.errors import BadInput, UnknownName
from transect.marks.records import Marks

if TYPE_CHECKING:
    from transect.datasets import LabelledImages

FINDERS: Final = {
    "dataset": "the data set's own points and masks, where it has them",
    "dlib:FILE": "68 points by dlib's shape predictor, on the face that dlib's own detector finds",
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

    Raises UnknownName for another name, BadInput for a file that cannot be used and for `dataset` without a data set
    that has points or masks, MissingExtra where the library of a model is not installed.
    """
    kind, colon, file = text.partition(":")
    known = {name.partition(":")[0]: ":" in name for name in FINDERS}
    if kind not in known:
        raise UnknownName("finder of marks", text, FINDERS)
    if known[kind] != bool(colon and file):
        wanted = f"{kind}:FILE" if known[kind] else kind
        raise BadInput(f"marks: expected {wanted}, got {text!r}; change it")
    return _opened(kind, Path(file), labelled)


def _opened(kind: str, file: Path, labelled: LabelledImages | None) -> Finder:
    if kind == "dataset":
        from transect.marks.own import OwnMarks

        return OwnMarks(labelled)
    from transect.marks.dlib_points import DlibMarks

    return DlibMarks(file)
