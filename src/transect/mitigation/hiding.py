"""Hides a part of the pictures before a model sees them: the baselines that know where the person is.

Regions: `mask` (every pixel that the person touches), `box` (the smallest box around the mask) and `face` (the smallest
box around the visible face). Source: Wang et al. 2019, arXiv:1811.08489, section 5.3.
"""

from __future__ import annotations

from typing import Final, Protocol, final, runtime_checkable

import numpy as np
from jaxtyping import Bool, Int, UInt8
from scipy.ndimage import gaussian_filter

from transect.errors import UnknownName
from transect.mitigation.data import Pixels
from transect.protocols import DrawsMasks
from transect.records import Latents

REGIONS: Final = ("mask", "box", "face")
WAYS: Final = ("blur", "blackout")
BLUR: Final = 1 / 16
"""Standard deviation of the blur as a share of the width."""

_AT_ONCE: Final = 500


@runtime_checkable
class Regions(Protocol):
    """Where what is on a picture."""

    def of(self, region: str, rows: Int[np.ndarray, " m"]) -> Bool[np.ndarray, "m h w"]:
        """The pixels of that region."""


@final
class WorldRegions:
    """Regions from the renderer's own masks; row i is the picture of the latents' row i - first."""

    def __init__(self, world: DrawsMasks, latents: Latents, first: int = 0) -> None:
        self._world, self._latents, self._first = world, latents, first

    def of(self, region: str, rows: Int[np.ndarray, " m"]) -> Bool[np.ndarray, "m h w"]:
        """The pixels of that region. Raises UnknownName for another."""
        if region not in REGIONS:
            raise UnknownName("region", region, REGIONS)
        masks = self._world.masks(self._latents.take(rows - self._first))
        return masks["person"] if region == "mask" else boxed(masks["face" if region == "face" else "person"])


@final
class HiddenPictures:
    """The pictures with a region hidden; each is made once, when it is first asked for."""

    def __init__(self, pictures: Pixels, regions: Regions, region: str, how: str) -> None:
        if region not in REGIONS:
            raise UnknownName("region", region, REGIONS)
        if how not in WAYS:
            raise UnknownName("way of hiding", how, WAYS)
        self.regions = regions
        self._pictures, self._region, self._how = pictures, region, how
        self._made: dict[int, UInt8[np.ndarray, "h w 3"]] = {}

    def pixels(self, rows: Int[np.ndarray, " m"]) -> UInt8[np.ndarray, "m h w 3"]:
        """Those of the rows, in that order."""
        lacking = np.array(sorted({int(row) for row in rows} - self._made.keys()), dtype=np.int64)
        for start in range(0, len(lacking), _AT_ONCE):
            some = lacking[start : start + _AT_ONCE]
            hidden = hide(self._pictures.pixels(some), self.regions.of(self._region, some), self._how)
            self._made.update(zip(some.tolist(), hidden, strict=True))
        return np.stack([self._made[int(row)] for row in rows])


def hide(
    pixels: UInt8[np.ndarray, "m h w 3"], where: Bool[np.ndarray, "m h w"], how: str
) -> UInt8[np.ndarray, "m h w 3"]:
    """The pictures with those pixels black, or as in a blurred copy; all others stay.

    >>> hide(np.full((1, 1, 2, 3), 9, dtype=np.uint8), np.array([[[True, False]]]), "blackout")[0, 0, :, 0].tolist()
    [0, 9]
    """
    if how == "blackout":
        return np.where(where[..., None], 0, pixels).astype(np.uint8)
    width = BLUR * pixels.shape[2]
    soft = gaussian_filter(pixels.astype(np.float32), (0, width, width, 0), mode="nearest")
    return np.where(where[..., None], np.round(soft), pixels).astype(np.uint8)


def boxed(masks: Bool[np.ndarray, "m h w"]) -> Bool[np.ndarray, "m h w"]:
    """The smallest upright box around each mask; nothing around an empty one."""

    def spanned(hit: Bool[np.ndarray, "m s"]) -> Bool[np.ndarray, "m s"]:
        from_start = np.logical_or.accumulate(hit, axis=1)
        return np.asarray(from_start & np.logical_or.accumulate(hit[:, ::-1], axis=1)[:, ::-1])

    rows, columns = np.asarray(masks.any(axis=2)), np.asarray(masks.any(axis=1))
    return np.asarray(spanned(rows)[:, :, None] & spanned(columns)[:, None, :])
