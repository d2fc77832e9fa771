"""A finished audit as one table: a row per image with its attributes and each outcome, to match or to look at."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeGuard

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from transect.analysis.finished_run import Run, read
from transect.analysis.target_outcomes import TargetOutcomes
from transect.records import Attribute
from transect.runs import places


def is_audit(source: object) -> TypeGuard[str | Path]:
    """Whether it is the folder of one finished study, as `transect audit` writes it."""
    return isinstance(source, str | Path) and Path(source).is_dir() and places.is_one_run(Path(source))


def image_table(folder: Path) -> pa.Table:
    """The images of a finished audit, in their order: id, subject, attributes, and what is counted of each target."""
    run = read(folder)
    columns: dict[str, object] = {"id": run.images["id"], "subject": run.people}
    known: Mapping[str, Attribute] = {**run.held, **run.known}
    for name, values in run.true.items():
        columns.setdefault(name, _values(known.get(name), values))
    return pa.table({**columns, **_outcomes(run)})


def _values(attribute: Attribute | None, values: Float[np.ndarray, " n"]) -> pa.Array:
    if attribute is None or not attribute.levels:
        return pa.array(values, from_pandas=True)
    return pa.array([attribute.label(value) if np.isfinite(value) else None for value in values.tolist()], pa.string())


def _outcomes(run: Run) -> dict[str, pa.Array]:
    found, several = {}, len(run.spec.targets) > 1
    for target in run.spec.targets:
        answers = TargetOutcomes(run, target)
        for name in run.outcomes(target):
            if name in answers.possible:
                called = f"{target.name}: {name}" if several else name
                found[called] = pa.array(answers.outcome(name).values, from_pandas=True)
    return found
