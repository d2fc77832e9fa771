"""Which of two images does a model choose, if each pair is shown in both orders? Preferences by subject, and of places.

A subject is shown at two levels at once, once with the second level in the second place and once in the first. Whoever
is chosen in both orders is preferred; a choice that follows the place is no preference for a level.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float

from transect.effects import intervals, randomization
from transect.effects.pair_perception import Bounded
from transect.effects.wordings import over_repeats
from transect.errors import BadInput

SOURCES: Final = (
    intervals.SOURCES[intervals.CLOPPER_PEARSON],
    randomization.SOURCES[randomization.EXACT],
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

    share: Bounded
    p: float
    second: Bounded
    first: Bounded
    undecided: Bounded
    by_place: int
    place: Bounded
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
        p=float(randomization.sign_flip(signs)[0][0]),
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

    p: that subjects with a preference prefer either as often, by the sign test of `preference`. subjects: with answers
    in both orders.
    """

    difference: Bounded
    p: float
    test: str
    subjects: int


def net_preference(decided: Float[np.ndarray, " n"], *, confidence: float = 0.95, seed: int = 0) -> NetPreference:
    """The difference of both shares among subjects, with the paired score interval (Tango 1998)."""
    known = decided[np.isfinite(decided)]
    if not len(known):
        return NetPreference(Bounded(np.nan, np.nan, np.nan, NO_SUBJECTS), np.nan, "", 0)
    second, first = float((known > 0).sum()), float((known < 0).sum())
    low, high = intervals.paired_score_interval(second, first, len(known), confidence=confidence)
    p, tests = randomization.sign_flip(known[:, None], seed=seed)
    share = Bounded(float(known.mean()), float(low), float(high))
    return NetPreference(share, float(p[0]), tests[0], len(known))


def _check(*answers: Float[np.ndarray, "n pairs wordings *repeats"]) -> None:
    known = np.concatenate([each[np.isfinite(each)] for each in answers])
    if answers[0].shape != answers[1].shape:
        raise BadInput(
            f"expected answers of one shape in both orders, got {answers[0].shape} and {answers[1].shape}; give NaN "
            "where there is no answer"
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


def _exact(chosen: np.ndarray, confidence: float, reason: str) -> Bounded:
    if not len(chosen):
        return Bounded(np.nan, np.nan, np.nan, reason)
    hits = chosen.astype(np.float64)[:, None]
    low, high = intervals.clopper_pearson_clustered(hits, np.ones_like(hits), confidence)
    return Bounded(float(hits.mean()), float(low[0]), float(high[0]))


def _place(apart: Float[np.ndarray, " n"], pairs: float, confidence: float, seed: int) -> tuple[Bounded, float]:
    """The mean difference between orders: the share of second places among choices, less the share of first ones."""
    if not len(apart):
        return Bounded(np.nan, np.nan, np.nan, NO_SUBJECTS), np.nan
    found = intervals.mean_difference_interval(
        apart[:, None], binary=True, pairs=np.array([pairs]), confidence=confidence, seed=seed
    )
    low, high = float(found.low[0]), float(found.high[0])
    p = float(randomization.sign_flip(apart[:, None], seed=seed)[0][0])
    return Bounded(float(apart.mean()), low, high, "" if np.isfinite(low) else FEW), p
