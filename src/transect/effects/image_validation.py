"""Does a generator make the intended image, equally well for all groups? Checked by raters, as McDuff et al. 2019 did.

From a sample with as many images of every condition: on how many the majority of raters sees another condition than was
asked for, how good the pictures look by group, and whether the groups differ in that. Gates turn it into yes or no.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int

from transect.effects.intervals import wilson_clustered
from transect.errors import BadInput

SOURCE: Final = "McDuff et al. 2019, Characterizing bias in classifiers using generative models, arXiv:1906.11891"


@final
@dataclass(frozen=True, slots=True)
class Group:
    """Images of one level of one attribute: those judged, those seen as another condition, and quality.

    unidentifiable: of the rated ones, those of which most raters say that no face is identifiable; between: rated ones
    whose intended condition is unknown, of which only quality is judged. failures: gates that
    this level does not meet, as "gate: what was found"; those of all images are in `Validation.failures`.
    """

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
    unidentifiable: int = 0
    between: int = 0
    failures: tuple[str, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class EqualQuality:
    """Do the levels of one attribute differ in quality? F of one-way analysis of variance, its p, and Kruskal's p."""

    attribute: str
    f: float
    p: float
    p_ranks: float
    reason: str = ""


@final
@dataclass(frozen=True, slots=True)
class Gates:
    """What a generator must reach, and each level of an attribute alone, to which the gate of equal quality does not
    apply.

    differing: most images seen as another condition, as a share; quality: least mean; unidentifiable: most images, as a
    share of those rated, of which most raters say that no face is identifiable; equal: least p of the tests of equal
    quality after Holm's correction; images: least number that was judged, and least number whose quality was rated,
    since none of a few seen as another says little: of 20 it leaves shares up to 16 % open (Wilson, 95 %), of 50 up to
    7 %.
    """

    differing: float = 0.05
    quality: float = 2.5
    unidentifiable: float = 0.0
    equal: float = 0.05
    images: int = 20

    def __post_init__(self) -> None:
        for name in ("differing", "unidentifiable", "equal"):
            if not 0 <= getattr(self, name) <= 1:
                raise BadInput(f"gate {name}: expected a share from 0 to 1, got {getattr(self, name)}; change it")
        if self.images < 1:
            raise BadInput(f"gate images: expected 1 or more, got {self.images}; change it")
        if not np.isfinite(self.quality):
            raise BadInput(f"gate quality: expected a finite number, got {self.quality}; change it")


@final
@dataclass(frozen=True, slots=True)
class Validation:
    """groups: all images first. failures: gate -> what was found, of the gates that are not met; nothing: all are met.

    undecided: images on which raters were evenly split; unrated: images without an answer, of a sample also those that
    nobody rated; between: images whose intended condition is unknown, as halfway between two answers. gates:
    what was required.
    """

    groups: tuple[Group, ...]
    equal: tuple[EqualQuality, ...]
    unidentifiable: int
    undecided: int
    unrated: int
    failures: Mapping[str, str] = field(default_factory=dict)
    gates: Gates = field(default_factory=Gates)
    between: int = 0

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
    """Compare the intended condition with what most raters saw, image by image.

    intended, seen: condition as numbers, intended NaN where no answer is right, seen NaN where raters tie or nobody
    answered; quality: mean rating, NaN
    without one; groups: the levels by which quality and errors are reported; subjects: the cluster of each image.
    answered [n]: whether anybody answered (default: where seen is known); worst [n]: whether most raters say that no
    face is identifiable.

    Raises BadInput where no image was judged.

    >>> intended, seen, quality = np.array([0.0, 1.0]), np.array([0.0, 0.0]), np.array([4.0, 3.0])
    >>> result = validate(intended, seen, quality, {}, np.arange(2), gates=Gates(images=1))
    >>> result.groups[0].share, sorted(result.failures)
    (0.5, ['conditions'])
    """
    judged = np.isfinite(seen) & np.isfinite(intended)
    if not judged.any():
        raise BadInput("validation: expected images whose condition raters agree on, got none; have them rated")
    has_answers = np.isfinite(seen) if answered is None else answered
    columns = {"": np.zeros(len(seen)), **groups}
    required, bad = gates or Gates(), np.zeros(len(seen), dtype=np.bool_) if worst is None else worst
    rows_without_gates = [
        _group(
            name,
            level,
            column == level,
            (judged, ~np.isfinite(intended) & np.isfinite(quality), bad),
            seen != intended,
            quality,
            subjects,
        )
        for name, column in columns.items()
        for level in np.unique(column[np.isfinite(column)]).tolist()
    ]
    rows = tuple(
        replace(row, failures=tuple(f"{gate}: {text}" for gate, text in _failures(row, required).items()))
        for row in rows_without_gates
    )
    equal = tuple(_equal(name, column, quality) for name, column in groups.items())
    undecided, unrated = int((has_answers & ~np.isfinite(seen)).sum()), int((~has_answers).sum())
    failures = {**_failures(rows[0], required), **_unequal(equal, required)}
    return Validation(rows, equal, rows[0].unidentifiable, undecided, unrated, failures, required, rows[0].between)


def _group(
    name: str,
    level: float,
    mine: np.ndarray,
    kinds: tuple[np.ndarray, np.ndarray, np.ndarray],
    differs: np.ndarray,
    quality: Float[np.ndarray, " n"],
    subjects: Int[np.ndarray, " n"],
) -> Group:
    judged, between, worst = kinds
    rows, good = mine & judged, quality[mine & np.isfinite(quality)]
    n, wrong = int(rows.sum()), int((rows & differs).sum())
    place = np.unique(subjects[rows], return_inverse=True)[1].reshape(-1)
    counts, sums = np.bincount(place).astype(np.float64), np.bincount(place, weights=differs[rows].astype(np.float64))
    low, high = wilson_clustered(sums[:, None], counts[:, None]) if n else (np.array([np.nan]),) * 2
    mean = float(good.mean()) if len(good) else np.nan
    spread = float(good.std(ddof=1)) if len(good) > 1 else np.nan
    share = wrong / n if n else np.nan
    bad, unknown = int((mine & worst).sum()), int((mine & between).sum())
    return Group(name, level, n, wrong, share, float(low[0]), float(high[0]), mean, spread, len(good), bad, unknown)


def _equal(name: str, column: Float[np.ndarray, " n"], quality: Float[np.ndarray, " n"]) -> EqualQuality:
    """One-way analysis of variance of images' mean quality, and the same by ranks."""
    from scipy import stats

    known = np.isfinite(quality) & np.isfinite(column)
    parts = [quality[known & (column == level)] for level in np.unique(column[known])]
    parts = [part for part in parts if len(part) > 1]
    if len(parts) < 2:
        return EqualQuality(name, np.nan, np.nan, np.nan, "fewer than two groups with two rated images")
    if np.ptp(np.concatenate(parts)) == 0 or all(np.ptp(part) == 0 for part in parts):
        return EqualQuality(name, np.nan, np.nan, np.nan, "quality does not vary within groups")
    f, p = stats.f_oneway(*parts)
    return EqualQuality(name, float(f), float(p), float(stats.kruskal(*parts).pvalue))


def _failures(group: Group, gates: Gates) -> dict[str, str]:
    """The gates that a group does not meet; what nobody rated meets none."""
    failures = {}
    if not group.judged and not group.between:
        failures["conditions"] = "no image was judged"
    judged = group.judged + group.between
    if judged and group.rated and min(judged, group.rated) < gates.images:
        failures["images"] = f"{judged} images were judged and {group.rated} rated, fewer than {gates.images}"
    if group.share > gates.differing:
        failures["conditions"] = f"{group.differing} of {group.judged} images are seen as another condition"
    if not group.rated:
        failures["quality"] = "nobody rated the quality"
    elif group.quality < gates.quality:
        failures["quality"] = f"mean quality {group.quality:.2f} is below {gates.quality:g}"
    share = group.unidentifiable / group.rated if group.rated else 0.0
    if share > gates.unidentifiable:
        failures["identifiable"] = f"of {100 * share:.1f} % of the images most raters say that no face is identifiable"
    return failures


def _unequal(equal: tuple[EqualQuality, ...], gates: Gates) -> dict[str, str]:
    known = [row for row in equal if np.isfinite(row.p)]
    if not known:
        return {}
    worst = min(known, key=lambda row: row.p)
    if worst.p * len(known) >= gates.equal:
        return {}
    return {"equal quality": f"quality differs by {worst.attribute}: F = {worst.f:.2f}, p = {worst.p:.2g}"}
