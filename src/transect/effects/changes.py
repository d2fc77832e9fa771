"""How many change each way behind a net effect? A small net effect can be few changes, or many that cancel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int

from transect.effects.intervals import CLOPPER_PEARSON, WILSON_CLUSTERED, clopper_pearson_clustered
from transect.effects.intervals import SOURCES as INTERVALS
from transect.effects.repeated import by_person
from transect.records import Attribute, Design

SOURCES: Final = (INTERVALS[CLOPPER_PEARSON], INTERVALS[WILSON_CLUSTERED])
FEW_SUBJECTS: Final = 10
"""Intervals of subjects that have several pairs each are withheld below this number of subjects."""
TOO_FEW: Final = f"fewer than {FEW_SUBJECTS} subjects with several pairs each: no interval"
_NAN: Final = float("nan")


@final
@dataclass(frozen=True, slots=True)
class Share:
    """A share of pairs in [0, 1], each subject with equal weight, and its 95 % interval; NaN where there is none.

    pairs, subjects: how many pairs change this way, and how many subjects, or people who repeat, have such a pair.
    """

    share: float
    low: float
    high: float
    pairs: int
    subjects: int


@final
@dataclass(frozen=True, slots=True)
class Changes:
    """The pairs of one contrast of an outcome of 0 and 1 that change from 0 to 1 (up) and from 1 to 0 (down).

    up.share - down.share is the effect. reason: why there is no interval.
    """

    name: str
    attribute: str
    origin: float
    to: float
    up: Share
    down: Share
    n_pairs: int
    n_subjects: int
    reason: str = ""

    @property
    def net(self) -> float:
        """The effect: the share that changes up minus the share that changes down."""
        return self.up.share - self.down.share


def changes(
    values: Float[np.ndarray, "n ..."],
    design: Design,
    attributes: Mapping[str, Attribute],
    *,
    who: Int[np.ndarray, " n"] | None = None,
    confidence: float = 0.95,
) -> tuple[Changes, ...]:
    """The changes behind each contrast of an outcome of 0 and 1, [n, *design.shape], NaN where there is no answer.

    The contrasts are those of `contrasts`, without slopes. With one pair per subject intervals are exact
    (Clopper and Pearson 1934); with several they use the effective number of pairs (Korn and Graubard 1998), from 10
    subjects on. who: the person of each subject, where several photographs show one person (`repeated.clusters_of`):
    shares stay means over photographs, and pairs of one person are one cluster; subjects are then people.

    Returns one record per contrast; shares are NaN where no subject has a pair.

    >>> glasses = Attribute("glasses", "binary", "wears glasses", levels=("off", "on"))
    >>> y = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    >>> row = changes(y, Design({"glasses": (0.0, 1.0)}, subjects=4), {"glasses": glasses})[0]
    >>> row.up.share, row.down.share, row.net
    (0.5, 0.25, 0.25)
    """
    rows = []
    for axis, (name, levels) in enumerate(design.levels.items()):
        moved = np.moveaxis(values, axis + 1, 1)
        grid = moved.reshape(len(moved), len(levels), -1)
        attribute = attributes[name]
        for level in range(1, len(levels)) if attribute.discrete else [len(levels) - 1]:
            text = f"{name}: {attribute.label(levels[0])} to {attribute.label(levels[level])}"
            rows.append(_changes(text, name, (levels[0], levels[level]), grid[:, [0, level]], who, confidence))
    return tuple(rows)


def _changes(
    text: str,
    attribute: str,
    levels: tuple[float, float],
    two: Float[np.ndarray, "n 2 cells"],
    who: Int[np.ndarray, " n"] | None,
    confidence: float,
) -> Changes:
    paired = np.isfinite(two).all(axis=1)
    pairs = paired.sum(axis=1)
    rise = np.where(paired, two[:, 1] - two[:, 0], 0.0)
    people = np.arange(len(two)) if who is None else who
    subjects = len(np.unique(people[pairs > 0]))
    few = (two.shape[2] > 1 or who is not None) and subjects < FEW_SUBJECTS
    up, down = (_share((sign * rise > 0).sum(axis=1), pairs, people, few, confidence) for sign in (1.0, -1.0))
    return Changes(text, attribute, *levels, up, down, int(pairs.sum()), subjects, TOO_FEW if few and subjects else "")


def _share(hits: np.ndarray, pairs: np.ndarray, people: np.ndarray, few: bool, confidence: float) -> Share:
    """Subjects with fewer pairs than others count as much as they do, as in the effect; people are the clusters."""
    have = pairs > 0
    if not have.any():
        return Share(_NAN, _NAN, _NAN, 0, 0)
    shares = hits[have] / pairs[have]
    totals, counts = by_person(shares[:, None], np.unique(people[have], return_inverse=True)[1])
    weight = pairs[have].mean()
    low, high = clopper_pearson_clustered(totals * weight, counts * weight, confidence)
    ends = (_NAN, _NAN) if few else (float(low[0]), float(high[0]))
    return Share(float(shares.mean()), *ends, int(hits.sum()), len(np.unique(people[hits > 0])))
