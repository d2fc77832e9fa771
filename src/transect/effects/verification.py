"""One-to-one verification: comparisons in blocks, their variance by two identities, thresholds, transects of
verification.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, final

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtri, stdtrit

from transect.effects.intervals import wilson
from transect.errors import BadInput, UnknownName
from transect.records import Attribute, Design

DYADIC_SOURCES: Final = (
    "Hoeffding 1948, A class of statistics with asymptotically normal distribution, doi:10.1214/aoms/1177730196",
    "Efron and Stein 1981, The jackknife estimate of variance, doi:10.1214/aos/1176345462",
    "Aronow, Samii and Assenova 2015, Cluster-robust variance estimation for dyadic data, doi:10.1093/pan/mpv018",
)
FEWEST_IDENTITIES: Final = 10
"""Below this number of people there is no interval."""


def dyadic_variance(
    residual: Float[np.ndarray, "g t"], squares: Float[np.ndarray, " t"], compared: Float[np.ndarray, " g"]
) -> tuple[Float[np.ndarray, " t"], Float[np.ndarray, " t"]]:
    """Variance of each of t shares of comparisons, and its degrees of freedom."""
    total = float(compared.sum()) / 2
    people = 4 * total**2 / float((compared**2).sum()) if total else 0.0
    if people <= 3 + 1e-9:
        return np.full(len(squares), np.nan), np.full(len(squares), np.nan)
    pairs = people * (people - 1) / 2
    sums = (residual**2).sum(axis=0)
    # Expected, for equal numbers: sums / (people - 1)² and squares, in units of the average comparison of two people.
    between = sums * (pairs / total) ** 2 / (people - 1) ** 2
    within = squares * (pairs / total) ** 2
    a, b = (people - 2) ** 2 / (people - 1), (people - 2) / (people - 1)
    c, d = (people - 1) * (people - 2), pairs - 1
    of_people = np.maximum((d * between - b * within) / (a * d - b * c), 0.0)
    of_pairs = np.where(of_people > 0, np.maximum((within - c * of_people) / d, 0.0), within / d)
    fourth = (residual**4).sum(axis=0)
    freedom = np.divide(sums**2, fourth, out=np.full(len(sums), people), where=fourth > 0) - 1
    return 4 * of_people / people + of_pairs / pairs, np.maximum(freedom, 1.0)


def dyadic_interval(
    rate: Float[np.ndarray, " t"],
    spread: Float[np.ndarray, " t"],
    freedom: Float[np.ndarray, " t"],
    identities: int,
    comparisons: float,
    confidence: float = 0.95,
) -> Float[np.ndarray, "t 2"]:
    """Wilson's interval on the number of independent comparisons that would vary as much, with Student's quantile."""
    known = identities >= FEWEST_IDENTITIES and comparisons > 0
    if not known:
        return np.full((len(rate), 2), np.nan)
    some = (spread > 0) & (rate > 0) & (rate < 1)
    quantile = (1 + confidence) / 2
    ratio = ndtri(quantile) / stdtrit(np.where(some, freedom, 1.0), quantile)
    half = np.full(len(rate), identities / 2)
    effective = np.divide(rate * (1 - rate) * ratio**2, spread, out=half, where=some)
    effective = np.minimum(effective, comparisons)
    return np.stack(wilson(rate * effective, effective, confidence), axis=1)


def reached(start: int, accepted: Callable[[int], bool], last: int) -> int:
    """From `start` towards `last` the first place that is not accepted; `last` where all before it are."""
    step = 1 if last >= start else -1
    return next((place for place in range(start, last, step) if not accepted(place)), last)


def moved(
    rate: Float[np.ndarray, " t"],
    ends: Float[np.ndarray, "t 2"],
    at_ends: Float[np.ndarray, "t 2"],
) -> Float[np.ndarray, "t 2"]:
    """The interval of a rate at a threshold that is itself estimated: both errors, as independent ones."""
    low, high = at_ends.min(axis=1), at_ends.max(axis=1)
    down = np.hypot(rate - ends[:, 0], np.maximum(rate - low, 0.0))
    up = np.hypot(ends[:, 1] - rate, np.maximum(high - rate, 0.0))
    return np.stack([np.maximum(rate - down, 0.0), np.minimum(rate + up, 1.0)], axis=1)


Metric = Literal["euclidean", "cosine"]
_BLOCK = 512
TIE = 1e-9
"""Distances that differ by less, relative to a threshold, are equal to it: blocks of other sizes round otherwise."""


@final
@dataclass(frozen=True, slots=True)
class Comparisons:
    """Genuine: per identity (g of them) the sum of distances, the number and the matches at each of t thresholds.

    impostor, impostor_matches: comparisons with others, by identity, each counted for both sides. squares: over pairs
    of identities, Σ matches², Σ matches x comparisons and Σ comparisons², which dyadic variances need. genuine_curve,
    impostor_curve: numbers of comparisons below each of the curve's distances.
    """

    genuine_sum: Float[np.ndarray, " g"]
    genuine: Float[np.ndarray, " g"]
    genuine_matches: Float[np.ndarray, "g t"]
    impostor: Float[np.ndarray, " g"]
    impostor_matches: Float[np.ndarray, "g t"]
    squares: Float[np.ndarray, "3 t"]
    curve: Float[np.ndarray, " p"]
    genuine_curve: Float[np.ndarray, " p"]
    impostor_curve: Float[np.ndarray, " p"]


def compare(
    embeddings: Float[np.ndarray, "n d"],
    people: Int[np.ndarray, " n"],
    thresholds: Float[np.ndarray, " t"],
    points: int,
    metric: Metric = "euclidean",
) -> Comparisons:
    """All comparisons of n images, each once (for impostors: once for each side's identity)."""
    order = np.argsort(people, kind="stable")
    x = np.asarray(embeddings[order], dtype=np.float64)
    x = placed(x, metric)
    _, starts, person, size = np.unique(people[order], return_index=True, return_inverse=True, return_counts=True)
    g, t = len(size), len(thresholds)
    comparisons = Comparisons(
        genuine_sum=np.zeros(g),
        genuine=np.zeros(g),
        genuine_matches=np.zeros((g, t)),
        impostor=np.zeros(g),
        impostor_matches=np.zeros((g, t)),
        squares=np.zeros((3, t)),
        curve=np.linspace(0.0, _farthest(x, metric), points) if points else np.zeros(0),
        genuine_curve=np.zeros(points),
        impostor_curve=np.zeros(points),
    )
    for first, last in _whole_identities(size):
        rows = np.arange(starts[first], starts[last - 1] + size[last - 1])
        _count(comparisons, x, rows, person, starts, thresholds, metric)
    return comparisons


def placed(x: Float[np.ndarray, "n d"], metric: Metric) -> Float[np.ndarray, "n d"]:
    """Embeddings where they are measured: directions for cosine, else about their mean, whose size costs digits."""
    return directions_of(x) if metric == "cosine" else x - x.mean(axis=0) if len(x) else x


def directions_of(x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
    """Rows of length 1. Raises BadInput for a row of zeros, which has no direction."""
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    if (norms == 0).any():
        raise BadInput(f"cosine distance: expected embeddings of positive length, got {(norms == 0).sum()} of length 0")
    return np.asarray(x / norms)


def distances_between(
    x: Float[np.ndarray, "m d"], y: Float[np.ndarray, "n d"], metric: Metric
) -> Float[np.ndarray, "m n"]:
    """Euclidean distances; of rows of length 1 also 1 - cosine, which is half the squared distance."""
    sizes = (x**2).sum(axis=1)[:, None] + (y**2).sum(axis=1)[None, :]
    squares = sizes - 2 * (x @ y.T)
    # The sum of three rounds by so much: without it a threshold of 0 would stand apart from equal embeddings.
    rounding = (16 + x.shape[1]) * np.finfo(np.float64).eps
    squares = np.where(squares <= rounding * sizes, 0.0, squares)
    return np.asarray(squares / 2 if metric == "cosine" else np.sqrt(squares))


def _count(
    comparisons: Comparisons,
    x: Float[np.ndarray, "n d"],
    rows: Int[np.ndarray, " m"],
    person: Int[np.ndarray, " n"],
    starts: Int[np.ndarray, " g"],
    thresholds: Float[np.ndarray, " t"],
    metric: Metric,
) -> None:
    """Adds the comparisons of some images, whole identities, with all."""
    distance = distances_between(x[rows], x, metric)
    same = person[rows][:, None] == person[None, :]
    later = rows[:, None] < np.arange(len(x))[None, :]
    genuine = same & later
    inside, first = person[rows], int(person[rows[0]])
    inner_starts = starts[first : int(inside[-1]) + 1] - rows[0]
    if len(comparisons.curve):
        comparisons.genuine_curve[:] += _below(distance[genuine], comparisons.curve)
        comparisons.impostor_curve[:] += _below(distance[~same & later], comparisons.curve)
    comparisons.genuine_sum[first : first + len(inner_starts)] += np.add.reduceat(
        (distance * genuine).sum(axis=1), inner_starts
    )
    comparisons.genuine[first : first + len(inner_starts)] += np.add.reduceat(genuine.sum(axis=1), inner_starts)
    size = np.diff(starts, append=len(x))
    block = slice(first, first + len(inner_starts))
    own = np.arange(len(inner_starts)), first + np.arange(len(inner_starts))
    compared = np.outer(size[block], size).astype(np.float64)
    compared[own] = 0.0
    comparisons.impostor[block] += compared.sum(axis=1)
    # Few are near: their places are counted, not all comparisons.
    near = np.flatnonzero(distance < thresholds.max(initial=0.0) * (1 - TIE))
    row, column = np.divmod(near, len(x))
    near_distance, places = distance.ravel()[near], (inside[row] - first) * len(size) + person[column]
    with_itself = rows[row] == column
    for index, threshold in enumerate(thresholds):
        is_near = near_distance < threshold * (1 - TIE)
        matches = np.bincount(places[is_near], minlength=compared.size).reshape(compared.shape).astype(np.float64)
        # Of one identity each comparison is met from both sides, and each image with itself.
        itself = np.bincount(inside[row[is_near & with_itself]] - first, minlength=len(inner_starts))
        comparisons.genuine_matches[block, index] += (matches[own] - itself) / 2
        matches[own] = 0.0
        comparisons.impostor_matches[block, index] += matches.sum(axis=1)
        # Every pair of identities is met from both sides.
        comparisons.squares[:, index] += [
            (matches**2).sum() / 2,
            (matches * compared).sum() / 2,
            (compared**2).sum() / 2,
        ]


def _below(distances: Float[np.ndarray, " c"], curve: Float[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
    """How many distances lie below each point."""
    return np.searchsorted(np.sort(distances), curve, side="left").astype(np.float64)


def _farthest(x: Float[np.ndarray, "n d"], metric: Metric) -> float:
    """The largest distance of any two images, block by block."""
    blocks = (x[start : start + _BLOCK] for start in range(0, len(x), _BLOCK))
    return max((float(distances_between(block, x, metric).max()) for block in blocks), default=0.0)


def _whole_identities(size: Int[np.ndarray, " g"]) -> Iterator[tuple[int, int]]:
    """Runs of identities, first to last + 1, of about a block's images."""
    first, images = 0, 0
    for i, n in enumerate(size.tolist()):
        images += n
        if images >= _BLOCK or i == len(size) - 1:
            yield first, i + 1
            first, images = i + 1, 0


_STEPS: Final = 80
MOST_SUBJECTS: Final = 2000
"""Whose reference images are compared: two million comparisons at each level."""
SOURCES: Final = (
    *DYADIC_SOURCES,
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
            raise BadInput("expected --threshold or --false-match-rate, got both: a rate sets the threshold")
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
                raise UnknownName("attribute", name, design.levels, "--within takes attributes that --vary names")
        if self.within and set(self.within) == set(design.levels):
            raise BadInput("--within names every attribute that varies: leave out at least one")
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
    rate, low, high = _dyadic_rate(matched, first, second)
    ends: tuple[float, ...] = (np.nan, np.nan)
    if rule.threshold is None:
        ends = _threshold_ends(distance, first, second, ordered, requested)
    groups = tuple(
        (int(p), *_dyadic_rate(matched[at == p], first[at == p], second[at == p]),
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
) -> tuple[float, float]:
    """Around the threshold, the nearest distances whose false match rate is surely not the requested one."""
    n = len(ordered)
    ladder = np.floor(requested * n * np.exp(0.05 * np.arange(-_STEPS, _STEPS + 1)) + 1e-9).astype(np.int64)
    places = np.unique(np.clip(ladder, 0, n - 1))
    start = int(np.searchsorted(places, min(int(ladder[_STEPS]), n - 1)))

    def accepted(place: int) -> bool:
        _, low, high = _dyadic_rate(distance < ordered[places[place]], first, second)
        return low <= requested <= high

    if np.isnan(_dyadic_rate(distance < ordered[places[start]], first, second)[1]):
        return np.nan, np.nan
    below, above = reached(start, accepted, -1), reached(start, accepted, len(places))
    return (
        float(ordered[places[below]]) if below >= 0 else 0.0,
        float(ordered[places[above]]) if above < len(places) else float(ordered[-1]),
    )


def _dyadic_rate(
    hit: np.ndarray, first: Int[np.ndarray, " c"], second: Int[np.ndarray, " c"]
) -> tuple[float, float, float]:
    """A share of comparisons and its interval, where comparisons that share a subject are correlated."""
    if not len(hit):
        return (np.nan, np.nan, np.nan)
    rate, size = float(hit.mean()), int(max(first.max(), second.max())) + 1
    residual = hit - rate
    of_subject = np.bincount(first, residual, size) + np.bincount(second, residual, size)
    compared = (np.bincount(first, minlength=size) + np.bincount(second, minlength=size)).astype(np.float64)
    squares = np.array([(np.bincount(first * size + second, residual, size * size) ** 2).sum()])
    spread, freedom = dyadic_variance(of_subject[:, None], squares, compared)
    subjects = int((compared > 0).sum())
    low, high = dyadic_interval(np.array([rate]), spread, freedom, subjects, len(hit))[0]
    return rate, float(low), float(high)


def _ceil(value: float) -> int:
    return int(np.ceil(round(value, 9)))
