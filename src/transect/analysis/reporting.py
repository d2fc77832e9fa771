"""Reports finished run folders: analyses them again, without generator or target."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from transect.analysis import edits, findings, finished_run, interpolation, negative_control, pruned, publication
from transect.analysis.audit_result import AuditResult
from transect.analysis.sections import directions as fitted_directions
from transect.analysis.sections import steady
from transect.effects.shares import read_shares
from transect.ratings.seen import attach
from transect.records import Effect
from transect.reports.records import Section
from transect.runs import boundary as boundaries
from transect.runs import error_conditions
from transect.runs.algebra import one_algebra_thread
from transect.runs.folder import STUDIES, read_spec
from transect.runs.inputs import TableLike


def rate(
    folder: Path, perceived: TableLike | None = None, prune: Sequence[str] = (), ratings: TableLike | None = None
) -> None:
    """Store ratings of a finished run's images in its folder, and the rules by which images are left out.

    perceived: a table with one row per image: id, a column per attribute, and `study` where the folder holds
    several. ratings: people's single answers: the same columns, and a `rater` where it is known. Rows of no image
    of the run are reported on standard error. Raises as `ratings.attach`.
    """
    for line in attach(folder, perceived, prune, ratings):
        print(line, file=sys.stderr)


def report(
    folder: Path,
    *,
    shares: Sequence[TableLike] = (),
    correction: str = "holm",
    models: Sequence[str] = (),
    boundary: tuple[float, float] | None = None,
    by: Sequence[str] = (),
) -> AuditResult:
    """Analyse a finished run folder, or every study under it, and write its effects, results and page again.

    shares: populations' shares to project to. correction: for many tests,
    "holm", "benjamini-hochberg" or "max-t". models: by which errors are adjusted too: "ols", "logit", "poisson", "gee",
    "fractional". boundary: the scores between which a subject is near the decision boundary; by: attributes whose
    combinations errors are counted by; both are stored in the folder; default: the stored ones.
    """
    with one_algebra_thread():
        return _report(folder, shares, correction, models, boundary, by)


def _report(
    folder: Path,
    shares: Sequence[TableLike],
    correction: str,
    models: Sequence[str],
    boundary: tuple[float, float] | None,
    by: Sequence[str],
) -> AuditResult:
    interval = boundaries.check(boundary) or boundaries.read(folder)
    paths = sorted(path.parent for path in (folder / STUDIES).glob("*/run.json")) or [folder]
    known = [read_spec(path).counted_by for path in paths]  # refuses what is no audit before tables are read
    crossed = error_conditions.check(by or error_conditions.read(folder), known)
    runs = [finished_run.read(path) for path in paths]
    studies = [findings.analyse(run, interval, crossed) for run in runs]
    if by:
        error_conditions.write(folder, crossed)
    if boundary is not None:
        boundaries.of_steps(any(study.in_steps for study in studies))
        boundaries.write(folder, boundary)
    # An experiment comes first: shares are of its levels, and not of steps λ or of what other studies observed.
    order = sorted(studies, key=lambda study: study.in_steps or not study.design.levels)
    attributes = {name: attribute for study in reversed(order) for name, attribute in study.attributes.items()}
    populations = [read_shares(source, attributes, f"shares {n}") for n, source in enumerate(shares, start=1)]
    controls = [negative_control.read(path) for path in paths]
    notes = [note for _, unfinished in controls for note in unfinished]
    rated = [section for run, study in zip(runs, studies, strict=True) for section in _run_sections(run, study.effects)]
    specs = {json.dumps(study.spec.generator.directions): study.spec for study in studies}
    notes += [note for spec in specs.values() for note in fitted_directions.limits(spec)]
    fitted = [section for spec in specs.values() for section in fitted_directions.section(spec)]
    return publication.publish(
        folder,
        studies,
        [control for control, _ in controls],
        shares=populations,
        correction=correction,
        models=models,
        limits=notes,
        sections=[*fitted, *interpolation.sections(folder), *rated],
    )


def _run_sections(run: finished_run.Run, effects: Sequence[Effect]) -> list[Section]:
    """The sections on one run's edits, canaries and ratings."""
    return [*edits.sections(run), *steady.sections(run.folder.path), *pruned.sections(run, effects)]
