"""How a study's results change with each step of the rules that leave images out: the same estimates at every step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from transect.analysis import findings, rater_report, required
from transect.analysis.finished_run import Run
from transect.analysis.sections import beside, rated
from transect.analysis.target_outcomes import TargetOutcomes
from transect.ratings.seen import unknown_lines
from transect.records import Effect
from transect.reports.records import Section
from transect.runs.bins import Bins


def sections(run: Run, effects: Sequence[Effect], bins: Bins | None = None) -> list[Section]:
    """The sections about a finished run's required gates, its ratings and its raters; none where there are none."""
    seen = run.seen
    gates = [*required.sections(run), *_beside(run, effects, bins)]
    if not (seen.columns or seen.people):
        return gates
    stages: list[list[Effect]] = []
    if seen.pruning is not None:
        steps = range(len(seen.pruning.steps))
        stages = [*(_effects(run, seen.reasons_after(step), bins) for step in steps), list(effects)]
    unordered = {attribute.name for attribute in run.spec.nominal}
    unordered |= {name for name, question in {**seen.asked, **seen.asked_people}.items() if question.unordered}
    kinds = {rated.BY_IMAGE: seen.columns, rated.OF_PEOPLE: seen.people}
    unknown = unknown_lines(run.spec.name, seen)
    ratings = rated.section(run.spec.name, kinds, unknown, unordered, seen.pruning, stages)
    return [*gates, ratings, *rater_report.sections(run)]


def _beside(run: Run, effects: Sequence[Effect], bins: Bins | None) -> list[Section]:
    """The effects with and without the images that are left out; nothing where none is."""
    left_out = int((run.seen.reasons != "").sum())
    if not left_out:
        return []
    every = _effects(run, np.full(len(run.seen.reasons), "", dtype=object), bins)
    return [beside.section(run.spec.name, left_out, every, effects)]


def _effects(run: Run, reasons: np.ndarray, bins: Bins | None) -> list[Effect]:
    """Effects of the images that have no reason to be left out."""
    stage = replace(run, seen=replace(run.seen, reasons=reasons))
    effects: list[Effect] = []
    for target in run.spec.targets:
        outcomes = TargetOutcomes(stage, target)
        for name in run.outcomes(target):
            effects += findings.estimate(stage, target.name, outcomes.outcome(name), bins).effects
    return effects
