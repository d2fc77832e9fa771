"""Few ratings by people, many by a machine: what people alone say, and what both say together (Angelopoulos 2023)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
from jaxtyping import Bool, Float

from transect.effects.linear import MEANS_SOURCE, difference_in_means
from transect.effects.prediction_powered import SOURCES, PredictionPowered, ppi_difference, ppi_mean
from transect.sections.answers import Answers, grouped, nominal, number, table, words

_TEXT: Final = (
    "People rated some images, {machine} every image. The machine's mean over all images is corrected by how far it is "
    "off where people rated too, so that the interval is valid however wrong the machine is, and narrower where it is "
    "often right. Its weight is estimated: 0 is people alone.",
    "This holds if the rated images were drawn at random from all of them; ratings of chosen images do not speak for "
    "the others. Differences are the last group minus the first.",
)


@final
@dataclass(frozen=True, slots=True)
class _Quantity:
    """One thing that people and the machine both say: people's values [n], NaN where not rated, and the machine's."""

    name: str
    unit: str
    people: Float[np.ndarray, " n"]
    machine: Float[np.ndarray, " n"]


def section(one: Answers) -> dict[str, Any] | None:
    """The section of one target in one study; None where people rated nothing, or all that the machine has."""
    made = [each for each in _quantities(one) if _partly(each)]
    if not made:
        return None
    machine = "an attribute model or other raters rated" if one.by_machine else "the stated truth is known of"
    groups = _groups(one)
    return {
        "key": "people",
        "study": one.study,
        "title": f"Few ratings by people, many by a machine: {one.target}",
        "text": [_TEXT[0].format(machine=machine), _TEXT[1]],
        "figures": [],
        "tables": [one_table for each in made for one_table in _tables(one, each, groups)],
        "sources": [*SOURCES, MEANS_SOURCE],
    }


def _quantities(one: Answers) -> list[_Quantity]:
    """Errors by people's truth, then what people saw; the machine's side of each is known of every image."""
    made = []
    if one.binary and len(one.people_truth) and np.isfinite(one.errors).any():
        wrong = np.abs(one.answers - one.people_truth)
        made.append(_Quantity("Error rate by people's truth", "proportion", wrong, one.errors))
    for name, seen in one.people.items():
        machine = one.perceived.get(name) if one.by_machine else one.values.get(name)
        if machine is not None and not nominal(one.known.get(name)):
            made.append(_Quantity(f"Mean rating of {words(name)}", "number", seen, machine))
    return made


def _partly(each: _Quantity) -> bool:
    """Whether people rated some of the images and the machine more."""
    rated, known = np.isfinite(each.people), np.isfinite(each.machine)
    return bool((rated & known).any() and (~rated & known).any())


def _groups(one: Answers) -> dict[str, dict[str, Bool[np.ndarray, " n"]]]:
    """The images of each group of each attribute, in order."""
    made: dict[str, dict[str, Bool[np.ndarray, " n"]]] = {}
    settings = np.array([list(cell.values()) for cell in one.design.cells()]) if one.design.levels else np.empty((0, 0))
    for axis, (name, levels) in enumerate(one.design.levels.items()):
        values = settings[one.cells, axis]
        made[name] = {one.attributes[name].label(level): values == level for level in levels}
    for name, values in ({} if one.design.levels else one.values).items():
        texts = grouped(one.attributes[name], values)
        order = np.unique(texts[texts != ""].astype(str))
        first = {text: float(np.nanmin(values[texts == text])) for text in order.tolist()}
        made[name] = {text: texts == text for text in sorted(first, key=lambda text: first[text])}
    return made


def _tables(
    one: Answers, each: _Quantity, groups: Mapping[str, Mapping[str, Bool[np.ndarray, " n"]]]
) -> list[dict[str, Any]]:
    """All images, every group, and the last group minus the first of each attribute."""
    everything = np.ones(len(each.people), dtype=bool)
    whole = [_row(each, "all images", *_mean(one, each, everything))]
    rows: list[list[Any]] = []
    differences: list[list[Any]] = []
    for name, members in groups.items():
        made = {text: _mean(one, each, rows_of) for text, rows_of in members.items()}
        rows += [_row(each, f"{words(name)}: {text}", *both) for text, both in made.items()]
        if len(made) > 1:
            differences.append(_difference(one, each, name, members, made))
    tables = [table(each.name, _heads("group", each.unit), whole)]
    if rows:
        tables.append(table(f"{each.name}: by group", _heads("group", each.unit), rows))
    if differences:
        unit = "points" if each.unit == "proportion" else each.unit
        tables.append(table(f"{each.name}: differences", _heads("groups", unit), differences))
    return tables


def _heads(first: str, unit: str) -> list[tuple[str, str]]:
    heads = [(first, "text")]
    for side in ("people alone", "with the machine"):
        heads += [(side, unit), (f"{side}: low", unit), (f"{side}: high", unit)]
    return [*heads, ("machine's weight", "number"), ("subjects rated", "count"), ("others", "count"), ("note", "text")]


_Both = tuple[float, PredictionPowered]
"""People's own mean, and the estimate of both."""


def _mean(one: Answers, each: _Quantity, rows: Bool[np.ndarray, " n"]) -> _Both:
    rated = rows & np.isfinite(each.people) & np.isfinite(each.machine)
    others = rows & ~np.isfinite(each.people) & np.isfinite(each.machine)
    made = ppi_mean(
        each.people[rated],
        each.machine[rated],
        each.machine[others],
        subjects=one.subjects[rated],
        subjects_unrated=one.subjects[others],
    )
    return float(each.people[rated].mean()) if rated.any() else np.nan, made


def _row(each: _Quantity, name: str, mean: float, made: PredictionPowered) -> list[Any]:
    alone = [mean, mean - made.alone, mean + made.alone]
    ends = [*alone, made.estimate, made.low, made.high]
    if each.unit == "proportion":  # Student's intervals know no bounds, rates do
        ends = np.clip(ends, 0.0, 1.0).tolist()
    cells = [number(end) for end in (*ends, made.trust)]
    return [name, *cells, made.n_rated, made.n_predicted, made.reason]


def _difference(
    one: Answers,
    each: _Quantity,
    name: str,
    members: Mapping[str, Bool[np.ndarray, " n"]],
    made: Mapping[str, _Both],
) -> list[Any]:
    """The last group minus the first; people's own by subject."""
    first, last = next(iter(members)), list(members)[-1]
    chosen = np.where(members[last], 1.0, np.where(members[first], 0.0, np.nan))
    people = np.where(np.isfinite(each.machine), each.people, np.nan)
    alone = difference_in_means(people, chosen, clusters=one.subjects)
    both = ppi_difference(made[first][1], made[last][1])
    cells = [number(end) for end in (alone.estimate, alone.low, alone.high, both.estimate, both.low, both.high)]
    reason = both.reason or ("" if np.isfinite(alone.low) else f"people alone: {alone.reason}")
    label = f"{words(name)}: {last} minus {first}"
    return [label, *cells, number(both.trust), both.n_rated, both.n_predicted, reason]
