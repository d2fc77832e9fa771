"""A model's answers from a file, put beside the labels that they answer: rows by identifier, columns by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from transect.errors import BadInput
from transect.leakage.outputs import Matched, Outputs, model_outputs
from transect.leakage.records import LabelledData
from transect.leakage.tables import expand, identifiers, matrix


def predictions(
    table: pa.Table, data: LabelledData, columns: Sequence[str], ids: str | None = None
) -> tuple[LabelledData, Outputs]:
    """The data that the predictions cover, and the model's outputs in the same order.

    columns: names or patterns. Rows are matched by identifier where both have one, otherwise by their order. Columns
    are matched by name where they are the labels' names, all with one prefix or one suffix or with neither; otherwise
    they are taken in the order given. `Outputs.matched` says which. The predictions must cover whole splits; where they
    leave out the training split, attackers are cross-fitted within the others.

    Raises BadInput where identifiers do not match, a split is covered in part, or a score is NaN.
    """
    rows, found, matched = _aligned(table, data, ids)
    covered = data.take(rows)
    if covered.split is not None and "train" not in covered.split:
        covered, matched = replace(covered, split=None), replace(matched, cross_fitted=True)
    given = expand(table, columns)
    named = by_name(given, covered.labels.names)
    outputs = model_outputs(covered, matrix(table.take(found), named or given))
    k = len(covered.labels.names)
    unknown = 0 if outputs.hard.category is None else int((outputs.hard.category >= k).sum())
    return covered, replace(outputs, matched=replace(matched, columns_by_name=named is not None, unknown=unknown))


def by_name(columns: Sequence[str], labels: Sequence[str]) -> list[str] | None:
    """The columns in the labels' order, where each is one label's name with the same prefix or the same suffix.

    Returns None where the names do not tell.

    >>> by_name(["p_driving", "p_cooking"], ["cooking", "driving"])
    ['p_cooking', 'p_driving']
    >>> by_name(["first", "second"], ["cooking", "driving"]) is None
    True
    """
    for column in columns:
        if column.endswith(labels[0]):
            wanted = [column.removesuffix(labels[0]) + label for label in labels]
        elif column.startswith(labels[0]):
            wanted = [label + column.removeprefix(labels[0]) for label in labels]
        else:
            continue
        if sorted(wanted) == sorted(columns):
            return wanted
    return None


def _aligned(table: pa.Table, data: LabelledData, ids: str | None) -> tuple[np.ndarray, np.ndarray, Matched]:
    """Rows of the data that are covered, the row of the predictions of each, and how they were found."""
    said = identifiers(table, ids)
    if data.ids is None or said is None:
        if table.num_rows != len(data):
            raise BadInput(
                f"predictions: expected {len(data)} rows, one for each label, got {table.num_rows}; give both files a "
                "column of identifiers (--id)"
            )
        return np.arange(len(data)), np.arange(len(data)), Matched("row order", len(data))
    position = {item: row for row, item in enumerate(said)}
    if len(position) < len(said):
        raise BadInput(f"predictions: {len(said) - len(position)} identifiers occur twice; keep one row for each item")
    rows = np.array([row for row, item in enumerate(data.ids) if item in position], dtype=np.int64)
    _check_covered(data, data.ids, rows)
    found = np.array([position[data.ids[row]] for row in rows], dtype=np.int64)
    return rows, found, Matched("identifiers", len(rows), len(said) - len(rows))


def _check_covered(data: LabelledData, ids: tuple[str, ...], rows: np.ndarray) -> None:
    covered = np.zeros(len(data), dtype=bool)
    covered[rows] = True
    if not len(rows):
        raise BadInput("predictions do not match the labels: no identifier is in both files; name the column with --id")
    for name in ("",) if data.split is None else np.unique(data.split).tolist():
        part = np.ones(len(data), dtype=bool) if data.split is None else data.split == name
        if covered[part].any() and not covered[part].all():
            lacking = ids[int(np.flatnonzero(part & ~covered)[0])]
            raise BadInput(
                f"predictions do not match the labels: {int((part & ~covered).sum())} of {int(part.sum())} "
                f"{name or 'rows'} have none, the first {lacking!r}; predict whole splits and compare identifiers"
            )
