"""The worlds of one report: an experiment that was repeated in other generators, and images as they are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from transect.analysis.families import in_several_worlds
from transect.analysis.findings import Findings
from transect.analysis.replicated import reading
from transect.analysis.replicated.reading import Reading, digest
from transect.analysis.replicated.records import Finding, ReplicateNumbers
from transect.analysis.replicated.replicating import replicated
from transect.analysis.replicated.words import about, lacking, models, verdict
from transect.errors import BadInput
from transect.reports.entries import EffectEntry
from transect.reports.records import ColumnUnit, Figure, Panel, Point, Section, Series, Table, Unit
from transect.reports.results import StudyEntry
from transect.runs.places import runs_of
from transect.runs.plain_json import plain

_TEXT: Final = (
    "One experiment in several worlds, and images as they are, adjusted for all other attributes that are known. An "
    "effect is seen in a world where it is significant there after correction for its own tests. It replicates "
    "where worlds are shown to differ by less than the margin and one at least shows it; it differs where the test of "
    "agreement finds a difference. Where every world shows it in the same direction and neither is so, sizes are not "
    "shown alike: they may be very different. Worlds are not drawn at random."
)


def of(
    folder: Path, studies: Sequence[Findings], entries: Sequence[Mapping[str, object]], margins: Mapping[str, float]
) -> ReplicateNumbers | None:
    """What is said of the effects that several worlds of a report share; None where it has experiments in one alone."""
    if not in_several_worlds(studies):
        return None
    experiments = [study for study in studies if study.design.levels and not study.in_steps]
    rows = [EffectEntry.model_validate(plain(dict(entry))) for entry in entries]
    places = {path.name: path for path in runs_of(folder)}
    found = [*_experiments(folder, experiments, rows, places), *_observations(folder, studies, places)]
    readings = reading.numbered(found)
    try:
        return replicated(readings, margins)
    except BadInput as error:  # a report is written whatever its worlds share
        return ReplicateNumbers(tuple(each.world for each in readings), {}, (), (), (), (str(error),), ())


def _experiments(
    folder: Path, studies: Sequence[Findings], rows: Sequence[EffectEntry], places: Mapping[str, Path]
) -> Iterator[Reading]:
    for study in studies:
        entry = StudyEntry.model_validate(plain(dict(study.entry)))
        yield reading.experiment(entry, rows, folder, places.get(study.spec.name, folder))


def _observations(folder: Path, studies: Sequence[Findings], places: Mapping[str, Path]) -> Iterator[Reading]:
    for study in studies:
        if not study.design.levels and study.spec.name in places:
            entry = StudyEntry.model_validate(plain(dict(study.entry)))
            digests = {target.name: digest(target.description.facts) for target in study.spec.targets}
            yield reading.observation(entry, digests, folder, places[study.spec.name])


def sections(numbers: ReplicateNumbers | None) -> list[Section]:
    """The section of the report; none without several worlds."""
    if numbers is None:
        return []
    figures = (
        []
        if not numbers.findings
        else [
            Figure(
                kind="rows",
                title="Each effect in each world",
                caption="(bars are 95 % intervals)",
                same_axis=False,
                panels=[_panel(numbers, finding) for finding in numbers.findings],
            )
        ]
    )
    return [
        Section(
            key="replication",
            title="Effects in several worlds",
            text=[_TEXT, *(f"{note.rstrip('.')}." for note in numbers.notes)],
            figures=figures,
            tables=[_table(numbers.findings)] if numbers.findings else [],
            sources=numbers.works,
        )
    ]


def _panel(numbers: ReplicateNumbers, finding: Finding) -> Panel:
    kinds = {world.name: world.kind for world in numbers.worlds}
    points = [
        Point(
            label=f"{world.world} ({kinds[world.world]})",
            value=_known(world.estimate),
            low=_known(world.low),
            high=_known(world.high),
            n=world.n_subjects,
            reason="" if math.isfinite(world.estimate) else world.reason or "no estimate",
        )
        for world in finding.worlds
    ]
    unit: Unit = "points" if finding.unit == "proportion" else "number"
    words = f"change of the {about(finding).rpartition(' on the ')[2]}"
    called = models(numbers.findings)[finding.digest]
    model = f"{called}: " if called else ""
    return Panel(heading=f"{model}{about(finding)}", y_words=words, unit=unit, series=[Series("effect", points)])


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _table(findings: Sequence[Finding]) -> Table:
    called = models(findings)
    named = len(called) > 1
    units: list[ColumnUnit] = ["text", "text", "count", "count", "p", "text"]
    columns = [*["model"] * named, "effect", "verdict", "seen in", "worlds", "p, corrected", "needs"]
    rows: list[list[Any]] = [
        [
            *[called[finding.digest]] * named,
            about(finding), verdict(finding), len(finding.seen_in), len(finding.worlds),
            _known(finding.p_adjusted), lacking(finding),
        ]
        for finding in findings
    ]  # fmt: skip
    return Table("Verdicts", columns, ["text", *units] if named else units, rows)
