"""The labels of a data set as one table, which `transect datasets table` writes."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from transect.errors import BadInput, UnknownName

if TYPE_CHECKING:
    from transect.datasets import LabelledImages

_COLUMN: Final = re.compile(r"\s*(?:(?P<name>[A-Za-z_]\w*)\s*=(?!=))?(?P<truth>.+)")
PICTURE: Final = "image"
_TAKEN: Final = ("id", "subject", PICTURE)
_AT_ONCE: Final = 64
"""Pictures in memory at a time."""


def rows_of(images: LabelledImages, columns: Sequence[str]) -> pa.Table:
    """The rows of a data set: id, subject, and the columns named; levels by name where there are more than two."""
    from transect.effects.outcomes import Truth

    attributes = {attribute.name: attribute for attribute in images.attributes}
    named: dict[str, object] = {}
    for text in columns:
        match = _COLUMN.fullmatch(text)
        if match is None:
            raise BadInput(f"--column {text!r}: expected an attribute, or NAME=ATTRIBUTE>VALUE")
        truth = Truth.parse(match["truth"], attributes)
        name = match["name"] or truth.attribute
        if name in named or name in _TAKEN:
            raise BadInput(f"--column {text}: expected a name that no other column has, got {name}; write NAME={text}")
        values = truth.of(images.values)
        levels = attributes[truth.attribute].levels if match["truth"].strip() == truth.attribute else ()
        named[name] = images.level_names(truth.attribute) if len(levels) > 2 else _numbers(values)
    return pa.table({"id": list(images.ids), "subject": list(images.subjects), **named})


def people_by_cell(images: LabelledImages, names: Sequence[str]) -> list[dict[str, object]]:
    """People and images at each combination of levels, also the empty ones (Table 1 of McDuff et al. 2019)."""
    known = {attribute.name: attribute for attribute in images.attributes}
    for name in names:
        if name not in known:
            raise UnknownName("attribute", name, known)
        if not known[name].levels:
            raise BadInput(f"--by {name}: expected levels, got a range; cut it with --column NAME=ATTRIBUTE>VALUE")
    columns = [images.level_names(name).to_pylist() for name in names]
    people: dict[tuple[str, ...], set[int]] = {}
    counts: Counter[tuple[str, ...]] = Counter()
    lacking = ("unknown",) * len(names)
    for subject, *cell in zip(images.subjects, *columns, strict=True):
        key = lacking if None in cell else tuple(cell)
        people.setdefault(key, set()).add(subject)
        counts[key] += 1
    cells = [*itertools.product(*(known[name].levels for name in names)), *([lacking] if counts[lacking] else [])]
    return [
        {**dict(zip(names, cell, strict=True)), "people": len(people.get(cell, ())), "images": counts[cell]}
        for cell in cells
    ]


def _numbers(values: np.ndarray) -> pa.Array:
    """Whole numbers where all are."""
    known = values[np.isfinite(values)]
    whole = bool((known == np.round(known)).all())
    return pa.array(values, from_pandas=True).cast(pa.int64()) if whole else pa.array(values, from_pandas=True)


def with_pictures(images: LabelledImages, rows: pa.Table) -> Iterator[pa.Table]:
    """The rows with the picture of each, a few at a time."""
    from transect.runs.pictures import packed, png

    for start in range(0, len(images), _AT_ONCE):
        some = rows.slice(start, _AT_ONCE)
        pictures = [packed(png(images.pixels([start + row])[0])) for row in range(len(some))]
        yield some.append_column(PICTURE, pa.array(pictures, pa.binary()))
