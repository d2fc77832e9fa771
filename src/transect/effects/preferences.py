"""Choices between two images: a preference between two levels in both orders, abilities of more levels (Bradley and
Terry 1952).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, final

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from transect.effects import clusters, intervals, resampling
from transect.effects.generalized import LOGIT, SEPARATION_SOURCE, maximise, separation
from transect.effects.pair_perception import BRADLEY_TERRY, Comparison, Triad, triads, unbounded
from transect.effects.regression import independent
from transect.effects.wordings import over_repeats
from transect.errors import BadInput
from transect.records import Estimate

ABILITY_SOURCES: Final = (
    *BRADLEY_TERRY,
    "Davidson and Beaver 1977, On extending the Bradley-Terry model to incorporate within-pair order effects, "
    "doi:10.2307/2529464",
    clusters.SOURCE,
    SEPARATION_SOURCE,
)
ONE_ORDER: Final = "pairs were not shown in both orders: levels and places cannot be told apart"
PLACE: Final = "answers follow the places without error: the log odds are infinite"
TOO_FEW: Final = "fewer than two subjects: no interval"
NO_VARIATION: Final = "the answers do not differ from what the abilities say: no interval"
_ROUNDING: Final = 1e-9


@final
@dataclass(frozen=True, slots=True)
class Abilities:
    """abilities: of each level, log odds of being chosen over level 0, which is 0 itself.

    place: log odds by which the image in the second place is chosen more often. compared: share of answers that choose
    the level of the higher number, for each pair of levels that met; a tie counts half. triads: how often three levels
    of one subject were all decided between each other; circular: how often these contradict each other (b over a, c
    over b, a over c); expected: how many would, if all subjects' answers were independent draws from the model; a
    quarter of the triads do where answers are random. within: answers about two images of one level. unanswered: NaN.
    """

    abilities: tuple[Estimate, ...]
    place: Estimate
    compared: tuple[Comparison, ...]
    triads: int
    circular: int
    expected: float
    subjects: int
    answers: int
    within: int
    unanswered: int


class _Answers(NamedTuple):
    """Answers that count, turned so that low < high: value is 1 where high was chosen, sign 1 where it was second."""

    low: Int[np.ndarray, " r"]
    high: Int[np.ndarray, " r"]
    value: Float[np.ndarray, " r"]
    sign: Float[np.ndarray, " r"]
    subject: Int[np.ndarray, " r"]


class _Fitted(NamedTuple):
    """Estimates of the levels and of the place; fitted: the chance that the level of the higher number is chosen."""

    abilities: tuple[Estimate, ...]
    place: Estimate
    fitted: Float[np.ndarray, " r"] | None = None


def level_abilities(
    first: ArrayLike,
    second: ArrayLike,
    chosen: ArrayLike,
    subject: Sequence[object] | np.ndarray,
    *,
    levels: int | None = None,
    confidence: float = 0.95,
) -> Abilities:
    """Abilities of levels from choices between two images at a time, with intervals by subject.

    first, second [r]: levels of the image in the first and in the second place, numbers from 0; chosen [r]: 1 where the
    second was chosen, 0 the first, 1/2 for a tie, NaN without an answer; subject [r]: labels. levels: how many there
    are (default: those that occur).

    Maximum quasi-likelihood, where a tie counts half for either level; what is estimated is an average over subjects.
    Intervals are Student's on bias-reduced errors by subject, with Satterthwaite's degrees of freedom
    (`few_subjects.bias_reduced`). Not estimable, with the reason: levels that never met, or that were chosen always or
    never; answers that follow the places alone. The preference for a place needs pairs in both orders.

    Raises BadInput for lengths that differ, a choice beyond 0 and 1, or a level beyond `levels`.

    >>> shown, beside = np.tile([0, 1], 8), np.tile([1, 0], 8)
    >>> chosen = [1, 0] * 6 + [0, 1] * 2  # six subjects choose level 1 in both orders, two level 0
    >>> found = level_abilities(shown, beside, chosen, np.repeat(np.arange(8), 2))
    >>> round(found.abilities[1].estimate, 4), abs(round(found.place.estimate, 4)), found.compared[0].more.estimate
    (1.0986, 0.0, 0.75)
    """
    one, two, value, labels = _read(first, second, chosen, subject)
    k = int(max(one.max(initial=-1), two.max(initial=-1))) + 1 if levels is None else levels
    if len(one) and not 0 <= min(one.min(), two.min()) <= max(one.max(), two.max()) < k:
        raise BadInput(f"levels: expected numbers from 0 to {k - 1}, got {max(one.max(), two.max())}")
    known, within = np.isfinite(value), one == two
    answers = _turned(one, two, value, labels, known & ~within)
    fit = _fit(answers, k, confidence)
    met = triads(answers.subject.tolist(), answers.low, answers.high, answers.value)
    return Abilities(
        abilities=fit.abilities,
        place=fit.place,
        compared=tuple(_comparisons(answers, confidence)),
        triads=len(met),
        circular=sum(triad.circular for triad in met),
        expected=math.nan if fit.fitted is None else _expected(met, answers, fit.fitted),
        subjects=len(np.unique(answers.subject)),
        answers=len(answers.value),
        within=int((known & within).sum()),
        unanswered=int((~known).sum()),
    )


def _read(
    first: ArrayLike, second: ArrayLike, chosen: ArrayLike, subject: Sequence[object] | np.ndarray
) -> tuple[Int[np.ndarray, " r"], Int[np.ndarray, " r"], Float[np.ndarray, " r"], np.ndarray]:
    one, two, labels = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64), np.asarray(subject)
    value = np.asarray(chosen, dtype=np.float64)
    if value.ndim != 1 or any(column.shape != value.shape for column in (one, two, labels)):
        lengths = ", ".join(str(len(column)) for column in (one, two, labels))
        raise BadInput(f"expected levels and a subject for each of {len(value)} answers, got {lengths}")
    known = value[np.isfinite(value)]
    if len(known) and not 0 <= known.min() <= known.max() <= 1:
        raise BadInput(f"chosen: expected 0 to 1, got {known.min():g} to {known.max():g}; give 1 for the second image")
    return one, two, value, labels


def _turned(
    one: Int[np.ndarray, " r"], two: Int[np.ndarray, " r"], value: np.ndarray, labels: np.ndarray, used: np.ndarray
) -> _Answers:
    one, two, value = one[used], two[used], value[used]
    turned = one > two
    subject = np.unique(labels[used], return_inverse=True)[1].reshape(-1)
    sign = np.where(turned, -1.0, 1.0)
    return _Answers(np.minimum(one, two), np.maximum(one, two), np.where(turned, 1 - value, value), sign, subject)


def _fit(answers: _Answers, k: int, confidence: float) -> _Fitted:
    """Quasi-likelihood of the choice of the higher number on the levels' difference and on whether it stood second."""
    if reason := unbounded(answers.low, answers.high, answers.value, k):
        return _none(k, reason)
    columns = (np.eye(k)[answers.high] - np.eye(k)[answers.low])[:, 1:]
    x = np.column_stack([columns, answers.sign])
    told = _both_orders(answers, k) and len(independent(x)) == x.shape[1]
    x = x if told else columns
    names = [*(f"level {level}" for level in range(1, k)), "place"]
    if separation(x, answers.value, names).infinite:
        return _none(k, PLACE)
    coefficients, _ = maximise(x, answers.value, np.ones(len(x)), LOGIT)
    mean = LOGIT.mean(x @ coefficients)
    root = np.sqrt(LOGIT.variance(mean))
    estimates = _bounded(coefficients, x * root[:, None], (answers.value - mean) / root, answers.subject, confidence)
    place = estimates[-1] if told else Estimate(reason=ONE_ORDER)
    return _Fitted((Estimate(0.0, 0.0, 0.0), *estimates[: k - 1]), place, mean)


def _both_orders(answers: _Answers, k: int) -> bool:
    """Whether some pair of levels was shown in both; else only the model's form would tell places from levels."""
    pair = answers.low * k + answers.high
    return bool(np.isin(pair[answers.sign > 0], pair[answers.sign < 0]).any())


def _none(k: int, reason: str) -> _Fitted:
    none = Estimate(reason=reason)
    return _Fitted((none,) * k, none)


def _bounded(
    coefficients: Float[np.ndarray, " k"],
    x: Float[np.ndarray, "r k"],
    residual: Float[np.ndarray, " r"],
    subject: Int[np.ndarray, " r"],
    confidence: float,
) -> list[Estimate]:
    if subject.max() < 1:
        return [Estimate(value, reason=TOO_FEW) for value in coefficients.tolist()]
    covariance, freedom = clusters.bias_reduced(x, residual, subject)
    least = _ROUNDING * np.diag(np.linalg.inv(x.T @ x))
    rows = zip(coefficients.tolist(), np.diag(covariance).tolist(), freedom.tolist(), least.tolist(), strict=True)
    return [_interval(*row, confidence) for row in rows]


def _interval(estimate: float, variance: float, freedom: float, least: float, confidence: float) -> Estimate:
    if not (variance > least and freedom > 0):
        return Estimate(estimate, reason=NO_VARIATION)
    half = float(stdtrit(freedom, (1 + confidence) / 2)) * math.sqrt(variance)
    return Estimate(estimate, estimate - half, estimate + half)


def _comparisons(answers: _Answers, confidence: float) -> Iterator[Comparison]:
    for one, two in sorted(set(zip(answers.low.tolist(), answers.high.tolist(), strict=True))):
        rows = (answers.low == one) & (answers.high == two)
        share = intervals.share_by_subject(answers.value[rows], answers.subject[rows], confidence)
        yield Comparison(one, two, share, int(rows.sum()))


def _expected(met: Sequence[Triad], answers: _Answers, fitted: Float[np.ndarray, " r"]) -> float:
    """How many of these triads would be circular, each pair decided by as many answers, ties left out, as it was."""
    chances: dict[tuple[object, int, int], list[float]] = {}
    decisive = answers.value != 0.5
    columns = (column[decisive].tolist() for column in (answers.subject, answers.low, answers.high, fitted))
    for who, low, high, chance in zip(*columns, strict=True):
        chances.setdefault((who, low, high), []).append(chance)
    decided = {pair: _decided(each) for pair, each in chances.items()}
    total = 0.0
    for who, (a, b, c), _ in met:
        ab, bc, ac = decided[who, a, b], decided[who, b, c], decided[who, a, c]
        total += ab * bc * (1 - ac) + (1 - ab) * (1 - bc) * ac
    return total


def _decided(chances: Sequence[float]) -> float:
    """The probability that most of independent answers choose the higher number, given that there is a majority."""
    ways = np.ones(1)
    for chance in chances:
        ways = np.convolve(ways, [1 - chance, chance])
    counts = np.arange(len(ways)) - len(chances) / 2
    more, less = float(ways[counts > 0].sum()), float(ways[counts < 0].sum())
    return more / (more + less)


SOURCES: Final = (
    intervals.SOURCES[intervals.CLOPPER_PEARSON],
    resampling.SOURCES[resampling.EXACT],
    intervals.SOURCES[intervals.PAIRED_SCORE],
)
NOBODY: Final = "no subject prefers either level"
NO_SUBJECTS: Final = "no subject was answered in both orders"
FEW: Final = "fewer than two subjects were answered in both orders"
_TIE: Final = 1e-9
PREFERRED: Final = "preferred"
"""The outcome of a question about two images: the share of subjects that prefer the image at a level."""


@final
@dataclass(frozen=True, slots=True)
class Preference:
    """What a model prefers between two levels of one attribute, subject by subject.

    share: of the second level among subjects that prefer either; p: that it is 1/2, exact. second, first, undecided:
    shares of all subjects with answers in both orders, of whom the model prefers the second level, the first, or
    neither. by_place: among the undecided, those whose choice follows the place. place: how much more often the image
    in the second place is chosen than the one in the first, -1 to 1; place_p: that it is not. subjects: with answers in
    both orders; incomplete: with answers, but in no pair in both.
    """

    share: Estimate
    p: float
    second: Estimate
    first: Estimate
    undecided: Estimate
    by_place: int
    place: Estimate
    place_p: float
    subjects: int
    incomplete: int


def preference(
    as_second: Float[np.ndarray, "n pairs wordings *repeats"],
    as_first: Float[np.ndarray, "n pairs wordings *repeats"],
    *,
    confidence: float = 0.95,
    seed: int = 0,
) -> Preference:
    """Preference for the second level over the first, of subjects that are shown at both at once, in both orders.

    as_second, as_first: 1 where the image at the second level was chosen, 0 where the other was, 1/2 for a tie, NaN
    without an answer, while the second level's image stood in the second place, or in the first. pairs: of one subject,
    as in cells of other attributes. Repeats are averaged, then a pair counts where every paraphrase has an answer in
    both orders.

    A subject prefers the second level where the mean of its answers is above 1/2 in both orders, the first where it is
    below in both. Shares have Clopper and Pearson's exact interval, as subjects are independent; the sign test of the
    share is exact. The preference for a place is the mean over
    subjects of the difference between orders.

    Raises BadInput where the shapes differ or an answer is beyond 0 and 1.

    >>> second = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, np.nan])[:, None, None]
    >>> found = preference(second, np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0])[:, None, None])
    >>> round(found.share.estimate, 3), found.p, round(found.undecided.estimate, 3), found.by_place
    (0.833, 0.21875, 0.143, 1)
    >>> found.subjects, found.incomplete, round(found.place.estimate, 3)
    (7, 1, 0.143)
    """
    _check(as_second, as_first)
    later, earlier, incomplete = _means(as_second, as_first)
    prefers = (later > 0.5 + _TIE) & (earlier > 0.5 + _TIE)
    rejects = (later < 0.5 - _TIE) & (earlier < 0.5 - _TIE)
    by_place = (later > 0.5 + _TIE) & (earlier < 0.5 - _TIE) | (later < 0.5 - _TIE) & (earlier > 0.5 + _TIE)
    decided = prefers[prefers | rejects]
    signs = np.where(decided, 1.0, -1.0)[:, None]
    pairs = float(np.prod(as_second.shape[1:]))
    place, place_p = _place(later - earlier, pairs, confidence, seed)
    return Preference(
        share=_exact(decided, confidence, NOBODY),
        p=float(resampling.sign_flip(signs)[0][0]),
        second=_exact(prefers, confidence, NO_SUBJECTS),
        first=_exact(rejects, confidence, NO_SUBJECTS),
        undecided=_exact(~(prefers | rejects), confidence, NO_SUBJECTS),
        by_place=int(by_place.sum()),
        place=place,
        place_p=place_p,
        subjects=len(later),
        incomplete=incomplete,
    )


def decisions(
    as_second: Float[np.ndarray, "n pairs wordings *repeats"], as_first: Float[np.ndarray, "n pairs wordings *repeats"]
) -> Float[np.ndarray, " n"]:
    """Whom each subject's answers prefer: 1 the second level, -1 the first, 0 neither; NaN without a complete pair."""
    _check(as_second, as_first)
    later, earlier = _by_order(as_second, as_first)
    prefers = (later > 0.5 + _TIE) & (earlier > 0.5 + _TIE)
    rejects = (later < 0.5 - _TIE) & (earlier < 0.5 - _TIE)
    return np.where(np.isfinite(later), prefers.astype(np.float64) - rejects, np.nan)


@final
@dataclass(frozen=True, slots=True)
class NetPreference:
    """The share of subjects that prefer the second level less that of those that prefer the first, -1 to 1.

    p: that subjects with a preference prefer either as often, by McNemar's mid-p. subjects: with answers
    in both orders.
    """

    difference: Estimate
    p: float
    test: str
    subjects: int


def net_preference(decided: Float[np.ndarray, " n"], *, confidence: float = 0.95) -> NetPreference:
    """The difference of both shares among subjects, with McNemar's mid-p and its interval."""
    known = decided[np.isfinite(decided)]
    if not len(known):
        return NetPreference(Estimate(reason=NO_SUBJECTS), np.nan, "", 0)
    second, first = int((known > 0).sum()), int((known < 0).sum())
    low, high = resampling.mcnemar_interval(second, first, len(known), confidence)
    p = resampling.mcnemar(second, first)
    return NetPreference(Estimate(float(known.mean()), low, high), p, resampling.MID_P, len(known))


def _check(*answers: Float[np.ndarray, "n pairs wordings *repeats"]) -> None:
    known = np.concatenate([each[np.isfinite(each)] for each in answers])
    if answers[0].shape != answers[1].shape:
        raise BadInput(
            f"expected answers of the same shape in both orders, got {answers[0].shape} and "
            f"{answers[1].shape}; give NaN where there is no answer"
        )
    if len(known) and not 0 <= known.min() <= known.max() <= 1:
        raise BadInput(f"expected answers from 0 to 1, got {known.min():g} to {known.max():g}; give 1 for the second")


def _by_order(
    as_second: Float[np.ndarray, "n pairs wordings *repeats"], as_first: Float[np.ndarray, "n pairs wordings *repeats"]
) -> Float[np.ndarray, "2 n"]:
    """Each subject's mean answer in either order, of its complete pairs; NaN for one that has none of these."""
    orders = np.stack([over_repeats(each).mean(axis=2) for each in (as_second, as_first)])
    complete = np.isfinite(orders).all(axis=0)
    sums, n = np.where(complete, orders, 0.0).sum(axis=2), complete.sum(axis=1)
    return np.asarray(np.divide(sums, n, out=np.full(sums.shape, np.nan), where=n > 0))


def _means(
    as_second: Float[np.ndarray, "n pairs wordings *repeats"], as_first: Float[np.ndarray, "n pairs wordings *repeats"]
) -> tuple[Float[np.ndarray, " s"], Float[np.ndarray, " s"], int]:
    """`_by_order` of the subjects that have a complete pair, and how many others answered at all."""
    means = _by_order(as_second, as_first)
    used = np.isfinite(means[0])
    answered = np.isfinite(np.stack([as_second, as_first])).any(axis=(0, *range(2, as_second.ndim + 1)))
    return means[0, used], means[1, used], int((answered & ~used).sum())


def _exact(chosen: np.ndarray, confidence: float, reason: str) -> Estimate:
    if not len(chosen):
        return Estimate(reason=reason)
    hits = chosen.astype(np.float64)[:, None]
    low, high = intervals.clopper_pearson_clustered(hits, np.ones_like(hits), confidence)
    return Estimate(float(hits.mean()), float(low[0]), float(high[0]))


def _place(apart: Float[np.ndarray, " n"], pairs: float, confidence: float, seed: int) -> tuple[Estimate, float]:
    """The mean difference between orders: the share of second places among choices, less the share of first ones."""
    if not len(apart):
        return Estimate(reason=NO_SUBJECTS), np.nan
    found = intervals.mean_difference_interval(
        apart[:, None], binary=True, pairs=np.array([pairs]), confidence=confidence
    )
    low, high = float(found.low[0]), float(found.high[0])
    single = intervals.single_pairs(apart[:, None], np.array([pairs]), np.ones(1))
    p = float(resampling.sign_flip(apart[:, None], single=single, seed=seed)[0][0])
    return Estimate(float(apart.mean()), low, high, "" if np.isfinite(low) else FEW), p
