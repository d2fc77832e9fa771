"""From run folders to what is said of each effect that several worlds have."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from transect.analysis.replicated import combining, matching, words
from transect.analysis.replicated.matching import Matched, SameEffect
from transect.analysis.replicated.reading import Reading, read
from transect.analysis.replicated.records import (
    Finding,
    InWorld,
    ReplicateNumbers,
    SubjectsNeeded,
    Summary,
    World,
    WorldEffect,
)
from transect.effects import agreement, replication
from transect.effects.agreement import ALPHA, Agreement, WorldEstimate, agreements
from transect.effects.replication import RandomEffects
from transect.errors import BadInput
from transect.runs import margins as margin_files

_ORDER: Final = tuple(words.MARKS)


def replicate_runs(folders: Sequence[Path], stated: Sequence[str] = (), *, combine: bool = False) -> ReplicateNumbers:
    """The same effects in the worlds of finished runs, and whether they replicate."""
    if combine and len(folders) != 2:
        raise BadInput(f"--combine: expected two runs, the rendered one first, got {len(folders)}; give these two")
    readings = read(folders)
    outcomes = {effect.outcome for reading in readings for effect in reading.effects}
    known = margin_files.parse(stated, outcomes) if stated else margin_files.read(folders[0])
    numbers = replicated(readings, known)
    if not combine:
        return numbers
    combined, notes = combining.combined(folders, numbers)
    return replace(
        numbers,
        combined=combined,
        answer=(*numbers.answer, *(each.text for each in combined[: words.MOST])),
        notes=(*numbers.notes, *notes),
        works=(*numbers.works, *combining.WORKS),
    )


def replicated(readings: Sequence[Reading], margins: Mapping[str, float]) -> ReplicateNumbers:
    """What is said of the effects that worlds share. Raises as `matching.match`."""
    matched = matching.match(readings)
    worlds = tuple(reading.world for reading in readings)
    findings = _findings(matched, worlds, margins)
    return ReplicateNumbers(
        worlds=worlds,
        margins=dict(margins),
        answer=words.answers(findings),
        findings=findings,
        combined=(),
        notes=matched.notes,
        works=tuple(dict.fromkeys((*agreement.SOURCES, *replication.SOURCES))),
    )


def _findings(matched: Matched, worlds: Sequence[World], margins: Mapping[str, float]) -> tuple[Finding, ...]:
    """The findings, those that differ first, then by size."""
    stated = [margin_files.margin_of(margins, same.outcome, same.unit) for same in matched.effects]
    independent = [same.independent for same in matched.effects]
    estimates = [[_estimate(effect) for effect in same.effects] for same in matched.effects]
    concluded = agreements(estimates, stated, independent)
    made = [_finding(same, each, worlds) for same, each in zip(matched.effects, concluded, strict=True)]
    ordered = sorted(made, key=lambda finding: (_ORDER.index(finding.verdict), -_size(finding)))
    return tuple(replace(finding, text=words.sentence(finding)) for finding in ordered)


def _size(finding: Finding) -> float:
    return max((abs(each.estimate) for each in finding.worlds if math.isfinite(each.estimate)), default=0.0)


def _estimate(effect: WorldEffect) -> WorldEstimate:
    return WorldEstimate(effect.estimate, effect.low, effect.high, effect.n_subjects, _seen(effect))


def _seen(effect: WorldEffect) -> bool:
    """Whether the world's own report shows the effect: its p, corrected over that report's tests, is at most 5 %."""
    return effect.p_adjusted <= ALPHA


def _finding(same: SameEffect, each: Agreement, worlds: Sequence[World]) -> Finding:
    names = [worlds[effect.world].name for effect in same.effects]
    first, second = ("", "") if each.first < 0 else (names[each.first], names[each.second])
    bound = 1.0 if same.unit == "proportion" else math.inf  # of an effect on a rate
    return Finding(
        target=same.target,
        digest=same.digest,
        attribute=same.attribute,
        outcome=same.outcome,
        unit=same.unit,
        levels=same.levels,
        scaled=same.scaled,
        verdict=each.verdict,
        worlds=tuple(_in_world(effect, name) for effect, name in zip(same.effects, names, strict=True)),
        seen_in=tuple(names[place] for place in each.seen_in),
        against=tuple(names[place] for place in each.against),
        first=first,
        second=second,
        difference=each.difference,
        low=max(each.low, -2 * bound),
        high=min(each.high, 2 * bound),
        confidence=each.confidence,
        least=max(each.least, -2 * bound),
        most=min(each.most, 2 * bound),
        margin=each.margin,
        p=each.p,
        p_adjusted=each.p_adjusted,
        within=each.within,
        needed=tuple(SubjectsNeeded(names[need.world], need.subjects) for need in each.needed),
        summary=_summary(each.summary, bound),
        reason=each.reason,
    )


def _in_world(effect: WorldEffect, name: str) -> InWorld:
    return InWorld(
        name, effect.estimate, effect.low, effect.high, effect.p_adjusted, effect.n_subjects, _seen(effect),
        effect.reason,
    )  # fmt: skip


def _summary(found: RandomEffects, bound: float) -> Summary:
    def within(end: float) -> float:
        return min(max(end, -bound), bound)

    return Summary(
        estimate=found.estimate,
        low=within(found.low),
        high=within(found.high),
        prediction_low=within(found.prediction_low),
        prediction_high=within(found.prediction_high),
        tau=found.tau,
        tau_low=math.sqrt(found.tau2_low),
        tau_high=math.sqrt(found.tau2_high),
        share=found.share,
        n_worlds=found.n_worlds,
        reason=found.reason,
    )
