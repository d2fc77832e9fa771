"""The section on the gates of raters' validation that a run requires."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from transect.analysis.sections import gates
from transect.ratings.gates import Required, entries_of, kept
from transect.report.records import Section
from transect.runs.folder import read_spec
from transect.runs.spec import GeneratorDescription


def sections(folder: Path, gated: np.ndarray) -> list[Section]:
    """The section on the gates that a finished run requires; none where it requires none.

    gated [n]: why images are left out (`reasons`).
    """
    required = kept(folder)
    if required is None:
        return []
    spec = read_spec(folder)
    return [gates.section(spec.name, entries_of(required, spec.generator), spec.design.levels, required.sha256,
                          [str(one) for one in gated if one])]  # fmt: skip


def section_of(required: Required, name: str, generator: GeneratorDescription) -> Section:
    """The section on gates that were required before anything was made, so that nothing is left out."""
    return gates.section(name, entries_of(required, generator), {}, required.sha256, [])
