"""The sections on whether the edits of a finished run changed only what was set, and where they did not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from transect.analysis.finished_run import Run
from transect.analysis.sections import drift, edit_failures, edit_validity
from transect.analysis.sections.answers import Answers
from transect.datasets.labelled import SUBJECT
from transect.experiment.edits import EDITS, REFERENCE_TABLE
from transect.records import Effect
from transect.reports.records import Section


def sections(run: Run, answers: Sequence[Answers], effects: Sequence[Effect]) -> list[Section]:
    """The sections about a finished run's edits; none where they were not checked."""
    if run.spec.edits is None:
        return []
    edits, reference = run.folder.read_table(EDITS, run.parts), run.folder.read_part(REFERENCE_TABLE, 0)
    rows = edits["cell"].to_numpy() >= 0
    adjusted = drift.adjusted_table(run, edits, np.flatnonzero(rows), effects)
    about = [edit_validity.section(run.spec, run.attributes, edits, reference, run.people, adjusted)]
    if not run.spec.generator.starts_from_photographs:
        return about
    failed = np.zeros(int(rows.sum()), dtype=np.bool_)
    for name in (name for name in edits.column_names if name.startswith("fails.")):
        failed |= edits[name].to_numpy(zero_copy_only=False)[rows]
    groups = edit_failures.groups_of(_labels(run), run.spec.generator.label_levels)
    found = edit_failures.section(run.spec.name, run.design, run.attributes, failed, run.people, groups, answers)
    return [*about, *([found] if found is not None else [])]


def _labels(run: Run) -> Mapping[str, Float[np.ndarray, " n"]]:
    """The labels of the photographs, one value for all images of each."""
    names = run.spec.generator.label_levels
    return {name: column for name, column in run.true.items() if name in names and name != SUBJECT}
