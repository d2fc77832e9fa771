"""How far marks are from the truth: errors of points in eye distances, and how much masks overlap.

Sources: Sagonas et al. 2013, doi:10.1109/ICCVW.2013.59 (errors over the distance between the eyes); Jaccard 1912.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from jaxtyping import Float

from transect.marks.records import MASKS, Marks

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
