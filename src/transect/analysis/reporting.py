"""Reports finished run folders: analyses them again, without generator or target."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from transect.analysis import (
    edits,
    findings,
    finished_run,
    interpolation,
    negative_control,
    pruned,
    publication,
    selection,
)
from transect.analysis.audit_result import AuditResult
from transect.analysis.sections import calling, changing, curves, steady
from transect.analysis.sections import directions as fitted_directions
from transect.analysis.sections.in_words import two_images
from transect.effects.repeated import clusters_of
from transect.effects.shares import check_levels, read_shares
from transect.effects.truth import FACE
from transect.ratings.perceived_attributes import PerceivedAttribute, resolved
from transect.ratings.seen import attach
from transect.records import Attribute, Task
from transect.reports.records import Section
from transect.runs import bins, covariates, error_conditions, manifest, margins, unfinished
from transect.runs import boundary as boundaries
from transect.runs.algebra import one_algebra_thread
from transect.runs.folder import read_spec
from transect.runs.inputs import TableLike, as_names
from transect.runs.places import runs_of
from transect.runs.report_settings import ReportSettings
from transect.runs.spec import RunSpec
from transect.texts import say


def rate(
    folder: Path, perceived: TableLike | None = None, prune: Sequence[str] = (), ratings: TableLike | None = None
) -> None:
    """Store ratings of a finished run's images in its folder, and the rules by which images are left out."""
    for line in attach(folder, perceived, prune, ratings):
        say(line, error=True)


def report(
    folder: Path,
    *,
    shares: Sequence[TableLike] = (),
    correction: str = "holm",
    models: Sequence[str] = (),
    settings: ReportSettings | None = None,
) -> AuditResult:
    """Analyse a finished run folder, or every study under it, and write its effects, results and page again.

    shares: populations' shares to project to. correction: for many tests,
    "holm", "benjamini-hochberg" or "max-t". models: by which errors are adjusted too: "ols", "logit", "poisson", "gee",
    "fractional". settings: how errors are counted; what it sets is stored in the folder, the rest is as stored.
    """
    with one_algebra_thread():
        result = _report(folder, shares, correction, models, settings or ReportSettings())
    if differing := manifest.write(folder):
        more = f" and {len(differing) - 1} more" if len(differing) > 1 else ""
        say(
            f"{folder}: {differing[0]}{more}: not as manifest.json has it, whose SHA-256 was kept; see: transect "
            f"verify run {folder}",
            error=True,
        )
    return result


def _report(
    folder: Path,
    shares: Sequence[TableLike],
    correction: str,
    models: Sequence[str],
    settings: ReportSettings,
) -> AuditResult:
    by, boundary = as_names(settings.by), settings.boundary
    interval = boundaries.check(boundary) or boundaries.read(folder)
    paths = runs_of(folder)
    specs_of = [read_spec(path) for path in paths]  # refuses what is no audit before tables are read
    runs = [finished_run.read(path) for path in paths]
    own = frozenset(name for spec in specs_of for name in spec.counted_by)
    perceived = {name: seen for run in runs for name, seen in run.perceived.items()}
    by = tuple(resolved(name, own, perceived) for name in by)
    crossed = error_conditions.check(by or error_conditions.read(folder), [run.counted_by for run in runs])
    observed = {name: attribute for spec in specs_of for name, attribute in spec.observed.items()}
    cut_points = _cut_points(settings.bins, observed, perceived) or bins.read(folder)
    named = [_about(name, perceived) for name in as_names(settings.covariates)]
    adjusted = covariates.check(named, _adjustable(runs)) or covariates.read(folder)
    counted = {name for run in runs for name in run.all_outcomes}
    margin = margins.parse(margins.listed(settings.margin), counted) or margins.read(folder)
    studies = [findings.analyse(run, interval, crossed, cut_points, adjusted) for run in runs]
    if named:
        covariates.write(folder, adjusted)
    if by:
        error_conditions.write(folder, crossed)
    if margins.listed(settings.margin):
        margins.write(folder, margin)
    if settings.bins:
        bins.write(folder, cut_points)
    if boundary is not None:
        boundaries.of_steps(any(study.in_steps for study in studies))
        boundaries.write(folder, boundary)
    # An experiment comes first: shares are of its levels, and not of steps λ or of what other studies observed.
    order = sorted(studies, key=lambda study: study.in_steps or not study.design.levels)
    attributes = {name: attribute for study in reversed(order) for name, attribute in study.attributes.items()}
    populations = [read_shares(source, attributes, f"shares {n}") for n, source in enumerate(shares, start=1)]
    for population in populations:
        check_levels(population, _shown_levels(studies), attributes)
    controls = [negative_control.read(path) for path in paths]
    notes = [note for _, unfinished in controls for note in unfinished]
    rated = [
        section
        for run, study in zip(runs, studies, strict=True)
        for section in [*_changes(study), *_run_sections(run, study, cut_points)]
    ]
    notes += dict.fromkeys(note for spec in specs_of for note in truth_notes(spec))
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
        margins=margin,
        again=selection.Estimates({run.spec.name: run for run in runs}, cut_points),
        cautions=list(unfinished.told(folder)),
    )


def _shown_levels(studies: Sequence[findings.Findings]) -> dict[str, set[float]]:
    """Every level at which an experiment showed an attribute."""
    shown: dict[str, set[float]] = {}
    for study in studies:
        for name, levels in {} if study.in_steps else study.design.levels.items():
            shown.setdefault(name, set()).update(levels)
    return shown


def _cut_points(
    texts: Sequence[str], observed: Mapping[str, Attribute], perceived: Mapping[str, PerceivedAttribute]
) -> dict[str, tuple[float, ...]]:
    """Cut points by attribute, observed or as raters saw it; an observed one comes first where a name means both."""
    named = [text.partition("=") for text in as_names(texts)]
    chosen = [resolved(name, observed, perceived) + sign + points for name, sign, points in named]
    return bins.parse(chosen, {**observed, **{name: seen.attribute for name, seen in perceived.items()}})


def _about(name: str, perceived: Mapping[str, PerceivedAttribute]) -> str:
    """What errors are adjusted for under this name: the attribute that the ratings are about, else the name itself."""
    key = resolved(name, (), perceived)
    return perceived[key].about if key in perceived else name


def _adjustable(runs: Sequence[finished_run.Run]) -> list[str]:
    """What errors may be adjusted for: ratings, and attributes of observed images."""
    rated = [seen.about for run in runs for seen in run.perceived.values()]
    return [*dict.fromkeys([*rated, *(name for run in runs for name in run.spec.observed)])]


def truth_notes(spec: RunSpec) -> list[str]:
    """What the truth of a detector means where it is not that each image shows a face."""
    return [
        f"The truth of {target.name} is {target.truth.text}. An error is a detection when the truth is no, or no "
        f"detection when it is yes. This evaluates the target as a detector of {target.truth.attribute}; for a face "
        f"detector give --truth '{target.name}=face'."
        for target in spec.targets
        if target.task is Task.DETECTION and target.truth is not None and target.truth.attribute != FACE
    ]


def _changes(study: findings.Findings) -> list[Section]:
    """The sections on curves along levels and on who changes; of steps λ the sensitivities show both."""
    if study.in_steps:
        return []
    answered = [(outcome.measure, outcome.values) for outcome in study.answered]
    who = next((clusters_of(outcome.people) for outcome in study.answered), None)
    about = study.spec.name, study.design, study.attributes, answered, who
    return [*curves.sections(*about), *changing.sections(*about)]


def _run_sections(run: finished_run.Run, study: findings.Findings, cut_points: bins.Bins) -> list[Section]:
    """The sections on one run's edits, calls, canaries and ratings."""
    place = run.folder.path
    about_calls = [*calling.sections(place), *steady.sections(place)]
    about_edits = edits.sections(run, study.answers, study.effects)
    about_ratings = pruned.sections(run, study.effects, cut_points)
    return [*two_images.sections(run), *about_edits, *about_calls, *about_ratings]
