"""The section on whether the edits of a finished run changed only what was set."""

from __future__ import annotations

import numpy as np

from transect.analysis.finished_run import Run
from transect.analysis.sections import drift, edit_validity
from transect.experiment.edits import EDITS, REFERENCE_TABLE
from transect.reports.records import Section


def sections(run: Run) -> list[Section]:
    """The section about a finished run's edits; none where they were not checked.

    Raises CorruptedPart or BadInput (not finished).
    """
    if run.spec.edits is None:
        return []
    edits, reference = run.folder.read_table(EDITS, run.parts), run.folder.read_part(REFERENCE_TABLE, 0)
    rows = np.flatnonzero(edits["cell"].to_numpy() >= 0)
    adjusted = drift.adjusted_table(run, edits, rows)
    return [edit_validity.section(run.spec, run.attributes, edits, reference, adjusted)]
