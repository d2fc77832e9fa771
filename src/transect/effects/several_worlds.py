"""Does an effect hold in several worlds? Verdicts of agreement, and an effect on photographs with renderings' help."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, final

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from transect.effects.intervals import BERGER, ZOU_DONNER
from transect.effects.multiplicity import holm
from transect.effects.paired_models import Disagreement, disagreement_of_designs
from transect.effects.prediction_powered import SOURCES as SOURCES_OF_MEANS
from transect.effects.prediction_powered import ppi_mean
from transect.effects.verdicts import EQUIVALENCE, POWER
from transect.errors import BadInput
from transect.records import Estimate, EstimateWithTest

Standing = Literal["replicates", "same direction", "agrees", "differs", "cannot tell", "not estimable"]
ALPHA: Final = 0.05
CONFIDENCE: Final = 0.95
MOST_SUBJECTS: Final = 10_000_000
SOURCES: Final = (
    "Gelman and Stern 2006, The difference between significant and not significant is not itself statistically "
    "significant, doi:10.1198/000313006X152649",
    ZOU_DONNER,
    "Benjamini and Heller 2008, Screening for partial conjunction hypotheses, doi:10.1111/j.1541-0420.2007.00984.x",
    "Bogomolov and Heller 2013, Discovering findings that replicate from a primary study of high dimension to a "
    "follow-up study, doi:10.1080/01621459.2013.829002",
    BERGER,
)
_TWO_SIDED: Final = float(ndtri(1 - ALPHA / 2))
_ONE_SIDED: Final = float(ndtri((1 + EQUIVALENCE) / 2))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class WorldEstimate(Estimate):
    """An effect in one world, with its 95 % interval and p alone. n: subjects. seen: the world's report shows it."""

    p: float
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
@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement(EstimateWithTest):
    """What is concluded of one effect in several worlds; the estimate is the second world's less the first's.

    seen_in: positions of the worlds that show it, in the direction that most of them have; against: of those that show
    the opposite. first, second: the two worlds that differ most; the interval is at `confidence` (several pairs share
    5 %). least, most: outermost ends of the 90 % intervals of all pairs. p: the smallest of all pairs' times their
    number, p_adjusted over all effects (Holm). within: shown to differ by less than the margin. p_replication: the
    largest of all worlds' p and of each pair's that it differs by less than the margin, over all effects (Holm).
    needed: with which the data could tell (of one direction: whether sizes are alike), empty where that is not known.
    """

    verdict: Standing
    margin: float
    seen_in: tuple[int, ...]
    against: tuple[int, ...]
    first: int = -1
    second: int = -1
    confidence: float = CONFIDENCE
    least: float = math.nan
    most: float = math.nan
    p_adjusted: float = math.nan
    within: bool = False
    p_replication: float = math.nan
    needed: tuple[Needed, ...] = ()

    @property
    def difference(self) -> float:
        """The estimate."""
        return self.estimate


def agreements(effects: Sequence[Sequence[WorldEstimate]], margins: Sequence[float]) -> tuple[Agreement, ...]:
    """The verdict on each effect, given as its estimates in all worlds; p of all effects corrected together (Holm).

    effects: of each the worlds in one order, NaN where one has no estimate. margins: the largest difference between
    worlds that does not matter, NaN where none is stated: then equivalence is never shown. Where worlds share subjects
    and their estimates move together, intervals of differences are too wide.

    An effect replicates where every world shows it in one direction, all differences are inside the margin, and
    p_replication is at most 5 %; inside the margin alone, worlds agree. In at most 5 % of lists an effect is said to
    replicate that is 0 or of opposite sign in a world, or differs by the margin or more; for one effect that is 0 in a
    world, in at most 2.5 %. Where no worlds differ, any is called different in at most 5 %. A world with an estimate
    and no interval agrees with none: the others can differ, and else it cannot be told. One without an estimate does
    not count.

    Raises BadInput where lengths differ.

    >>> rendered = WorldEstimate(0.30, 0.26, 0.34, p=0.001, n=400, seen=True)
    >>> photographs = WorldEstimate(0.27, 0.20, 0.34, p=0.001, n=120, seen=True)
    >>> [agreements([[rendered, photographs]], [margin])[0].verdict for margin in (0.02, 0.10)]
    ['same direction', 'replicates']
    """
    if len(effects) != len(margins):
        raise BadInput(f"expected a margin for each of {len(effects)} effects, got {len(margins)}; NaN stands for none")
    measured = [_measured(tuple(worlds), margin) for worlds, margin in zip(effects, margins, strict=True)]
    p = np.array([[each.p, each.p_replication] for each in measured], dtype=np.float64).reshape(-1, 2)
    both, tests = zip(holm(p[:, 0]).tolist(), holm(p[:, 1]).tolist(), strict=True), int(np.isfinite(p[:, 0]).sum())
    return tuple(
        _judged(replace(each, p_adjusted=differs, p_replication=replicates), worlds, tests)
        for each, worlds, (differs, replicates) in zip(measured, effects, both, strict=True)
    )


def _measured(worlds: Sequence[WorldEstimate], margin: float) -> Agreement:
    """All but the verdict."""
    known = [place for place, world in enumerate(worlds) if world.known]
    seen_in, against = _seen(worlds)
    few = "fewer than two worlds have an estimate with an interval"
    nothing = Agreement(reason=few, verdict="not estimable", margin=margin, seen_in=seen_in, against=against)
    if len(known) < 2:
        return nothing
    pairs = list(itertools.combinations(known, 2))
    confidence = 1 - ALPHA / len(pairs)
    differences = {pair: _difference(worlds, pair, confidence) for pair in pairs}
    first, second = max(pairs, key=lambda pair: abs(differences[pair].estimate))
    chosen = differences[first, second]
    narrow = [_difference(worlds, pair, EQUIVALENCE) for pair in pairs]
    least, most = min(each.low for each in narrow), max(each.high for each in narrow)
    return replace(
        nothing,
        first=first,
        second=second,
        estimate=chosen.estimate,
        low=chosen.low,
        high=chosen.high,
        confidence=confidence,
        least=least,
        most=most,
        p=min(1.0, len(pairs) * min(each.p for each in differences.values())),
        within=bool(-margin < least and most < margin),
        p_replication=float(np.max([_p_of_all([worlds[i] for i in known]), *(_p_within(d, margin) for d in narrow)])),
        reason="",
    )


def _difference(worlds: Sequence[WorldEstimate], pair: tuple[int, int], confidence: float) -> Disagreement:
    """The second world of a pair minus the first."""
    return disagreement_of_designs(worlds[pair[1]].at(confidence), worlds[pair[0]].at(confidence), confidence)


def _p_of_all(worlds: Sequence[WorldEstimate]) -> float:
    """P of an effect in one direction in every world; 1 where estimates have both signs."""
    one_sign = len({world.estimate > 0 for world in worlds}) == 1
    return float(np.max([world.p for world in worlds])) if one_sign else 1.0


def _p_within(found: Disagreement, margin: float) -> float:
    """P of two one-sided tests that a difference, with its 90 % interval, is inside the margin."""
    upper = (margin - found.estimate) / (found.high - found.estimate or math.ulp(0.0))
    lower = (margin + found.estimate) / (found.estimate - found.low or math.ulp(0.0))
    return float(ndtr(-_ONE_SIDED * min(upper, lower)))


def _seen(worlds: Sequence[WorldEstimate]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The worlds that show the effect in most worlds' direction (the first's, where even), and those against it."""
    showing = [place for place, world in enumerate(worlds) if world.seen and math.isfinite(world.estimate)]
    up = tuple(place for place in showing if worlds[place].estimate > 0)
    down = tuple(place for place in showing if worlds[place].estimate < 0)
    if len(up) == len(down):
        return min(up, down), max(up, down)
    return (up, down) if len(up) > len(down) else (down, up)


def _judged(each: Agreement, worlds: Sequence[WorldEstimate], tests: int) -> Agreement:
    if each.first < 0:
        return each
    known = [place for place, world in enumerate(worlds) if world.known]
    told = len(known) == sum(math.isfinite(world.estimate) for world in worlds)  # each estimate has an interval
    everywhere = told and set(known) <= set(each.seen_in)
    if each.within and told and not each.against and not everywhere:
        return replace(each, verdict="agrees")
    if each.within and everywhere and each.p_replication <= ALPHA:
        return replace(each, verdict="replicates")
    if each.p_adjusted <= ALPHA and (each.against or not each.within):
        return replace(each, verdict="differs")
    needed = _needed(each, worlds, known, tests)
    return replace(each, verdict="same direction" if everywhere else "cannot tell", needed=needed)


def _needed(each: Agreement, worlds: Sequence[WorldEstimate], known: Sequence[int], tests: int) -> tuple[Needed, ...]:
    """The fewest subjects of three ways to settle a verdict, each with a power of 90 % and 5 % for all tests."""
    pair = (each.first, each.second)
    found = float(ndtri(1 - ALPHA / 2 / tests) + ndtri(POWER))
    equal = float(ndtri(1 - ALPHA / tests) + ndtri((1 + POWER) / 2))
    ways = [
        _shown(each, worlds, known, found),
        _for_difference(worlds, pair, abs(each.estimate) / found),
        _for_difference(worlds, pair, each.margin / equal),
    ]
    possible = [way for way in ways if way and all(need.subjects <= MOST_SUBJECTS for need in way)]
    return min(possible, key=lambda way: sum(need.subjects for need in way), default=())


def _shown(each: Agreement, worlds: Sequence[WorldEstimate], known: Sequence[int], found: float) -> tuple[Needed, ...]:
    """Subjects of the worlds that do not show the effect, with which they would if it is as large there."""
    seen = [place for place in each.seen_in if place in known]
    if not seen:
        return ()
    size = min(abs(worlds[place].estimate) for place in seen)
    needs = []
    for place in known:
        if place in each.seen_in:
            continue
        ratio = found * worlds[place].error / size
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
_UNASSISTED: Final = ("alone", "alone_low", "alone_high", "off", "off_low", "off_high")
NO_OTHERS: Final = "fewer than two subjects that were rendered alone: nothing to add"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transported(Estimate):
    """The effect on photographs, from both worlds; NaN with a reason.

    alone: the photographs' own effect, with its interval. rendered: the effect of all renderings. off: rendered minus
    photographed effect, of the subjects that have both. trust: the weight of the rendering, 0 to 1. gained: by how much
    the rendering narrows the interval, as a share of the photographs' own width; worth: photographed subjects that it
    stands for. n_both, n_rendered: subjects with both, and rendered alone. n_missing: rows that were left out, since an
    effect on them is not known.
    """

    alone: float
    alone_low: float
    alone_high: float
    rendered: float
    off: float
    off_low: float
    off_high: float
    trust: float = 0.0
    gained: float = 0.0
    worth: float = 0.0
    n_both: int
    n_rendered: int
    n_missing: int = 0


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
    known_of: dict[str, Any] = dict(zip(_UNASSISTED, (*alone, *off), strict=True))
    known_of |= {"rendered": rendering, "n_both": len(both), "n_rendered": len(others), "n_missing": missing}
    if len(others) < 2 or len(both) < 2:
        reason = NO_OTHERS if len(others) < 2 else "fewer than two subjects in both worlds"
        return Transported(*alone, reason, **known_of)
    powered = ppi_mean(
        both, twins, others, subjects=who, subjects_unrated=others_who, rates=False, confidence=confidence
    )
    gained, worth = _gain(powered.high - powered.low, alone[2] - alone[1], len(both))
    return Transported(
        powered.estimate,
        powered.low,
        powered.high,
        powered.reason,
        trust=powered.trust,
        gained=gained,
        worth=worth,
        **known_of,
    )


def _people(
    people: ArrayLike | None, alone: ArrayLike | None, n: int, n_alone: int
) -> tuple[np.ndarray, np.ndarray | None]:
    """Who is on the subjects with both, and on those rendered alone; None where nothing says so."""
    who = np.arange(n) if people is None else np.asarray(people)
    others = None if alone is None else np.asarray(alone)
    if others is None and who.shape == (n,):
        return who, None
    if people is None:
        raise BadInput("people_alone: needs people; give those of subjects with both effects")
    if others is not None and who.shape == (n,) and others.shape == (n_alone,):
        return who, others
    got = "" if others is None else f" and {others.shape} for {n_alone}"
    raise BadInput(f"people: expected one for each subject, got {who.shape} for {n}{got}")


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
