"""Labels, protected attribute and splits from a file: CSV, Parquet, NumPy, Hugging Face data sets.

A label is one column of categories; or several columns of 0 and 1, or one column of equally long lists of them.
"""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute

from transect.errors import BadInput, UnknownName
from transect.leakage.balance import balanced_splits
from transect.leakage.chance import item_keys
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

    A folder is a Hugging Face data set as `save_to_disk` writes it, or holds Parquet files as on the Hub; splits that
    are folders or beginnings of names (train-00000-of-00002.parquet) become a column `split`. Nothing in a file is
    executed: pickled objects are refused.

    Raises BadInput where the file is absent or cannot be read.
    """
    if not path.exists():
        raise BadInput(f"{path}: expected a .csv, .parquet, .npz or .arrow file, or a data set's folder, found none")
    try:
        return _read_folder(path) if path.is_dir() else _read_file(path)
    except (pa.ArrowException, ValueError, OSError, EOFError, KeyError, TypeError) as error:
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
    if protected in expand(table, labels):
        raise BadInput(f"labels: expected none of them to be the protected attribute, got {protected}; leave it out")
    splits = None if split is None else _splits(table, split)
    table, splits = _kept(table, splits, where, where_train_only)
    items = identifiers(table, ids)
    _check_unique(items, splits)
    classes, codes = _codes(table, protected)
    keys = [str(i) for i in range(table.num_rows)] if items is None else items
    return LabelledData(
        _labels(table, labels),
        codes,
        classes,
        item_keys(keys),
        splits,
        None if items is None else tuple(items),
        protected,
        id_column(table, ids),
    )


def balanced_table(
    table: pa.Table,
    data: LabelledData,
    alphas: Sequence[float],
    *,
    split: str | None = None,
    where: str | None = None,
    where_train_only: bool = False,
    seed: int = 0,
) -> tuple[pa.Table, list[str]]:
    """The rows that `labelled_data` takes of a table, with a column in_alpha3 … of each α: is it in the subset?

    Every split is balanced by itself, so that --where in_alpha1 asks of any of them. data: read in the same way, its
    rows as they stand.

    Returns the rows, and a line for each column whose search ran out of time.
    """
    stopped = []
    rows, _ = _kept(table, None if split is None else _splits(table, split), where, where_train_only)
    for alpha in alphas:
        keep, splits = balanced_splits(data, alpha, seed=seed)
        name, kept = f"in_alpha{alpha:g}", pa.array(keep)
        if splits:
            where_stopped = f" of {', '.join(splits)}" if splits != [""] else ""
            stopped.append(f"{name}: the search{where_stopped} ran out of time: another run may mark other rows")
        if name in rows.column_names:
            rows = rows.set_column(rows.column_names.index(name), name, kept)
        else:
            rows = rows.append_column(name, kept)
    return rows, stopped


def _read_file(path: Path) -> pa.Table:
    if path.suffix == ".csv":
        from pyarrow import csv

        # Empty fields of texts are missing values, too, not a class that is called nothing.
        return csv.read_csv(path, convert_options=csv.ConvertOptions(strings_can_be_null=True))
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
    """A folder a split, files that their names or folders say the split of, or one table in several files."""
    if (path / "dataset_dict.json").exists():
        return _with_splits([(child, child.name) for child in sorted(path.iterdir()) if child.is_dir()])
    files = _arrow_files(path) or sorted(path.rglob("*.parquet"))
    if not files:
        raise BadInput(f"{path}: expected .arrow or .parquet files in it, found none")
    named = [(file, _split_of(file)) for file in files]
    if all(name for _, name in named):
        return _with_splits(named)
    return pa.concat_tables([_read_file(file) for file in files])


def _arrow_files(path: Path) -> list[Path]:
    """The files that `save_to_disk` lists; a folder also holds what `map` and `filter` have cached."""
    if (path / "state.json").exists():
        state = json.loads((path / "state.json").read_text(encoding="utf-8"))
        return [path / Path(part["filename"]).name for part in state["_data_files"]]
    return [file for file in sorted(path.glob("*.arrow")) if not file.name.startswith("cache-")]


def _split_of(file: Path) -> str:
    """The split that a file's or its folder's name begins with, as in data/train-00000-of-00001.parquet; else ""."""
    for name in (re.split(r"[-_.]", file.stem)[0], file.parent.name):
        if name in SPLITS:
            return name
    return ""


def _with_splits(parts: Sequence[tuple[Path, str]]) -> pa.Table:
    tables = [(read_table(path), name) for path, name in parts]
    return pa.concat_tables(
        [
            table if "split" in table.column_names else table.append_column("split", pa.array([name] * len(table)))
            for table, name in tables
        ]
    )


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


def id_column(table: pa.Table, ids: str | None) -> str | None:
    """The named column, or the first of `ID_COLUMNS` that the table has; None without any."""
    return ids or next((column for column in ID_COLUMNS if column in table.column_names), None)


def identifiers(table: pa.Table, ids: str | None) -> list[str] | None:
    """What `id_column` holds, as texts; None without any."""
    name = id_column(table, ids)
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
    known = _class_names(table, name)
    return tuple(known.get(value, str(value)) for value in classes.tolist()), codes.astype(np.int64)


def _class_names(table: pa.Table, name: str) -> dict[object, str]:
    """What a Hugging Face data set calls the numbers of a column, where it does."""
    kept = (table.schema.metadata or {}).get(b"huggingface", b"{}")
    try:
        feature = json.loads(kept)["info"]["features"][name]
        return dict(enumerate(feature["names"])) if feature["_type"] == "ClassLabel" else {}
    except (ValueError, LookupError, TypeError):  # nothing of the kind, or not as the library writes it
        return {}


def _labels(table: pa.Table, patterns: Sequence[str]) -> Evidence:
    names = expand(table, patterns)
    values = matrix(table, names)
    if values.ndim == 1:
        found, codes = np.unique(values, return_inverse=True)
        return Evidence(tuple(str(value) for value in found), category=codes.astype(np.int64))
    if values.dtype.kind not in "biuf" or not np.isin(values, (0, 1)).all():
        raise BadInput(f"labels {names[0]} …: several columns must hold 0 and 1; for one category give one column")
    wide = names if len(names) > 1 else [f"{names[0]}[{i}]" for i in range(values.shape[1])]
    return Evidence(tuple(wide), values=values.astype(np.bool_))


def expand(table: pa.Table, patterns: Sequence[str]) -> list[str]:
    """Columns by name or pattern, in the table's order for each pattern, each once; a column's own name is no pattern.

    >>> expand(pa.table({"a[b]": [1], "ab": [0]}), ["a[b]"]), expand(pa.table({"a1": [1], "a2": [0]}), ["a*"])
    (['a[b]'], ['a1', 'a2'])
    """
    found: list[str] = []
    for pattern in patterns:
        matches = [pattern] if pattern in table.column_names else fnmatch.filter(table.column_names, pattern)
        if not matches:
            raise UnknownName("column", pattern, table.column_names)
        found += [name for name in matches if name not in found]
    return found


def matrix(table: pa.Table, names: Sequence[str]) -> np.ndarray:
    """One column as [n], a column of lists or several columns as [n, k]."""
    columns = [_plain(table, name) for name in names]
    return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)


def _plain(table: pa.Table, name: str) -> np.ndarray:
    """A column without gaps as an array. Raises UnknownName or, with the count, BadInput for missing values."""
    if name not in table.column_names:
        raise UnknownName("column", name, table.column_names)
    column = table[name].combine_chunks()
    lacking = column.null_count
    if pa.types.is_floating(column.type):
        lacking = pa.compute.sum(pa.compute.is_null(column, nan_is_null=True)).as_py() or 0
    if lacking:
        raise BadInput(
            f"column {name}: expected a value in every row, {lacking} of {len(column)} are missing; drop these rows"
            + ("" if pa.types.is_floating(column.type) else " or give them a class of their own")
        )
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type) or pa.types.is_fixed_size_list(column.type):
        rows = column.to_pylist()
        if len({len(row) for row in rows}) > 1:
            raise BadInput(f"column {name}: expected lists of equal length, got {len({len(r) for r in rows})} lengths")
        return np.array(rows)
    return np.asarray(column.to_numpy(zero_copy_only=False))
