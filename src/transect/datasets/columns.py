"""Columns of labels as attributes with their values, or the reason why a column is none.

Two texts, or 0 and 1, are two levels; up to 40 texts are levels; other numbers are a range; an empty cell is a missing
value, NaN.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np
from jaxtyping import Float

from transect.records import Attribute

MOST_LEVELS: Final = 40
"""A column of text with more different values is a name, not an attribute."""

MISSING: Final = ("", "na", "nan", "null", "none")
SOURCE: Final = "the data set's labels"

Labelled: TypeAlias = tuple[Attribute, Float[np.ndarray, " n"]]
"""An attribute and its value for each row, NaN where it is not known."""


def attributes_of(
    rows: Mapping[str, Sequence[object]],
) -> tuple[dict[str, Labelled], dict[str, str]]:
    """The attributes that the columns are, by name, and why each other column is none.

    >>> labels, skipped = attributes_of({"smile": ["1", "0"], "camera": ["x", "x"]})
    >>> labels["smile"][0].levels, skipped
    (('no', 'yes'), {'camera': 'one value only'})
    """
    return divided(
        {name: _attribute(name, column) if name.strip() else "a column without a name" for name, column in rows.items()}
    )


def divided(found: Mapping[str, Labelled | str]) -> tuple[dict[str, Labelled], dict[str, str]]:
    """Those that are attributes, and why each other is none."""
    labels = {name: label for name, label in found.items() if not isinstance(label, str)}
    return labels, {name: reason for name, reason in found.items() if isinstance(reason, str)}


def levels_in_order(
    name: str, column: Sequence[str], levels: Sequence[str], meaning: str, source: str
) -> Labelled | str:
    """An attribute whose levels are known and in their own order; other texts are missing values. Or why it is none."""
    known = {level: float(place) for place, level in enumerate(levels)}
    values = np.array([known.get(str(cell), np.nan) for cell in column], dtype=np.float64)
    seen = values[np.isfinite(values)]
    if len(np.unique(seen)) < 2:
        return "one value only" if len(seen) else "no value"
    kind = "binary" if len(levels) == 2 else "categorical"
    return Attribute(name, kind, meaning, levels=tuple(levels), source=source), values  # type: ignore[arg-type]


def subjects_of(column: Sequence[object] | None, n: int) -> tuple[int, ...]:
    """Who is on each image, as numbers in order of first use; every image without a name is its own subject."""
    if column is None:
        return tuple(range(n))
    order: dict[object, int] = {}
    names = ("" if cell is None else str(cell).strip() for cell in column)
    # A row's place is a number, so that no name equals it.
    keys = (place if name.lower() in MISSING else name for place, name in enumerate(names))
    return tuple(order.setdefault(key, len(order)) for key in keys)


def _attribute(name: str, column: Sequence[object]) -> Labelled | str:
    """The attribute that a column is, and its values; or why it is none."""
    if any(isinstance(cell, list | dict | bytes) for cell in column):
        return "lists or records"
    texts = ["" if cell is None or str(cell).strip().lower() in MISSING else str(cell).strip() for cell in column]
    numbers = _numbers(texts)
    if numbers is not None:
        return _measured(name, numbers)
    levels = sorted({text for text in texts if text})
    if len(levels) < 2:
        return "one value only"
    if len(levels) > MOST_LEVELS:
        return f"{len(levels)} different texts"
    return levels_in_order(name, texts, levels, f"label {name}", SOURCE)


def _numbers(texts: Sequence[str]) -> Float[np.ndarray, " n"] | None:
    named = {"true": 1.0, "false": 0.0}
    try:
        values = [np.nan if not text else named.get(text.lower()) for text in texts]
        return np.array([float(text) if value is None else value for text, value in zip(texts, values, strict=True)])
    except ValueError:
        return None


def _measured(name: str, values: Float[np.ndarray, " n"]) -> Labelled | str:
    values = np.where(np.isfinite(values), values, np.nan)
    known = values[np.isfinite(values)]
    if len(np.unique(known)) < 2:
        return "one value only" if len(known) else "no value"
    if np.isin(known, (0.0, 1.0)).all():
        return Attribute(name, "binary", f"label {name}", levels=("no", "yes"), source=SOURCE), values
    low, high = float(known.min()), float(known.max())
    return Attribute(name, "continuous", f"label {name}", low=low, high=high, source=SOURCE), values
