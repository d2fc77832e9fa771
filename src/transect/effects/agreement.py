"""Does an effect replicate? The same effect in several worlds: agreement, disagreement, or too little data to tell.

That one world shows an effect and another does not is no disagreement: one may be the noisier (Gelman and Stern 2006).
An effect replicates where worlds are shown to differ by less than a margin (equivalence) and one at least shows it.
Where none does and they differ by less than the margin, none is seen: worlds agree, and there is no effect that could
replicate. It differs where the test of agreement finds a difference and equivalence does not hold, or worlds show
opposite directions. Where every world shows it in one direction and neither is so, the direction is the same, and
sizes are not shown alike: no difference found is not agreement. Otherwise the data cannot tell. The question is then
how many subjects could.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, final

import numpy as np
from scipy.special import ndtri

from transect.effects.disagreement import Disagreement, disagreement
from transect.effects.multiplicity import holm
from transect.effects.replication import LEAST, RandomEffects, random_effects
from transect.effects.verdicts import EQUIVALENCE, POWER
from transect.errors import BadInput

Standing = Literal["replicates", "same direction", "none seen", "differs", "cannot tell", "not estimable"]
ALPHA: Final = 0.05
CONFIDENCE: Final = 0.95
MOST_SUBJECTS: Final = 10_000_000
SOURCES: Final = (
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
    return disagreement(worlds[pair[1]].at(confidence), worlds[pair[0]].at(confidence), confidence)


def _seen(worlds: Sequence[WorldEstimate]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The worlds that show the effect in the direction of most of them, that of the first where they are even, and
    those that show the opposite.
    """
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
