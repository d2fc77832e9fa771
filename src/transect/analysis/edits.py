"""The section on whether the edits of a finished run changed what was set, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from transect.analysis import finished_run
from transect.analysis.sections import edit_validity
from transect.experiment.edits import EDITS, REFERENCE_TABLE
from transect.report.records import Section
from transect.runs.folder import FinishedRun


def sections(path: Path) -> list[Section]:
    """The section about a finished run's edits; none where they were not checked.

    Raises CorruptedPart or BadInput (not finished).
    """
    folder = FinishedRun(path)
    if folder.spec.edits is None:
        return []
    run = finished_run.read(path)
    return [edit_validity.section(run.spec, run.attributes, *_tables(folder, run.parts))]


def _tables(folder: FinishedRun, parts: int) -> tuple[pa.Table, pa.Table]:
    return folder.read_table(EDITS, parts), folder.read_part(REFERENCE_TABLE, 0)
