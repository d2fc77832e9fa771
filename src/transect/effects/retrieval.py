"""Whose images does a text query find first? Shares of levels among the first K, MaxSkew and NDKL.

A model that embeds images and texts ranks images by their similarity to a query. In transects each subject is shown
equally often at every level, so the share that no level of L exceeds is 1 / L. A largest share of few images exceeds it
by chance, so each figure stands beside what it is on average when the levels are permuted within subjects.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import xlogy

from transect.effects.clusters import by_person
from transect.effects.intervals import SOURCES as INTERVALS
from transect.effects.intervals import WILSON_CLUSTERED, wilson_clustered
from transect.effects.multiplicity import holm
from transect.errors import BadInput
from transect.records import Estimate

SOURCES: Final = (
    "Geyik, Ambler and Kenthapadi 2019, Fairness-aware ranking in search and recommendation systems, "
    "doi:10.1145/3292500.3330691 (Skew, MaxSkew, NDKL)",
    INTERVALS[WILSON_CLUSTERED],
    "Phipson and Smyth 2010, Permutation p-values should never be zero, doi:10.2202/1544-6115.1585",
)
FIRST: Final = (10, 50, 100)
RESAMPLES: Final = 1999
ONE_LEVEL: Final = "one level: nothing to compare"
NO_SUBJECTS: Final = "no subject has a similarity for each of its images"
ALL_TIED: Final = "all similarities are equal: they give no order"
NO_INTERVAL: Final = "no interval of NDKL covers: its first places decide it"
_FEWEST_DRAWS: Final = 199
_MOVED: Final = 10_000_000
_TIE: Final = 1e-9
_CELLS_AT_ONCE: Final = 1 << 18


@final
@dataclass(frozen=True, slots=True)
class FirstImages:
    """The first `k` images of a ranking.

    shares: of each level; their intervals hold for all levels at once. p: of each level, that its share differs from
    1 / L no more than by chance, corrected (Holm). max_skew: the largest log(L * share), at least 0;
    max_skew_by_chance: its mean where levels are permuted within subjects; max_skew_p: of a largest share as large by
    chance. tied: images that are as similar as the k-th, among which the places that are left are shared equally.
    reason: why nothing is estimable.
    """

    k: int
    shares: tuple[Estimate, ...]
    p: tuple[float, ...]
    max_skew: Estimate
    max_skew_by_chance: float
    max_skew_p: float
    tied: int
    reason: str = ""


@final
@dataclass(frozen=True, slots=True)
class RetrievalSkew:
    """How unlike the levels are ranked for one query.

    first: for each K that was asked for. ndkl: normalised discounted divergence of the levels' shares from equal ones
    over the whole ranking, 0 and more, without an interval. ndkl_by_chance: its mean where levels are permuted within
    subjects; p: of an NDKL as large by chance. images: that were ranked, of `subjects`; dropped: subjects with an image
    without a similarity. reason: why nothing is estimable.
    """

    first: tuple[FirstImages, ...]
    ndkl: Estimate
    ndkl_by_chance: float
    p: float
    images: int
    subjects: int
    dropped: int
    reason: str = ""


def retrieval_skew(
    similarities: Float[np.ndarray, "n levels cells"],
    first: Sequence[int] = FIRST,
    *,
    people: Int[np.ndarray, " n"] | None = None,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> RetrievalSkew:
    """Shares of levels among the images that are most similar to one query, and what chance would make of them.

    similarities: of subject i at each level of one attribute, in each cell of the others (`contrasts.by_level` has this
    form), larger is found earlier; NaN where an image has none: its subject is left out, and counted. first: numbers of
    images K. people: who is on each subject, where several show one person: intervals are then by person, levels are
    permuted alike in all subjects that show one, and `subjects` and `dropped` count people.

    The share of a level among the first K is of images above a similarity that as large a part of all images exceeds.
    It has Wilson's interval on effective images by subject (`wilson_clustered`). One of the first K can be worth L of
    them, since the levels of a subject are compared. Its level is 1 - (1 - confidence) / L, so that all L intervals
    hold at once; the ends of MaxSkew are the largest of the ends. NDKL has none: it is largely decided by the first
    places, so that neither the jackknife nor resampled subjects cover it (docs/research/measurements.md has figures).
    Tests permute the levels within each subject's cells; more than 5,000 images have fewer draws, at least 199.

    Raises BadInput for a K below 1.

    >>> found = retrieval_skew(np.array([[[0.9], [0.1]], [[0.8], [0.2]], [[0.7], [0.3]], [[0.3], [0.4]]]), [3])
    >>> top = found.first[0]
    >>> [share.estimate for share in top.shares], round(top.max_skew.estimate, 3)
    ([1.0, 0.0], 0.693)
    >>> top.max_skew_p > 0.2  # of two ways out of 2^3 all three are alike
    True
    """
    if any(k < 1 for k in first):
        raise BadInput(f"first: expected at least 1 image, got {min(first)}; for example 10")
    complete = np.isfinite(similarities).all(axis=(1, 2))
    values = similarities[complete]
    shown = np.arange(len(complete)) if people is None else people
    persons, who = np.unique(shown[complete], return_inverse=True)
    subjects, dropped = len(persons), len(np.unique(shown)) - len(persons)
    reason = _reason(values)
    if reason:
        levels = similarities.shape[1]
        nothing = tuple(_nothing(k, levels, reason) for k in first)
        none = Estimate(reason=reason)
        return RetrievalSkew(nothing, none, np.nan, np.nan, values.size, subjects, dropped, reason)
    ranking = _Ranking.of(values)
    tops = [_Top.of(values, k) for k in first]
    estimate = float(ranking.ndkl(ranking.level))
    draws = int(np.clip(_MOVED // values.size, min(_FEWEST_DRAWS, resamples), resamples))
    shares, divergences = _by_chance(values, who, tops, ranking, draws, seed)
    return RetrievalSkew(
        first=tuple(_first(top, who, chance, confidence) for top, chance in zip(tops, shares, strict=True)),
        ndkl=Estimate(estimate, reason=NO_INTERVAL),
        ndkl_by_chance=float(divergences.mean()),
        p=_p(divergences >= estimate - _TIE),
        images=values.size,
        subjects=subjects,
        dropped=dropped,
    )


def _reason(values: Float[np.ndarray, "n levels cells"]) -> str:
    if values.shape[1] < 2:
        return ONE_LEVEL
    return NO_SUBJECTS if not values.size else ALL_TIED if np.ptp(values) == 0 else ""


@final
@dataclass(frozen=True, slots=True)
class _Top:
    """weight [n, levels, cells]: 1 of an image among the first k, 0 of others; what is left is shared among ties."""

    k: int
    weight: Float[np.ndarray, "n levels cells"]
    tied: int
    reason: str

    @classmethod
    def of(cls, values: Float[np.ndarray, "n levels cells"], k: int) -> _Top:
        if k >= values.size:
            return cls(k, np.zeros(values.shape), 0, f"the first {k} of {values.size} images: all of them")
        last = np.partition(values.ravel(), values.size - k)[values.size - k]
        above, at = values > last, values == last
        left = (k - int(above.sum())) / int(at.sum())
        return cls(k, np.where(above, 1.0, np.where(at, left, 0.0)), int(at.sum()), "")


@final
@dataclass(frozen=True, slots=True)
class _Ranking:
    """Images from the most to the least similar, and for each place where the images begin and end that tie with it.

    order: images; level: of the image at each place; discount: weights of the places, of all together 1.
    """

    order: Int[np.ndarray, " n"]
    level: Int[np.ndarray, " n"]
    levels: int
    start: Int[np.ndarray, " n"]
    end: Int[np.ndarray, " n"]
    discount: Float[np.ndarray, " n"]

    @classmethod
    def of(cls, values: Float[np.ndarray, "n levels cells"]) -> _Ranking:
        flat = values.ravel()
        order = np.argsort(-flat, kind="stable")
        ordered = flat[order]
        level = np.broadcast_to(np.arange(values.shape[1])[None, :, None], values.shape).ravel()[order]
        start = np.searchsorted(-ordered, -ordered, side="left")
        end = np.searchsorted(-ordered, -ordered, side="right")
        discount = 1 / np.log2(np.arange(len(flat)) + 2.0)
        return cls(order, level, values.shape[1], start, end, discount / discount.sum())

    def ndkl(self, level: Int[np.ndarray, "*draws n"]) -> Float[np.ndarray, "*draws"]:
        """NDKL of levels in the order of the places. Places that tie share their images equally."""
        place = np.arange(len(self.order)) + 1
        within = (place - self.start) / (self.end - self.start)
        divergence = np.zeros(level.shape)
        for one in range(self.levels):
            found = np.cumsum(level == one, axis=-1, dtype=np.float64)
            found = np.concatenate([np.zeros((*level.shape[:-1], 1)), found], axis=-1)
            before, after = found[..., self.start], found[..., self.end]
            share = (before + within * (after - before)) / place
            divergence += xlogy(share, self.levels * share)
        return np.asarray(divergence @ self.discount)


def _by_chance(
    values: Float[np.ndarray, "n levels cells"],
    who: Int[np.ndarray, " n"],
    tops: Sequence[_Top],
    ranking: _Ranking,
    resamples: int,
    seed: int,
) -> tuple[list[Float[np.ndarray, "b levels"]], Float[np.ndarray, " b"]]:
    """Shares of the levels in each top, and NDKL, with levels permuted within each person's cells."""
    shares: list[list[np.ndarray]] = [[] for _ in tops]
    divergences = []
    for level in _permuted(values.shape, who, resamples, seed):
        for found, top in zip(shares, tops, strict=True):
            found.append(_shares(top, level))
        divergences.append(ranking.ndkl(level.reshape(len(level), -1)[:, ranking.order]))
    return [np.concatenate(found) for found in shares], np.concatenate(divergences)


def _permuted(
    shape: tuple[int, ...], who: Int[np.ndarray, " n"], resamples: int, seed: int
) -> Iterator[Int[np.ndarray, "b n levels cells"]]:
    """Blocks of draws of the level of each image."""
    people = int(who.max()) + 1
    rng = np.random.Generator(np.random.Philox(seed))
    block = max(1, _CELLS_AT_ONCE // int(np.prod(shape)))
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        yield np.argsort(rng.random((rows, people, *shape[1:])), axis=2)[:, who]


def _shares(top: _Top, level: Int[np.ndarray, "*draws n levels cells"]) -> Float[np.ndarray, "*draws levels"]:
    levels = top.weight.shape[1]
    weights = [np.where(level == one, top.weight, 0.0).sum(axis=(-3, -2, -1)) for one in range(levels)]
    return np.stack(weights, axis=-1) / top.k


def _first(
    top: _Top, who: Int[np.ndarray, " n"], chance: Float[np.ndarray, "b levels"], confidence: float
) -> FirstImages:
    levels = top.weight.shape[1]
    if top.reason:
        return _nothing(top.k, levels, top.reason)
    successes = by_person(top.weight.sum(axis=2), who)[0]
    counts = np.broadcast_to(successes.sum(axis=1, keepdims=True), successes.shape)
    share = successes.sum(axis=0) / top.k
    # Of two levels either interval is the other's mirror image: they hold together or not at all.
    level = 1 - (1 - confidence) / (levels if levels > 2 else 1)
    low, high = wilson_clustered(successes, counts, level, worth=levels)
    ends = zip(share.tolist(), low.tolist(), high.tolist(), strict=True)
    apart = np.abs(chance - 1 / levels) >= np.abs(share - 1 / levels) - _TIE
    largest = _max_skew(np.stack([share, low, high])).tolist()
    by_chance = _max_skew(chance)
    return FirstImages(
        k=top.k,
        shares=tuple(Estimate(*each) for each in ends),
        p=tuple(holm(np.array([_p(column) for column in apart.T])).tolist()),
        max_skew=Estimate(largest[0], max(largest[1], 0.0), largest[2]),
        max_skew_by_chance=float(by_chance.mean()),
        max_skew_p=_p(by_chance >= largest[0] - _TIE),
        tied=top.tied,
    )


def _max_skew(shares: Float[np.ndarray, "r levels"]) -> Float[np.ndarray, " r"]:
    """The largest log(L * share)."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(shares.shape[1] * shares.max(axis=1)))


def _nothing(k: int, levels: int, reason: str) -> FirstImages:
    none = Estimate(reason=reason)
    return FirstImages(k, (none,) * levels, (np.nan,) * levels, none, np.nan, np.nan, 0, reason)


def _p(extreme: Bool[np.ndarray, " b"]) -> float:
    return float((1 + extreme.sum()) / (1 + len(extreme)))
