"""Reads what matching needs: features from .npy or Parquet, the table of attributes, the columns that are named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from jaxtyping import Float
from numpy.typing import NDArray

from transect.errors import BadInput, UnknownName

ID: Final = "id"


def read_table(path: Path) -> pa.Table:
    """A Parquet table. Raises BadInput when there is none."""
    try:
        return pq.read_table(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise BadInput(
            f"table {path}: expected a Parquet file, found {_why(error)}; give --table FILE.parquet"
        ) from None


def read_features(
    path: Path, columns: Sequence[str] = (), ids: Sequence[object] | None = None, without: Sequence[str] = ()
) -> tuple[Float[np.ndarray, "n ..."], tuple[str, ...]]:
    """Features and, for columns of a table, their names.

    .npy: an array whose first axis is the image; it is mapped, not loaded. Parquet: `columns`, by default every numeric
    column and every column of lists of numbers, less those `without` and a data frame's nameless index. ids: the
    table's, by which rows are put in order where the features have an `id` column; images without features become NaN.

    Raises BadInput for another kind of file, no numeric column, or an id that stands twice.
    """
    if path.suffix == ".npy":
        return _floats(_mapped(path)), ()
    table = read_table(path)
    order = None if ids is None or ID not in table.column_names else _order(table[ID].to_pylist(), ids, path)
    own = [one.name for one in table.schema if _usable(one.type) and not _index(one.name)]
    names = list(columns) or [name for name in own if name not in {ID, *without}]
    for name in names:
        if name not in table.column_names:
            raise UnknownName("column", name, table.column_names, f"in {path}")
    if not names:
        raise BadInput(
            f"features {path}: expected numeric columns or a column of lists, found {', '.join(table.column_names)}"
        )
    parts = [_column(table, name, path) for name in names]
    features = np.concatenate(parts, axis=1)
    widths = [part.shape[1] for part in parts]
    labels = [
        name if width == 1 else f"{name}[{i}]" for name, width in zip(names, widths, strict=True) for i in range(width)
    ]
    return features if order is None else _reordered(features, order), tuple(labels)


def parse_weighted(text: str) -> tuple[Path, float]:
    """A file, or FILE=WEIGHT.

    >>> parse_weighted("w.npy=0.5")
    (PosixPath('w.npy'), 0.5)
    """
    path, equals, weight = text.rpartition("=")
    if not equals:
        return Path(text), 1.0
    try:
        return Path(path), float(weight)
    except ValueError:
        raise BadInput(f"features {text!r}: expected FILE or FILE=WEIGHT, with a number as the weight") from None


def parse_default(text: str) -> tuple[str, float]:
    """NAME=VALUE, a default attribute of reference images.

    >>> parse_default("Eyeglasses=0")
    ('Eyeglasses', 0.0)
    """
    name, _, value = text.partition("=")
    try:
        return name, float(value)
    except ValueError:
        raise BadInput(f"default {text!r}: expected NAME=VALUE with a number, for example Eyeglasses=0") from None


def column(table: pa.Table, name: str, role: str) -> pa.ChunkedArray:
    """A column by name. Raises UnknownName with the nearest."""
    if name not in table.column_names:
        raise UnknownName(f"{role} column", name, table.column_names)
    return table[name]


def numbers(table: pa.Table, name: str, role: str) -> Float[np.ndarray, " n"]:
    """A numeric or boolean column as float64, null as NaN. Raises BadInput for another type."""
    values = column(table, name, role)
    if not _scalar(values.type):
        raise BadInput(f"{role} column {name!r}: expected numbers, found {values.type}")
    return np.asarray(values.cast(pa.float64()).to_numpy(), dtype=np.float64)


def objects(table: pa.Table, name: str, role: str) -> NDArray[np.object_]:
    """A column of any type as Python objects, null as None."""
    return np.array([*column(table, name, role).to_pylist(), None], dtype=object)[:-1]


def text_of(value: object) -> str:
    """A name or number as text, none like another: 1, 1.0 and True are one, 10**18 and 10**18 + 1 are two.

    >>> [text_of(one) for one in (True, 1.0, 10**18 + 1, 0.5, "x")]
    ['1', '1', '1000000000000000001', '0.5', 'x']
    """
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return str(int(value))
    return repr(value) if isinstance(value, float) else str(value)


def numeric_columns(table: pa.Table, without: Sequence[str] = ()) -> list[str]:
    """Names of the numeric and boolean columns, in order; the nameless index of a pandas data frame is none."""
    return [one.name for one in table.schema if _scalar(one.type) and one.name not in without and not _index(one.name)]


def _index(name: str) -> bool:
    """Whether a column is the index of a pandas data frame that has no name."""
    return name.startswith("__index_level_")


def _scalar(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def _usable(kind: pa.DataType) -> bool:
    listed = pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind) or pa.types.is_large_list(kind)
    return _scalar(kind) or (listed and _scalar(kind.value_type))


def _column(table: pa.Table, name: str, path: Path) -> Float[np.ndarray, "n _"]:
    """A numeric column, or a column of lists of equal length; a row without a list is NaN."""
    values = table[name].combine_chunks()
    if _scalar(values.type):
        return numbers(table, name, "feature")[:, None]
    if not _usable(values.type):
        raise BadInput(f"features {path}: column {name!r} is {values.type}; name numeric columns with --columns")
    known = values.is_valid().to_numpy(zero_copy_only=False)
    widths = np.unique(pc.list_value_length(values.drop_null()).to_numpy())
    if len(widths) != 1 or not widths[0]:
        found = f"lengths {', '.join(map(str, widths[:6]))}" if known.any() else "none in any row"
        raise BadInput(f"features {path}: column {name!r}: expected lists of one length, found {found}")
    flat = _floats(np.asarray(values.drop_null().flatten().to_numpy(zero_copy_only=False))).reshape(-1, int(widths[0]))
    if known.all():
        return flat
    whole = np.full((len(values), flat.shape[1]), np.nan, dtype=flat.dtype)
    whole[known] = flat
    return whole


def _mapped(path: Path) -> NDArray[np.generic]:
    try:
        made = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise BadInput(f"features {path}: expected a .npy array of numbers, found {_why(error)}") from None
    if made.ndim < 2 or made.dtype.kind not in "fiub":
        raise BadInput(f"features {path}: expected numbers [images, columns], found {made.dtype} {list(made.shape)}")
    return np.asarray(made) if made.dtype.kind != "f" else made


def _floats(values: NDArray[np.generic]) -> Float[np.ndarray, "n ..."]:
    """float32 and float64 as they are, anything else as float64."""
    return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)


def _order(found: Sequence[object], wanted: Sequence[object], path: Path) -> list[int]:
    """Position in the features of each wanted id, -1 where it is missing."""
    place = {name: i for i, name in enumerate(found)}
    for where, names in ((f"features {path}", found), ("table", [name for name in wanted if name is not None])):
        twice = Counter(names).most_common(1)
        if twice and twice[0][1] > 1:
            raise BadInput(f"{where}: the id {twice[0][0]!r} stands more than once; keep one row for each image")
    if place.keys().isdisjoint(wanted):
        raise BadInput(
            f"features {path}: none of the table's ids is there; expected ids like {wanted[0]!r}, found ids like "
            f"{found[0]!r}"
        )
    return [place.get(name, -1) for name in wanted]


def _reordered(features: Float[np.ndarray, "n d"], order: Sequence[int]) -> Float[np.ndarray, "m d"]:
    rows = np.array(order, dtype=np.int64)
    return np.where((rows >= 0)[:, None], features[rows], features.dtype.type(np.nan))


def _why(error: Exception) -> str:
    return (
        "no such file" if isinstance(error, FileNotFoundError) else f"another kind ({str(error).splitlines()[0][:80]})"
    )
