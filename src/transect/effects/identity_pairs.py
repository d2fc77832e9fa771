"""Do attributes vary together in groups, do neighbours share them, do people recognise reconstructions?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, final

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike
from scipy.special import ndtr

from transect.designs.matching.sample import absent, codes, make_sample
from transect.designs.matching.search import Search
from transect.effects.intervals import mean_interval, share_by_subject
from transect.effects.samples import Columns, read_columns
from transect.errors import BadInput

SOURCE: Final = (
    "Singh et al. 2021, Matched sample selection with GANs for mitigating attribute confounding, arXiv:2103.13455"
)
ALL: Final = "all"
PUBLISHED_CONFIDENCE: Final = float(2 * ndtr(1.0) - 1)
"""What the intervals of the published table hold, though it says 95 %: one standard error to either side."""


@final
@dataclass(frozen=True, slots=True)
class SameRow:
    """Share of answers "same" about one kind of pair in one group; low and high: Wilson's, by pair; NaN without any."""

    by: str
    group: str
    kind: str
    share: float
    low: float
    high: float
    answers: int
    unanswered: int


def same_shares(
    kind: Sequence[str],
    same: Float[np.ndarray, " r"],
    groups: Mapping[str, Sequence[str]],
    pair: Int[np.ndarray, " r"] | None = None,
    *,
    unanswered: Literal["left out", "same"] = "left out",
    confidence: float = 0.95,
) -> tuple[SameRow, ...]:
    """Rows of all answers, then of each group: a share for every kind of pair."""
    kinds, answers = np.asarray(kind), np.asarray(same, dtype=np.float64)
    columns = {ALL: np.full(len(answers), ALL), **{by: np.asarray(column) for by, column in groups.items()}}
    if any(len(column) != len(answers) for column in (kinds, *columns.values())):
        raise BadInput(f"expected a kind and a group for each of {len(answers)} answers")
    if not np.isin(answers[np.isfinite(answers)], (0.0, 1.0)).all():
        raise BadInput("same: expected 1 (same), 0 (look-alike) or NaN (no answer)")
    rows = []
    for by, column in columns.items():
        for group in dict.fromkeys(text for text in column.tolist() if text):
            for pair_kind in dict.fromkeys(kinds.tolist()):
                mine = (column == group) & (kinds == pair_kind)
                rows.append(_row(by, group, pair_kind, answers, mine, pair, unanswered, confidence))
    return tuple(rows)


def _row(
    by: str,
    group: str,
    kind: str,
    answers: Float[np.ndarray, " r"],
    mine: np.ndarray,
    pair: Int[np.ndarray, " r"] | None,
    unanswered: str,
    confidence: float,
) -> SameRow:
    none = mine & np.isnan(answers)
    values = np.where(np.isnan(answers), 1.0, answers) if unanswered == "same" else answers
    known = mine & np.isfinite(values)
    n = int(known.sum())
    if not n:
        return SameRow(by, group, kind, np.nan, np.nan, np.nan, 0, int(none.sum()))
    found = share_by_subject(values[known], np.arange(n) if pair is None else pair[known], confidence)
    return SameRow(by, group, kind, found.estimate, found.low, found.high, n, int(none.sum()))


@final
@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Of two answers about one pair, how often they are the same: the mean over pairs of these kinds.

    low, high: of 95 %, over pairs (`mean_interval`); NaN with a reason where too few have two answers, or do not vary.
    """

    kinds: tuple[str, ...]
    agreement: float
    low: float
    high: float
    pairs: int
    reason: str = ""


def pair_agreement(
    same: Float[np.ndarray, " r"],
    pair: Int[np.ndarray, " r"],
    kind: Sequence[str],
    *,
    unanswered: Literal["left out", "same"] = "left out",
    duplicates: str = "dup",
) -> tuple[PairAgreement, ...]:
    """Agreement over all pairs, and without those of one photograph, on which nearly everyone agrees.

    same [r]: 1, 0 or NaN; pair [r]: which pair an answer is about; kind: of each answer's pair.

    >>> every, judged = pair_agreement(np.array([1.0, 1, 1, 0]), np.array([0, 0, 1, 1]), ["dup", "dup", "real", "real"])
    >>> every.agreement, judged.agreement, judged.kinds
    (0.5, 0.0, ('real',))
    """
    values = np.where(np.isnan(same), 1.0, same) if unanswered == "same" else same
    known = np.isfinite(values)
    kinds = np.asarray(kind)
    every = tuple(dict.fromkeys(kinds.tolist()))
    others = tuple(name for name in every if name != duplicates)
    chosen = [every, others] if others and others != every else [every]
    return tuple(_agreement(values, pair, known & np.isin(kinds, names), names) for names in chosen)


def _agreement(
    values: Float[np.ndarray, " r"], pair: Int[np.ndarray, " r"], mine: np.ndarray, kinds: tuple[str, ...]
) -> PairAgreement:
    places = np.unique(pair[mine], return_inverse=True)[1].reshape(-1)
    n, yes = np.bincount(places), np.bincount(places, weights=values[mine])
    n, yes = n[n > 1], yes[n > 1]
    alike = (yes * (yes - 1) + (n - yes) * (n - yes - 1)) / (n * (n - 1))
    if not len(alike):
        return PairAgreement(kinds, np.nan, np.nan, np.nan, 0, "no pair has two answers")
    ends = mean_interval(alike[:, None])
    low, high = float(ends.low[0]), float(ends.high[0])
    reason = "" if np.isfinite(low) else "too few pairs have two answers, or all agree alike"
    return PairAgreement(kinds, float(alike.mean()), low, high, len(alike), reason)


@final
@dataclass(frozen=True, slots=True)
class Distances:
    """Median face distance of pairs that most raters call the same, and of the others; p: Mann and Whitney's.

    tied: pairs that raters split evenly on, or nobody answered; missing: pairs without a distance. NaN with a reason.
    """

    same: float
    other: float
    p: float
    n_same: int
    n_other: int
    tied: int
    missing: int
    reason: str = ""


def against_distance(
    same: Float[np.ndarray, " r"], pair: Int[np.ndarray, " r"], distance: Float[np.ndarray, " p"]
) -> Distances:
    """Face distances by the answer of most raters on a pair. pair [r]: index into `distance` [p], NaN where unknown."""
    from scipy.stats import mannwhitneyu

    known = np.isfinite(same)
    yes = np.bincount(pair[known], weights=same[known], minlength=len(distance))
    n = np.bincount(pair[known], minlength=len(distance))
    decided, measured = (2 * yes != n) & (n > 0), np.isfinite(distance)
    called, others = (distance[decided & measured & side] for side in (2 * yes > n, 2 * yes < n))
    near, far = (float(np.median(values)) if len(values) else np.nan for values in (called, others))
    both = len(called) > 0 and len(others) > 0
    p = float(mannwhitneyu(called, others).pvalue) if both else np.nan
    lacks = "different" if len(called) else "the same"
    reason = "" if both else f"no pair with a distance that most raters call {lacks}"
    tied, missing = int((~decided).sum()), int((decided & ~measured).sum())
    return Distances(near, far, p, len(called), len(others), tied, missing, reason)


DISTRIBUTIONS_SOURCE: Final = (
    "Austin 2009, Balance diagnostics for comparing the distribution of baseline covariates between treatment groups, "
    "doi:10.1002/sim.3697"
)
UNBALANCED: Final = 0.1
BINS: Final = 24


@final
@dataclass(frozen=True, slots=True)
class Distribution:
    """An attribute's values in one group: counts [bins] between edges [bins + 1], quartiles, images, missing ones."""

    attribute: str
    group: str
    edges: Float[np.ndarray, " e"]
    counts: np.ndarray
    quartiles: tuple[float, float, float]
    mean: float
    n: int
    missing: int


def distributions(columns: Columns, groups: Sequence[str] | np.ndarray | None = None) -> tuple[Distribution, ...]:
    """Histograms of every attribute in every group, on common edges, for violins."""
    names, values = read_columns(columns)
    texts = np.array(["all"] * len(values) if groups is None else [str(group) for group in groups], dtype=object)
    if len(texts) != len(values):
        raise BadInput(f"groups: expected one per image, {len(values)}, got {len(texts)}")
    chosen = sorted({text for text in texts.tolist() if text})
    rows = []
    for name, column in zip(names, values.T, strict=True):
        edges = _edges(column[np.isfinite(column)])
        rows += [_distribution(name, group, column[texts == group], edges) for group in chosen]
    return tuple(rows)


def smd(first: ArrayLike, second: ArrayLike) -> float:
    """(mean of second - mean of first) / root of the mean variance; NaN where that is 0 or a group has fewer than 2."""
    a, b = (np.asarray(part, dtype=np.float64) for part in (first, second))
    a, b = a[np.isfinite(a)], b[np.isfinite(b)]
    if len(a) < 2 or len(b) < 2:
        return float("nan")
    spread = np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / 2)
    size = max(np.abs(a).max(), np.abs(b).max())
    return float((b.mean() - a.mean()) / spread) if spread > 1e-12 * size else float("nan")


def _distribution(
    name: str, group: str, values: Float[np.ndarray, " n"], edges: Float[np.ndarray, " e"]
) -> Distribution:
    known = values[np.isfinite(values)]
    low, middle, high = np.quantile(known, [0.25, 0.5, 0.75]) if len(known) else (np.nan,) * 3
    mean = float(known.mean()) if len(known) else np.nan
    quartiles = (float(low), float(middle), float(high))
    counts = np.histogram(known, edges)[0]
    return Distribution(name, group, edges, counts, quartiles, mean, len(known), len(values) - len(known))


def _edges(values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " e"]:
    """Common edges: around each value where there are few, else equal widths."""
    different = np.unique(values)
    if len(different) == 0:
        return np.array([0.0, 1.0])
    if len(different) <= BINS:
        half = np.diff(different).min() / 2 if len(different) > 1 else 0.5
        middle = (different[1:] + different[:-1]) / 2
        return np.concatenate([[different[0] - half], middle, [different[-1] + half]])
    return np.linspace(different[0], different[-1], BINS + 1)


NEIGHBOURS_SOURCE: Final = "Singh, Balakrishnan and Perona 2021, Table 2"
DYADIC: Final = (
    "Aronow, Samii and Assenova 2015, Cluster-robust variance estimation for dyadic data, doi:10.1093/pan/mpv018"
)
NEIGHBOURS: Final = 10


@final
@dataclass(frozen=True, slots=True)
class Preserved:
    """How far an attribute differs among nearest neighbours: mean error and its standard error.

    unit: "mean absolute error" in the attribute's unit, or "proportion" of neighbours that differ; for identity, of
    images whose nearest neighbour is of another. n_images: query images that count (for identity, those of whose
    identity there is another image). Standard errors allow for images and identities that several neighbourhoods share
    (Aronow et al. 2015); NaN with fewer than two query identities.
    """

    attribute: str
    error: float
    standard_error: float
    unit: str
    n_images: int
    n_neighbours: int


def preserved(
    features: Float[np.ndarray, "n d"],
    attributes: Mapping[str, ArrayLike],
    kinds: Mapping[str, Literal["continuous", "categorical"]],
    *,
    identity: ArrayLike | None = None,
    k: int = NEIGHBOURS,
    second: Float[np.ndarray, "n e"] | None = None,
    second_threshold: float = np.inf,
    queries: Int[np.ndarray, " q"] | None = None,
) -> list[Preserved]:
    """One row per attribute, then identity where it is given. queries: the query images, by default all."""
    if k < 1 or set(attributes) - set(kinds):
        raise BadInput(f"neighbours: expected k of at least 1 and a kind for every attribute, got k = {k}")
    sample = make_sample(
        features, (np.arange(len(features)) == 0).astype(float), second=second, second_threshold=second_threshold
    )
    usable = np.flatnonzero(sample.eligible)
    query_rows = usable if queries is None else np.intersect1d(queries, usable)
    nearest = _nearest(Search(sample), query_rows, usable, k)
    people = None if identity is None else _people(identity, len(features))
    clusters = np.arange(len(features)) if people is None else people
    near = np.where(nearest < 0, -1, clusters[nearest])
    cluster = np.concatenate([clusters[query_rows][:, None], near], axis=1)
    rows = []
    for name, values in attributes.items():
        unit = "mean absolute error" if kinds[name] == "continuous" else "proportion"
        rows.append(
            _neighbour_row(name, _errors(np.asarray(values), kinds[name], query_rows, nearest), cluster, unit, k)
        )
    if people is not None:
        unknown = absent(identity)  # type: ignore[arg-type]
        errors = np.where(unknown[nearest[:, 0]], np.nan, _other_identity(people, usable, query_rows, nearest))
        rows.append(_neighbour_row("identity", errors[:, None], cluster, "proportion", 1))
    return rows


def _people(identity: ArrayLike, n: int) -> Int[np.ndarray, " n"]:
    """A number per identity, and a separate number for each image without one."""
    people = codes([identity], n)
    lacking = np.flatnonzero(absent(identity))
    people[lacking] = n + lacking
    return np.asarray(np.unique(people, return_inverse=True)[1])


def _nearest(search: Search, query_rows: Int[np.ndarray, " q"], among: Int[np.ndarray, " m"], k: int) -> np.ndarray:
    """The k nearest of each query image in exact order, -1 where there are fewer."""
    listed = search.nearest(query_rows, among, 2 * k + 8)
    nearest = np.full((len(query_rows), k), -1)
    for i, image in enumerate(query_rows.tolist()):
        near = listed.columns[i][listed.columns[i] >= 0]
        distance = search.measure(np.full(len(near), image), near)
        order = np.lexsort((near, distance))
        near, distance = near[order][: np.isfinite(distance).sum()], np.sort(distance)
        trusted = int((distance < listed.reach[i]).sum())
        if trusted < k and listed.reach[i] < np.inf:
            near, _ = search.every(image, among)
        nearest[i, : min(k, len(near))] = near[:k]
    return nearest


def _errors(
    values: np.ndarray, kind: str, query_rows: Int[np.ndarray, " q"], nearest: Int[np.ndarray, "q k"]
) -> Float[np.ndarray, "q k"]:
    """The error of each neighbour; NaN where there is none or a value is missing."""
    if kind == "continuous":
        numbers = values.astype(np.float64)
        error = np.abs(numbers[nearest] - numbers[query_rows][:, None])
    else:
        known = np.array([value is not None and value == value for value in values.tolist()])
        texts = np.array([str(value) for value in values.tolist()])
        error = (texts[nearest] != texts[query_rows][:, None]).astype(np.float64)
        error[~known[nearest] | ~known[query_rows][:, None]] = np.nan
    error[nearest < 0] = np.nan
    return np.asarray(error)


def _other_identity(
    people: Int[np.ndarray, " n"], usable: Int[np.ndarray, " m"], query_rows: Int[np.ndarray, " q"], nearest: np.ndarray
) -> Float[np.ndarray, " q"]:
    """1 where the nearest image is of another identity, NaN where the identity has no other image, or none is near."""
    alone = np.bincount(people[usable], minlength=int(people.max()) + 1)[people[query_rows]] < 2
    differs = (people[nearest[:, 0]] != people[query_rows]).astype(np.float64)
    differs[alone | (nearest[:, 0] < 0)] = np.nan
    return np.asarray(differs)


def _neighbour_row(
    name: str, errors: Float[np.ndarray, "q k"], cluster: Int[np.ndarray, "q m"], unit: str, k: int
) -> Preserved:
    """The mean over images of each one's mean error. cluster: of each image, then of its neighbours, -1 for none."""
    known = np.isfinite(errors)
    counts = known.sum(axis=1)
    n = int((counts > 0).sum())
    if not n:
        return Preserved(name, np.nan, np.nan, unit, 0, k)
    sums = np.where(known, errors, 0.0).sum(axis=1)
    mean = float((sums[counts > 0] / counts[counts > 0]).mean())
    weights = known / np.maximum(counts, 1)[:, None] / n
    image, place = np.nonzero(known)
    parts = (weights * (np.where(known, errors, mean) - mean))[image, place]
    return Preserved(name, mean, _standard_error(parts, cluster[image, 0], cluster[image, place + 1]), unit, n, k)


def _standard_error(
    parts: Float[np.ndarray, " e"], first: Int[np.ndarray, " e"], second: Int[np.ndarray, " e"]
) -> float:
    """Of a sum of parts, each of two clusters: any two parts that share one may be correlated (Aronow et al. 2015)."""
    everyone, codes = np.unique(np.concatenate([first, second]), return_inverse=True)
    one, other = codes[: len(parts)], codes[len(parts) :]
    g = len(np.unique(one))
    if g < 2:
        return np.nan
    of_first = np.bincount(one, weights=parts, minlength=len(everyone))
    apart = one != other
    both = of_first + np.bincount(other[apart], weights=parts[apart], minlength=len(everyone))
    _, pair = np.unique(
        np.stack([np.minimum(one, other), np.maximum(one, other)])[:, apart], axis=1, return_inverse=True
    )
    of_pairs = np.bincount(pair.ravel(), weights=parts[apart])
    variance = max(float((both**2).sum() - (of_pairs**2).sum()), float((of_first**2).sum()))
    return float(np.sqrt(variance * g / (g - 1)))
