"""Marks of faces as records, and what is measured of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int

from transect.errors import BadInput, UnknownName

POINTS: Final = 68
MASKS: Final = ("skin", "hair", "face", "eyes", "mouth", "glasses", "person", "hat")
"""Parts that masks are of, as FaceWorld draws them: skin of head, ears and neck, bare or bearded; face from hairline to
chin, uncovered by hair or hat; eyes between the lids; mouth is lips and what is between them; person is all but the
background; hat is what is worn on the head."""
EYES: Final = (slice(36, 42), slice(42, 48))
MIRRORED: Final = np.array([
    *range(16, -1, -1), *range(26, 16, -1), *range(27, 31), *range(35, 30, -1),
    45, 44, 43, 42, 47, 46, 39, 38, 37, 36, 41, 40,
    *range(54, 47, -1), *range(59, 54, -1), *range(64, 59, -1), *range(67, 64, -1),
])  # fmt: skip
"""Which of the 68 points a mirror puts in the place of each."""
_NOSE: Final = 30
_MOUTH: Final = (48, 54)
_FIVE: Final = 5


def five_points(points: Float[np.ndarray, "n k 2"]) -> Float[np.ndarray, "n 5 2"]:
    """Middles of the eyes, tip of the nose, corners of the mouth, of 5 or 68 points. Raises BadInput for others."""
    if points.shape[1] not in (_FIVE, POINTS):
        raise BadInput(
            "landmarks: expected 5 (eyes, tip of the nose, corners of the mouth) or 68 of each face, got "
            f"{points.shape[1]}"
        )
    if points.shape[1] == _FIVE:
        return points
    eyes = [points[:, part].mean(axis=1) for part in EYES]
    return np.stack([*eyes, points[:, _NOSE], *(points[:, corner] for corner in _MOUTH)], axis=1)


@final
@dataclass(frozen=True, slots=True)
class Marks:
    """Marks of n pictures of h x w pixels, row i of everything of one picture.

    points: float64 [n, 68, 2], NaN where a point is not known. five: float64 [n, 5, 2], middles of the eyes, tip of the
    nose and corners of the mouth, left in the picture first; known also where a source has these alone. masks: float32
    [n, h, w] by names of MASKS, from 0 to 1, how much of the pixel is the part (a network: how likely it is); a part
    that the source does not know is not there. confidence: an order from 0 to 1, float64 [n]: 0 where there is no face,
    and 1 where people or a renderer placed the marks. reasons: why a picture has no marks, "" where it has. source: who
    made them, as reports show it.
    """

    points: Float[np.ndarray, "n 68 2"]
    five: Float[np.ndarray, "n 5 2"]
    masks: Mapping[str, Float[np.ndarray, "n h w"]]
    confidence: Float[np.ndarray, " n"]
    reasons: tuple[str, ...]
    source: str

    def __post_init__(self) -> None:
        n = len(self.confidence)
        known = {"points": (n, POINTS, 2), "five": (n, _FIVE, 2)}
        for name, shape in known.items():
            if getattr(self, name).shape != shape:
                raise BadInput(f"marks: expected {name} {list(shape)}, got {list(getattr(self, name).shape)}")
        for name, mask in self.masks.items():
            if name not in MASKS:
                raise UnknownName("mask", name, MASKS)
            if mask.ndim != len(("n", "h", "w")) or len(mask) != n:
                raise BadInput(f"marks: expected a mask {name} [{n}, h, w], got {list(mask.shape)}")
        if len(self.reasons) != n:
            raise BadInput(f"marks: expected {n} reasons, got {len(self.reasons)}")
        object.__setattr__(self, "masks", MappingProxyType(dict(self.masks)))

    @classmethod
    def of_points(
        cls, points: Float[np.ndarray, "n k 2"], source: str, *, confidence: Float[np.ndarray, " n"] | None = None
    ) -> Marks:
        """Marks of 5 or 68 points without masks; where a picture has none of them, it has no marks."""
        there = np.isfinite(points).all(axis=(1, 2))
        whole = points if points.shape[1] == POINTS else np.full((len(points), POINTS, 2), np.nan)
        sure = there.astype(np.float64) if confidence is None else np.where(there, confidence, 0.0)
        return cls(whole, five_points(points), {}, sure, tuple("" if known else NO_POINTS for known in there), source)

    @classmethod
    def unknown(cls, count: int, source: str, reason: str) -> Marks:
        """Of that many pictures, of which nothing is known for that reason."""
        nothing = np.full((count, POINTS, 2), np.nan)
        return cls(nothing, nothing[:, :_FIVE], {}, np.zeros(count), (reason,) * count, source)

    def __len__(self) -> int:
        return len(self.confidence)

    def mask(self, name: str) -> Bool[np.ndarray, "n h w"]:
        """The pixels of which at least half is that part. Raises UnknownName where the source does not know it."""
        if name not in self.masks:
            raise UnknownName("mask", name, self.masks, f"masks of {self.source}")
        return np.asarray(self.masks[name] >= 0.5)

    def kept(self, threshold: float) -> Bool[np.ndarray, " n"]:
        """Pictures with marks whose confidence is at least the threshold."""
        return np.array([not reason for reason in self.reasons], dtype=np.bool_) & (self.confidence >= threshold)

    def take(self, rows: Int[np.ndarray, " m"] | slice | Sequence[int]) -> Marks:
        """The chosen pictures, in the chosen order."""
        chosen = np.arange(len(self))[rows if isinstance(rows, slice) else np.asarray(rows, dtype=np.int64)]
        masks = {name: mask[chosen] for name, mask in self.masks.items()}
        reasons = tuple(self.reasons[row] for row in chosen)
        return Marks(self.points[chosen], self.five[chosen], masks, self.confidence[chosen], reasons, self.source)


NO_POINTS: Final = "no points are known"
NO_FACE: Final = "no face was found"
SEVERAL: Final = "several faces were found"


GROUPS: Final = {
    "all points": slice(0, 68),
    "jaw": slice(0, 17),
    "brows": slice(17, 27),
    "nose": slice(27, 36),
    "eyes": slice(36, 48),
    "mouth": slice(48, 68),
}
"""The groups of the 68 points."""
FIVE: Final = "five points"


def errors(found: Marks, truth: Marks) -> dict[str, Float[np.ndarray, " n"]]:
    """Mean distance of points from the truth over the distance between the true middles of the eyes, by group, [n].

    Groups are those of GROUPS, and FIVE: the middles of the eyes, the nose's tip and the corners of the mouth. NaN
    where either does not know a point of the group, and where the eyes are in one place.
    """
    apart = np.linalg.norm(truth.five[:, 1] - truth.five[:, 0], axis=1)
    apart = np.where(apart > 0, apart, np.nan)
    distances = np.linalg.norm(found.points - truth.points, axis=2) / apart[:, None]
    figures = {name: distances[:, part].mean(axis=1) for name, part in GROUPS.items()}
    figures[FIVE] = (np.linalg.norm(found.five - truth.five, axis=2) / apart[:, None]).mean(axis=1)
    return figures


def overlaps(found: Marks, truth: Marks) -> dict[str, Float[np.ndarray, " n"]]:
    """Intersection over union of masks that both know, by name, [n]; NaN where the part is on neither."""
    figures = {}
    for name in MASKS:
        if name in found.masks and name in truth.masks:
            one, other = found.mask(name), truth.mask(name)
            both, either = (one & other).sum(axis=(1, 2)), (one | other).sum(axis=(1, 2))
            figures[name] = np.where(either > 0, both / np.maximum(either, 1), np.nan)
    return figures
