"""Features of images by id: arrays, columns of tables, latents of inversions; ids of two files brought together."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple, TypeAlias, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float
from numpy.typing import NDArray

from transect.errors import BadInput, UnknownName
from transect.runs import array_files, bounds, model_files
from transect.runs.json_records import loads
from transect.runs.model_files import Arrays, Facts, content_of, read_content
from transect.runs.table_inputs import TableLike, as_table
from transect.runs.wording import spaced
from transect.texts import words_of


def as_named(wanted: Sequence[object], present: Sequence[object]) -> tuple[list[object], str]:
    """The wanted ids as the present ones are written, and a sentence where they are not the same texts.

    Where any id is in both, they stay as they are. Else names are compared without folder and suffix, and COCO's by
    their number, unless two of either side would be one; an id that agrees with none stays.

    >>> as_named(["a", "x"], ["b.png", "a.png"])
    (['a.png', 'x'], 'ids were compared without folder and suffix: a is a.png')
    >>> as_named(["a.png", "x"], ["b.png", "a.png"])
    (['a.png', 'x'], '')
    >>> as_named(["COCO_val2014_000000000042"], [7, 42])[0]
    [42]
    """
    asked, stems = [_stem(name) for name in wanted], {_stem(name): name for name in present}
    one_each = len(stems) == len(present) and len(set(asked)) == len(asked)
    if not set(wanted).isdisjoint(present) or stems.keys().isdisjoint(asked) or not one_each:
        return list(wanted), ""
    names = [stems.get(stem, name) for name, stem in zip(wanted, asked, strict=True)]
    first = next(name for name, stem in zip(wanted, asked, strict=True) if stem in stems)
    return names, f"ids were compared without folder and suffix: {first} is {stems[_stem(first)]}"


def _stem(name: object) -> object:
    """A file's name without folder and suffix, as a number where COCO numbers it; what is no text, as it is."""
    if not isinstance(name, str):
        return name
    stem = PurePosixPath(name).stem
    numbered = _NUMBERED.fullmatch(stem)
    return int(numbered[1]) if numbered else stem


_NUMBERED: Final = re.compile(r"(?:COCO_[a-z]+\d{4}_)?([0-9]{1,12})")
"""COCO's images: COCO_train2014_000000000042 of 2014, 000000000042 of 2017, and their image_id, 42."""


KIND: Final = "transect.latents"
_SPACES: Final = ("z", "w", "w+")
LATENTS: Final = "latents.safetensors"
"""The file in the folder of an inversion."""
_AGAIN: Final = "make them: transect invert (the command of a finished run only rewrites this file)"


@final
@dataclass(frozen=True, slots=True)
class InvertedCodes:
    """Codes [n, d] by id, NaN where the search failed, w+ in a row; generator: what renders them, or empty."""

    ids: tuple[str, ...]
    codes: Float[np.ndarray, "n d"]
    space: str
    generator: Mapping[str, object]
    sha256: str = ""
    layers: int = 1


def content_of_codes(
    ids: Sequence[str], codes: Float[np.ndarray, "n ..."], space: str, generator: Mapping[str, object]
) -> bytes:
    """The content of the file."""
    return content_of(KIND, {"codes": codes}, space=space, ids=list(ids), generator=dict(generator))


def read_codes(path: Path) -> InvertedCodes:
    """The codes of a file that an inversion wrote, or of its folder. Raises BadInput for others."""
    path = path / LATENTS if path.is_dir() else path
    codes = read_content(path, {KIND: _parse}, expected="latents of an inversion", remedy=_AGAIN)
    return replace(codes, sha256=model_files.sha256(path))


def _parse(tensors: Arrays, facts: Facts) -> InvertedCodes:
    ids, space, codes = loads(facts["ids"]), facts["space"], tensors["codes"]
    generator = loads(facts.get("generator", "{}"))
    if not (isinstance(ids, list) and all(isinstance(name, str) for name in ids) and isinstance(generator, dict)):
        raise ValueError("ids must be texts, and generator must be an object")
    if space not in _SPACES or codes.ndim < 2 or len(codes) != len(ids) or codes.dtype.kind != "f":
        raise ValueError(f"{len(ids)} ids and codes {codes.dtype} {list(codes.shape)} of space {space}")
    layers = codes.shape[1] if codes.ndim == 3 else 1
    flat = codes.reshape(len(codes), -1).astype(np.float64)
    return InvertedCodes(tuple(ids), flat, space, generator, layers=layers)


def check_generator(inverted: InvertedCodes, described: Mapping[str, object], path: Path) -> None:
    """Refuse codes of another generator than the one described: its images would show other faces."""
    if not inverted.generator:
        raise BadInput(f"{path}: expected latents that name their generator, got an older file; {_AGAIN}")
    mapped = ("truncation", "label") if inverted.space == "z" else ()
    for key in ("architecture", "weights_sha256", "image_size", "noise", *mapped):
        if inverted.generator.get(key) != described.get(key):
            raise BadInput(
                f"{path}: expected latents of generator {described.get('name')}, got latents of "
                f"{inverted.generator.get('name')} (another {spaced(key)}); invert into this one"
            )


ID: Final = "id"

FeaturesLike: TypeAlias = NDArray[np.generic] | TableLike
"""An array [images, ...], a path of .npy (mapped, not loaded), an inversion, or what `runs.inputs.as_table` takes.

An inversion is the folder that `transect invert` wrote, or latents.safetensors in it.
"""


@final
class Features(NamedTuple):
    """Features of images [n, ...], and names of a table's columns. note: how ids were compared that differ."""

    values: Float[np.ndarray, "n ..."]
    names: tuple[str, ...] = ()
    note: str = ""


def is_array(source: FeaturesLike) -> bool:
    """Whether features are bare numbers without columns: an array, the path of a .npy file, or an inversion."""
    if isinstance(source, str | Path) and is_inversion(Path(source)):
        return True
    return isinstance(source, np.ndarray) or (isinstance(source, str | Path) and Path(source).suffix == ".npy")


def is_inversion(path: Path) -> bool:
    """Whether a path is what `transect invert` wrote: its folder, or the file of latents."""
    return path.suffix == ".safetensors" or (path / LATENTS).is_file()


def read_features(
    source: FeaturesLike,
    columns: Sequence[str] = (),
    ids: Sequence[object] | None = None,
    without: Sequence[str] = (),
    role: str = "features",
) -> Features:
    """Features and, for columns of a table, their names.

    Of an inversion the codes, [images, layers, d] in w+. An array's first axis is the image. Of a table: `columns`, by
    default every numeric column and every column of lists of numbers, less those `without`. ids: of the table of
    attributes; where the features have ids, their rows are put in that order, and images without features become NaN.
    """
    name = f"{role} {source}" if isinstance(source, str | Path) else role
    if isinstance(source, str | Path) and is_inversion(Path(source)):
        return _codes(Path(source), ids, name)
    if is_array(source):
        return Features(_floats(_array(source, name)))
    table = as_table(source, role)
    order = None if ids is None or ID not in table.column_names else _order(table[ID].to_pylist(), ids, name)
    usable = [field.name for field in table.schema if _usable(field.type) and not _index(field.name)]
    names = list(columns) or [column for column in usable if column not in {ID, *without}]
    for column in names:
        if column not in table.column_names:
            raise UnknownName("column", column, table.column_names, f"in {name}")
    if not names:
        raise BadInput(f"{name}: expected numeric columns or a column of lists, got {', '.join(table.column_names)}")
    parts = [_column(table, column, name) for column in names]
    features = np.concatenate(parts, axis=1)
    labels = [
        column if part.shape[1] == 1 else f"{column}[{i}]"
        for column, part in zip(names, parts, strict=True)
        for i in range(part.shape[1])
    ]
    if order is None:
        return Features(features, tuple(labels))
    return Features(_reordered(features, order.rows), tuple(labels), order.note)


def ids_of(table: pa.Table) -> list[object] | None:
    """The table's `id` column; None without one."""
    return table[ID].to_pylist() if ID in table.column_names else None


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


def parse_change(text: str) -> tuple[str, str]:
    """A=B, two outcomes of which the second is subtracted.

    >>> parse_change("error_new=error_old")
    ('error_new', 'error_old')
    """
    after, equals, before = text.partition("=")
    if not equals:
        raise BadInput(f"change {text!r}: expected A=B with two columns of --outcome")
    return after, before


def column(table: pa.Table, name: str, role: str) -> pa.ChunkedArray:
    """A column by name. Raises UnknownName with the nearest."""
    if name not in table.column_names:
        raise UnknownName(f"{role} column", name, table.column_names)
    return table[name]


def numbers(table: pa.Table, name: str, role: str) -> Float[np.ndarray, " n"]:
    """A numeric or boolean column as float64, null as NaN; whole numbers that float64 would round are refused."""
    values = column(table, name, role)
    if not is_scalar(values.type):
        raise BadInput(f"{role} column {name!r}: expected numbers, got {values.type}")
    try:
        return np.asarray(values.cast(pa.float64()).to_numpy(), dtype=np.float64)
    except pa.ArrowInvalid:
        largest = max(map(abs, pc.min_max(values).as_py().values()))
        raise BadInput(
            f"{role} column {name!r}: expected whole numbers up to 2**53, got {largest:,}; leave ids out, or store "
            "floating-point numbers"
        ) from None


def objects(table: pa.Table, name: str, role: str) -> NDArray[np.object_]:
    """A column of any type as Python objects, null as None."""
    return np.array([*column(table, name, role).to_pylist(), None], dtype=object)[:-1]


def text_of(value: object) -> str:
    """A name or number as text: 1, 1.0 and True are equal, 10**18 and 10**18 + 1 differ.

    >>> [text_of(value) for value in (True, 1.0, 10**18 + 1, 0.5, "x")]
    ['1', '1', '1000000000000000001', '0.5', 'x']
    """
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return str(int(value))
    return repr(value) if isinstance(value, float) else str(value)


def numeric_columns(table: pa.Table, without: Sequence[str] = ()) -> list[str]:
    """Names of the numeric and boolean columns, in order; the nameless index of a pandas data frame is none."""
    fields = [field for field in table.schema if is_scalar(field.type) and not _index(field.name)]
    return [field.name for field in fields if field.name not in without]


def _index(name: str) -> bool:
    """Whether a column is the index of a pandas data frame that has no name."""
    return name.startswith("__index_level_")


def is_scalar(kind: pa.DataType) -> bool:
    """Whether a column holds numbers or booleans."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def is_list(kind: pa.DataType) -> bool:
    """Whether a column holds lists."""
    return bool(pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind) or pa.types.is_large_list(kind))


def _usable(kind: pa.DataType) -> bool:
    return is_scalar(kind) or (is_list(kind) and is_scalar(kind.value_type))


def _column(table: pa.Table, name: str, role: str) -> Float[np.ndarray, "n _"]:
    """A numeric column, or a column of lists of equal length; a row without a list is NaN."""
    values = table[name].combine_chunks()
    if is_scalar(values.type):
        return numbers(table, name, "feature")[:, None]
    if not _usable(values.type):
        raise BadInput(f"{role}: column {name!r} is {values.type}; give numeric columns with --columns")
    known = values.is_valid().to_numpy(zero_copy_only=False)
    widths = np.unique(pc.list_value_length(values.drop_null()).to_numpy())
    if len(widths) != 1 or not widths[0]:
        lengths = f"lengths {', '.join(map(str, widths[:6]))}" if known.any() else "none in any row"
        raise BadInput(f"{role}: column {name!r}: expected lists of equal length, got {lengths}")
    flat = _floats(np.asarray(values.drop_null().flatten().to_numpy(zero_copy_only=False))).reshape(-1, int(widths[0]))
    if known.all():
        return flat
    whole = np.full((len(values), flat.shape[1]), np.nan, dtype=flat.dtype)
    whole[known] = flat
    return whole


def _array(source: FeaturesLike, role: str) -> NDArray[np.generic]:
    values = source if isinstance(source, np.ndarray) else _mapped(Path(str(source)), role)
    if values.ndim < 2 or values.dtype.kind not in "fiub":
        raise BadInput(f"{role}: expected numbers [images, columns], got {values.dtype} {list(values.shape)}")
    return values


def _mapped(path: Path, role: str) -> NDArray[np.generic]:
    try:
        values = array_files.mapped(path, role)
    except FileNotFoundError:
        raise BadInput(f"{role}: no such .npy file; check the path") from None
    except OSError as error:
        raise BadInput(f"{role}: expected a .npy array of numbers, got: {words_of(error, 80)}") from None
    size = bounds.size_of(path)
    bounds.check_rows(str(path), size, len(values) if values.ndim else 0)
    bounds.check(str(path), size, values.nbytes if values.dtype in (np.float32, np.float64) else 8 * values.size)
    return values if values.dtype.kind == "f" else np.asarray(values)


def _floats(values: NDArray[np.generic]) -> Float[np.ndarray, "n ..."]:
    """float32 and float64 as they are, anything else as float64."""
    return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)


def _codes(path: Path, ids: Sequence[object] | None, role: str) -> Features:
    """The codes of an inversion in the order of a table's ids, or in their own."""
    inverted = read_codes(path)
    codes = inverted.codes
    if inverted.layers > 1:
        codes = codes.reshape(len(codes), inverted.layers, -1)
    if ids is None:
        return Features(codes)
    order = _order(inverted.ids, ids, role)
    return Features(_reordered(codes, order.rows), (), order.note)


@final
class _Order(NamedTuple):
    """Position in the features of each wanted id, -1 where it is missing, and how ids were compared."""

    rows: list[int]
    note: str = ""


def _order(present: Sequence[object], wanted: Sequence[object], role: str) -> _Order:
    place = {name: i for i, name in enumerate(present)}
    for where, names in ((role, present), ("table", [name for name in wanted if name is not None])):
        repeated = Counter(names).most_common(1)
        if repeated and repeated[0][1] > 1:
            raise BadInput(f"{where}: the id {repeated[0][0]!r} occurs more than once; keep one row for each image")
    names, note = as_named(wanted, present)
    if place.keys().isdisjoint(names):
        raise BadInput(
            f"{role}: none of the table's ids occurs; expected ids like {wanted[0]!r}, got ids like {present[0]!r}"
        )
    return _Order([place.get(name, -1) for name in names], f"{role}: {note}" if note else "")


def _reordered(features: Float[np.ndarray, "n ..."], order: Sequence[int]) -> Float[np.ndarray, "m ..."]:
    rows = np.array(order, dtype=np.int64)
    known = (rows >= 0).reshape(-1, *(1,) * (features.ndim - 1))
    return np.where(known, features[rows], features.dtype.type(np.nan))
