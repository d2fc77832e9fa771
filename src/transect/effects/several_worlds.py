"""Does an effect hold in several worlds? Verdicts of agreement, random effects, and an effect on photographs with the
help of renderings.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, final

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import chdtrc, chdtri, ndtri, stdtrit

from transect.effects.multiplicity import holm
from transect.effects.paired_models import Disagreement, disagreement_of_designs
from transect.effects.prediction_powered import SOURCES as SOURCES_OF_MEANS
from transect.effects.prediction_powered import ppi_mean
from transect.effects.verdicts import EQUIVALENCE, POWER
from transect.errors import BadInput
from transect.runs.wording import counted

SOURCES: Final = (
    "Paule and Mandel 1982, Consensus values and weighting factors, doi:10.6028/jres.087.022",
    "Hartung and Knapp 2001, A refined method for the meta-analysis of controlled clinical trials with binary outcome, "
    "doi:10.1002/sim.1009",
    "Rover, Knapp and Friede 2015, Hartung-Knapp-Sidik-Jonkman approach and its modification for random-effects "
    "meta-analysis with few studies, doi:10.1186/s12874-015-0091-1",
    "Nagashima, Noma and Furukawa 2019, Prediction intervals for random-effects meta-analysis: a confidence "
    "distribution approach, doi:10.1177/0962280218773520",
    "Viechtbauer 2007, Confidence intervals for the amount of heterogeneity in meta-analysis, doi:10.1002/sim.2514",
    "Cochran 1954, The combination of estimates from different experiments, doi:10.2307/3001666",
)
LEAST: Final = 3
"""Worlds that a summary needs."""
FEW: Final = "two worlds: their difference can be tested, a mean world and the next one cannot be told"
_ONE: Final = "one world: nothing to compare"
_TOLERANCE: Final = 1e-12
_DRAWS: Final = 2000
_GRID: Final = 400


@final
@dataclass(frozen=True, slots=True)
class RandomEffects:
    """Worlds summarized; NaN with a reason where they are too few.

    estimate, low, high: the mean world's effect. prediction_low, prediction_high: of the effect in one more world like
    these. tau2, tau2_low, tau2_high: variance between worlds, with its Q-profile interval. q, p: Cochran's test that
    all worlds have the same effect. share: of the estimates' variance that is between worlds (I²).
    """

    estimate: float
    low: float
    high: float
    prediction_low: float
    prediction_high: float
    tau2: float
    tau2_low: float
    tau2_high: float
    q: float
    p: float
    share: float
    n_worlds: int
    reason: str = ""

    @property
    def tau(self) -> float:
        """Standard deviation between worlds, in the unit of the effect."""
        return math.sqrt(self.tau2)


def random_effects(estimates: ArrayLike, errors: ArrayLike, confidence: float = 0.95) -> RandomEffects:
    """The mean world's effect, and how far worlds differ.

    estimates, errors: [k] float64, each world's effect and standard error, of different subjects. Worlds without an
    estimate (NaN) are left out.

    Returns RandomEffects: of two worlds only Q and its p, of one nothing, each with its reason.

    Raises BadInput where lengths differ or an error is not above 0.

    >>> worlds = random_effects([0.1, 0.2, 0.3], [0.05, 0.05, 0.05])
    >>> round(worlds.estimate, 3), round(worlds.q, 3), round(worlds.tau2, 4)  # (.01 + .01) / .0025; .01 - .0025
    (0.2, 8.0, 0.0075)
    """
    values, spreads = _checked(estimates, errors)
    k = len(values)
    if k < 2:
        return RandomEffects(*(math.nan,) * 11, k, _ONE)
    variances = spreads**2
    q = _spread(values, variances, 0.0)
    p = float(chdtrc(k - 1, q))
    share = max(0.0, 1 - (k - 1) / q) if q > 0 else 0.0
    if k < LEAST:
        return RandomEffects(*(math.nan,) * 8, q, p, share, k, FEW)
    tau2 = _solved(values, variances, k - 1.0)
    ends = [_solved(values, variances, float(chdtri(k - 1, tail))) for tail in _tails(confidence)]
    mean, error = _mean(values, variances + tau2)
    scale = max(1.0, _spread(values, variances, tau2) / (k - 1))
    half = float(stdtrit(k - 1, (1 + confidence) / 2)) * error * math.sqrt(scale)
    below, above = _next_world(values, variances, confidence)
    ahead = min(below, mean - half), max(above, mean + half)  # no world is known better than the mean
    return RandomEffects(mean, mean - half, mean + half, *ahead, tau2, ends[0], ends[1], q, p, share, k)


def _checked(estimates: ArrayLike, errors: ArrayLike) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    values, spreads = np.asarray(estimates, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    if values.shape != spreads.shape or values.ndim != 1:
        raise BadInput(f"expected one error per estimate, got {spreads.shape} for {values.shape}; give lists alike")
    known = np.isfinite(values) & np.isfinite(spreads)
    if (spreads[known] <= 0).any():
        raise BadInput(f"expected standard errors above 0, got {spreads[known].min():g}; leave such a world out")
    return values[known], spreads[known]


def _tails(confidence: float) -> tuple[float, float]:
    """Upper tails of chi² at the low and at the high end of tau²: a larger tau² leaves a smaller Q."""
    return (1 - confidence) / 2, (1 + confidence) / 2


def _mean(values: Float[np.ndarray, " k"], variances: Float[np.ndarray, " k"]) -> tuple[float, float]:
    """The mean weighted by the inverse variances, and its standard error."""
    weights = 1 / variances
    return float(weights @ values / weights.sum()), float(weights.sum() ** -0.5)


def _spread(values: Float[np.ndarray, " k"], variances: Float[np.ndarray, " k"], tau2: float) -> float:
    """Cochran's Q with tau² added to each variance; it falls as tau² grows."""
    mean, _ = _mean(values, variances + tau2)
    return float(((values - mean) ** 2 / (variances + tau2)).sum())


def _solved(values: Float[np.ndarray, " k"], variances: Float[np.ndarray, " k"], wanted: float) -> float:
    """The tau² at which Q is as large as wanted; 0 where it is smaller without any."""

    def excess(tau2: float) -> float:
        return _spread(values, variances, tau2) - wanted

    if excess(0.0) <= 0:
        return 0.0
    above = max(float(np.ptp(values)) ** 2, float(variances.max()))
    while excess(above) > 0:
        above *= 2
    return float(brentq(excess, 0.0, above, xtol=_TOLERANCE * above, rtol=1e-12))


def _next_world(
    values: Float[np.ndarray, " k"], variances: Float[np.ndarray, " k"], confidence: float
) -> tuple[float, float]:
    """The interval of one more world: tau² is drawn from its confidence distribution."""
    k = len(values)
    tail, normal, student = _draws(k)
    tau2 = _profiled(values, variances, chdtri(k - 1, tail))
    weights = 1 / (variances + tau2[:, None])
    total = weights.sum(axis=1)
    means = weights @ values / total
    spread = (weights * (values - means[:, None]) ** 2).sum(axis=1) / (k - 1)
    errors = np.sqrt(np.maximum(spread, 1.0) / total)
    moved = np.sqrt(tau2) * normal + errors * student
    low, high = np.quantile(np.concatenate([means + moved, means - moved]), _tails(confidence))
    return float(low), float(high)


@functools.cache
def _draws(k: int) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"], Float[np.ndarray, " d"]]:
    """Tails of chi² at equal steps, and normal and Student's numbers in another order each."""
    rng = np.random.default_rng(k)
    steps = (np.arange(_DRAWS) + 0.5) / _DRAWS
    return steps, ndtri(rng.permutation(steps)), stdtrit(k - 1, rng.permutation(steps))


def _profiled(
    values: Float[np.ndarray, " k"], variances: Float[np.ndarray, " k"], wanted: Float[np.ndarray, " d"]
) -> Float[np.ndarray, " d"]:
    """The tau² at which Q is as large as each wanted value, on a fine grid; 0 where it is smaller without any."""
    most = _solved(values, variances, float(wanted.min()))
    if most <= 0:
        return np.zeros(len(wanted))
    grid = np.concatenate([[0.0], np.geomspace(1e-4 * float(variances.min()), most, _GRID)])
    weights = 1 / (variances + grid[:, None])
    means = weights @ values / weights.sum(axis=1)
    q = (weights * (values - means[:, None]) ** 2).sum(axis=1)
    return np.asarray(np.interp(-wanted, -q, grid))


def few(n_worlds: int) -> str:
    """What to know of a summary of few worlds; "" from ten on."""
    if not LEAST <= n_worlds < 10:
        return ""
    return (
        f"{counted(n_worlds, 'world')} are few: their spread is hardly known, so that the interval of the next world "
        "is wide"
    )


Standing = Literal["replicates", "same direction", "none seen", "differs", "cannot tell", "not estimable"]
ALPHA: Final = 0.05
CONFIDENCE: Final = 0.95
MOST_SUBJECTS: Final = 10_000_000
AGREEMENT_SOURCES: Final = (
    "Gelman and Stern 2006, The difference between significant and not significant is not itself statistically "
    "significant, doi:10.1198/000313006X152649",
    "Zou and Donner 2008, Construction of confidence limits about effect measures: a general approach, "
    "doi:10.1002/sim.3095",
    "Bogomolov and Heller 2013, Discovering findings that replicate from a primary study of high dimension to a "
    "follow-up study, doi:10.1080/01621459.2013.829002",
    "Berger 1982, Multiparameter hypothesis testing and acceptance sampling, doi:10.2307/1267823",
)
_SHARED: Final = "worlds share subjects: a mean world would look more certain than it is"
_TWO_SIDED: Final = float(ndtri(1 - ALPHA / 2))
_FOUND: Final = _TWO_SIDED + float(ndtri(POWER))
_EQUAL: Final = float(ndtri((1 + EQUIVALENCE) / 2) + ndtri((1 + POWER) / 2))


@final
@dataclass(frozen=True, slots=True)
class WorldEstimate:
    """An effect in one world, with its 95 % interval. seen: whether the world alone shows an effect. n: subjects."""

    estimate: float
    low: float
    high: float
    n: int
    seen: bool

    @property
    def known(self) -> bool:
        """Whether there is an estimate with an interval of some width."""
        return bool(np.isfinite([self.estimate, self.low, self.high]).all()) and self.high > self.low

    @property
    def error(self) -> float:
        """The standard error that the interval's width stands for."""
        return (self.high - self.low) / (2 * _TWO_SIDED)

    def at(self, confidence: float) -> tuple[float, float, float]:
        """The estimate and the ends of its interval at another level."""
        scale = float(ndtri((1 + confidence) / 2)) / _TWO_SIDED
        return (
            self.estimate,
            self.estimate - scale * (self.estimate - self.low),
            self.estimate + scale * (self.high - self.estimate),
        )


@final
@dataclass(frozen=True, slots=True)
class Needed:
    """Subjects with which a world would settle a verdict. world: its position."""

    world: int
    subjects: int


@final
@dataclass(frozen=True, slots=True)
class Agreement:
    """What is concluded of one effect in several worlds.

    seen_in: positions of the worlds that show it, in the direction that most of them have; against: of those that show
    the opposite. first, second: the two worlds that differ most, and difference: second minus first, its interval at
    `confidence` (several pairs share 5 %). least, most: outermost ends of the 90 % intervals of all pairs. p: of the
    test that all worlds have one effect, p_adjusted over all effects (Holm). within: shown to differ by less than the
    margin. needed: with which the data could tell (of one direction: whether sizes are alike), empty where that is not
    known. summary: the worlds' random effects.
    """

    verdict: Standing
    seen_in: tuple[int, ...]
    against: tuple[int, ...]
    first: int
    second: int
    difference: float
    low: float
    high: float
    confidence: float
    least: float
    most: float
    margin: float
    p: float
    p_adjusted: float
    within: bool
    needed: tuple[Needed, ...]
    summary: RandomEffects
    reason: str = ""


def agreements(
    effects: Sequence[Sequence[WorldEstimate]], margins: Sequence[float], independent: Sequence[bool] = ()
) -> tuple[Agreement, ...]:
    """The verdict on each effect, given as its estimates in all worlds; p of all effects corrected together (Holm).

    effects: of each the worlds in one order, NaN where one has no estimate. margins: the largest difference between
    worlds that does not matter, NaN where none is stated: then equivalence is never shown. independent: of each,
    whether its worlds have different subjects (by default all have). Worlds that share subjects have no summary, which
    would look more certain than it is, and p is the smallest of all pairs' times their number; where their estimates
    move together, intervals of differences are too wide.

    Where worlds differ by the margin or more, an effect is called replicated in at most 5 % of cases, however its signs
    are; where it is 0 or of opposite sign in a world, it is said to have one direction in at most 2.5 %; where worlds
    do not differ, it is called different in at most 5 % of cases, over all effects. A world with an estimate and no
    interval agrees with none: the others can differ, and else it cannot be told. One without an estimate does not
    count.

    Raises BadInput where lengths differ.

    >>> rendered, photographs = WorldEstimate(0.30, 0.26, 0.34, 400, True), WorldEstimate(0.27, 0.20, 0.34, 120, True)
    >>> [agreements([[rendered, photographs]], [margin])[0].verdict for margin in (0.02, 0.10)]
    ['same direction', 'replicates']
    """
    if len(effects) != len(margins):
        raise BadInput(f"expected a margin for each of {len(effects)} effects, got {len(margins)}; NaN stands for none")
    alone = list(independent) or [True] * len(effects)
    if len(effects) != len(alone):
        raise BadInput(f"independent: expected one for each of {len(effects)} effects, got {len(alone)}; give all")
    given = zip(effects, margins, alone, strict=True)
    measured = [_measured(tuple(worlds), margin, apart) for worlds, margin, apart in given]
    adjusted = holm(np.array([each.p for each in measured], dtype=np.float64)).tolist() if measured else []
    return tuple(
        _judged(replace(each, p_adjusted=p), worlds)
        for each, p, worlds in zip(measured, adjusted, effects, strict=True)
    )


def _measured(worlds: Sequence[WorldEstimate], margin: float, independent: bool) -> Agreement:
    """All but the verdict."""
    known = [place for place, world in enumerate(worlds) if world.known]
    summary = random_effects([worlds[i].estimate for i in known], [worlds[i].error for i in known])
    if not independent and len(known) >= LEAST:
        summary = RandomEffects(*(math.nan,) * 11, len(known), _SHARED)
    nothing = Agreement(
        "not estimable", (), (), -1, -1, *(math.nan,) * 3, CONFIDENCE, math.nan, math.nan, margin, math.nan, math.nan,
        False, (), summary, "fewer than two worlds have an estimate with an interval",
    )  # fmt: skip
    seen_in, against = _seen(worlds)
    if len(known) < 2:
        return replace(nothing, seen_in=seen_in, against=against)
    pairs = list(itertools.combinations(known, 2))
    confidence = 1 - ALPHA / len(pairs)
    differences = {pair: _difference(worlds, pair, confidence) for pair in pairs}
    first, second = max(pairs, key=lambda pair: abs(differences[pair].difference))
    chosen = differences[first, second]
    of_pairs = min(1.0, len(pairs) * min(each.p for each in differences.values()))
    narrow = [_difference(worlds, pair, EQUIVALENCE) for pair in pairs]
    least, most = min(each.low for each in narrow), max(each.high for each in narrow)
    return replace(
        nothing,
        seen_in=seen_in,
        against=against,
        first=first,
        second=second,
        difference=chosen.difference,
        low=chosen.low,
        high=chosen.high,
        confidence=confidence,
        least=least,
        most=most,
        p=summary.p if independent and len(known) > 2 else of_pairs,
        within=bool(-margin < least and most < margin),
        reason="",
    )


def _difference(worlds: Sequence[WorldEstimate], pair: tuple[int, int], confidence: float) -> Disagreement:
    """The second world of a pair minus the first."""
    return disagreement_of_designs(worlds[pair[1]].at(confidence), worlds[pair[0]].at(confidence), confidence)


def _seen(worlds: Sequence[WorldEstimate]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The worlds that show the effect in most worlds' direction (the first's, where even), and those against it."""
    showing = [place for place, world in enumerate(worlds) if world.seen and math.isfinite(world.estimate)]
    up = tuple(place for place in showing if worlds[place].estimate > 0)
    down = tuple(place for place in showing if worlds[place].estimate < 0)
    if len(up) == len(down):
        return min(up, down), max(up, down)
    return (up, down) if len(up) > len(down) else (down, up)


def _judged(each: Agreement, worlds: Sequence[WorldEstimate]) -> Agreement:
    if each.first < 0:
        return each
    known = [place for place, world in enumerate(worlds) if world.known]
    told = len(known) == sum(math.isfinite(world.estimate) for world in worlds)  # each estimate has an interval
    if each.within and told and not each.against:
        return replace(each, verdict="replicates" if each.seen_in else "none seen")
    if each.p_adjusted <= ALPHA and (each.against or not each.within):
        return replace(each, verdict="differs")
    alike = told and set(known) <= set(each.seen_in)
    return replace(each, verdict="same direction" if alike else "cannot tell", needed=_needed(each, worlds, known))


def _needed(each: Agreement, worlds: Sequence[WorldEstimate], known: Sequence[int]) -> tuple[Needed, ...]:
    """The fewest subjects of three ways to settle a verdict, each with a power of 90 %."""
    pair = (each.first, each.second)
    ways = [
        _shown(each, worlds, known),
        _for_difference(worlds, pair, abs(each.difference) / _FOUND),
        _for_difference(worlds, pair, each.margin / _EQUAL),
    ]
    possible = [way for way in ways if way and all(need.subjects <= MOST_SUBJECTS for need in way)]
    return min(possible, key=lambda way: sum(need.subjects for need in way), default=())


def _shown(each: Agreement, worlds: Sequence[WorldEstimate], known: Sequence[int]) -> tuple[Needed, ...]:
    """Subjects of the worlds that do not show the effect, with which they would if it is as large there."""
    seen = [place for place in each.seen_in if place in known]
    if not seen:
        return ()
    size = min(abs(worlds[place].estimate) for place in seen)
    needs = []
    for place in known:
        if place in each.seen_in:
            continue
        ratio = _FOUND * worlds[place].error / size
        subjects = _whole(worlds[place].n * ratio * ratio)
        if subjects <= worlds[place].n:  # so many should have shown it: more of them will not settle this
            return ()
        needs.append(Needed(place, subjects))
    return tuple(needs)


def _for_difference(worlds: Sequence[WorldEstimate], pair: tuple[int, int], error: float) -> tuple[Needed, ...]:
    """Subjects with which the difference of two worlds has this standard error: of the noisier one, else of both."""
    if not error**2 > 0:
        return ()
    precise, noisy = sorted(pair, key=lambda place: worlds[place].error)
    left = error**2 - worlds[precise].error ** 2
    if left >= worlds[precise].error ** 2:
        needs = [Needed(noisy, _whole(worlds[noisy].n * worlds[noisy].error ** 2 / left))]
    else:  # both as precise as each other
        needs = [Needed(i, _whole(worlds[i].n * 2 * worlds[i].error ** 2 / error**2)) for i in (precise, noisy)]
    return tuple(needs) if any(need.subjects > worlds[need.world].n for need in needs) else ()


def _whole(subjects: float) -> int:
    """As many or more, in whole subjects, or more than anybody has."""
    return math.ceil(min(subjects, MOST_SUBJECTS + 1.0))


TRANSPORT_SOURCES: Final = SOURCES_OF_MEANS[:2]
NO_OTHERS: Final = "fewer than two subjects that were rendered alone: nothing to add"


@final
@dataclass(frozen=True, slots=True)
class Transported:
    """The effect on photographs, from both worlds; NaN with a reason.

    alone: the photographs' own effect, with its interval. rendered: the effect of all renderings. off: rendered minus
    photographed effect, of the subjects that have both. trust: the weight of the rendering, 0 to 1. gained: by how much
    the rendering narrows the interval, as a share of the photographs' own width; worth: photographed subjects that it
    stands for. n_both, n_rendered: subjects with both, and rendered alone. n_missing: rows that were left out, since an
    effect on them is not known.
    """

    estimate: float
    low: float
    high: float
    alone: float
    alone_low: float
    alone_high: float
    rendered: float
    off: float
    off_low: float
    off_high: float
    trust: float
    gained: float
    worth: float
    n_both: int
    n_rendered: int
    n_missing: int = 0
    reason: str = ""


def transported(
    photographed: ArrayLike,
    rendered: ArrayLike,
    rendered_alone: ArrayLike,
    *,
    people: ArrayLike | None = None,
    people_alone: ArrayLike | None = None,
    confidence: float = 0.95,
) -> Transported:
    """The mean effect on photographs of all subjects, of whom few were photographed and all were rendered.

    photographed, rendered: [n] float64, the effect (a difference of outcomes) on each subject that has both;
    rendered_alone: [N], on each subject that was only rendered. people: [n] and people_alone: [N], who is on each, by
    default one person on each; somebody who is in both counts once. The subjects that have both are assumed to be a
    random sample of all: their rendered effects are distributed as the others'. Nothing is assumed about the rendering;
    one that has nothing to do with its photograph gets the weight 0. Rows with a NaN are left out.

    Intervals are Student's, widened by skew: a change of yes or no is −1, 0 or 1, and is no rate where few subjects
    lack the −1.

    Returns Transported. Of fewer than 10 subjects with both there is no interval. Where the rendering is of no use, the
    interval is a little wider than that of the photographs alone, since its weight is estimated: `gained` is below 0.

    Raises BadInput where lengths differ, and for people_alone without people.

    >>> own, noise = np.random.default_rng(0).normal([[0.2], [0.1]], [[0.3], [0.05]], (2, 1020))
    >>> rendered = own + noise  # .1 too high, and nearly as the subject's own
    >>> result = transported(own[:20], rendered[:20], rendered[20:])
    >>> round(result.off, 1), result.low < 0.2 < result.high, result.gained > 0.7
    (0.1, True, True)
    """
    both, twins, others = (np.asarray(each, dtype=np.float64) for each in (photographed, rendered, rendered_alone))
    if both.shape != twins.shape or both.ndim != 1 or others.ndim != 1:
        raise BadInput(f"expected one rendered effect per photographed one, got {twins.shape} for {both.shape}")
    who, others_who = _people(people, people_alone, len(both), len(others))
    known, known_alone = np.isfinite(both) & np.isfinite(twins), np.isfinite(others)
    both, twins, who = both[known], twins[known], who[known]
    others, others_who = others[known_alone], others_who if others_who is None else others_who[known_alone]
    missing = int((~known).sum() + (~known_alone).sum())
    rendering = float(np.concatenate([twins, others]).mean()) if len(twins) + len(others) else math.nan
    alone, off = _unassisted_mean(both, who, confidence), _unassisted_mean(twins - both, who, confidence)
    if len(others) < 2 or len(both) < 2:
        reason = NO_OTHERS if len(others) < 2 else "fewer than two subjects in both worlds"
        return Transported(*alone, *alone, rendering, *off, 0.0, 0.0, 0.0, len(both), len(others), missing, reason)
    powered = ppi_mean(
        both, twins, others, subjects=who, subjects_unrated=others_who, rates=False, confidence=confidence
    )
    ends = powered.low, powered.high
    gained, worth = _gain(powered.high - powered.low, alone[2] - alone[1], len(both))
    return Transported(
        powered.estimate, *ends, *alone, rendering, *off, powered.trust, gained, worth, len(both), len(others), missing,
        powered.reason,
    )  # fmt: skip


def _people(
    people: ArrayLike | None, alone: ArrayLike | None, n: int, n_alone: int
) -> tuple[np.ndarray, np.ndarray | None]:
    """Who is on the subjects with both, and on those rendered alone; None where nothing says so."""
    who = np.arange(n) if people is None else np.asarray(people)
    others = None if alone is None else np.asarray(alone)
    if others is None and who.shape == (n,):
        return who, None
    if people is None:
        raise BadInput("people_alone: expected people too, got None; give who is on the subjects that have both")
    if others is not None and who.shape == (n,) and others.shape == (n_alone,):
        return who, others
    got = "" if others is None else f" and {others.shape} for {n_alone}"
    raise BadInput(f"people: expected one for each subject, got {who.shape} for {n}{got}; give all")


def _unassisted_mean(
    values: Float[np.ndarray, " n"], people: np.ndarray, confidence: float
) -> tuple[float, float, float]:
    """The mean with the interval that prediction-powered means have without a prediction."""
    if len(values) < 2:
        return (float(values.mean()) if len(values) else math.nan), math.nan, math.nan
    blank = np.zeros(len(values))
    found = ppi_mean(values, blank, blank[:2], subjects=people, trust=0.0, rates=False, confidence=confidence)
    return found.estimate, found.low, found.high


def _gain(width: float, alone: float, n: int) -> tuple[float, float]:
    """The share by which an interval is narrower, and how many more subjects would narrow it as far."""
    if not (width > 0 and alone > 0):
        return 0.0, 0.0
    return 1 - width / alone, max(0.0, n * (alone / width) ** 2 - n)
