"""Complete rows of outcomes and columns with their subjects, levels as indicators, and why rows are left out."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias, final

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

from transect.effects.outcomes import category
from transect.errors import BadInput, UnknownName
from transect.records import Basis

NO_OUTCOME: Final = "no outcome"
NO_SUBJECT: Final = "no subject"

SAME_FOR_ALL: Final = "none: the same for every image, whatever its level"
"""Why effects on an outcome that never varies are not tested."""

Columns: TypeAlias = "ArrayLike | Mapping[str, ArrayLike] | pa.Table"
"""An array [n] or [n, k], columns by name, or an Arrow table; a null is NaN."""


@final
@dataclass(frozen=True, slots=True)
class Labels:
    """How effects made from bare arrays are called: the model, what was counted on it, its unit, and the basis."""

    target: str = ""
    outcome: str = "outcome"
    unit: str = "outcome"
    basis: Basis = "observational"


@final
@dataclass(frozen=True, slots=True)
class Measure:
    """An outcome of a target as the functions on a design take it: its name, its unit and how it is tested.

    tested: False for outcomes that are 0 at the first cell by construction (distance), whose differences "no effect"
    would not make symmetric about 0: effects have no p. answers: of how many answers of 0 or 1 a
    value is the share, as of a question that is asked in several wordings; 1 where it is no such share. untested: why
    effects have no p although they could, "" where they have one; see `same_for_all`.
    """

    target: str
    outcome: str
    unit: str = "proportion"
    is_binary: bool = True
    tested: bool = True
    answers: int = 1
    untested: str = ""

    @property
    def is_share(self) -> bool:
        """Whether values are 0 or 1, or shares of such answers."""
        return self.is_binary or self.answers > 1


@final
@dataclass(frozen=True, slots=True)
class Sample:
    """Complete rows: y [n], x [n, k] with its names, the subject of each row as 0 … n_groups - 1.

    rows: which of the given rows these are. excluded: reason -> rows left out. reason: why nothing can be estimated
    from these rows, empty where something can.
    """

    y: Float[np.ndarray, " n"]
    x: Float[np.ndarray, "n k"]
    names: tuple[str, ...]
    groups: Int[np.ndarray, " n"]
    n_groups: int
    rows: Bool[np.ndarray, " given"]
    excluded: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""

    def __len__(self) -> int:
        return len(self.y)


def read_columns(
    source: Columns, names: Sequence[str] | None = None, prefix: str = "x"
) -> tuple[tuple[str, ...], Float[np.ndarray, "n k"]]:
    """Names and values float64 [n, k] of columns; an array's columns are `names`, or else prefix1, prefix2, …."""
    if isinstance(source, pa.Table):
        source = {name: _arrow_values(name, source[name]) for name in source.column_names}
    if isinstance(source, Mapping):
        return _stack({str(name): _numbers(str(name), column) for name, column in source.items()}, names)
    values = _numbers(prefix, source)
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2:
        raise BadInput(f"{prefix}: expected an array [n] or [n, k], got {values.ndim} axes; reshape it")
    called = tuple(names) if names is not None else tuple(f"{prefix}{place + 1}" for place in range(values.shape[1]))
    if len(called) != values.shape[1]:
        raise BadInput(f"expected one name per column, {values.shape[1]}, got {len(called)}; give one name per column")
    return called, values


def complete(
    y: ArrayLike,
    x: Columns,
    *,
    names: Sequence[str] | None = None,
    clusters: ArrayLike | None = None,
) -> Sample:
    """The rows that have everything: outcome, all columns and subject."""
    outcome = _numbers("outcome", y).reshape(-1)
    called, values = read_columns(x, names)
    n = len(outcome)
    subject, known = _subjects(clusters, n)
    for what, length in ({"columns": len(values), "clusters": len(subject)}).items():
        if length != n:
            raise BadInput(f"{what}: expected one row per outcome, {n}, got {length}")
    missing = np.column_stack([~np.isfinite(outcome), ~np.isfinite(values), ~known])
    reasons = np.where(missing.any(axis=1), missing.argmax(axis=1), -1).astype(np.int64)
    used = reasons < 0
    texts = (NO_OUTCOME, *(f"no value of {name}" for name in called), NO_SUBJECT)
    counts = np.bincount(reasons[~used], minlength=len(texts))
    unique, groups = np.unique(subject[used], return_inverse=True)
    return Sample(
        outcome[used],
        values[used],
        called,
        groups.astype(np.int64),
        len(unique),
        used,
        {text: int(count) for text, count in zip(texts, counts, strict=True) if count},
        "" if used.any() else f"no complete row among {n}",
    )


def _subjects(clusters: ArrayLike | None, n: int) -> tuple[Int[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
    """Each row's subject as a number, in the sorted order of its names, and whether it has one."""
    if clusters is None:
        return np.arange(n), np.ones(n, dtype=bool)
    values = clusters.to_pylist() if isinstance(clusters, pa.Array | pa.ChunkedArray) else clusters
    array = np.asarray(values).reshape(-1)
    if array.dtype.kind == "f":
        known = np.isfinite(array)
        return np.unique(array, return_inverse=True)[1].astype(np.int64), known
    if array.dtype.kind == "O":
        known = np.array([label is not None and label == label for label in array], dtype=bool)
        return np.unique(np.array([str(label) for label in array]), return_inverse=True)[1].astype(np.int64), known
    return np.unique(array, return_inverse=True)[1].astype(np.int64), np.ones(len(array), dtype=bool)


def _stack(
    columns: Mapping[str, Float[np.ndarray, " _"]], names: Sequence[str] | None
) -> tuple[tuple[str, ...], Float[np.ndarray, "n k"]]:
    if not columns:
        raise BadInput("no columns; give the attributes to analyse")
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        listing = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise BadInput(f"expected columns of equal length, got {listing}; pass one value for each image")
    chosen = tuple(columns) if names is None else tuple(names)
    if absent := [name for name in chosen if name not in columns]:
        raise BadInput(f"expected the columns {', '.join(chosen)}, got no {', '.join(absent)}; add them")
    return chosen, np.stack([columns[name].reshape(-1) for name in chosen], axis=1)


def _arrow_values(name: str, column: pa.ChunkedArray) -> Float[np.ndarray, " n"]:
    try:
        return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise BadInput(f"{name}: expected numbers, got {column.type}; encode levels as numbers") from None


def _numbers(name: str, source: ArrayLike | pa.Array | pa.ChunkedArray) -> Float[np.ndarray, " ..."]:
    if isinstance(source, pa.Array | pa.ChunkedArray):
        return _arrow_values(name, source if isinstance(source, pa.ChunkedArray) else pa.chunked_array([source]))
    try:
        return np.asarray(source, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadInput(f"{name}: expected numbers, got text or ragged rows; encode levels as numbers") from None


def same_for_all(values: Float[np.ndarray, ...]) -> bool:
    """Whether an outcome has one value on all images that have any: it never occurs, or always."""
    known = values[np.isfinite(values)]
    return bool(known.size) and bool((known == known[0]).all())


MOST_LEVELS: Final = 6
"""A column with more distinct values than this is cut at its terciles where no edges are given."""


@final
@dataclass(frozen=True, slots=True)
class Indicators:
    """x [n, k]: 1 where the image's attribute has the level, NaN where its value is missing.

    names: "attribute: level" of each column; attributes: the attribute of each column; edges: the inner edges by which
    an attribute was cut, for those that were.
    """

    names: tuple[str, ...]
    attributes: tuple[str, ...]
    x: Float[np.ndarray, "n k"]
    edges: Mapping[str, tuple[float, ...]]


def one_hot(
    columns: Columns,
    *,
    edges: Mapping[str, Sequence[float]] | None = None,
    levels: Mapping[str, Sequence[str]] | None = None,
    drop_first: bool = False,
) -> Indicators:
    """An indicator per level of each column.

    edges: attribute -> inner edges, which cut its values into left-closed ranges; without edges a column of at most six
    different values has a level per value, and any other is cut at its terciles. levels: attribute -> names of its
    levels, in order; where values are levels 0, 1, …, levels that no image has keep their (empty) column. drop_first:
    leave the first level of each out, as regressions without penalty need it.
    """
    names, values = read_columns(columns)
    for option in (edges or {}, levels or {}):
        for name in option:
            if name not in names:
                raise UnknownName("column", name, names, hint="edges and levels apply to columns of the table")
    parts, used = [], {}
    for name, column in zip(names, values.T, strict=True):
        inner = _inner_edges(name, column, (edges or {}).get(name), (levels or {}).get(name))
        texts, x = _levels(name, column, inner, (levels or {}).get(name))
        first = int(drop_first)
        parts.append((tuple(f"{name}: {text}" for text in texts[first:]), (name,) * len(texts[first:]), x[:, first:]))
        if inner is not None:
            used[name] = tuple(float(edge) for edge in inner)
    labels, attributes, blocks = zip(*parts, strict=True)
    return Indicators(
        tuple(label for block in labels for label in block),
        tuple(name for block in attributes for name in block),
        np.hstack(blocks),
        used,
    )


def _inner_edges(
    name: str, column: Float[np.ndarray, " n"], edges: Sequence[float] | None, levels: Sequence[str] | None
) -> Float[np.ndarray, " e"] | None:
    """Edges to cut at; None where values are levels."""
    if edges is not None:
        inner = np.asarray(edges, dtype=np.float64).reshape(-1)
        if (np.diff(inner) <= 0).any() or not np.isfinite(inner).all():
            raise BadInput(f"{name}: expected edges that increase, got {', '.join(f'{edge:g}' for edge in inner)}")
        return inner
    known = column[np.isfinite(column)]
    if levels is not None or len(np.unique(known)) <= MOST_LEVELS:
        return None
    above = known[known > known.min()].min()
    return np.unique(np.maximum(np.quantile(known, [1 / 3, 2 / 3]), above))


def _levels(
    name: str, column: Float[np.ndarray, " n"], inner: Float[np.ndarray, " e"] | None, level_names: Sequence[str] | None
) -> tuple[list[str], Float[np.ndarray, "n l"]]:
    """Names of the levels and each one's indicator."""
    known = np.isfinite(column)
    if inner is not None:
        place = np.searchsorted(inner, column, side="right")
        texts = _ranges(inner) if level_names is None else list(level_names)
        if len(texts) != len(inner) + 1:
            raise BadInput(f"{name}: expected {len(inner) + 1} names of levels, got {len(texts)}; give one per range")
    else:
        values = np.arange(len(level_names), dtype=np.float64) if level_names is not None else np.unique(column[known])
        if level_names is not None and not np.isin(column[known], values).all():
            odd = column[known][~np.isin(column[known], values)][0]
            raise BadInput(f"{name}: expected levels 0 to {len(values) - 1}, got {odd:g}; give edges to cut it")
        place = np.searchsorted(values, np.where(known, column, 0.0))
        texts = [f"{value:g}" for value in values] if level_names is None else list(level_names)
    x = (place[:, None] == np.arange(len(texts))).astype(np.float64)
    x[~known] = np.nan
    return texts, x


def _ranges(inner: Float[np.ndarray, " e"]) -> list[str]:
    if not len(inner):
        return ["any"]
    between = [f"{low:.3g} to {high:.3g}" for low, high in itertools.pairwise(inner.tolist())]
    return [f"< {inner[0]:.3g}", *between, f">= {inner[-1]:.3g}"]


NO_ANSWER: Final = "no valid answer"
"""The category of a NaN that came without a reason."""


@final
@dataclass(frozen=True, slots=True)
class Exclusions:
    """codes: int64, the shape of the outcomes; -1 where there is a value, else the index into `names`."""

    codes: Int[np.ndarray, " ..."]
    names: tuple[str, ...]

    @classmethod
    def of(cls, values: Float[np.ndarray, " ..."], reasons: np.ndarray) -> Exclusions:
        """From outcomes (NaN: none) and the reasons, texts of the same shape."""
        codes = np.full(values.shape, -1, dtype=np.int64)
        invalid = ~np.isfinite(values)
        texts = [category(str(text)) or NO_ANSWER for text in np.asarray(reasons, dtype=object)[invalid]]
        names = tuple(dict.fromkeys(texts))
        index = {name: code for code, name in enumerate(names)}
        codes[invalid] = [index[text] for text in texts]
        return cls(codes, names)

    def count(self, rows: Bool[np.ndarray, " ..."]) -> dict[str, int]:
        """Images left out among `rows`, by category."""
        codes = self.codes[rows]
        counts = np.bincount(codes[codes >= 0], minlength=len(self.names))
        return {name: int(images) for name, images in zip(self.names, counts, strict=True) if images}
