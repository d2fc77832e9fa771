"""Labels, protected attribute, splits and predictions from a file: CSV, Parquet, NumPy, Hugging Face data sets.

A label is one column of categories; or several columns of 0 and 1, or one column of equally long lists of them.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from transect.errors import BadInput, UnknownName
from transect.leakage.chance import item_keys
from transect.leakage.outputs import Outputs, model_outputs
from transect.leakage.records import Evidence, LabelledData

ID_COLUMNS: Final = ("id", "image_id", "image_name")
SPLITS: Final = {
    "train": "train",
    "training": "train",
    "val": "development",
    "valid": "development",
    "validation": "development",
    "dev": "development",
    "development": "development",
    "test": "test",
    "testing": "test",
}


def read_table(path: Path) -> pa.Table:
    """The table in a .csv, .parquet, .npz (one array a column) or .arrow file, or in a folder of these.

    A folder is a Hugging Face data set as `save_to_disk` writes it (one folder a split becomes a column `split`), or
    holds Parquet files. Nothing in a file is executed: pickled objects are refused.

    Raises BadInput where the file is absent or cannot be read.
    """
    if not path.exists():
        raise BadInput(f"{path}: expected a .csv, .parquet, .npz or .arrow file, or a data set's folder, found none")
    try:
        return _read_folder(path) if path.is_dir() else _read_file(path)
    except (pa.ArrowException, ValueError, OSError, EOFError) as error:
        raise BadInput(f"{path}: cannot be read as a table: {' '.join(str(error).split())[:200]}") from error


def labelled_data(
    table: pa.Table,
    labels: Sequence[str],
    protected: str,
    *,
    split: str | None = None,
    ids: str | None = None,
    where: str | None = None,
    where_train_only: bool = False,
) -> LabelledData:
    """The data that a table's columns hold. `labels` are names or patterns such as 'obj_*'.

    Splits are train, test and val (or their usual synonyms); without a test split, val is scored. where: a column of
    true and false that says which rows count (with where_train_only: which training rows).

    Raises UnknownName for a column that is not there; BadInput for missing values, an unknown split, or an identifier
    in two splits.
    """
    if protected in _expand(table, labels):
        raise BadInput(f"labels: expected none of them to be the protected attribute, got {protected}; leave it out")
    splits = None if split is None else _splits(table, split)
    table, splits = _kept(table, splits, where, where_train_only)
    identifiers = _identifiers(table, ids)
    _check_unique(identifiers, splits)
    classes, codes = _codes(table, protected)
    keys = [str(i) for i in range(table.num_rows)] if identifiers is None else identifiers
    return LabelledData(
        _labels(table, labels),
        codes,
        classes,
        item_keys(keys),
        splits,
        None if identifiers is None else tuple(identifiers),
        protected,
    )


def predictions(
    table: pa.Table, data: LabelledData, columns: Sequence[str], ids: str | None = None
) -> tuple[LabelledData, Outputs]:
    """The data that the predictions cover, and the model's outputs in the same order.

    columns: names or patterns, in the order of the labels; rows are matched by identifier where the data have one. The
    predictions must cover whole splits; where they leave out the training split, attackers are cross-fitted within the
    others.

    Raises BadInput where identifiers do not match, a split is covered in part, or a score is NaN.
    """
    rows, found = _aligned(table, data, ids)
    covered = data.take(rows)
    if covered.split is not None and "train" not in covered.split:
        covered = replace(covered, split=None)
    values = _matrix(table.take(found), _expand(table, columns))
    return covered, model_outputs(covered, values)


def _read_file(path: Path) -> pa.Table:
    if path.suffix == ".csv":
        from pyarrow import csv

        return csv.read_csv(path)
    if path.suffix in (".parquet", ".pq"):
        from pyarrow import parquet

        return parquet.read_table(path)
    if path.suffix == ".arrow":
        return _read_arrow(path)
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as arrays:
            return pa.table({name: _column(arrays[name]) for name in arrays.files})
    raise BadInput(f"{path}: expected a .csv, .parquet, .npz or .arrow file, got {path.suffix or 'no suffix'}")


def _column(array: np.ndarray) -> pa.Array:
    return pa.array(array if array.ndim == 1 else list(array))


def _read_arrow(path: Path) -> pa.Table:
    with pa.memory_map(str(path)) as source:
        try:
            return pa.ipc.open_stream(source).read_all()
        except pa.ArrowInvalid:
            return pa.ipc.open_file(source).read_all()


def _read_folder(path: Path) -> pa.Table:
    if (path / "dataset_dict.json").exists():
        parts = [child for child in sorted(path.iterdir()) if child.is_dir()]
        return pa.concat_tables(
            [(t := _read_folder(part)).append_column("split", pa.array([part.name] * t.num_rows)) for part in parts]
        )
    files = sorted(path.glob("*.arrow")) or sorted(path.rglob("*.parquet"))
    if not files:
        raise BadInput(f"{path}: expected .arrow or .parquet files in it, found none")
    return pa.concat_tables([_read_file(file) for file in files])


def _splits(table: pa.Table, name: str) -> np.ndarray:
    found = _plain(table, name)
    unknown = sorted({str(value) for value in found} - SPLITS.keys())
    if unknown:
        raise BadInput(f"split column {name}: expected train, val and test, got {unknown[0]!r}; rename it")
    splits = np.array([SPLITS[str(value)] for value in found])
    if "test" not in splits:
        splits = np.where(splits == "development", "test", splits)
    return splits


def _kept(
    table: pa.Table, splits: np.ndarray | None, where: str | None, train_only: bool
) -> tuple[pa.Table, np.ndarray | None]:
    if where is None:
        return table, splits
    chosen = _plain(table, where)
    if not np.isin(chosen, (0, 1)).all():
        raise BadInput(f"column {where}: expected true or false in every row, to filter by; give another column")
    keep = chosen.astype(np.bool_)
    if train_only and splits is not None:
        keep |= splits != "train"
    return table.filter(pa.array(keep)), None if splits is None else splits[keep]


def _identifiers(table: pa.Table, ids: str | None) -> list[str] | None:
    name = ids or next((column for column in ID_COLUMNS if column in table.column_names), None)
    return None if name is None else [str(value) for value in _plain(table, name)]


def _check_unique(ids: list[str] | None, splits: np.ndarray | None) -> None:
    if ids is None or len(set(ids)) == len(ids):
        return
    seen: dict[str, int] = {}
    for row, item in enumerate(ids):
        if item in seen:
            places = "" if splits is None else f" in {splits[seen[item]]} and {splits[row]}"
            raise BadInput(
                f"identifier {item!r} occurs twice{places} ({len(ids) - len(set(ids))} repeated in all): an attacker "
                "would be scored on what it has learned; drop repeats, or name another column with --id"
            )
        seen[item] = row


def _codes(table: pa.Table, name: str) -> tuple[tuple[str, ...], np.ndarray]:
    classes, codes = np.unique(_plain(table, name), return_inverse=True)
    return tuple(str(value) for value in classes), codes.astype(np.int64)


def _labels(table: pa.Table, patterns: Sequence[str]) -> Evidence:
    names = _expand(table, patterns)
    values = _matrix(table, names)
    if values.ndim == 1:
        found, codes = np.unique(values, return_inverse=True)
        return Evidence(tuple(str(value) for value in found), category=codes.astype(np.int64))
    if values.dtype.kind not in "biuf" or not np.isin(values, (0, 1)).all():
        raise BadInput(f"labels {names[0]} …: several columns must hold 0 and 1; for one category give one column")
    wide = names if len(names) > 1 else [f"{names[0]}[{i}]" for i in range(values.shape[1])]
    return Evidence(tuple(wide), values=values.astype(np.bool_))


def _expand(table: pa.Table, patterns: Sequence[str]) -> list[str]:
    """Columns by name or pattern, in the table's order for each pattern, each once."""
    found: list[str] = []
    for pattern in patterns:
        matches = fnmatch.filter(table.column_names, pattern)
        if not matches:
            raise UnknownName("column", pattern, table.column_names)
        found += [name for name in matches if name not in found]
    return found


def _matrix(table: pa.Table, names: Sequence[str]) -> np.ndarray:
    """One column as [n], a column of lists or several columns as [n, k]."""
    columns = [_plain(table, name) for name in names]
    return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)


def _plain(table: pa.Table, name: str) -> np.ndarray:
    """A column without gaps as an array. Raises UnknownName or, with the count, BadInput for missing values."""
    if name not in table.column_names:
        raise UnknownName("column", name, table.column_names)
    column = table[name].combine_chunks()
    if column.null_count:
        raise BadInput(
            f"column {name}: expected a value in every row, {column.null_count} of {len(column)} are missing; drop "
            "these rows or give them a class of their own"
        )
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type) or pa.types.is_fixed_size_list(column.type):
        rows = column.to_pylist()
        if len({len(row) for row in rows}) > 1:
            raise BadInput(f"column {name}: expected lists of equal length, got {len({len(r) for r in rows})} lengths")
        return np.array(rows)
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _aligned(table: pa.Table, data: LabelledData, ids: str | None) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the data that are covered, and the row of the predictions of each."""
    said = _identifiers(table, ids)
    if data.ids is None or said is None:
        if table.num_rows != len(data):
            raise BadInput(
                f"predictions: expected {len(data)} rows, one for each label, got {table.num_rows}; give both files a "
                "column of identifiers (--id)"
            )
        return np.arange(len(data)), np.arange(len(data))
    position = {item: row for row, item in enumerate(said)}
    if len(position) < len(said):
        raise BadInput(f"predictions: {len(said) - len(position)} identifiers occur twice; keep one row for each item")
    rows = np.array([row for row, item in enumerate(data.ids) if item in position], dtype=np.int64)
    _check_covered(data, data.ids, rows)
    return rows, np.array([position[data.ids[row]] for row in rows], dtype=np.int64)


def _check_covered(data: LabelledData, ids: tuple[str, ...], rows: np.ndarray) -> None:
    covered = np.zeros(len(data), dtype=bool)
    covered[rows] = True
    for name in ("",) if data.split is None else np.unique(data.split).tolist():
        part = np.ones(len(data), dtype=bool) if data.split is None else data.split == name
        if covered[part].any() and not covered[part].all():
            lacking = ids[int(np.flatnonzero(part & ~covered)[0])]
            raise BadInput(
                f"predictions do not match the labels: {int((part & ~covered).sum())} of {int(part.sum())} "
                f"{name or 'rows'} have none, the first {lacking!r}; predict whole splits and compare identifiers"
            )
    if not len(rows):
        raise BadInput("predictions do not match the labels: no identifier is in both files; name the column with --id")
