"""Representations of the items from files: each layer by itself, in the order of the labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from transect.attacks.attackers import names as attacker_names
from transect.attacks.records import LabelledData
from transect.attacks.representations import LINEAR, NON_LINEAR, Layer
from transect.datasets.features import FeaturesLike, is_array, read_features
from transect.errors import BadInput
from transect.runs.inputs import as_table


def layers_of(data: LabelledData, sources: Sequence[tuple[str, FeaturesLike]]) -> tuple[Layer, ...]:
    """Every layer of every source.

    An array [n, d] is one layer, [n, layers, d] several; each column of lists of a table is one, its other numeric
    columns together are another. Rows are matched by identifier, as `read_features` does it, or by row order.
    """
    return tuple(layer for name, source in sources for layer in _layers(data, name, source))


def attackers_on_numbers(names: Sequence[str]) -> tuple[str, ...]:
    """The attackers for representations: a linear and a non-linear one, or those that were named and take numbers."""
    named = tuple(name for name in names if name in attacker_names() and name not in ("auto", "bayes"))
    return named or (LINEAR, NON_LINEAR)


def _layers(data: LabelledData, name: str, source: FeaturesLike) -> Iterator[Layer]:
    ids = None if data.ids is None else list(data.ids)
    if is_array(source):
        is_codes = isinstance(source, str | Path) and Path(source).suffix != ".npy"
        yield from _split(name, _of_items(data, name, read_features(source, ids=ids if is_codes else None).values))
        return
    table = _with_text_ids(as_table(source, "representation"))
    lists = [field.name for field in table.schema if _is_list(field.type)]
    numbers = [field.name for field in table.schema if _is_number(field.type) and field.name != "id"]
    for columns in [*([column] for column in lists), *([numbers] if numbers else [])]:
        layer = f"{name}: {columns[0]}" if lists else name
        values = read_features(table, columns, ids if "id" in table.column_names else None).values
        yield Layer(layer, _of_items(data, name, values))


def _split(name: str, values: Float[np.ndarray, "n ..."]) -> Iterator[Layer]:
    if values.ndim == 2:
        yield Layer(name, values)
        return
    for number in range(values.shape[1]):
        yield Layer(f"{name}: layer {number}", values[:, number].reshape(len(values), -1))


def _of_items(data: LabelledData, name: str, values: Float[np.ndarray, "n ..."]) -> Float[np.ndarray, "n ..."]:
    if len(values) != len(data):
        raise BadInput(
            f"representation {name}: expected {len(data)} rows, one for each label, got {len(values)}; give both a "
            "column id"
        )
    return values


def _with_text_ids(table: pa.Table) -> pa.Table:
    """Identifiers as texts, as those of labels are."""
    if "id" not in table.column_names:
        return table
    texts = pa.array([str(value) for value in table["id"].to_pylist()])
    return table.set_column(table.column_names.index("id"), "id", texts)


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind) or pa.types.is_large_list(kind))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))
