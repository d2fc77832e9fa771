"""How far raters agree: functions over arrays [units, raters], NaN for no answer.

The interval of alpha has every value that the answers do not contradict. A bootstrap draws only from the units at hand:
few of them hold a rare answer or a disagreement, and a sample without any has an interval of no width.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, final

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import betaincinv, stdtrit

from transect.errors import BadInput

Metric = Literal["nominal", "ordinal", "interval"]


def answer_counts(
    ratings: Float[np.ndarray, "units raters"], levels: Float[np.ndarray, " k"]
) -> Float[np.ndarray, "units k"]:
    """How often each level was given to each unit."""
    return np.asarray((ratings[:, :, None] == levels).sum(axis=1), dtype=np.float64)


def coincidences(counts: Float[np.ndarray, "units k"]) -> Float[np.ndarray, "units k k"]:
    """Each unit's pairs of answers by their two levels; a unit of m answers counts m in all."""
    pairs = counts[:, :, None] * counts[:, None, :]
    level = np.arange(counts.shape[1])
    pairs[:, level, level] -= counts
    return np.asarray(pairs / (counts.sum(axis=1) - 1)[:, None, None])


def places(totals: Float[np.ndarray, " k"], levels: Float[np.ndarray, " k"], metric: Metric) -> Float[np.ndarray, " k"]:
    """Each level on the line along which disagreement is measured: its middle rank as a share, or its value."""
    return levels if metric == "interval" else (totals.cumsum() - totals / 2) / totals.sum()


def distances(
    totals: Float[np.ndarray, " k"], levels: Float[np.ndarray, " k"], metric: Metric
) -> Float[np.ndarray, "k k"]:
    """The disagreement of each pair of levels."""
    if metric == "nominal":
        return np.asarray(1.0 - np.eye(len(levels)))
    # The published sum from c to k, less half of both ends, is the difference of the levels' middle ranks.
    place = places(totals, levels, metric)
    return np.asarray((place[:, None] - place[None, :]) ** 2)


INTERVAL_SOURCE: Final = "Owen 2001, Empirical likelihood, doi:10.1201/9781420036152"
_IMAGINED: Final = 1e-3
"""The weight of an imagined unit, in subjects."""
_FEW: Final = 10
"""Subjects with a disagreement below which the upper end is at least that of the exact limit of their share."""
_TAIL: Final = 0.025
_STEP: Final = 1e-9
_ROUNDING: Final = 1e-12


def alpha_interval(
    counts: Float[np.ndarray, "units k"],
    levels: Float[np.ndarray, " k"],
    metric: Metric,
    subject: Int[np.ndarray, " units"],
) -> tuple[float, float]:
    """The ends of the 95 % interval of alpha, between the least value that it can have and 1.

    counts: answers of each level to each unit, at least two; levels: their values, rising, at least two; subject: the
    number of each unit's subject, from 0.

    Alpha is a where observed disagreement is 1 - a times the expected one. To first order both are sums over subjects,
    so that each subject moves observed - (1 - a) expected by a number whose mean is 0 if a is true. The interval has
    every a for which their mean is within Student's t of 0, in standard errors of the likeliest distribution of these
    numbers that has mean 0 (Owen 2001). That distribution may hold what the sample lacks: units of equal answers of
    each level, of two adjacent levels, and of levels as in all units, each with almost no weight of its own. With few
    disagreements the upper end is no less than the exact limit of their share allows (Clopper and Pearson 1934). How
    these are joined is Transect's own; `tests/statistical/test_agreement_coverage.py` shows what it covers.

    >>> equal = np.array([[2.0, 0.0], [0.0, 2.0]] * 10)
    >>> low, high = alpha_interval(equal, np.array([0.0, 1.0]), "nominal", np.arange(20))
    >>> round(low, 2), high
    (0.65, 1.0)
    """
    moves = _moves(counts, levels, metric, subject)
    alpha = 1 - float(moves.observed[: moves.n].sum() / moves.expected[: moves.n].sum())
    least = -1 / (float(counts.sum(axis=1).min()) - 1)  # reached where each unit's answers are split in half
    low, high = (_end(moves, alpha, end) for end in (least, 1.0))
    differing = len(np.unique(subject[(counts > 0).sum(axis=1) > 1]))
    if differing == 0:
        return low, 1.0
    share = float(betaincinv(differing, moves.n - differing + 1, _TAIL)) * moves.n / differing
    return low, max(high, 1 - (1 - alpha) * share) if differing < _FEW else high


class _Moves(NamedTuple):
    """By how much each subject, and then each imagined unit, moves observed and expected disagreement; n: subjects."""

    observed: Float[np.ndarray, " n"]
    expected: Float[np.ndarray, " n"]
    n: int


def _moves(
    counts: Float[np.ndarray, "units k"],
    levels: Float[np.ndarray, " k"],
    metric: Metric,
    subject: Int[np.ndarray, " units"],
) -> _Moves:
    n, totals = int(subject.max()) + 1, counts.sum(axis=0)
    # Imagined units are all equal, of two adjacent levels, and as all units; with as many answers as a subject has.
    equal = np.eye(len(totals))
    imagined = np.vstack([equal, (equal[1:] + equal[:-1]) / 2, totals / totals.sum()]) * counts.sum() / n
    size = len(counts) / n
    real, other = (_derivatives(rows, counts, levels, metric) for rows in (counts, imagined / size))
    both = [np.bincount(subject, weights=column, minlength=n) for column in real]
    observed, expected = (np.concatenate([a, size * b]) for a, b in zip(both, other, strict=True))
    return _Moves(observed, expected * totals.sum() / (totals.sum() - 1), n)


def _derivatives(
    rows: Float[np.ndarray, "u k"],
    counts: Float[np.ndarray, "units k"],
    levels: Float[np.ndarray, " k"],
    metric: Metric,
) -> tuple[Float[np.ndarray, " u"], Float[np.ndarray, " u"]]:
    """By how much units with these answers move the sums of observed and expected disagreement, middle ranks too."""
    totals = counts.sum(axis=0)
    n, shares, apart = totals.sum(), totals / totals.sum(), distances(totals, levels, metric)
    answers = rows.sum(axis=1)
    observed = (coincidences(rows) * apart).sum(axis=(1, 2))
    expected = 2 * rows @ (apart @ shares) - answers * float(shares @ apart @ shares)
    if metric == "ordinal":
        place = places(totals, levels, metric)
        shift = (rows.cumsum(axis=1) - rows / 2 - answers[:, None] * place) / n
        far = place[:, None] - place[None, :]
        observed = observed + shift @ (4 * (coincidences(counts).sum(axis=0) * far).sum(axis=1))
        expected = expected + shift @ (4 * n * shares * (far @ shares))
    return observed, expected


def _end(moves: _Moves, alpha: float, end: float) -> float:
    """The value between alpha and the end at which the test begins to reject; the end if it never does."""
    start = alpha + _STEP * (end - alpha)  # alpha itself has no variance where every unit agrees, or none does
    if _excess(start, moves) >= 0 or _excess(end, moves) <= 0:
        return end
    return float(brentq(_excess, start, end, args=(moves,)))


def _excess(alpha: float, moves: _Moves) -> float:
    """The squared sum of the moves less its squared limit: above 0 where alpha is rejected."""
    move = moves.observed - (1 - alpha) * moves.expected
    terms = np.abs(moves.observed) + abs(1 - alpha) * np.abs(moves.expected)
    move[np.abs(move) <= _ROUNDING * terms.max()] = 0  # else a rounding error counts as a subject that differs
    total, limit = float(move[: moves.n].sum()), float(stdtrit(moves.n - 1, 1 - _TAIL))
    return total**2 - limit**2 * moves.n * _variance(move, moves.n)


def _variance(move: Float[np.ndarray, " u"], n: int) -> float:
    """The variance of the likeliest distribution of mean 0; 0 where there is none, as all moves have one sign."""
    if not move.min() < 0 < move.max():
        return 0.0
    weight = np.where(np.arange(len(move)) < n, 1.0, _IMAGINED)
    weight /= weight.sum()
    up, down = move > 0, move < 0
    # Of the multipliers outside of these bounds some give a subject more than the whole weight.
    low = float(((weight[up] - 1) / move[up]).max())
    high = float(((weight[down] - 1) / move[down]).min())
    multiplier = brentq(lambda each: float((weight * move / (1 + each * move)).sum()), low, high)
    return float((weight * move**2 / (1 + multiplier * move)).sum())


def ratings_array(ratings: ArrayLike) -> Float[np.ndarray, "units raters"]:
    """Ratings as an array. Raises BadInput unless they are a table of units by raters."""
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2:
        raise BadInput(f"ratings: expected [units, raters], got {table.ndim} axes; give NaN where there is no answer")
    return table


def percent_agreement(ratings: ArrayLike) -> float:
    """Share of pairs of answers on one unit that are equal, not corrected for chance; NaN where no unit has two."""
    table = ratings_array(ratings)
    counts = answer_counts(table, np.unique(table[np.isfinite(table)]))
    n = counts.sum(axis=1)
    pairs = float((n * (n - 1)).sum())
    return float((counts * (counts - 1)).sum() / pairs) if pairs else float("nan")


def cohen_kappa(first: ArrayLike, other: ArrayLike) -> float:
    """Cohen's kappa (1960) of two raters' answers [n]; NaN where no unit has both, or all answers are equal."""
    both = np.stack([np.asarray(first, dtype=np.float64), np.asarray(other, dtype=np.float64)], axis=1)
    both = both[np.isfinite(both).all(axis=1)]
    if not len(both):
        return float("nan")
    values, places = np.unique(both, return_inverse=True)
    table = np.zeros((len(values), len(values)))
    np.add.at(table, tuple(places.reshape(both.shape).T), 1.0)
    share, differs = table / table.sum(), 1.0 - np.eye(len(values))
    observed = float((share * differs).sum())
    expected = float((np.outer(share.sum(axis=1), share.sum(axis=0)) * differs).sum())
    return 1 - observed / expected if expected else float("nan")


def spread(ratings: ArrayLike, low: float = 0.0, high: float = 1.0) -> Float[np.ndarray, " units"]:
    """Standard deviation of the answers on each unit, in ranges of the scale (Balakrishnan et al. 2020, Fig. 8).

    Divided by the number of answers, as there; NaN where a unit has fewer than two. low, high: ends of the scale.
    """
    table = ratings_array(ratings)
    if not low < high:
        raise BadInput(f"scale: expected low < high, got {low:g} and {high:g}; give its ends")
    known = np.isfinite(table)
    n = known.sum(axis=1)
    values = np.where(known, table, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = values.sum(axis=1) / n
        variance = (np.where(known, values - mean[:, None], 0.0) ** 2).sum(axis=1) / n
    lowest = np.where(known, table, np.inf).min(axis=1, initial=np.inf)
    highest = np.where(known, table, -np.inf).max(axis=1, initial=-np.inf)
    variance = np.where(lowest == highest, 0.0, variance)  # whatever the mean of equal answers is rounded to
    return np.where(n > 1, np.sqrt(variance) / (high - low), np.nan)


class Reliability(NamedTuple):
    """Each rater [raters] against the mean of the others on the same units: correlation, bias, number of units."""

    correlation: Float[np.ndarray, " raters"]
    bias: Float[np.ndarray, " raters"]
    units: Int[np.ndarray, " raters"]


def rater_reliability(ratings: ArrayLike) -> Reliability:
    """Each rater compared with the mean of the others, over units that another rater rated too; NaN: not known."""
    table = ratings_array(ratings)
    known = np.isfinite(table)
    values = np.where(known, table, 0.0)
    others = known.sum(axis=1, keepdims=True) - known
    with np.errstate(invalid="ignore", divide="ignore"):
        rest = (values.sum(axis=1, keepdims=True) - values) / others
    both = known & (others > 0)
    columns = [(table[both[:, r], r], rest[both[:, r], r]) for r in range(table.shape[1])]
    return Reliability(
        np.array([_correlation(*pair) for pair in columns]),
        np.array([float(np.mean(mine - theirs)) if len(mine) else np.nan for mine, theirs in columns]),
        both.sum(axis=0).astype(np.int64),
    )


def _correlation(first: np.ndarray, other: np.ndarray) -> float:
    if len(first) < 3 or np.ptp(first) == 0 or np.ptp(other) < 1e-12:
        return float("nan")
    return float(np.corrcoef(first, other)[0, 1])


ALPHA_SOURCE: Final = (
    "Krippendorff 2011, Computing Krippendorff's alpha-reliability, https://repository.upenn.edu/asc_papers/43"
)
ONE_SUBJECT: Final = "one subject alone: no interval"


@final
@dataclass(frozen=True, slots=True)
class Alpha:
    """Krippendorff's alpha, its 95 % interval, and its counts. NaN with a reason where it cannot be estimated."""

    value: float
    low: float
    high: float
    units: int
    answers: int
    subjects: int
    reason: str = ""


def krippendorff_alpha(ratings: ArrayLike, metric: Metric = "ordinal", *, subjects: ArrayLike | None = None) -> Alpha:
    """1 minus observed over expected disagreement: 1 where all agree, 0 where agreement is at chance level.

    Units with fewer than two answers are ignored. subjects [units]: which units belong together (default: each is its
    own). The interval is for these raters and for subjects like these (see `alpha_interval`); it says nothing of other
    raters. Source: Krippendorff 2011.
    """
    table = ratings_array(ratings)
    names = np.arange(len(table)) if subjects is None else np.asarray(subjects)
    if names.shape != (len(table),):
        raise BadInput(f"subjects: expected one for each of {len(table)} units, got {names.size}")
    several = np.isfinite(table).sum(axis=1) > 1
    table, subject = table[several], np.unique(names[several], return_inverse=True)[1]
    levels = np.unique(table[np.isfinite(table)])
    people = len(np.unique(subject))
    size = len(table), int(np.isfinite(table).sum()), people
    if len(levels) < 2:
        reason = "all answers are equal" if len(table) else "no unit has two answers"
        return Alpha(np.nan, np.nan, np.nan, *size, reason)
    counts = answer_counts(table, levels)
    totals = counts.sum(axis=0)
    apart = distances(totals, levels, metric)
    observed = float((coincidences(counts).sum(axis=0) * apart).sum())
    value = float(1 - observed * (totals.sum() - 1) / float(totals @ apart @ totals))
    if people < 2:
        return Alpha(value, np.nan, np.nan, *size, ONE_SUBJECT)
    return Alpha(value, *alpha_interval(counts, levels, metric, subject), *size)


@final
@dataclass(frozen=True, slots=True)
class DawidSkene:
    """shares [units, levels]: how probable each level is; NaN for a unit without an answer. confusion [raters, levels,
    levels]: how probable each answer of a rater is for each true level. prior [levels]. iterations: of the algorithm.
    """

    shares: Float[np.ndarray, "units levels"]
    confusion: Float[np.ndarray, "raters levels levels"]
    prior: Float[np.ndarray, " levels"]
    iterations: int

    @property
    def level(self) -> Float[np.ndarray, " units"]:
        """The most probable level of each unit; NaN for one without an answer."""
        known = np.isfinite(self.shares).all(axis=1)
        best = np.where(known, np.argmax(np.nan_to_num(self.shares), axis=1), np.nan)
        return np.asarray(best, dtype=np.float64)


def dawid_skene(
    ratings: ArrayLike, levels: int, *, iterations: int = 200, tolerance: float = 1e-8, prior_counts: float = 0.01
) -> DawidSkene:
    """Fit the model by expectation-maximization, starting from the shares of the raters' answers.

    prior_counts: the count added to every cell of a confusion matrix, so that an answer never seen is improbable, not
    impossible. Raises BadInput for other values than levels 0 to levels - 1. Source: Dawid & Skene 1979, Maximum
    likelihood estimation of observer error-rates using the EM algorithm, doi:10.2307/2346806.
    """
    table = ratings_array(ratings)
    known = np.isfinite(table)
    answers = table[known]
    if levels < 2 or not np.isin(answers, np.arange(levels)).all():
        raise BadInput(f"ratings: expected indices of levels from 0 to {levels - 1}")
    indicators = np.stack([table == level for level in range(levels)], axis=2).astype(float)  # [units, raters, levels]
    rated = known.any(axis=1)
    shares = indicators.sum(axis=1) / np.maximum(known.sum(axis=1), 1)[:, None]
    steps = 0
    while True:
        steps += 1
        prior = shares[rated].mean(axis=0) if rated.any() else np.full(levels, 1 / levels)
        confusion = np.einsum("ut,url->rtl", shares * rated[:, None], indicators) + prior_counts
        confusion /= confusion.sum(axis=2, keepdims=True)
        log = np.log(np.maximum(prior, 1e-300)) + np.einsum("url,rtl->ut", indicators, np.log(confusion))
        new = np.exp(log - log.max(axis=1, keepdims=True))
        new /= new.sum(axis=1, keepdims=True)
        moved = float(np.abs(new - shares)[rated].max(initial=0.0))
        shares = new
        if moved < tolerance or steps >= iterations:
            break
    return DawidSkene(np.where(rated[:, None], shares, np.nan), confusion, prior, steps)
