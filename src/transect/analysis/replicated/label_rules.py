"""Which labels mean which levels? Effects of worlds that say one attribute in other words, joined by a stated rule.

A world that has one level on each side of the rule is taken as its report has it. Of several levels the answers are
averaged by side and the effect is estimated again from the run's tables, as reports estimate effects.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Final, final

import numpy as np

from transect.analysis import finished_run
from transect.analysis.findings import measure_of
from transect.analysis.finished_run import Run, TargetOutcomes
from transect.analysis.replicated.conclusions import WorldEffect
from transect.analysis.replicated.reading import Reading
from transect.effects.analysis import analyse_population, analyse_transects
from transect.effects.contrasts import by_level
from transect.effects.outcomes import Outcome
from transect.effects.samples import Measure
from transect.errors import BadInput, TransectError
from transect.records import Attribute, Effect
from transect.runs import toml_files
from transect.runs.json_records import record_of
from transect.runs.wording import spaced
from transect.texts import words_of

_TABLE: Final = "rule"
_WORDS: Final[Mapping[str, float]] = {"no": 0.0, "false": 0.0, "off": 0.0, "yes": 1.0, "true": 1.0, "on": 1.0}
_BAND: Final = re.compile(r"(\d+(?:\.\d+)?) *(?:-|–|to) *(\d+(?:\.\d+)?)")
_ABOVE: Final = re.compile(r"(?:more than|over|above|>=?) *(\d+(?:\.\d+)?)|(\d+(?:\.\d+)?) *(?:\+|or more|and over)")


def ends_of(level: str) -> tuple[float, float]:
    """The least and the greatest number of a band; NaN twice for another text.

    >>> ends_of("20-29"), ends_of("more than 70"), ends_of("60+"), ends_of("dark")
    ((20.0, 29.0), (70.0, inf), (60.0, inf), (nan, nan))
    """
    text = level.strip().lower()
    if found := _BAND.fullmatch(text):
        return float(found[1]), float(found[2])
    if found := _ABOVE.fullmatch(text):
        return float(found[1] or found[2]), math.inf
    return math.nan, math.nan


@final
@dataclass(frozen=True, slots=True)
class LabelRule:
    """What a yes-or-no label means. Fields as in label_rules.toml; at_least is NaN where levels are named.

    >>> rule = LabelRule("age", opposite=("Young",), at_least=40)
    >>> rule.side("20-29"), rule.side("35-44"), rule.side(61.0), rule.words
    (0.0, nan, 1.0, ('below 40', '40 or more'))
    """

    attribute: str
    labels: tuple[str, ...] = ()
    opposite: tuple[str, ...] = ()
    no: tuple[str, ...] = ()
    yes: tuple[str, ...] = ()
    at_least: float = math.nan

    @property
    def names(self) -> tuple[str, ...]:
        """What worlds may call the attribute, first its own name."""
        return self.attribute, *self.labels, *self.opposite

    @property
    def words(self) -> tuple[str, str]:
        """What is compared: no, and yes."""
        if math.isfinite(self.at_least):
            return f"below {self.at_least:g}", f"{self.at_least:g} or more"
        return " or ".join(self.no), "any" if len(self.yes) > 1 else self.yes[0]

    @property
    def meaning(self) -> str:
        """What yes and no stand for, in words."""
        if math.isfinite(self.at_least):
            return f"{spaced(self.attribute)} of {self.at_least:g} or more against less"
        yes = f"any of {', '.join(self.yes)}" if len(self.yes) > 1 else self.yes[0]
        return f"{spaced(self.attribute)} {yes} against {' or '.join(self.no)}"

    def side(self, level: str | float) -> float:
        """1 for a level that yes stands for, 0 for one that no stands for, NaN for one that is neither."""
        if isinstance(level, str) and level in (*self.no, *self.yes):
            return float(level in self.yes)
        low, high = ends_of(level) if isinstance(level, str) else (level, level)
        return 1.0 if low >= self.at_least else 0.0 if high < self.at_least else math.nan


def read(path: str | Path | None = None) -> tuple[LabelRule, ...]:
    """The rules of a TOML file, by default those that ship. Raises BadInput for another file."""
    with resources.as_file(resources.files(__package__).joinpath("label_rules.toml")) as shipped:
        tables = toml_files.read(Path(path or shipped)).get(_TABLE)
    if not isinstance(tables, list) or not tables:
        raise BadInput(f"{path}: no table [[{_TABLE}]]; add one")
    rules = tuple(record_of(LabelRule, table, f"{path}: {_TABLE} {n}") for n, table in enumerate(tables, start=1))
    if wrong := [rule.attribute for rule in rules if math.isfinite(rule.at_least) == bool(rule.no and rule.yes)]:
        raise BadInput(f"{path}: {wrong[0]}: expected either at_least, or no and yes; state one of them")
    return rules


@final
@dataclass(frozen=True, slots=True)
class Joined:
    """Effects of one rule and model, of each world; places and names of what they were; and the rules in words."""

    effects: tuple[tuple[WorldEffect, ...], ...]
    taken: frozenset[tuple[int, str]]
    notes: tuple[str, ...]


def join(readings: Sequence[Reading], effects: Sequence[WorldEffect], rules: Sequence[LabelRule]) -> Joined:
    """The effects, of those of all worlds, that worlds have in other words."""
    opened = cache(finished_run.read)
    made: dict[tuple[str, ...], list[WorldEffect]] = {}
    taken: set[tuple[int, str]] = set()
    notes: list[str] = []
    for rule in rules:
        named = _named(rule, effects)
        if len({_form(rule, rows[0]) for rows in named.values()}) < 2:
            continue
        said = {place: f"{rows[0].attribute} in {readings[place].world.name}" for place, rows in named.items()}
        notes.append(f"Joined by a rule, {', '.join(said.values())}: {rule.meaning}")
        keys = [(place, row.digest, row.outcome) for place, rows in named.items() for row in rows]
        for place, *of_model in dict.fromkeys(keys):
            rows = [row for row in named[place] if [row.digest, row.outcome] == of_model]
            try:
                found = _stated(rule, rows) or _estimated(rule, rows[0], readings[place], opened)
            except (TransectError, OSError) as error:
                notes.append(f"Not compared by that rule, {said[place]}: {words_of(error)}")
            else:
                made.setdefault((rule.attribute, *of_model), []).append(found)
                taken.add((place, rows[0].attribute))
    return Joined(tuple(map(tuple, made.values())), frozenset(taken), tuple(dict.fromkeys(notes)))


def _named(rule: LabelRule, effects: Sequence[WorldEffect]) -> dict[int, list[WorldEffect]]:
    """By world the effects of the rule's attribute, under the first of its names that the world has."""
    found: dict[int, list[WorldEffect]] = {}
    for place in sorted({effect.world for effect in effects}):
        rows = [effect for effect in effects if effect.world == place and effect.attribute in rule.names]
        name = min((row.attribute for row in rows), key=rule.names.index, default="")
        if rows:
            found[place] = [row for row in rows if row.attribute == name]
    return found


def _form(rule: LabelRule, row: WorldEffect) -> tuple[str, str, str]:
    """What worlds must have in common to be compared without a rule."""
    named = row.kind == "binary" and {*row.labels} <= {*rule.no, *rule.yes}
    return row.attribute, "categorical" if named else row.kind, row.attribute_unit


def _sides(rule: LabelRule, row: WorldEffect) -> tuple[float, float]:
    """The side of the rule of both levels of a contrast."""
    if row.kind == "binary" and all(label.lower() in _WORDS for label in row.labels):
        no, yes = (_WORDS[label.lower()] for label in row.labels)
        return (1 - no, 1 - yes) if row.attribute in rule.opposite else (no, yes)
    numbers = row.kind in ("continuous", "ordinal")
    levels: tuple[float, float] | tuple[str, str] = (row.origin, row.to) if numbers else row.labels
    return rule.side(levels[0]), rule.side(levels[1])


def _stated(rule: LabelRule, rows: Sequence[WorldEffect]) -> WorldEffect | None:
    """The report's own effect, where it compares one level of each side and there is no other level."""
    row, sides = rows[0], _sides(rule, rows[0])
    if len(rows) != 1 or row.slope or {*sides} != {0.0, 1.0}:
        return None
    turned: dict[str, Any] = {"estimate": -row.estimate, "low": -row.high, "high": -row.low} if sides[0] == 1 else {}
    return replace(row, **_of_rule(rule, row), **turned)


def _of_rule(rule: LabelRule, row: WorldEffect) -> dict[str, Any]:
    """What every effect of the rule has."""
    about = {"attribute": rule.attribute, "kind": "binary", "attribute_unit": "", "labels": rule.words, "slope": False}
    return {**about, "origin": 0.0, "to": 1.0, "unit": row.unit.split(" per ")[0]}


def _estimated(rule: LabelRule, row: WorldEffect, reading: Reading, opened: Callable[[Path], Run]) -> WorldEffect:
    """The effect of all levels of one side against all of the other, from the tables of the run.

    Its p is corrected by Bonferroni for all tests of the world's report. Raises BadInput without tables, and where
    levels lie on one side alone.
    """
    run = None if reading.place is None else opened(reading.place)
    target = next((each for each in run.spec.targets if each.name == row.target), None) if run else None
    if run is None or target is None or row.attribute not in run.attributes:
        raise BadInput("its levels are several, and no table says what was answered at each")
    outcome, own = TargetOutcomes(run, target).outcome(row.outcome), run.attributes[row.attribute]
    levels = run.design.levels.get(row.attribute) or np.unique(run.true[row.attribute]).tolist()
    side = {level: rule.side(own.label(level) if own.discrete else level) for level in levels if math.isfinite(level)}
    if not {0.0, 1.0} <= {*side.values()}:
        raise BadInput("its levels do not lie on both sides of the rule")
    effect = _between(run, measure_of(run, target.name, outcome), outcome, row.attribute, side, rule)
    found = {name: getattr(effect, name) for name in ("estimate", "low", "high", "reason", "p", "n_subjects")}
    return replace(row, **_of_rule(rule, row), **found, p_adjusted=min(1.0, effect.p * reading.tests))


def _between(
    run: Run, measure: Measure, outcome: Outcome, name: str, side: Mapping[float, float], rule: LabelRule
) -> Effect:
    """The effect of a run between the levels of both sides, as reports estimate effects of two levels."""
    two = {**run.attributes, rule.attribute: Attribute(rule.attribute, "binary", rule.meaning, levels=rule.words)}
    if not run.design.levels:
        columns = {rule.attribute: np.array([side.get(value, math.nan) for value in run.true[name].tolist()])}
        made = analyse_population(
            outcome.values, outcome.reasons, columns, two, measure, subjects=run.people, max_order=1
        )
        return made.effects[0]
    levels = by_level(outcome.values.reshape(-1, *run.design.shape), list(run.design.levels).index(name))
    own = np.array([side[level] for level in run.design.levels[name]])
    others = {each: values for each, values in run.design.levels.items() if each != name}
    design = replace(run.design, levels={rule.attribute: (0.0, 1.0), **others})
    values = np.stack([levels[:, own == end].mean(axis=1) for end in (0.0, 1.0)], axis=1).reshape(-1, *design.shape)
    reasons = np.where(np.isfinite(values), "", "a level without a valid answer").astype(object)
    people = run.people[:: run.design.n_cells]
    return analyse_transects(values, reasons, design, two, measure, people=people, max_order=1).effects[0]
