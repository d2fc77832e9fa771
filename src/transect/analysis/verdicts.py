"""From effects with adjusted p-values to a verdict per attribute and outcome, and to interactions that are findings."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol, TypeAlias, final, runtime_checkable

import numpy as np

from transect.analysis.families import of_effects
from transect.analysis.findings import Findings
from transect.analysis.pilots import PilotContrast, pilot_contrasts
from transect.analysis.trust import not_judged
from transect.effects.analysis import UNTESTED, distinct_tests
from transect.effects.outcomes import OF_TRUTH
from transect.effects.verdicts import (
    EQUIVALENCE,
    Verdict,
    judge,
    largest,
    outermost,
    pairs_of_levels,
    rounded_up,
    subjects_for,
    subjects_to_find,
)
from transect.records import Effect
from transect.runs.margins import margin_of

ALPHA: Final = 0.05


@runtime_checkable
class Again(Protocol):
    """Estimates effects of finished studies again, with intervals of another level."""

    def __call__(self, study: str, effect: Effect, confidence: float, /) -> Effect:
        """One of the study's effects with an interval of this level."""

    def pairs(self, study: str, effect: Effect, confidence: float, /) -> tuple[Effect, ...]:
        """The differences between every two groups of the effect's attribute: observed images, or two at once."""


_Whose: TypeAlias = tuple[str, str, str, str]
"""Study, target, outcome, attribute."""


@final
@dataclass(frozen=True, slots=True)
class AttributeVerdict:
    """What the audit concludes about one attribute and one outcome of a target.

    effect: index of the effect that the verdict rests on, the largest significant one where a difference was found;
    None where none is estimable. Outcomes against a reference image, which matches itself, have no test: there a
    difference is found where it exceeds the margin. check: the target is meant to react to the attribute. low, high:
    the outermost ends of the 90 % intervals of all pairs of levels, or of observed groups. margin: NaN where none was
    stated. subjects_needed: with which the data could tell; None where that is not known. subjects_to_confirm: with
    which a difference as large as the one measured would be found, where that is beyond the margin and needs more than
    there were; else None. reason: why not estimable, or why not judged: what speaks against all answers of the target,
    unless a difference was found. sized: of a difference that was found, whether the interval that the report prints
    excludes 0 (`selection.with_sizes`).
    """

    study: str
    target: str
    outcome: str
    attribute: str
    verdict: Verdict
    effect: int | None
    check: bool
    margin: float
    low: float
    high: float
    subjects_needed: int | None
    reason: str = ""
    sized: bool = True
    subjects_to_confirm: int | None = None


def judge_all(
    studies: Sequence[Findings], effects: Sequence[Effect], margins: Mapping[str, float], again: Again | None = None
) -> tuple[AttributeVerdict, ...]:
    """A verdict for each attribute and outcome, in the order of the effects.

    effects: of all studies, in order, with adjusted p-values. Effects of the truth's own attribute on errors get no
    verdict: where the label changes, the error does. again: estimates the intervals of observed images at another
    level; without it no difference between them is ever shown to be small, and none of an outcome without a test found.
    """
    families = of_effects(studies)
    sizes = Counter(family for family, effect in zip(families, effects, strict=True) if distinct_tests([effect]))
    untested = Counter(
        family
        for family, effect in zip(families, effects, strict=True)
        if effect.test_method == UNTESTED and effect.estimable
    )
    verdicts = []
    place = 0
    for study in studies:
        of_study = range(place, place + len(study.effects))
        place += len(study.effects)
        spread = {(pilot.target, pilot.outcome, pilot.name): pilot for pilot in pilot_contrasts(study)}
        for whose, indices in _by_attribute(study, effects, of_study).items():
            if not _about_truth(study, whose):
                margin = margin_of(margins, whose[2], _unit(effects[indices[0]]))
                family = families[indices[0]]
                evidence = _Evidence(study, spread, margin, sizes[family], untested[family])
                verdicts.append(_judged(whose, indices, effects, evidence, again))
    return tuple(verdicts)


def leads(verdicts: Sequence[AttributeVerdict]) -> list[int]:
    """The effects of the differences found, without those that check the target, in the order of the verdicts."""
    return [
        verdict.effect
        for verdict in verdicts
        if verdict.verdict == "found" and not verdict.check and verdict.effect is not None
    ]


def truth_of(study: Findings, target: str) -> str:
    """The attribute that the target's truth is about; "" without one."""
    return next((answers.truth_attribute for answers in study.answers if answers.target == target), "")


@final
@dataclass(frozen=True, slots=True)
class _Evidence:
    study: Findings
    spread: Mapping[tuple[str, str, str], PilotContrast]
    margin: float
    family: int
    untested: int


def _by_attribute(study: Findings, effects: Sequence[Effect], indices: range) -> dict[_Whose, list[int]]:
    groups: dict[_Whose, list[int]] = {}
    for index in indices:
        effect = effects[index]
        groups.setdefault((study.spec.name, effect.target, effect.outcome, effect.attribute), []).append(index)
    return groups


def _about_truth(study: Findings, whose: _Whose) -> bool:
    _, target, outcome, attribute = whose
    return outcome in OF_TRUTH and attribute == truth_of(study, target)


def _judged(
    whose: _Whose, indices: Sequence[int], effects: Sequence[Effect], evidence: _Evidence, again: Again | None
) -> AttributeVerdict:
    study, target, outcome, attribute = whose
    doubt = next((not_judged(each) for each in evidence.study.answers if each.target == target), "")
    known = [index for index in indices if effects[index].estimable]
    verdict = AttributeVerdict(
        study, target, outcome, attribute, "not estimable", None,
        check=attribute == truth_of(evidence.study, target), margin=evidence.margin, low=math.nan, high=math.nan,
        subjects_needed=None, reason=effects[indices[0]].reason,
    )  # fmt: skip
    if not known:
        return verdict
    contrasts = [index for index in known if effects[index].kind == "contrast"]
    beyond = [index for index in contrasts if _beyond(effects[index], evidence, again)]
    lead = _lead(effects, beyond or known)
    low, high = _ends(whose, [effects[index] for index in contrasts], evidence.study, again)
    found = judge(bool(beyond) or effects[lead].p_adjusted <= ALPHA, low, high, evidence.margin)
    if doubt and found != "found":
        return replace(verdict, verdict="not judged", effect=lead, low=low, high=high, reason=doubt)
    verdict = replace(verdict, verdict=found, effect=lead, low=low, high=high, reason="")
    if found != "cannot tell":
        return verdict
    needed = _needed([effects[index] for index in contrasts], evidence)
    return replace(verdict, subjects_needed=needed, subjects_to_confirm=_confirming(effects[lead], evidence))


def _beyond(effect: Effect, evidence: _Evidence, again: Again | None) -> bool:
    """Whether an effect that has no test is larger than the margin, at a level shared by all that have none."""
    if effect.test_method != UNTESTED or again is None or not min(abs(effect.low), abs(effect.high)) > evidence.margin:
        return False
    wider = again(evidence.study.spec.name, effect, 1 - ALPHA / evidence.untested)
    return wider.low > evidence.margin or wider.high < -evidence.margin


def _lead(effects: Sequence[Effect], known: Sequence[int]) -> int:
    """The largest significant contrast, else a significant slope, else the largest contrast."""
    return min(known, key=lambda i: (
        not effects[i].p_adjusted <= ALPHA, effects[i].kind != "contrast", -abs(effects[i].estimate)
    ))  # fmt: skip


def _ends(whose: _Whose, contrasts: Sequence[Effect], study: Findings, again: Again | None) -> tuple[float, float]:
    name, target, outcome, attribute = whose
    found = ((each.measure.target, each.measure.outcome) == (target, outcome) for each in study.answered)
    answered = next((each for each, same in zip(study.answered, found, strict=True) if same), None)
    if answered is not None:
        axis = list(study.design.levels).index(attribute)
        return outermost(
            pairs_of_levels(answered.values, axis, answered.measure, people=answered.people, seed=study.design.seed)
        )
    if again is None or not contrasts:
        return math.nan, math.nan
    bounds = again.pairs(name, contrasts[0], EQUIVALENCE)
    return float(np.min([each.low for each in bounds])), float(np.max([each.high for each in bounds]))


def _needed(contrasts: Sequence[Effect], evidence: _Evidence) -> int | None:
    """Subjects for the contrast that needs the most."""
    return largest([_needed_by(effect, evidence) for effect in contrasts])


def _needed_by(effect: Effect, evidence: _Evidence) -> int | None:
    """By the spread between subjects; by the interval where that is not known (`subjects_for`)."""
    pilot = evidence.spread.get((effect.target, effect.outcome, effect.name))
    share = None if pilot is None else pilot.planned_discordant
    return subjects_for(
        evidence.margin,
        effect.n_subjects,
        effect.low,
        effect.high,
        spread=math.nan if pilot is None else pilot.planned_deviation,
        discordant=share,
        averaged=effect.unit == "proportion" and share is None,
        alpha=ALPHA,
        family=evidence.family,
    )


def _confirming(effect: Effect, evidence: _Evidence) -> int | None:
    """Subjects for a difference as large as the one measured, beyond the margin; None where as many took part."""
    pilot = evidence.spread.get((effect.target, effect.outcome, effect.name))
    size = abs(effect.estimate)
    if pilot is None or size <= evidence.margin:
        return None
    share = pilot.planned_discordant
    needed = subjects_to_find(
        size, pilot.planned_deviation, alpha=ALPHA, family=evidence.family,
        discordant=None if share is None else max(share, size),
    )  # fmt: skip
    return None if needed is None or needed <= effect.n_subjects else rounded_up(needed)


def _unit(effect: Effect) -> str:
    return effect.unit.partition(" per ")[0]
