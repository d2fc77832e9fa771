"""The labels that `leakage` reads: a table of any form, or a data set's reader, which says what its columns are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

import pyarrow as pa

from transect.attacks import tables
from transect.datasets import is_dataset
from transect.datasets.label_tables import LabelTable, label_table
from transect.errors import BadInput
from transect.runs.inputs import TableLike, as_names


@final
@dataclass(frozen=True)
class Source:
    """Rows of labels, and which columns count. notes: what was left out, and what the labels are."""

    rows: pa.Table
    labels: tuple[str, ...]
    protected: tuple[str, ...]
    split: str | None
    name: str
    notes: tuple[str, ...] = ()


def opened(table: TableLike, protected: str | Sequence[str], labels: str | Sequence[str], split: str | None) -> Source:
    """The table, and the columns that were named; of a data set's reader those that it names.

    Raises BadInput where no label or no protected attribute is known.
    """
    read = LabelTable(pa.table({}))
    if isinstance(table, str | Path) and is_dataset(str(table)):
        read = label_table(str(table))
    rows = read.table if read.table.num_columns else tables.read_labels(table)
    chosen = as_names(labels) or read.labels
    attributes = as_names(protected) or ((read.protected,) if read.protected else ())
    for what, names, option in (("labels", chosen, "--label"), ("protected attribute", attributes, "--protected")):
        if not any(names):
            raise BadInput(f"{what}: expected the name of a column, got none; name one with {option}")
    name = Path(table).name if isinstance(table, str | Path) else "a table"
    left = tuple(f"Left out: {count} {reason}." for reason, count in read.left_out.items() if count)
    notes = (*left, read.about) if read.about else left
    return Source(rows, chosen, attributes, split or read.split or None, name, notes)
