"""Who is in the population that results apply to? The share of each combination of levels, from TOML or CSV."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

import numpy as np
from jaxtyping import Float

from transect.errors import BadInput, UnknownName
from transect.records import Attribute
from transect.runs import csv_files, toml_files
from transect.runs.inputs import TableLike, as_table

_SUM_TOLERANCE: Final = 0.005  # shares rounded to whole per mille, as tables print them
_SHARE: Final = "share"


@final
@dataclass(frozen=True, slots=True)
class PopulationShares:
    """cells float64 [m, attributes]: values of each combination; shares float64 [m], from 0 on, summing to 1.

    source: where they come from, as the report says it. independent: the file gave each attribute by itself.
    """

    name: str
    attributes: tuple[str, ...]
    cells: Float[np.ndarray, "m a"]
    shares: Float[np.ndarray, " m"]
    source: str = ""
    independent: bool = False


def read_shares(source: TableLike, attributes: Mapping[str, Attribute], name: str = "shares") -> PopulationShares:
    """The shares of a population: a `.csv` or TOML file, an Arrow table, a data frame, or columns by name.

    name: of what is no file. Tables have one row per combination of levels: a column per attribute, with the names or
    numbers of levels, and a column `share`. TOML: `[[cells]]` tables like such rows, or `[shares.ATTRIBUTE]` tables of
    level = share, which are taken as independent; `name` and `source` if you like. Shares may be counts' shares rounded
    to three decimals: they are divided by their sum.

    Raises BadInput (naming file and place) for anything else: shares that do not sum to 1, a combination given twice, a
    level that the attribute does not have; UnknownName for an attribute that the design does not vary.
    """
    if not isinstance(source, str | Path):
        rows = as_table(source, name).to_pylist()
        return _of_rows(name, name, rows, attributes, "")
    where = Path(source)
    text = toml_files.read_text(where, "a CSV or TOML file of shares")
    if where.suffix.lower() == ".csv":
        rows = [row for _, row in csv_files.records_of(text, str(where), spaces=True)]
        return _of_rows(str(where), where.stem, rows, attributes, "")
    content = toml_files.parse(text, str(where))
    called, cited = str(content.get("name", where.stem)), str(content.get("source", ""))
    if "cells" in content:
        return _of_rows(str(where), called, content["cells"], attributes, cited)
    return _of_margins(str(where), called, content.get("shares"), attributes, cited)


def check_levels(
    population: PopulationShares, shown: Mapping[str, Collection[float]], attributes: Mapping[str, Attribute]
) -> None:
    """Refuse shares of levels at which no image shows an attribute: nothing is known of these people."""
    for place, name in enumerate(population.attributes):
        if name not in shown:
            continue
        wanted = np.unique(population.cells[population.shares > 0, place]).tolist()
        levels = sorted(shown[name])
        if unknown := [value for value in wanted if not any(np.isclose(value, level) for level in levels)]:
            named = ", ".join(map(attributes[name].label, unknown))
            every = ",".join(map(attributes[name].label, sorted({*levels, *unknown})))
            raise BadInput(
                f"{population.name}: {name} {named} was not shown: expected shares of "
                f"{', '.join(map(attributes[name].label, levels))}; give those, or audit with --vary {name}={every}"
            )


def shares_of(
    columns: Mapping[str, Float[np.ndarray, " _"]], levels: Mapping[str, Sequence[float]], name: str, source: str = ""
) -> PopulationShares:
    """Shares of a sample of a population: each value counts for the nearest level of the design.

    columns: attribute -> values [n] of the sampled subjects; those that `levels` lacks are left out.

    >>> result = shares_of({"age": np.array([21.0, 38.0, 44.0, 70.0])}, {"age": (20.0, 40.0, 60.0)}, "four people")
    >>> result.cells.ravel(), result.shares
    (array([20., 40., 60.]), array([0.25, 0.5 , 0.25]))
    """
    nearest = [
        np.asarray(choices)[np.abs(columns[attribute][:, None] - np.asarray(choices)).argmin(axis=1)]
        for attribute, choices in levels.items()
    ]
    cells, counts = np.unique(np.stack(nearest, axis=1), axis=0, return_counts=True)
    return PopulationShares(name, tuple(levels), cells.astype(np.float64), counts / counts.sum(), source)


def _of_rows(where: str, name: str, rows: object, attributes: Mapping[str, Attribute], source: str) -> PopulationShares:
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) and _SHARE in row for row in rows):
        raise BadInput(f"{where}: expected rows with a field '{_SHARE}' each and one per attribute; add them")
    names = tuple(key for key in rows[0] if key != _SHARE)
    if not names or any(set(row) != {*names, _SHARE} for row in rows):
        raise BadInput(f"{where}: expected the same attributes in every row, and at least one; fix the rows")
    _check_names(names, attributes)
    cells = np.array([[_level(where, attributes[key], row[key]) for key in names] for row in rows])
    if len(np.unique(cells, axis=0)) < len(cells):
        raise BadInput(f"{where}: expected each combination of levels once, got one twice; add up its shares")
    shares = _checked(where, [_number(where, row[_SHARE]) for row in rows])
    return PopulationShares(name, names, cells, shares, source)


def _of_margins(
    where: str, name: str, tables: object, attributes: Mapping[str, Attribute], source: str
) -> PopulationShares:
    if not isinstance(tables, dict) or not tables or not all(isinstance(t, dict) and t for t in tables.values()):
        raise BadInput(f"{where}: expected [[cells]] or [shares.ATTRIBUTE] tables, got neither; see the how-to")
    _check_names(tuple(tables), attributes)
    levels = [[_level(where, attributes[key], text) for text in table] for key, table in tables.items()]
    margins = [
        _checked(f"{where}: shares of {key}", [_number(where, share) for share in table.values()])
        for key, table in tables.items()
    ]
    cells = np.array(list(itertools.product(*levels)), dtype=np.float64)
    shares = np.array([math.prod(chosen) for chosen in itertools.product(*(m.tolist() for m in margins))])
    return PopulationShares(name, tuple(tables), cells, shares, source, independent=True)


def _check_names(names: Sequence[str], attributes: Mapping[str, Attribute]) -> None:
    for name in names:
        if name not in attributes:
            raise UnknownName("attribute", name, attributes, hint="shares are of attributes that the design varies")


def _level(where: str, attribute: Attribute, text: object) -> float:
    try:
        return attribute.parse(str(text).strip())
    except BadInput as error:
        raise BadInput(f"{where}: {error}") from None


def _number(where: str, text: object) -> float:
    try:
        number = float(text) if isinstance(text, bool | int | float | str) else math.nan
    except (TypeError, ValueError):
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise BadInput(f"{where}: expected a share from 0 to 1, got {text!r}; correct it")
    return number


def _checked(where: str, shares: Sequence[float]) -> Float[np.ndarray, " m"]:
    total = math.fsum(shares)
    if abs(total - 1) > _SUM_TOLERANCE:
        raise BadInput(f"{where}: expected shares that sum to 1, got {total:.4g}; divide them by their sum")
    return np.array(shares) / total
