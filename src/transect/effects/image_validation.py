"""Does a generator make what it is asked for, equally well for all? Checked by raters, as McDuff et al. 2019 did.

From a sample with as many images of every condition: on how many the majority of raters sees another condition than was
asked for, how good the pictures look by group, and whether the groups differ in that. Gates turn it into yes or no.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, final

import numpy as np
from jaxtyping import Float, Int
from scipy import stats

from transect.effects.intervals import wilson_clustered
from transect.errors import BadInput

SOURCE: Final = "McDuff et al. 2019, Characterizing bias in classifiers using generative models, arXiv:1906.11891"


class Group(NamedTuple):
    """Images of one level of one attribute: those judged, those seen as another condition, and quality."""

    attribute: str
    level: float
    judged: int
    differing: int
    share: float
    low: float
    high: float
    quality: float
    spread: float
    rated: int


class EqualQuality(NamedTuple):
    """Do the levels of one attribute differ in quality? F of one-way analysis of variance, its p, and Kruskal's p."""

    attribute: str
    f: float
    p: float
    p_ranks: float
    reason: str = ""


@final
@dataclass(frozen=True, slots=True)
class Gates:
    """What a generator must reach. differing: most images seen as another condition, as a share; quality: least mean;
    unidentifiable: most images, as a share, of which most raters say that no face is identifiable; equal: least p of
    the tests of equal quality after Holm's correction.
    """

    differing: float = 0.05
    quality: float = 2.5
    unidentifiable: float = 0.0
    equal: float = 0.05


@final
@dataclass(frozen=True, slots=True)
class Validation:
    """groups: all images first. failures: gate -> what was found, of the gates that are not met; nothing: all are met.

    undecided: images on which raters were evenly split; unrated: images of the sample without an answer.
    """

    groups: tuple[Group, ...]
    equal: tuple[EqualQuality, ...]
    unidentifiable: int
    undecided: int
    unrated: int
    failures: Mapping[str, str] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether every gate is met."""
        return not self.failures


def validate(
    intended: Float[np.ndarray, " n"],
    seen: Float[np.ndarray, " n"],
    quality: Float[np.ndarray, " n"],
    groups: Mapping[str, Float[np.ndarray, " n"]],
    subjects: Int[np.ndarray, " n"],
    *,
    answered: np.ndarray | None = None,
    worst: np.ndarray | None = None,
    gates: Gates | None = None,
) -> Validation:
    """Compare what was asked for with what most raters saw, image by image.

    intended, seen: condition as numbers, seen NaN where raters tie or nobody answered; quality: mean rating, NaN
    without one; groups: the levels by which quality and errors are told; subjects: the cluster of each image.
    answered [n]: whether anybody answered (default: where seen is known); worst [n]: whether most raters say that no
    face is identifiable.

    Raises BadInput where no image was judged.

    >>> made = validate(np.array([0.0, 1.0]), np.array([0.0, 0.0]), np.array([4.0, 3.0]), {}, np.arange(2))
    >>> made.groups[0].share, sorted(made.failures)
    (0.5, ['conditions'])
    """
    judged = np.isfinite(seen) & np.isfinite(intended)
    if not judged.any():
        raise BadInput("validation: expected images whose condition raters agree on, got none; have them rated")
    told = np.isfinite(seen) if answered is None else answered
    columns = {"": np.zeros(len(seen)), **groups}
    rows = tuple(
        _group(name, level, column == level, judged, seen != intended, quality, subjects)
        for name, column in columns.items()
        for level in np.unique(column[np.isfinite(column)]).tolist()
    )
    equal = tuple(_equal(name, column, quality) for name, column in groups.items())
    bad = int(worst.sum()) if worst is not None else 0
    undecided, unrated = int((told & ~np.isfinite(seen)).sum()), int((~told).sum())
    failures = _failures(rows[0], equal, bad / len(seen), gates or Gates())
    return Validation(rows, equal, bad, undecided, unrated, failures)


def _group(
    name: str,
    level: float,
    mine: np.ndarray,
    judged: np.ndarray,
    differs: np.ndarray,
    quality: Float[np.ndarray, " n"],
    subjects: Int[np.ndarray, " n"],
) -> Group:
    rows, good = mine & judged, quality[mine & np.isfinite(quality)]
    n, wrong = int(rows.sum()), int((rows & differs).sum())
    place = np.unique(subjects[rows], return_inverse=True)[1].reshape(-1)
    counts, sums = np.bincount(place).astype(np.float64), np.bincount(place, weights=differs[rows].astype(np.float64))
    low, high = wilson_clustered(sums[:, None], counts[:, None]) if n else (np.array([np.nan]),) * 2
    mean = float(good.mean()) if len(good) else np.nan
    spread = float(good.std(ddof=1)) if len(good) > 1 else np.nan
    share = wrong / n if n else np.nan
    return Group(name, level, n, wrong, share, float(low[0]), float(high[0]), mean, spread, len(good))


def _equal(name: str, column: Float[np.ndarray, " n"], quality: Float[np.ndarray, " n"]) -> EqualQuality:
    """One-way analysis of variance of images' mean quality, and the same by ranks."""
    known = np.isfinite(quality) & np.isfinite(column)
    parts = [quality[known & (column == level)] for level in np.unique(column[known])]
    parts = [part for part in parts if len(part) > 1]
    if len(parts) < 2:
        return EqualQuality(name, np.nan, np.nan, np.nan, "fewer than two groups with two rated images")
    if np.ptp(np.concatenate(parts)) == 0 or all(np.ptp(part) == 0 for part in parts):
        return EqualQuality(name, np.nan, np.nan, np.nan, "quality does not vary within groups")
    f, p = stats.f_oneway(*parts)
    return EqualQuality(name, float(f), float(p), float(stats.kruskal(*parts).pvalue))


def _failures(every: Group, equal: tuple[EqualQuality, ...], bad: float, gates: Gates) -> dict[str, str]:
    """The gates that are not met; a quality that nobody rated meets none."""
    found = {}
    if not every.share <= gates.differing:
        found["conditions"] = f"{every.differing} of {every.judged} images are seen as another condition"
    if np.isfinite(every.quality) and not every.quality >= gates.quality:
        found["quality"] = f"mean quality {every.quality:.2f} is below {gates.quality:g}"
    if bad > gates.unidentifiable:
        found["identifiable"] = f"of {100 * bad:.1f} % of the images most raters say that no face is identifiable"
    known = sorted(one.p for one in equal if np.isfinite(one.p))
    least = known[0] * len(known) if known else 1.0
    if least < gates.equal:
        worst = min((one for one in equal if np.isfinite(one.p)), key=lambda one: one.p)
        found["equal quality"] = f"quality differs by {worst.attribute}: F = {worst.f:.2f}, p = {worst.p:.2g}"
    return found
