"""Regions of faces on photographs: the boxes that a detector finds. A face that it overlooks is not hidden.

Source: Wang et al. 2019, arXiv:1811.08489, section 5.3, blackout of faces by a face detector.
"""

from __future__ import annotations

from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int

from transect.errors import BadInput, UnknownName
from transect.mitigation.data import Pixels
from transect.mitigation.hiding import HiddenPictures, Regions, WorldRegions
from transect.mitigation.settings import Hide
from transect.mitigation.testbed import Bench
from transect.targets.faces import DETECTOR, FaceFinder

FACE: Final = "face"
FACELESS: Final = "pictures in which no face was found"
_AT_ONCE: Final = 500


@final
class FoundFaces:
    """Regions `face` of pictures by a detector: the union of the boxes of all faces that it finds."""

    def __init__(self, pictures: Pixels, detector: str) -> None:
        self._pictures, self._finder = pictures, FaceFinder(detector)
        self._boxes: dict[int, Float[np.ndarray, "_ 4"]] = {}

    def of(self, region: str, rows: Int[np.ndarray, " m"]) -> Bool[np.ndarray, "m h w"]:
        """The pixels of the faces; none where none is found. Raises UnknownName for another region."""
        if region != FACE:
            raise UnknownName("region that a detector of faces finds", region, (FACE,))
        masks = np.zeros(self._pictures.pixels(rows).shape[:3], dtype=np.bool_)
        self._find(rows)
        for mask, row in zip(masks, rows, strict=True):
            for left, top, right, bottom in self._boxes[int(row)].clip(min=0):
                mask[int(top) : int(np.ceil(bottom)), int(left) : int(np.ceil(right))] = True
        return masks

    def faceless(self, rows: Int[np.ndarray, " m"]) -> int:
        """In how many of the pictures no face is found."""
        self._find(rows)
        return sum(not len(self._boxes[int(row)]) for row in rows)

    def _find(self, rows: Int[np.ndarray, " m"]) -> None:
        """Search the pictures that were not searched before."""
        lacking = np.array(sorted({int(row) for row in rows} - self._boxes.keys()), dtype=np.int64)
        for start in range(0, len(lacking), _AT_ONCE):
            some = lacking[start : start + _AT_ONCE]
            self._boxes.update(zip(some.tolist(), self._finder.boxes(self._pictures.pixels(some)), strict=True))


def faceless(bench: Bench) -> dict[str, int]:
    """In how many pictures a detector finds no face, where one says which pixels are hidden."""
    regions = getattr(bench.data.pictures, "regions", None)
    rows = np.concatenate([bench.train, bench.check, bench.test])
    return {FACELESS: regions.faceless(rows)} if isinstance(regions, FoundFaces) else {}


def hidden_by(method: Hide, pictures: Pixels, regions: Regions | None) -> HiddenPictures:
    """The pictures with the method's region hidden; faces of photographs are those that its detector finds."""
    if method.region == FACE and not isinstance(regions, WorldRegions):
        regions = FoundFaces(pictures, method.detector or DETECTOR)
    if regions is None:
        raise BadInput(
            f"{method.name}: expected pictures whose regions are known, as those of faceworld or coco, got none; take "
            'region = "face", or leave it out'
        )
    return HiddenPictures(pictures, regions, method.region, method.how)
