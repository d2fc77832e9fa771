"""What would a population of stated shares see? Files of shares, and cell means weighted by them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int

from transect.effects import clusters, intervals
from transect.effects.contrasts import CellMeans
from transect.effects.intervals import ZOU_DONNER
from transect.errors import BadInput, UnknownName
from transect.records import Attribute, Estimate
from transect.runs import table_inputs, toml_files
from transect.runs.table_inputs import TableLike, as_table
from transect.runs.wording import counted

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
        rows = [row for _, row in table_inputs.records_of(text, str(where), spaces=True)]
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
        raise BadInput(f"{where}: expected a field '{_SHARE}' and one field per attribute in every row")
    names = tuple(key for key in rows[0] if key != _SHARE)
    if not names or any(set(row) != {*names, _SHARE} for row in rows):
        raise BadInput(f"{where}: expected the same attributes in every row, and at least one")
    _check_names(names, attributes)
    cells = np.array([[_level(where, attributes[key], row[key]) for key in names] for row in rows])
    if len(np.unique(cells, axis=0)) < len(cells):
        raise BadInput(f"{where}: a combination of levels occurs twice; add up its shares")
    shares = _checked(where, [_number(where, row[_SHARE]) for row in rows])
    return PopulationShares(name, names, cells, shares, source)


def _of_margins(
    where: str, name: str, tables: object, attributes: Mapping[str, Attribute], source: str
) -> PopulationShares:
    if not isinstance(tables, dict) or not tables or not all(isinstance(t, dict) and t for t in tables.values()):
        raise BadInput(f"{where}: expected [[cells]] or [shares.ATTRIBUTE] tables, got neither")
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
            raise UnknownName("attribute", name, attributes, hint="shares apply to attributes that the design varies")


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
        raise BadInput(f"{where}: expected a share from 0 to 1, got {text!r}")
    return number


def _checked(where: str, shares: Sequence[float]) -> Float[np.ndarray, " m"]:
    total = math.fsum(shares)
    if abs(total - 1) > _SUM_TOLERANCE:
        raise BadInput(f"{where}: expected shares that sum to 1, got {total:.4g}; divide them by their sum")
    return np.array(shares) / total


SOURCES: Final = (
    "Neison 1844, On a method recently proposed for conducting inquiries into the comparative sanatory condition of "
    "various districts, doi:10.2307/2337820",
    "Barocas and Selbst 2016, Big data's disparate impact, doi:10.15779/Z38BG31",
    ZOU_DONNER,
)
RATE: Final = "expected rate"
GROUP: Final = "rate of a group"
IMPACT: Final = "disparate impact"
TREATMENT: Final = "disparate treatment"
RATIO: Final = "ratio of rates"
NOBODY: Final = "nobody of the population is in this group"
ZERO_RATE: Final = "the group that is compared with has a rate of 0"
NOT_ABOVE_ZERO: Final = "nobody of the group has the outcome: no interval of a ratio"
NO_RATES: Final = "a ratio has an interval where it is of rates, and each subject is a different person"
FEW_BEARERS: Final = 10
"""Subjects with the outcome, in either group, below which their correlation does not narrow a ratio."""
LOG_MOVER: Final = "MOVER of the logarithms of both groups' limits"
_ROUNDING: Final = 1e-12


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Projected(Estimate):
    """One quantity of the population; NaN with its reason where it cannot be projected.

    quantity: "expected rate", "rate of a group", "disparate impact" (difference of the groups' rates as they are),
    "ratio of rates" (the same as a ratio), "disparate treatment" (difference with the other attributes distributed as
    in the whole population). attribute, origin, to: what is compared; `to` alone for a group.
    """

    quantity: str
    attribute: str
    origin: float
    to: float
    n_subjects: int
    n_images: int
    method: str


@final
@dataclass(frozen=True, slots=True)
class Projection:
    """What a population of these shares would get. equal: attributes taken at equal shares of their levels."""

    population: PopulationShares
    rows: tuple[Projected, ...]
    equal: tuple[str, ...] = ()
    sources: Sequence[str] = field(default=SOURCES)


def project(
    values: Float[np.ndarray, "n ..."],
    levels: Mapping[str, Sequence[float]],
    population: PopulationShares,
    attributes: Mapping[str, Attribute],
    *,
    is_binary: bool = True,
    answers: int = 1,
    people: Int[np.ndarray, " n"] | None = None,
    confidence: float = 0.95,
) -> Projection:
    """Expected rates, disparate impact and disparate treatment in a population, with intervals by subject.

    values: outcomes [n, *shape] of a transect design, NaN without a valid answer; levels: attribute -> its levels.
    Attributes that the population does not state are taken at equal shares of their levels. Shares are taken as
    known: intervals are of the subjects. Rates of binary outcomes have Wilson's interval on the effective number of
    subjects, their differences the paired score interval, their ratios MOVER of the logarithms of both groups' limits.
    Other means and differences have that of scores, by person where several subjects show one (people: who is on each);
    their ratios have none. answers: of how many answers of 0 or 1 an image's value is the share (is_binary: as of one).

    Returns Projection; every row is NaN with the reason where shares lie at levels that were not shown, and a row where
    a cell that it needs has no valid image, or nobody is in its group.

    Raises UnknownName where the population states an attribute that is not varied, BadInput where shares do not sum
    to 1 or shapes differ.

    >>> glasses = Attribute("glasses", "binary", "wears glasses", levels=("off", "on"))
    >>> two = PopulationShares("clinic", ("glasses",), np.array([[0.0], [1.0]]), np.array([0.25, 0.75]))
    >>> y = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
    >>> result = project(y, {"glasses": (0.0, 1.0)}, two, {"glasses": glasses})
    >>> [(row.quantity, row.estimate) for row in result.rows[:3]]
    [('expected rate', 0.375), ('rate of a group', 0.0), ('rate of a group', 0.5)]
    """
    _check(values, levels, population, attributes)
    shares, unseen = _on_grid(levels, population)
    equal = tuple(name for name in levels if name not in population.attributes)
    wanted = _quantities(levels, shares, attributes)
    cells = CellMeans.of(values, people)
    is_binary = is_binary and clusters.clusters_of(people) is None
    if unseen > _ROUNDING:
        why = f"{unseen:.3g} of the population is at levels that were not shown"
        rows = [_row(quantity, cells, why) for quantity in wanted]
    else:
        rows = _rows(wanted, cells, answers if is_binary else 0, confidence)
    return Projection(population, tuple(rows), equal)


@dataclass(frozen=True, slots=True)
class _Quantity:
    """A weighted sum of cell means: weights [cells], for a ratio also those of its denominator."""

    quantity: str
    attribute: str
    origin: float
    to: float
    weights: Float[np.ndarray, " cells"]
    below: Float[np.ndarray, " cells"] | None = None

    @property
    def possible(self) -> bool:
        """Whether somebody is in the groups that it compares."""
        parts = [self.weights] if self.below is None else [self.weights, self.below]
        return all(bool(np.isfinite(part).all()) for part in parts)


def _check(
    values: Float[np.ndarray, "n ..."],
    levels: Mapping[str, Sequence[float]],
    population: PopulationShares,
    attributes: Mapping[str, Attribute],
) -> None:
    shape = tuple(len(column) for column in levels.values())
    if values.shape[1:] != shape or not levels:
        raise BadInput(f"expected outcomes [subjects, *{shape}], got {values.shape}; reshape them to the design's")
    for name in population.attributes:
        if name not in levels:
            raise UnknownName("attribute", name, levels, hint="shares apply to attributes that the design varies")
    for name in levels:
        if name not in attributes:
            raise UnknownName("attribute", name, attributes, hint="see: transect list attributes")
    if abs(float(population.shares.sum()) - 1) > 1e-6 or (population.shares < 0).any():
        raise BadInput(
            f"expected shares of at least 0 that sum to 1, got a sum of {float(population.shares.sum()):.4g}; "
            "divide them by their sum"
        )


def _on_grid(
    levels: Mapping[str, Sequence[float]], population: PopulationShares
) -> tuple[Float[np.ndarray, " ..."], float]:
    """The share of each cell of the design, and what lies at levels that it does not have."""
    grid = np.zeros(tuple(len(levels[name]) for name in population.attributes))
    unseen = 0.0
    for cell, share in zip(population.cells, population.shares, strict=True):
        places = [_place(levels[name], value) for name, value in zip(population.attributes, cell, strict=True)]
        if None in places:
            unseen += float(share)
        else:
            grid[tuple(place for place in places if place is not None)] += share
    order = [population.attributes.index(name) for name in levels if name in population.attributes]
    grid = np.transpose(grid, order)
    for axis, name in enumerate(levels):
        if name not in population.attributes:
            grid = np.repeat(np.expand_dims(grid, axis), len(levels[name]), axis=axis) / len(levels[name])
    return grid, unseen


def _place(levels: Sequence[float], value: float) -> int | None:
    near = np.flatnonzero(np.isclose(np.asarray(levels, dtype=np.float64), value, rtol=1e-9, atol=1e-9))
    return int(near[0]) if len(near) else None


def _quantities(
    levels: Mapping[str, Sequence[float]], shares: Float[np.ndarray, " ..."], attributes: Mapping[str, Attribute]
) -> list[_Quantity]:
    quantities = [_Quantity(RATE, "", np.nan, np.nan, shares.ravel())]
    for axis, (name, column) in enumerate(levels.items()):
        groups = [_group(shares, axis, level) for level in range(len(column))]
        quantities += [_Quantity(GROUP, name, np.nan, column[place], group) for place, group in enumerate(groups)]
        last = len(column) - 1
        for to in range(1, last + 1) if attributes[name].discrete else [last] * (last > 0):
            ends = column[0], column[to]
            quantities.append(_Quantity(IMPACT, name, *ends, groups[to] - groups[0]))
            quantities.append(_Quantity(RATIO, name, *ends, groups[to], groups[0]))
            # Level `to` minus the first, the others as in the whole population.
            others = shares.sum(axis=axis)
            weights = np.zeros(shares.shape)
            weights[(slice(None),) * axis + (to,)] += others
            weights[(slice(None),) * axis + (0,)] -= others
            quantities.append(_Quantity(TREATMENT, name, *ends, weights.ravel()))
    return quantities


def _group(shares: Float[np.ndarray, " ..."], axis: int, level: int) -> Float[np.ndarray, " cells"]:
    """Shares within one group; NaN where nobody is in it."""
    chosen = np.zeros(shares.shape)
    index = (slice(None),) * axis + (level,)
    chosen[index] = shares[index]
    whole = chosen.sum()
    return np.asarray(chosen.ravel() / whole if whole > 0 else np.full(chosen.size, np.nan))


def _rows(wanted: Sequence[_Quantity], cells: CellMeans, answers: int, confidence: float) -> list[Projected]:
    rows = []
    for quantity in wanted:
        if not quantity.possible:
            rows.append(_row(quantity, cells, NOBODY))
            continue
        used = quantity.weights if quantity.below is None else np.abs(quantity.weights) + np.abs(quantity.below)
        empty = int((~np.isfinite(cells.means) & (used != 0)).sum())
        if empty:
            rows.append(_row(quantity, cells, f"{counted(empty, 'cell')} without a valid image"))
        elif quantity.below is not None:
            rows.append(_ratio(quantity, cells, answers, confidence))
        else:
            rows.append(_sum(quantity, cells, answers, confidence))
    return rows


def _sum(quantity: _Quantity, cells: CellMeans, answers: int, confidence: float) -> Projected:
    """answers: of 0 or 1 in an image's value, 0 of other numbers."""
    pseudo = cells.pseudo_values(quantity.weights[:, None])
    if quantity.quantity in (IMPACT, TREATMENT):
        bounds = intervals.mean_difference_interval(
            pseudo,
            binary=answers > 0,
            pairs=np.array([float(np.count_nonzero(quantity.weights) / 2) * max(answers, 1)]),
            confidence=confidence,
        )
        low, high, method = float(bounds.low[0]), float(bounds.high[0]), bounds.methods[0]
    else:
        low, high, method = _interval_of_mean(pseudo, quantity.weights, answers, confidence)
    return _row(
        quantity, cells, "" if method else intervals.no_interval(len(pseudo)), (float(pseudo.mean()), low, high), method
    )


def _interval_of_mean(
    pseudo: Float[np.ndarray, "n 1"], weights: Float[np.ndarray, " cells"], answers: int, confidence: float
) -> tuple[float, float, str]:
    if not answers:
        bounds = intervals.mean_interval(pseudo, confidence=confidence)
        return float(bounds.low[0]), float(bounds.high[0]), bounds.methods[0]
    images = answers / float(weights @ weights)  # cells of unequal shares count as fewer (Kish 1965)
    low, high = intervals.wilson_clustered(pseudo * images, np.full(pseudo.shape, images), confidence)
    return float(low[0]), float(high[0]), intervals.WILSON_CLUSTERED


def _ratio(quantity: _Quantity, cells: CellMeans, answers: int, confidence: float) -> Projected:
    """The interval of the ratio of both groups' own intervals, by their logarithms and the correlation of subjects."""
    top, bottom = (
        _sum(replace(quantity, quantity=GROUP, weights=weights, below=None), cells, answers, confidence)
        for weights in (quantity.weights, np.asarray(quantity.below))
    )
    if bottom.estimate <= 0:
        return _row(quantity, cells, ZERO_RATE)
    ratio = top.estimate / bottom.estimate
    if not answers or not top.low > 0:
        return _row(quantity, cells, NOT_ABOVE_ZERO if answers else NO_RATES, (ratio, np.nan, np.nan))
    (m, m_low, m_high), (e, e_low, e_high) = (
        np.log([one.estimate, one.low, one.high]).tolist() for one in (top, bottom)
    )
    alike = _correlation(cells, quantity.weights, np.asarray(quantity.below))
    below, above = _spread(m - m_low, e_high - e, alike), _spread(m_high - m, e - e_low, alike)
    return _row(quantity, cells, "", (ratio, ratio * math.exp(-below), ratio * math.exp(above)), LOG_MOVER)


def _spread(first: float, second: float, alike: float) -> float:
    return math.sqrt(max(first**2 + second**2 - 2 * alike * first * second, 0.0))


def _correlation(cells: CellMeans, first: Float[np.ndarray, " cells"], second: Float[np.ndarray, " cells"]) -> float:
    """Of two weighted sums over subjects; none above 0 where few subjects have the outcome in one of them."""
    one, other = cells.influence @ first, cells.influence @ second
    scale = math.sqrt(float(one @ one) * float(other @ other))
    alike = float(one @ other) / scale if scale > _ROUNDING else 0.0
    bearers = min(int((cells.values[:, used > 0] != 0).any(axis=1).sum()) for used in (first, second))
    return alike if bearers >= FEW_BEARERS else min(alike, 0.0)


def _row(
    quantity: _Quantity,
    cells: CellMeans,
    reason: str,
    numbers: tuple[float, float, float] = (np.nan, np.nan, np.nan),
    method: str = "",
) -> Projected:
    parts = [part for part in (quantity.weights, quantity.below) if part is not None]
    used = np.any([np.nan_to_num(part) != 0 for part in parts], axis=0)
    return Projected(
        *numbers,
        reason,
        quantity=quantity.quantity,
        attribute=quantity.attribute,
        origin=quantity.origin,
        to=quantity.to,
        n_subjects=int((cells.valid[:, used] > 0).any(axis=1).sum()),
        n_images=int(cells.valid[:, used].sum()),
        method=method,
    )
