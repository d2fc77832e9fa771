"""A model's predictions from a table, matched to the labels: rows by identifier, columns by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from transect.attacks.outputs import Matched, Outputs, model_outputs
from transect.attacks.records import LabelledData
from transect.attacks.tables import expand, id_column, identifiers, matrix
from transect.errors import BadInput


def predictions(
    table: pa.Table, data: LabelledData, columns: Sequence[str], ids: str | None = None
) -> tuple[LabelledData, Outputs]:
    """The data that the predictions cover, and the model's outputs in the same order.

    columns: names or patterns. Rows are matched by the labels' column of identifiers, by row order where one has
    none. Columns are matched by name where `by_name` finds the labels in them; otherwise they are taken in the order
    given. `Outputs.matched` says which. The predictions must cover whole splits; where they leave out the training
    split, attackers are cross-fitted within the others.

    Raises BadInput where identifiers do not match or are of another column, a split is covered in part, or a score is
    NaN.
    """
    rows, places, matched = _aligned(table, data, ids)
    covered = data.take(rows)
    if covered.split is not None and "train" not in covered.split:
        covered, matched = replace(covered, split=None), replace(matched, cross_fitted=True)
    chosen = expand(table, columns)
    named = by_name(chosen, covered.labels.names)
    values = matrix(table.take(places), named or chosen)
    width = values.shape[1] if values.ndim > 1 else 1
    outputs = model_outputs(covered, values)
    k = len(covered.labels.names)
    unknown = 0 if outputs.hard.category is None else int((outputs.hard.category >= k).sum())
    return covered, replace(
        outputs, matched=replace(matched, columns_by_name=named is not None, unknown=unknown, columns=width)
    )


def by_name(columns: Sequence[str], labels: Sequence[str]) -> list[str] | None:
    """The columns in the labels' order, where each is one label's name with the same words before and after it.

    Capitals and small letters are the same where this keeps all names distinct. Returns None where the names do not
    match.

    >>> by_name(["P_driving_1", "P_cooking_1"], ["Cooking", "Driving"])
    ['P_cooking_1', 'P_driving_1']
    >>> by_name(["first", "second"], ["cooking", "driving"]) is None
    True
    """
    apart = all(len({name.casefold() for name in names}) == len(names) for names in (columns, labels))
    fold = str.casefold if apart else str
    known, first = {fold(column): column for column in columns}, fold(labels[0])
    for column in known:
        start = column.find(first)
        while start >= 0:
            before, after = column[:start], column[start + len(first) :]
            names = [before + fold(label) + after for label in labels]
            if sorted(names) == sorted(known):
                return [known[name] for name in names]
            start = column.find(first, start + 1)
    return None


def _aligned(table: pa.Table, data: LabelledData, ids: str | None) -> tuple[np.ndarray, np.ndarray, Matched]:
    """Rows of the data that are covered, the row of the predictions of each, and how they were matched."""
    predicted = identifiers(table, _shared_column(table, data, ids))
    if data.ids is None or predicted is None:
        if table.num_rows != len(data):
            raise BadInput(
                f"predictions: expected {len(data)} rows, one for each label, got {table.num_rows}; give both files a "
                "column of identifiers (--id)"
            )
        return np.arange(len(data)), np.arange(len(data)), Matched("row order", len(data))
    position = {item: row for row, item in enumerate(predicted)}
    if len(position) < len(predicted):
        raise BadInput(
            f"predictions: {len(predicted) - len(position)} identifiers occur twice; keep one row for each item"
        )
    rows = np.array([row for row, item in enumerate(data.ids) if item in position], dtype=np.int64)
    _check_covered(data, data.ids, rows)
    places = np.array([position[data.ids[row]] for row in rows], dtype=np.int64)
    return rows, places, Matched("identifiers", len(rows), len(predicted) - len(rows), id_column=data.id_column or "")


def _shared_column(table: pa.Table, data: LabelledData, ids: str | None) -> str | None:
    """The column of identifiers that both have. Raises BadInput where each has another: they may count otherwise."""
    named, theirs = data.id_column, id_column(table, ids)
    if ids or named is None or theirs is None or named in table.column_names:
        return ids or (named if named in table.column_names else theirs)
    raise BadInput(
        f"predictions: expected the labels' column of identifiers, {named}, got {theirs}; name one that both have with "
        "--id"
    )


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
