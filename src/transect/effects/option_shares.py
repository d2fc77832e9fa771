"""Shares of the options that a model chooses, their differences between levels, and its bias for a position."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int

from transect.effects import clusters, curves, resampling
from transect.effects.contrasts import level_differences
from transect.effects.intervals import SOURCES as INTERVALS
from transect.effects.intervals import WILSON_CLUSTERED, Intervals, mean_interval, no_interval, wilson_clustered
from transect.effects.multiplicity import HOLM, holm
from transect.effects.wordings import over_repeats
from transect.errors import BadInput
from transect.records import Estimate

EXACT: Final = "exact permutation of levels within subjects"
MONTE_CARLO: Final = "Monte Carlo permutation of levels within subjects"
SOURCES: Final = (
    *curves.SOURCES,
    resampling.SOURCES[resampling.PERMUTATION],
    HOLM,
)
BONFERRONI: Final = "at the level of Bonferroni"
NO_ANSWER: Final = "no answer"
MOST_EXACT: Final = 20_000
"""Permutations up to which all are counted."""
_FEWEST_DRAWS: Final = 999
_MOVED: Final = 100_000_000
_LISTED: Final = 120
_AT_ONCE: Final = 1 << 18
_IN_CACHE: Final = 1 << 16
_TIE: Final = 1e-9


@final
@dataclass(frozen=True, slots=True)
class OptionContrast:
    """The share of one option at one level less its share at the first level.

    difference: its interval holds together with those of the other options of this level. p: of the sign-flip test;
    p_corrected: by Holm, over all options and levels.
    """

    option: int
    level: int
    difference: Estimate
    method: str
    p: float
    p_corrected: float


@final
@dataclass(frozen=True, slots=True)
class OptionShares:
    """shares: a row per level of one share per option, each with its own interval. contrasts: of every later level with
    the first.

    p: of no change of any option at any level, with the test's method; "" and NaN where no subject tells. subjects:
    that the test uses, with an answer at every level in some cell.
    """

    shares: tuple[tuple[Estimate, ...], ...]
    contrasts: tuple[OptionContrast, ...]
    p: float
    method: str
    subjects: int


def chosen_shares(
    choices: Float[np.ndarray, "*images wordings repeats"], options: int
) -> Float[np.ndarray, "*images options"]:
    """The share of each option among an image's answers, from the numbers of the chosen options, NaN without an answer.

    Paraphrases count equally, and of one paraphrase the repeats that were answered; NaN where a paraphrase has none.

    >>> chosen_shares(np.array([[[0.0], [1.0]], [[2.0], [np.nan]]]), 3)
    array([[0.5, 0.5, 0. ],
           [nan, nan, nan]])
    """
    known = choices[np.isfinite(choices)]
    if len(known) and not (known.min() >= 0 and known.max() < options and (known == np.rint(known)).all()):
        raise BadInput(f"choices: expected numbers from 0 to {options - 1}, got {known.min():g} to {known.max():g}")
    shown = [np.where(np.isfinite(choices), choices == option, np.nan) for option in range(options)]
    flat = [over_repeats(values.reshape(1, -1, *values.shape[-2:])).mean(axis=2) for values in shown]
    return np.stack([values.reshape(choices.shape[:-2]) for values in flat], axis=-1)


def shares_by_option(
    values: Float[np.ndarray, "n levels cells options"],
    *,
    binary: bool = True,
    asked: int = 1,
    people: Int[np.ndarray, " n"] | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> OptionShares:
    """Shares of options by level, their contrasts with the first level, and whether anything changes.

    values: share of each option in each image, NaN where it has no value (`chosen_shares`); binary: from choices, asked
    `asked` times each; else numbers, as the probabilities that a model gives. people: who is on each subject, where
    several show one person: intervals and tests are then by person, and people are counted.

    Of 20 subjects on, the differences of one level have a sup-t band (`bands.difference_band`, `mean_band`); of fewer,
    and of numbers of which an option does not vary, the intervals of `mean_difference_interval` at 1 - (1 - confidence)
    / options. Both hold for all options of the level at once. Each option has a sign-flip test.

    The test of any change permutes the levels within subjects; its statistic is the sum over options and levels of the
    squared difference between the level's mean share and the mean of all levels. It is exact under the null that the
    levels of a subject could be exchanged.

    >>> first = np.tile([1.0, 0.0, 0.0], (8, 1, 1))
    >>> second = np.tile([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], (4, 1))[:, None]  # four of eight change to option 1
    >>> found = shares_by_option(np.stack([first, second], axis=1))
    >>> [each.difference.estimate for each in found.contrasts], found.p  # all four change alike: 2 / 2^4
    ([-0.5, 0.5, 0.0], 0.125)
    """
    levels, cells, options = values.shape[1:]
    who = clusters.clusters_of(people)
    differences = [level_differences(values[:, 0], values[:, level]) for level in range(1, levels)]
    p = np.concatenate([clusters.sign_flip(d, who, seed=seed)[0] for d in differences] or [np.empty(0)])
    corrected = holm(p).reshape(-1, options)
    rows = []
    for place, d in enumerate(differences):
        found = _simultaneous(d, who, float(cells * asked), binary=binary, confidence=confidence, seed=seed)
        people_with = clusters.people_with(d, who).tolist()
        for option in range(options):
            difference = found.estimate(option, d[:, option], no_interval(people_with[option]))
            tests = float(p.reshape(-1, options)[place, option]), float(corrected[place, option])
            rows.append(OptionContrast(option, place + 1, difference, found.methods[option], *tests))
    complete = np.isfinite(values).all(axis=(1, 3))
    used = complete.any(axis=1)
    means = np.where(complete[:, None, :, None], values, 0.0).sum(axis=2)
    means /= np.where(used, complete.sum(axis=1), np.nan)[:, None, None]
    means = clusters.of_people(means, who)
    means = means[np.isfinite(means[:, 0, 0])]
    any_change, method = permuted_levels(means, seed=seed)
    return OptionShares(
        shares=tuple(_shares(values[:, level], who, asked, binary, confidence) for level in range(levels)),
        contrasts=tuple(rows),
        p=any_change,
        method=method,
        subjects=len(means),
    )


def permuted_levels(values: Float[np.ndarray, "n levels k"], *, seed: int = 0) -> tuple[float, str]:
    """P of no difference between levels in any of k columns, when each subject's levels are permuted."""
    if not len(values) or values.shape[1] < 2:
        return math.nan, ""
    apart = values - values.mean(axis=1, keepdims=True)
    apart = apart[np.abs(apart).max(axis=(1, 2)) > 1e-12 * np.abs(values).max()]
    if not len(apart):
        return 1.0, EXACT
    limit = _statistic(apart.sum(axis=0)) * (1 - _TIE)
    ways = math.factorial(values.shape[1])
    if (len(apart) - 1) * math.log(ways) <= math.log(MOST_EXACT):
        return float((_statistic(_all_sums(apart)) >= limit).mean()), EXACT
    draws = int(np.clip(_MOVED // apart.size, _FEWEST_DRAWS, resampling.FLIPS))
    drawn = _swapped_sums if values.shape[1] == 2 else _drawn_sums
    extreme = sum(int((_statistic(sums) >= limit).sum()) for sums in drawn(apart, draws, seed))
    return (1 + extreme) / (1 + draws), MONTE_CARLO


def _statistic(sums: Float[np.ndarray, "*draws levels k"]) -> Float[np.ndarray, "*draws"]:
    return np.asarray((sums**2).sum(axis=(-2, -1)))


def _all_sums(apart: Float[np.ndarray, "n levels k"]) -> Float[np.ndarray, "b levels k"]:
    """Sums over subjects with the levels of all but the first permuted in every way; all alike would change nothing."""
    orders = list(itertools.permutations(range(apart.shape[1])))
    sums = apart[:1]
    for subject in apart[1:]:
        sums = (sums[:, None] + subject[orders][None]).reshape(-1, *apart.shape[1:])
    return sums


def _swapped_sums(apart: Float[np.ndarray, "n 2 k"], draws: int, seed: int) -> Iterator[np.ndarray]:
    """Sums of two levels, which are each other's negatives: random signs of the subjects."""
    rng = np.random.Generator(np.random.Philox(seed))
    block = max(1, _AT_ONCE // len(apart))
    for start in range(0, draws, block):
        signs = 2.0 * rng.integers(0, 2, size=(min(block, draws - start), len(apart)), dtype=np.int8) - 1.0
        sums = signs @ apart[:, 0]
        yield np.stack([sums, -sums], axis=1)


def _drawn_sums(apart: Float[np.ndarray, "n levels k"], draws: int, seed: int) -> Iterator[np.ndarray]:
    rng = np.random.Generator(np.random.Philox(seed))
    n, levels, _ = apart.shape
    ways = math.factorial(levels)
    if ways > _LISTED:
        block = max(1, _AT_ONCE // apart.size)
        for start in range(0, draws, block):
            order = np.argsort(rng.random((min(block, draws - start), n, levels)), axis=2)
            yield np.take_along_axis(apart[None], order[..., None], axis=2).sum(axis=1)
        return
    orders = list(itertools.permutations(range(levels)))
    # Each subject with its levels in every order, a row per level and column: sums along a row are the fast ones.
    table = np.ascontiguousarray(apart[:, orders].reshape(n * ways, -1).T)
    block = max(1, _IN_CACHE // n)
    for start in range(0, draws, block):
        chosen = rng.integers(0, ways, size=(min(block, draws - start), n)) + ways * np.arange(n)
        sums = np.stack([column.take(chosen, mode="clip").sum(axis=1) for column in table], axis=1)
        yield sums.reshape(-1, *apart.shape[1:])


def _simultaneous(
    d: Float[np.ndarray, "n options"],
    who: Int[np.ndarray, " n"] | None,
    pairs: float,
    *,
    binary: bool,
    confidence: float,
    seed: int,
) -> Intervals:
    sums = (d, None) if who is None else clusters.by_person(d, who)
    band = (
        curves.difference_band(d, int(pairs), who, confidence=confidence, seed=seed)
        if binary
        else curves.mean_band(*sums, confidence=confidence, seed=seed)
    )
    k = d.shape[1]
    if not band.reason:
        return Intervals(band.low, band.high, (band.method,) * k)
    alone = clusters.mean_difference_interval(
        d, who, binary=binary, pairs=np.full(k, pairs), confidence=1 - (1 - confidence) / k
    )
    return Intervals(alone.low, alone.high, tuple(f"{name}, {BONFERRONI}" if name else "" for name in alone.methods))


def _shares(
    values: Float[np.ndarray, "n cells options"],
    who: Int[np.ndarray, " n"] | None,
    asked: int,
    binary: bool,
    confidence: float,
) -> tuple[Estimate, ...]:
    """The share of each option over all images with a value, with Wilson's interval by subject (numbers: Student's)."""
    valid = np.isfinite(values)
    counts = valid.sum(axis=1) * (float(asked) if binary else 1.0)
    totals = np.where(valid, values, 0.0).sum(axis=1) * (float(asked) if binary else 1.0)
    if who is not None:
        totals, counts = (clusters.by_person(each, who)[0] for each in (totals, counts))
    if not counts.any():
        return tuple(Estimate(reason=NO_ANSWER) for _ in range(values.shape[2]))
    if binary:
        low, high = wilson_clustered(totals, counts, confidence)
    else:
        found = mean_interval(totals, counts, confidence=confidence)
        low, high = found.low, found.high
    means = totals.sum(axis=0) / counts.sum(axis=0)
    rows, n = zip(means.tolist(), low.tolist(), high.tolist(), strict=True), int((counts > 0).any(axis=1).sum())
    return tuple(Estimate(*row, "" if np.isfinite(row[1]) else no_interval(n)) for row in rows)


POSITION_SOURCES: Final = (INTERVALS[WILSON_CLUSTERED], *SOURCES)
NO_POSITION: Final = "no choice at any place"


@final
@dataclass(frozen=True, slots=True)
class PlaceShares:
    """How often each of k places was chosen, expected 1 / k.

    effects: by how much an option is chosen more often where it stands at this place than where it stands elsewhere,
    -1 / (k - 1) to 1. p: of no preference for any place, with the test's method. answers: choices, of `subjects`.
    """

    shares: tuple[Estimate, ...]
    effects: tuple[Estimate, ...]
    p: float
    method: str
    answers: int
    subjects: int


@final
@dataclass(frozen=True, slots=True)
class PlaceBias:
    """of_all: over all levels. by_level: at each level. change: of the places' shares between levels."""

    of_all: PlaceShares
    by_level: tuple[PlaceShares, ...]
    change: OptionShares


def place_bias(
    places: Float[np.ndarray, "n levels answers"],
    k: int,
    *,
    people: Int[np.ndarray, " n"] | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> PlaceBias:
    """Shares of places among the choices of a question whose options stand in an order drawn at random.

    places: at which of k places, numbered from 0, the chosen option stood; NaN where none was chosen; answers: of all
    cells, paraphrases and repeats. The unit is the subject; people: who is on each, where several show one person, who
    then is the unit.

    Shares have Wilson's interval by subject (`wilson_clustered`). An option stands at a place in 1 / k of the images,
    so that a share s is an effect of (k s - 1) / (k - 1). The test permutes the numbers of the places within subjects
    (`permuted_levels`), which changes nothing where orders are drawn at random and places do not matter. How shares of
    places differ between levels has the contrasts and the test of `shares_by_option`.

    Raises BadInput for fewer than two places, or a number beyond them.

    >>> chosen = np.array([[[0.0, 0.0]], [[0.0, 1.0]], [[0.0, 0.0]], [[1.0, 0.0]]])
    >>> found = place_bias(chosen, 2).of_all
    >>> [share.estimate for share in found.shares], [effect.estimate for effect in found.effects]
    ([0.75, 0.25], [0.5, -0.5])
    """
    known = places[np.isfinite(places)]
    if k < 2:
        raise BadInput(f"k: expected at least two places, got {k}; a single option has no place to prefer")
    if len(known) and not (known.min() >= 0 and known.max() < k and (known == np.rint(known)).all()):
        raise BadInput(f"places: expected numbers from 0 to {k - 1}, got {known.min():g} to {known.max():g}")
    at = [np.where(np.isfinite(places), places == place, np.nan) for place in range(k)]
    chosen, who = np.stack(at, axis=-1), clusters.clusters_of(people)
    of_all, levels = _position_shares(chosen.reshape(len(chosen), -1, k), who, confidence, seed), range(places.shape[1])
    of_each = (
        (of_all,)
        if len(levels) == 1
        else (_position_shares(chosen[:, level], who, confidence, seed) for level in levels)
    )
    return PlaceBias(
        of_all=of_all,
        by_level=tuple(of_each),
        change=shares_by_option(chosen, people=people, confidence=confidence, seed=seed),
    )


def _position_shares(
    chosen: Float[np.ndarray, "n answers k"], who: Int[np.ndarray, " n"] | None, confidence: float, seed: int
) -> PlaceShares:
    k = chosen.shape[2]
    counts = np.isfinite(chosen).sum(axis=1).astype(np.float64)
    hits = np.nan_to_num(chosen).sum(axis=1)
    if who is not None:
        hits, counts = (clusters.by_person(each, who)[0] for each in (hits, counts))
    answers, subjects = int(counts[:, 0].sum()), int((counts[:, 0] > 0).sum())
    if not answers:
        nothing = (Estimate(reason=NO_POSITION),) * k
        return PlaceShares(nothing, nothing, np.nan, "", 0, 0)
    low, high = wilson_clustered(hits, counts, confidence)
    rows = np.stack([hits.sum(axis=0) / answers, low, high], axis=1)
    p, method = permuted_levels(hits[:, :, None], seed=seed)
    return PlaceShares(
        shares=tuple(Estimate(*row) for row in rows.tolist()),
        effects=tuple(Estimate(*row) for row in ((k * rows - 1) / (k - 1)).tolist()),
        p=p,
        method=method.replace("levels", "places"),
        answers=answers,
        subjects=subjects,
    )
