"""The section on the gates of raters' validation that a run requires."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from transect.analysis.sections import gates
from transect.ratings.gates import Required, entries_of, kept, levels_of
from transect.report.records import Section
from transect.runs.folder import read_spec


def sections(folder: Path, gated: np.ndarray) -> list[Section]:
    """The section on the gates that a finished run requires; none where it requires none.

    gated [n]: why images are left out (`reasons`).
    """
    required = kept(folder)
    if required is None:
        return []
    spec = read_spec(folder)
    return [gates.section(str(spec["name"]), entries_of(required, spec["generator"]), levels_of(spec), required.sha256,
                          [str(one) for one in gated if one])]  # fmt: skip


def section_of(required: Required, name: str, generator: Mapping[str, Any]) -> Section:
    """The section on gates that were required before anything was made, so that nothing is left out."""
    return gates.section(name, entries_of(required, generator), {}, required.sha256, [])
