"""What `set` is asked for, checked once for every generator and all controls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from transect.errors import BadInput, UnknownName
from transect.protocols import Table
from transect.records import Attribute
from transect.runs.table_inputs import as_names


def requested_columns(
    attributes: Sequence[Attribute], values: Table, hold: str | Sequence[str], rows: int, hint: str = ""
) -> dict[str, Float[np.ndarray, " n"]]:
    """A float64 column [rows] for each attribute that is set. hint: what the message about an unknown name adds."""
    columns = {name: values[name] for name in (values.column_names if isinstance(values, pa.Table) else values)}
    known = {attribute.name: attribute for attribute in attributes}
    held = as_names(hold)
    for name in (*columns, *held):
        if name not in known:
            raise UnknownName("attribute", name, known, hint)
    if both := [name for name in held if name in columns]:
        raise BadInput(f"{both[0]} is both set and held; drop one")
    return {name: _column(known[name], column, rows) for name, column in columns.items()}


def _column(attribute: Attribute, values: object, rows: int) -> Float[np.ndarray, " n"]:
    try:
        column = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        expected = "expected numbers (of levels, from 0)" if attribute.discrete else "expected numbers"
        raise BadInput(f"{attribute.name}: {expected}, got {values!r:.60}; give one, or one for each row") from None
    if column.shape not in ((), (rows,)):
        shape = list(column.shape)
        raise BadInput(f"{attribute.name}: expected one value or {rows}, got shape {shape}; give one for each row")
    for value in np.unique(column):
        attribute.check(float(value))
    return np.array(np.broadcast_to(column, (rows,)))
