"""From ratings to levels: one indicator per level of each attribute ("one-hot"), as regressions of errors take them.

Balakrishnan et al. 2020 discretise perceived attributes into levels and give each level a binary variable, 17 in all.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float

from transect.effects.samples import Columns, read_columns
from transect.errors import BadInput, UnknownName

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

    Raises BadInput for edges that do not increase or another number of names, UnknownName for edges or names of a
    column that is not there.

    >>> result = one_hot({"age": [0.1, 0.5, 0.9]}, edges={"age": [0.4]}, levels={"age": ["child", "adult"]})
    >>> result.names, result.x
    (('age: child', 'age: adult'), array([[1., 0.],
           [0., 1.],
           [0., 1.]]))
    """
    names, values = read_columns(columns)
    for option in (edges or {}, levels or {}):
        for name in option:
            if name not in names:
                raise UnknownName("column", name, names, hint="edges and levels are of columns of the table")
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
            raise BadInput(f"{name}: expected {len(inner) + 1} names of levels, got {len(texts)}; name each range")
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
