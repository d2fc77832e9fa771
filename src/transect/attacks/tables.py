"""Labels, protected attribute and splits from a table, a file or the folder of a Hugging Face data set.

A label is one column of categories; or several columns of 0 and 1, or one column of equally long lists of them.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute

from transect.attacks.balance import balanced_splits
from transect.attacks.records import Evidence, LabelledData, item_keys
from transect.datasets.features import text_of
from transect.datasets.parquet import ROLES, part_of_file
from transect.errors import BadInput, UnknownName
from transect.runs.json_records import loads, read_json
from transect.runs.table_inputs import TableLike, as_table
from transect.texts import words_of

ID_COLUMNS: Final = ("id", "image_id", "image_name")
SUBJECT_COLUMNS: Final = ("subject", "subject_id", "person", "person_id", "identity", "identity_id")
"""Names under which a column of people is looked for, to warn of it; it is used only where it is named."""


def read_labels(source: TableLike, role: str = "labels") -> pa.Table:
    """A table, or the folder of a Hugging Face data set as `save_to_disk` writes it, or of Parquet files as on the Hub,
    whose folders or names (train-00000-of-00002.parquet) become a column `split`. Pickled objects are refused.
    """
    if not isinstance(source, str | Path) or not Path(source).is_dir():
        return as_table(source, role)
    try:
        return _read_folder(Path(source), role)
    except (pa.ArrowException, ValueError, OSError, EOFError, KeyError, TypeError) as error:
        reason = words_of(error, 200)
        raise BadInput(f"{role} {source}: expected a data set's folder, got: {reason}") from error


def labelled_data(
    table: pa.Table,
    labels: Sequence[str],
    protected: str,
    *,
    split: str | None = None,
    ids: str | None = None,
    subject: str | None = None,
    where: str | None = None,
    where_train_only: bool = False,
) -> LabelledData:
    """The data that a table's columns hold. Splits are train, test and val (or their usual synonyms); without a test
    split, val is scored. where: a column of true and false that says which rows count (where_train_only: which training
    rows).
    """
    if protected in expand(table, labels):
        raise BadInput(f"labels: {protected} is the protected attribute; leave it out")
    splits = None if split is None else _splits(table, split)
    table, splits = _filtered(table, splits, where, where_train_only)
    items = identifiers(table, ids)
    _check_unique(items, splits)
    values, codes = np.unique(_plain(table, protected), return_inverse=True)
    known = _class_names(table, protected)
    classes = tuple(known.get(value, str(value)) for value in values.tolist())
    keys = [str(i) for i in range(table.num_rows)] if items is None else items
    return LabelledData(
        _labels(table, labels),
        codes.astype(np.int64),
        classes,
        item_keys(keys),
        splits,
        None if items is None else tuple(items),
        protected,
        id_column(table, ids),
        None if subject is None else item_keys(_plain(table, subject).tolist()),
    )


def unnamed_subjects(table: pa.Table, columns: Sequence[str]) -> str:
    """A line on a column that seems to say who is on each item, and repeats, where none was named; else nothing."""
    for name in SUBJECT_COLUMNS:
        if name not in table.column_names or name in columns:
            continue
        values = len(pa.compute.unique(table[name]))
        if values < table.num_rows:
            return (
                f"Column {name!r} has {values} values in {table.num_rows} rows, and no subject was named: if people "
                "repeat, attackers recognise them and intervals are too narrow; name the column with --subject."
            )
    return ""


def balanced_table(
    table: pa.Table,
    data: LabelledData,
    alphas: Sequence[float],
    *,
    split: str | None = None,
    where: str | None = None,
    where_train_only: bool = False,
    seed: int = 0,
    balance_sizes: bool = True,
) -> tuple[pa.Table, list[str]]:
    """The rows that `labelled_data` uses, with a column in_alpha3 … for each α that has none yet: is the row in the
    subset? Every split is balanced by itself. Also returned: a line for each column whose search ran out of time.
    """
    stopped = []
    rows, _ = _filtered(table, None if split is None else _splits(table, split), where, where_train_only)
    for alpha in alphas:
        if mark_of(alpha) in rows.column_names:
            continue
        keep, splits = balanced_splits(data, alpha, seed=seed, balance_sizes=balance_sizes)
        name = mark_of(alpha)
        if splits:
            parts = f" of {', '.join(splits)}" if splits != [""] else ""
            stopped.append(f"{name}: the search{parts} ran out of time: another run may mark other rows")
        rows = rows.append_column(name, pa.array(keep))
    return rows, stopped


def mark_of(alpha: float) -> str:
    """The column that marks the subset of an α.

    >>> mark_of(1.5)
    'in_alpha1.5'
    """
    return f"in_alpha{alpha:g}"


def _read_folder(path: Path, role: str) -> pa.Table:
    """A folder a split, files that their names or folders say the split of, or one table in several files."""
    if (path / "dataset_dict.json").exists():
        return _with_splits([(child, child.name) for child in sorted(path.iterdir()) if child.is_dir()], role)
    files = _arrow_files(path) or sorted(path.rglob("*.parquet"))
    if not files:
        raise BadInput(f"{role} {path}: no .arrow or .parquet files in it")
    named = [(file, part_of_file(file)) for file in files]
    if all(name for _, name in named):
        return _with_splits(named, role)
    return pa.concat_tables([as_table(file, role) for file in files])


def _arrow_files(path: Path) -> list[Path]:
    """The files that `save_to_disk` lists; a folder also holds what `map` and `filter` have cached."""
    if (path / "state.json").exists():
        state = read_json(path / "state.json", "the state of a data set", "save it again with save_to_disk")
        try:
            return [path / Path(part["filename"]).name for part in state["_data_files"]]
        except (KeyError, TypeError):
            raise BadInput(
                f"{path / 'state.json'}: expected _data_files with filename; save the data set again"
            ) from None
    return [file for file in sorted(path.glob("*.arrow")) if not file.name.startswith("cache-")]


def _with_splits(parts: Sequence[tuple[Path, str]], role: str) -> pa.Table:
    tables = [(read_labels(path, role), name) for path, name in parts]
    return pa.concat_tables(
        [
            table if "split" in table.column_names else table.append_column("split", pa.array([name] * len(table)))
            for table, name in tables
        ]
    )


def _splits(table: pa.Table, name: str) -> np.ndarray:
    column = _plain(table, name)
    unknown = sorted({str(value) for value in column} - ROLES.keys())
    if unknown:
        raise BadInput(f"split column {name}: expected train, val and test, got {unknown[0]!r}; rename it")
    splits = np.array([ROLES[str(value)] for value in column])
    if "test" not in splits:
        splits = np.where(splits == "development", "test", splits)
    return splits


def _filtered(
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
    """What `id_column` holds, as texts, 3 and 3.0 alike; None without any."""
    name = id_column(table, ids)
    return None if name is None else [text_of(value) for value in _plain(table, name).tolist()]


def _check_unique(ids: list[str] | None, splits: np.ndarray | None) -> None:
    if ids is None or len(set(ids)) == len(ids):
        return
    seen: dict[str, int] = {}
    for row, item in enumerate(ids):
        if item in seen:
            places = "" if splits is None else f" in {splits[seen[item]]} and {splits[row]}"
            raise BadInput(
                f"identifier {item!r} occurs twice{places} ({len(ids) - len(set(ids))} repeated in all): an "
                "attacker would be scored on its training items; drop repeats, or name another column with "
                "--id (--subject if it identifies people)"
            )
        seen[item] = row


def _class_names(table: pa.Table, name: str) -> dict[object, str]:
    """What a Hugging Face data set calls the numbers of a column, where it does."""
    metadata = (table.schema.metadata or {}).get(b"huggingface", b"{}")
    try:
        feature = loads(metadata)["info"]["features"][name]
        return dict(enumerate(feature["names"])) if feature["_type"] == "ClassLabel" else {}
    except (ValueError, LookupError, TypeError):  # nothing of the kind, or not as the library writes it
        return {}


def _labels(table: pa.Table, patterns: Sequence[str]) -> Evidence:
    names = expand(table, patterns)
    values = matrix(table, names)
    if values.ndim == 1:
        categories, codes = np.unique(values, return_inverse=True)
        return Evidence(tuple(str(value) for value in categories), category=codes.astype(np.int64))
    if values.dtype.kind not in "biuf" or not np.isin(values, (0, 1)).all():
        raise BadInput(f"labels {names[0]} …: several columns must hold 0 and 1; for one category, give one column")
    wide = names if len(names) > 1 else [f"{names[0]}[{i}]" for i in range(values.shape[1])]
    return Evidence(tuple(wide), values=values.astype(np.bool_))


def expand(table: pa.Table, patterns: Sequence[str]) -> list[str]:
    """Columns by name or pattern, in the table's order for each pattern, each once; a column's own name is no pattern.

    >>> expand(pa.table({"a[b]": [1], "ab": [0]}), ["a[b]"]), expand(pa.table({"a1": [1], "a2": [0]}), ["a*"])
    (['a[b]'], ['a1', 'a2'])
    """
    columns: list[str] = []
    for pattern in patterns:
        matches = [pattern] if pattern in table.column_names else fnmatch.filter(table.column_names, pattern)
        if not matches:
            raise UnknownName("column", pattern, table.column_names)
        columns += [name for name in matches if name not in columns]
    return columns


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
            + ("" if pa.types.is_floating(column.type) else " or give them a separate class")
        )
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type) or pa.types.is_fixed_size_list(column.type):
        # Lists of equal length as [n, k], floating-point numbers with 64 bits.
        widths = pa.compute.unique(pa.compute.list_value_length(column)).to_pylist()
        if len(widths) > 1:
            raise BadInput(f"column {name}: expected lists of equal length, got {len(widths)} lengths")
        flat = np.asarray(column.flatten().to_numpy(zero_copy_only=False)).reshape(len(column), *widths)
        return flat.astype(np.float64) if flat.dtype.kind == "f" else flat
    if pa.types.is_dictionary(column.type):  # one object for each value, whatever the number of rows
        values: np.ndarray = column.dictionary.to_numpy(zero_copy_only=False)
        return np.asarray(np.take(values, column.indices.to_numpy()))
    return np.asarray(column.to_numpy(zero_copy_only=False))
