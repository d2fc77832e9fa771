"""Arrays or Arrow tables in, complete rows out: what every estimator of this stage starts from.

A row is one image. A row that lacks its outcome, a column, its weight or its subject is left out and counted under a
reason; nothing is filled in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias, final

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

from transect.errors import BadInput
from transect.records import Basis

NO_OUTCOME: Final = "no outcome"
NO_SUBJECT: Final = "no subject"
BAD_WEIGHT: Final = "weight missing or negative"

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
    """Complete rows: y [n], x [n, k] with its names, the subject of each row as 0 … n_groups - 1, weights.

    rows: which of the given rows these are. excluded: reason -> rows left out. reason: why nothing can be estimated
    from these rows, empty where something can.
    """

    y: Float[np.ndarray, " n"]
    x: Float[np.ndarray, "n k"]
    names: tuple[str, ...]
    groups: Int[np.ndarray, " n"]
    n_groups: int
    weights: Float[np.ndarray, " n"]
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
        raise BadInput(f"expected one name per column, {values.shape[1]}, got {len(called)}; name each column once")
    return called, values


def complete(
    y: ArrayLike,
    x: Columns,
    *,
    names: Sequence[str] | None = None,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> Sample:
    """The rows that have everything: outcome, all columns, subject and weight."""
    outcome = _numbers("outcome", y).reshape(-1)
    called, values = read_columns(x, names)
    n = len(outcome)
    chosen = np.ones(n) if weights is None else _numbers("weights", weights).reshape(-1)
    subject, known = _subjects(clusters, n)
    for what, length in ({"columns": len(values), "weights": len(chosen), "clusters": len(subject)}).items():
        if length != n:
            raise BadInput(f"{what}: expected one row per outcome, {n}, got {length}; pass one for each image")
    reasons = _reasons(outcome, values, chosen, known)
    used = reasons < 0
    texts = (NO_OUTCOME, *(f"no value of {name}" for name in called), BAD_WEIGHT, NO_SUBJECT)
    counts = np.bincount(reasons[~used], minlength=len(texts))
    unique, groups = np.unique(subject[used], return_inverse=True)
    return Sample(
        outcome[used],
        values[used],
        called,
        groups.astype(np.int64),
        len(unique),
        chosen[used],
        used,
        {text: int(count) for text, count in zip(texts, counts, strict=True) if count},
        _nothing(outcome[used], chosen[used], n),
    )


def _nothing(y: Float[np.ndarray, " n"], weights: Float[np.ndarray, " n"], total: int) -> str:
    if not len(y):
        return f"no complete row among {total}"
    if weights.sum() <= 0:
        return f"the weights of {len(y)} rows sum to 0"
    return ""


def _reasons(
    y: Float[np.ndarray, " n"],
    x: Float[np.ndarray, "n k"],
    weights: Float[np.ndarray, " n"],
    known: Bool[np.ndarray, " n"],
) -> Int[np.ndarray, " n"]:
    """Index of the first reason why a row is left out; -1 for a complete row."""
    usable = np.isfinite(weights) & (np.nan_to_num(weights) >= 0)
    missing = np.column_stack([~np.isfinite(y), ~np.isfinite(x), ~usable, ~known])
    return np.where(missing.any(axis=1), missing.argmax(axis=1), -1).astype(np.int64)


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
        raise BadInput("expected at least one column, got none; name the attributes to analyse")
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        listing = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise BadInput(f"expected columns of one length, got {listing}; pass one value for each image")
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
