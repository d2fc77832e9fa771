"""Labels of photographs by their ids, as the subjects that they are once they are inverted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa

from transect.datasets.ids import as_named
from transect.errors import BadInput
from transect.inversion.photographs import InvertedPhotographs
from transect.jobs.directions.labels import BY, LabelledRows, Labels, of_table
from transect.runs.wording import counted

_MOST_NAMED: Final = 3


def labels_of_photographs(
    table: LabelledRows, photographs: InvertedPhotographs, wanted: Sequence[str] = (), labelled_by: str = ""
) -> Labels:
    """Labels of a table or data set with a column id, that of the photograph, and one per attribute.

    As `labels.from_table`; rows of photographs that were not inverted, or whose inversion failed, are left out and
    counted in the notes.
    """
    columns = table.rows.column_names
    if "id" not in columns:
        raise BadInput(
            f"{table.name}: expected a column id with the names of photographs, as in --latents, got"
            f" {', '.join(columns[:6]) or 'no column'}"
        )
    places = {name: place for place, name in enumerate(photographs.ids)}
    stated = [str(name) for name in table.rows["id"].to_pylist()]
    same, compared = as_named(stated, [*photographs.ids, *photographs.left_out])
    ids = [str(name) for name in same]
    inverted = np.array([name in places for name in ids], dtype=bool)
    if not inverted.any():
        names = ", ".join(photographs.ids[:_MOST_NAMED])
        got = ", ".join(ids[:_MOST_NAMED])
        raise BadInput(f"{table.name}: expected ids of inverted photographs, as {names}, got {got}")
    seeds = pa.array([places[name] for name in ids if name in places], pa.int64())
    others = [name for name in columns if name not in BY]
    rows = table.rows.select(others).filter(pa.array(inverted)).add_column(0, "seed", seeds)
    labels = of_table(replace(table, rows=rows), wanted, labelled_by)
    labelled = len({name for name in ids if name in places})
    notes = [f"{labelled:,} of {len(photographs.ids):,} photographs with latents have labels in {table.name}, by id"]
    notes += [compared] if compared else []
    return replace(labels, notes=(*labels.notes, *notes, *_left_out(ids, places, photographs.left_out)))


def _left_out(ids: Sequence[str], places: dict[str, int], failed: Sequence[str]) -> list[str]:
    unknown, lost = [name for name in ids if name not in places], set(failed)
    of_failed = sum(name in lost for name in unknown)
    notes = [(of_failed, "photographs whose inversion failed"), (len(unknown) - of_failed, "photographs not inverted")]
    return [f"{counted(count, 'row')} of {words} left out" for count, words in notes if count]
