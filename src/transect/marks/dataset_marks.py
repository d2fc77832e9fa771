"""The marks that a data set itself has."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
from jaxtyping import Bool, Float, Int, UInt8
from PIL import Image

from transect.datasets.files import fitted_points, size_of
from transect.errors import BadInput
from transect.marks.records import MASKS, Marks, five_points
from transect.runs.pictures import open_rgb
from transect.texts import whole_number

if TYPE_CHECKING:
    from transect.datasets import LabelledImages


FOLDER: Final = "CelebAMask-HQ-mask-anno"
_READER: Final = "celeba-hq"
_PER_FOLDER: Final = 2000
_EYES: Final = ("l_eye", "r_eye")
_MOUTH: Final = ("mouth", "u_lip", "l_lip")
_FRONT: Final = ("skin", "nose", "l_brow", "r_brow")
_SKIN: Final = (*_FRONT, "l_ear", "r_ear", "neck")
_WORN: Final = ("hair", "hat", "eye_g")
PARTS: Final = (*_SKIN, *_EYES, *_MOUTH, *_WORN, "ear_r", "neck_l", "cloth")
"""CelebAMask-HQ's eighteen parts."""


@final
class OwnMarks:
    """The marks that come with a data set. Raises BadInput without a data set, and for one that has none."""

    name, threshold = "dataset", 0.5

    def __init__(self, labelled: LabelledImages | None) -> None:
        if labelled is None:
            raise BadInput("marks: a data set's own marks need a data set; choose another finder")
        drawn = labelled.path / FOLDER
        self._drawn = drawn if labelled.reader == _READER and drawn.is_dir() else None
        if labelled.points is None and self._drawn is None:
            raise BadInput(f"{labelled.name}: the data set has no landmarks or masks; choose another finder")
        self._labelled = labelled

    def describe(self) -> dict[str, Any]:
        """Which marks there are, as JSON values."""
        points = 0 if self._labelled.points is None else self._labelled.points.shape[1]
        return {"name": self.name, "points": points, "masks": self._drawn is not None}

    def find(self, pixels: UInt8[np.ndarray, "n h w 3"], rows: Int[np.ndarray, " n"] | None = None) -> Marks:
        """The marks of those rows on pictures fitted as the data set's are; confidence is 1 where there are any."""
        if rows is None or len(rows) != len(pixels):
            raise BadInput("marks: expected one row of the data set for each picture")
        size = pixels.shape[1]
        if self._drawn is None:
            return Marks.of_points(self._points(rows, size), self._labelled.name)
        masks = [_masks(self._drawn, self._labelled.ids[row], self._box(row, size), size) for row in rows]
        named = {name: np.array([mask[name] for mask in masks], np.float32).reshape(-1, size, size) for name in MASKS}
        there = np.array([bool(face.any()) for face in named["face"]], dtype=np.bool_)
        reasons = tuple("" if known else "no masks are known" for known in there)
        nothing = np.full((len(rows), 68, 2), np.nan)
        points = nothing if self._labelled.points is None else self._points(rows, size)
        whole = points if points.shape[1:] == nothing.shape[1:] else nothing
        return Marks(whole, five_points(points), named, there.astype(np.float64), reasons, self._labelled.name)

    def _points(self, rows: Int[np.ndarray, " n"], size: int) -> Float[np.ndarray, "n k 2"]:
        labelled = self._labelled
        if labelled.points is None:
            raise BadInput(f"{labelled.name}: no landmarks; choose another finder")
        found = [fitted_points(labelled.points[row], *self._stored(row), size, labelled.crop) for row in map(int, rows)]
        return np.array(found, dtype=np.float64).reshape(len(rows), *labelled.points.shape[1:])

    def _stored(self, row: int) -> tuple[int, int]:
        pictures = self._labelled.pictures
        return size_of(pictures.encoded(row), pictures.name(row))

    def _box(self, row: int, size: int) -> Float[np.ndarray, "2 2"]:
        """Where the corners of the stored picture lie on the fitted one."""
        width, height = self._stored(int(row))
        corners = np.array([[0.0, 0.0], [width, height]])
        return np.asarray(fitted_points(corners, width, height, size, self._labelled.crop))


def _masks(folder: Path, name: str, box: Float[np.ndarray, "2 2"], size: int) -> dict[str, Bool[np.ndarray, "h w"]]:
    """FaceWorld's masks from CelebAMask-HQ's parts."""
    parts = {part: _part(folder, name, part, box, size) for part in PARTS}

    def any_of(names: tuple[str, ...]) -> Bool[np.ndarray, "h w"]:
        return np.asarray(np.any([parts[part] for part in names], axis=0))

    eyes, mouth, over = any_of(_EYES), any_of(_MOUTH), any_of(("hair", "hat"))
    return {
        "skin": any_of(_SKIN) & ~(eyes | mouth | over),
        "hair": parts["hair"] & ~parts["hat"],
        "face": any_of((*_FRONT, *_EYES, *_MOUTH)) & ~over,
        "eyes": eyes,
        "mouth": mouth,
        "glasses": parts["eye_g"],
        "person": any_of(PARTS),
        "hat": parts["hat"],
    }


def _part(folder: Path, name: str, part: str, box: Float[np.ndarray, "2 2"], size: int) -> Bool[np.ndarray, "h w"]:
    """One part, nothing where the photograph does not show it; each pixel takes the mask's nearest."""
    number = whole_number(name)
    if number is None:
        return np.zeros((size, size), dtype=np.bool_)
    file = folder / str(number // _PER_FOLDER) / f"{number:05d}_{part}.png"
    if not file.is_file():
        return np.zeros((size, size), dtype=np.bool_)
    mask = open_rgb(file, str(file)).convert("L")
    (left, top), (right, bottom) = box
    across, down = mask.width / (right - left), mask.height / (bottom - top)
    to_mask = (across, 0.0, -left * across, 0.0, down, -top * down)
    placed = mask.transform((size, size), Image.Transform.AFFINE, to_mask, Image.Resampling.NEAREST)
    return np.asarray(placed) > 127
