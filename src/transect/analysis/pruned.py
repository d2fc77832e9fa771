"""How a study's results move with each step of the rules that leave images out: the same estimates, again and again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from transect.analysis import findings, finished_run, rater_report, required
from transect.analysis.sections import rated
from transect.effects.outcomes import Outcome
from transect.ratings.seen import unknown_lines
from transect.records import Effect
from transect.report.records import Section


def sections(path: Path) -> list[Section]:
    """The sections about a finished run's required gates, its ratings and its raters; none where it has none.

    Raises CorruptedPart or BadInput (not finished).
    """
    run = finished_run.read(path)
    seen = run.seen
    gates = required.sections(path, seen.gated)
    if not (seen.columns or seen.people):
        return gates
    made, name = seen.pruning, run.spec.name
    stages = [] if made is None else [_effects(run, step) for step in range(len(made.steps) + 1)]
    unordered = {attribute.name for attribute in run.spec.nominal}
    unordered |= {name for name, one in {**seen.asked, **seen.asked_people}.items() if one.unordered}
    kinds = {rated.BY_IMAGE: seen.columns, rated.OF_PEOPLE: seen.people}
    own = [rated.section(name, kinds, unknown_lines(name, seen), unordered, made, stages)]
    return [*gates, *own, *rater_report.sections(path)]


def _effects(run: finished_run.Run, steps: int) -> list[Effect]:
    """Effects of the images that so many steps leave."""
    stage = replace(run, seen=replace(run.seen, reasons=run.seen.reasons_after(steps)))
    made: list[Effect] = []
    for target in run.spec.targets:
        predictions = run.predictions(target)
        for name in run.outcomes(target):
            outcome: Outcome = findings.outcome_of(stage, target, predictions, name)
            made += findings.estimate(stage, target.name, outcome).effects
    return made
