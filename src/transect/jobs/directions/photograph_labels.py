"""Labels of photographs by their ids, as the subjects that they are once they are inverted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from transect.errors import BadInput
from transect.jobs.directions import labels
from transect.jobs.directions.labels import Labels

_MOST_NAMED: Final = 3


def labels_of_photographs(path: Path, photographs: Any, wanted: Sequence[str] = (), labelled_by: str = "") -> Labels:
    """Labels of a CSV or Parquet with a column id, that of the photograph in the latents' file, and one per attribute.

    As `labelling.from_table` has them; rows of photographs that were not inverted, or whose inversion failed, are left
    out and counted in the notes. photographs: `InvertedPhotographs`. Raises BadInput for a table without ids, or of
    other photographs alone.
    """
    table = labels.read_labels(path)
    if "id" not in table.column_names:
        found = ", ".join(table.column_names[:6]) or "no column"
        raise BadInput(f"{path}: expected a column id with the names of photographs, as in --latents, got {found}")
    places = {name: place for place, name in enumerate(photographs.ids)}
    ids = [str(one) for one in table["id"].to_pylist()]
    there = np.array([one in places for one in ids], dtype=bool)
    if not there.any():
        names = ", ".join(photographs.ids[:_MOST_NAMED])
        raise BadInput(f"{path}: expected ids of inverted photographs, as {names}, got {', '.join(ids[:_MOST_NAMED])}")
    seeds = pa.array([places[one] for one in ids if one in places], pa.int64())
    others = [name for name in table.column_names if name not in labels.BY]
    kept = table.select(others).filter(pa.array(there)).add_column(0, "seed", seeds)
    made = labels.of_table(kept, path, wanted, labelled_by)
    return replace(made, notes=(*made.notes, *_left_out(ids, places, photographs.left_out)))


def _left_out(ids: Sequence[str], places: dict[str, int], failed: Sequence[str]) -> list[str]:
    unknown, lost = [one for one in ids if one not in places], set(failed)
    of_failed = sum(one in lost for one in unknown)
    notes = [(of_failed, "photographs whose inversion failed"), (len(unknown) - of_failed, "photographs not inverted")]
    return [f"{count:,} rows of {words} are left out" for count, words in notes if count]
