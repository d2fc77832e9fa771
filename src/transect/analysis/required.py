"""The section on the gates of raters' validation that a run requires."""

from __future__ import annotations

from transect.analysis.finished_run import Run
from transect.analysis.sections import gates
from transect.ratings.gates import Required, entries_of, stored
from transect.reports.records import Section
from transect.runs.spec import GeneratorDescription


def sections(run: Run) -> list[Section]:
    """The section on the gates that a finished run requires; none where it requires none."""
    required, spec = stored(run.folder.path), run.spec
    if required is None:
        return []
    entries, reasons = entries_of(required, spec.generator), [str(reason) for reason in run.seen.gated if reason]
    return [gates.section(spec.name, entries, spec.design.levels, required.sha256, reasons)]


def section_of(required: Required, name: str, generator: GeneratorDescription) -> Section:
    """The section on gates that were required before the run, so that no image is left out."""
    return gates.section(name, entries_of(required, generator), {}, required.sha256, [])
