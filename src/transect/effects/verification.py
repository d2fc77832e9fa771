"""When do two images count as one person, and does an image still count after an edit?

A verifier accepts two images whose embeddings are nearer than a threshold. The threshold is stated, or it is the one at
which a stated share of comparisons of different subjects' reference images would be accepted, a false match. Reference
images are a subject's images before any edit. Every two subjects are compared, so that comparisons share subjects: the
false match rate's interval is by both subjects of a comparison (see `dyadic`), and the threshold's holds the distances
at which that interval contains the requested rate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int

from transect.effects import dyadic
from transect.errors import BadInput, UnknownName
from transect.records import Attribute, Design

_STEPS: Final = 80
MOST_SUBJECTS: Final = 2000
"""Whose reference images are compared: two million comparisons at each level."""
SOURCES: Final = (
    *dyadic.SOURCES,
    "Balakrishnan et al. 2020, Towards causal benchmarking of bias in face analysis algorithms, arXiv:2007.06570",
)


@final
@dataclass(frozen=True, slots=True)
class Rule:
    """How a threshold is chosen: stated, or by a false match rate; and attributes that say who is shown.

    within: varied attributes that are no edits: an image is compared with the subject's reference at the same levels of
    them.

    Raises BadInput for a threshold and a rate together, or values out of range.
    """

    threshold: float | None = None
    false_match_rate: float | None = None
    within: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.threshold is not None and self.false_match_rate is not None:
            raise BadInput("expected --threshold or --false-match-rate, got both: a rate finds its own threshold")
        if self.threshold is not None and not 0 < self.threshold <= 2:
            raise BadInput(f"--threshold: expected a cosine distance above 0 and up to 2, got {self.threshold:g}")
        if self.false_match_rate is not None and not 0 < self.false_match_rate < 1:
            raise BadInput(f"--false-match-rate: expected a share between 0 and 1, got {self.false_match_rate:g}")

    @property
    def verifies(self) -> bool:
        """Whether there is a threshold at all."""
        return self.threshold is not None or self.false_match_rate is not None

    def check(self, design: Design) -> None:
        """Raises BadInput or UnknownName where the design cannot be verified so, before anything is made."""
        for name in self.within:
            if name not in design.levels:
                raise UnknownName("attribute", name, design.levels, "in --within: one that --vary names")
        if self.within and set(self.within) == set(design.levels):
            raise BadInput(
                "--within names every attribute that varies: expected at least one --vary that it does not name"
            )
        n = min(design.subjects, MOST_SUBJECTS)
        n_comparisons = n * (n - 1) // 2 * int(np.prod([len(design.levels[name]) for name in self.within]))
        if self.false_match_rate is not None and self.false_match_rate * n_comparisons < 1:
            raise BadInput(
                f"--false-match-rate {self.false_match_rate:g} needs at least {_ceil(1 / self.false_match_rate):,} "
                f"comparisons of different subjects, got {n_comparisons:,}: give more --subjects or a higher rate"
            )


NO_RULE: Final = Rule()


@final
@dataclass(frozen=True, slots=True)
class Threshold:
    """A threshold of the cosine distance (a match is below it), and its false matches among reference images.

    low, high: its interval, NaN where it is stated. rate, rate_low, rate_high: the false match rate at it; requested:
    the one that it was chosen for, NaN where it is stated. n: comparisons; n_subjects: of whom; left_out: subjects
    beyond `MOST_SUBJECTS`. groups: name, rate, low, high, false matches and comparisons at each level of what was
    compared within. reason: why there is none (then value is NaN).
    """

    value: float
    low: float
    high: float
    requested: float
    rate: float
    rate_low: float
    rate_high: float
    false_matches: int
    n: int
    n_subjects: int
    left_out: int
    groups: tuple[tuple[int, float, float, float, int, int], ...] = ()
    reason: str = ""


@final
@dataclass(frozen=True, slots=True)
class Verified:
    """One embedding target's images, verified: float64 [n], NaN where there is none.

    reference: [n], the row that each image is compared with, its own for a reference. own: each subject's value of
    attributes that were not set, image by image; known: what these attributes are.
    """

    threshold: Threshold
    distance: Float[np.ndarray, " n"]
    non_match: Float[np.ndarray, " n"]
    reference: Int[np.ndarray, " n"]
    within: tuple[str, ...] = ()
    own: Mapping[str, Float[np.ndarray, " n"]] = field(default_factory=dict)
    known: Mapping[str, Attribute] = field(default_factory=dict)


def reference_rows(design: Design, within: Sequence[str] = ()) -> Int[np.ndarray, " n"]:
    """The row of each image's reference: its subject's image at the first level of all but the attributes `within`."""
    places = np.indices(design.shape or (1,)).reshape(max(len(design.shape), 1), -1)
    for axis, name in enumerate(design.levels):
        if name not in within:
            places[axis] = 0
    cell = np.ravel_multi_index(tuple(places), design.shape or (1,))
    return np.asarray((np.arange(design.subjects)[:, None] * design.n_cells + cell).ravel(), dtype=np.int64)


def find_threshold(
    embeddings: Float[np.ndarray, "m d"],
    subject: Int[np.ndarray, " m"],
    place: Int[np.ndarray, " m"],
    rule: Rule,
    confidence: float = 0.95,
) -> Threshold:
    """The threshold of some reference images, one per subject and place; a row of NaN or zeros is left out."""
    norms = np.linalg.norm(embeddings, axis=1)
    people, who = np.unique(subject, return_inverse=True)
    usable = np.isfinite(norms) & (norms > 0) & (who < MOST_SUBJECTS)
    unit = embeddings[usable] / norms[usable, None]
    first, second, at, distance = _comparisons(unit, who[usable], place[usable])
    n, subjects = len(distance), len(np.unique(who[usable]))
    left_out = max(len(people) - MOST_SUBJECTS, 0)
    requested = np.nan if rule.false_match_rate is None else rule.false_match_rate
    allowed = int(np.floor(np.nan_to_num(requested) * n + 1e-9))
    ordered = np.sort(distance)
    if rule.threshold is None and allowed < 1:
        needed = _ceil(1 / requested) if np.isfinite(requested) else 1
        reason = f"expected at least {needed:,} comparisons of different subjects, got {n:,}"
        return Threshold(*(np.nan,) * 3, requested, *(np.nan,) * 3, 0, n, subjects, left_out, (), reason)
    value = float(ordered[allowed]) if rule.threshold is None else rule.threshold
    matched = distance < value
    rate, low, high = _dyadic_rate(matched, first, second, confidence)
    ends: tuple[float, ...] = (np.nan, np.nan)
    if rule.threshold is None:
        ends = _threshold_ends(distance, first, second, ordered, requested, confidence)
    groups = tuple(
        (int(p), *_dyadic_rate(matched[at == p], first[at == p], second[at == p], confidence),
         int(matched[at == p].sum()), int((at == p).sum()))
        for p in np.unique(at)
    )  # fmt: skip
    return Threshold(
        value, ends[0], ends[1], requested, rate, low, high, int(matched.sum()), n, subjects, left_out, groups,
        "" if n else "no two subjects have a reference image",
    )  # fmt: skip


_Pairs = tuple[Int[np.ndarray, " c"], Int[np.ndarray, " c"], Int[np.ndarray, " c"], Float[np.ndarray, " c"]]


def _comparisons(unit: Float[np.ndarray, "m d"], who: Int[np.ndarray, " m"], place: Int[np.ndarray, " m"]) -> _Pairs:
    """Both subjects, the place and the distance of every two images of one place."""
    pairs: list[_Pairs] = []
    for p in np.unique(place):
        rows = np.flatnonzero(place == p)
        first, second = np.triu_indices(len(rows), 1)
        distance = (1 - unit[rows] @ unit[rows].T)[first, second]
        pairs.append((who[rows[first]], who[rows[second]], np.full(len(first), p), distance))
    nothing = np.empty(0, dtype=np.int64)
    parts = list(zip(*pairs, strict=True)) if pairs else [(nothing,)] * 3 + [(np.empty(0),)]
    first_subject, second_subject, at, distance = (np.concatenate(part) for part in parts)
    return first_subject, second_subject, at, distance


def _threshold_ends(
    distance: Float[np.ndarray, " c"],
    first: Int[np.ndarray, " c"],
    second: Int[np.ndarray, " c"],
    ordered: Float[np.ndarray, " c"],
    requested: float,
    confidence: float,
) -> tuple[float, float]:
    """Around the threshold, the nearest distances whose false match rate is surely not the requested one."""
    n = len(ordered)
    ladder = np.floor(requested * n * np.exp(0.05 * np.arange(-_STEPS, _STEPS + 1)) + 1e-9).astype(np.int64)
    places = np.unique(np.clip(ladder, 0, n - 1))
    start = int(np.searchsorted(places, min(int(ladder[_STEPS]), n - 1)))

    def accepted(place: int) -> bool:
        _, low, high = _dyadic_rate(distance < ordered[places[place]], first, second, confidence)
        return low <= requested <= high

    if np.isnan(_dyadic_rate(distance < ordered[places[start]], first, second, confidence)[1]):
        return np.nan, np.nan
    below, above = dyadic.reached(start, accepted, -1), dyadic.reached(start, accepted, len(places))
    return (
        float(ordered[places[below]]) if below >= 0 else 0.0,
        float(ordered[places[above]]) if above < len(places) else float(ordered[-1]),
    )


def _dyadic_rate(
    hit: np.ndarray, first: Int[np.ndarray, " c"], second: Int[np.ndarray, " c"], confidence: float
) -> tuple[float, float, float]:
    """A share of comparisons and its interval, where comparisons that share a subject are correlated."""
    if not len(hit):
        return (np.nan, np.nan, np.nan)
    rate, size = float(hit.mean()), int(max(first.max(), second.max())) + 1
    residual = hit - rate
    of_subject = np.bincount(first, residual, size) + np.bincount(second, residual, size)
    compared = (np.bincount(first, minlength=size) + np.bincount(second, minlength=size)).astype(np.float64)
    squares = np.array([(np.bincount(first * size + second, residual, size * size) ** 2).sum()])
    spread, freedom = dyadic.variance(of_subject[:, None], squares, compared)
    subjects = int((compared > 0).sum())
    low, high = dyadic.interval(np.array([rate]), spread, freedom, subjects, len(hit), confidence)[0]
    return rate, float(low), float(high)


def _ceil(value: float) -> int:
    return int(np.ceil(round(value, 9)))
