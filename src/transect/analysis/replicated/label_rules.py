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
from typing import Final, final

import numpy as np
from jaxtyping import Float

from transect.analysis import finished_run
from transect.analysis.findings import measure_of
from transect.analysis.finished_run import Run, TargetOutcomes
from transect.analysis.replicated.conclusions import WorldEffect
from transect.analysis.replicated.reading import Reading
from transect.effects.analysis import analyse_population, analyse_transects
from transect.effects.contrasts import by_level
from transect.errors import BadInput
from transect.records import Attribute, Design, Effect
from transect.runs import toml_files
from transect.runs.json_records import record_of
from transect.runs.wording import spaced
from transect.texts import words_of

_TABLE: Final = "rule"
_WORDS: Final[Mapping[str, float]] = {"no": 0.0, "false": 0.0, "off": 0.0, "yes": 1.0, "true": 1.0, "on": 1.0}
_BAND: Final = re.compile(r"(\d+(?:\.\d+)?) *(?:-|–|to) *(\d+(?:\.\d+)?)")
_ABOVE: Final = re.compile(r"(?:more than|over|above|>=?) *(\d+(?:\.\d+)?)|(\d+(?:\.\d+)?) *(?:\+|or more|and over)")
_BELOW: Final = re.compile(r"(?:less than|under|below|<) *(\d+(?:\.\d+)?)")
_NO_TABLES: Final = "its levels are several, and no table says what was answered at each"
_MISSING: Final = "an image of a level has no valid answer"


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
    if found := _BELOW.fullmatch(text):
        return -math.inf, math.nextafter(float(found[1]), -math.inf)
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
        """What yes stands for, in words."""
        if math.isfinite(self.at_least):
            return f"{spaced(self.attribute)} of {self.at_least:g} or more"
        return f"{spaced(self.attribute)} {' or '.join(self.yes)}"

    def side(self, level: str | float) -> float:
        """1 for a level that yes stands for, 0 for one that no stands for, NaN for one that is neither."""
        if isinstance(level, str) and level in (*self.no, *self.yes):
            return float(level in self.yes)
        low, high = ends_of(level) if isinstance(level, str) else (level, level)
        return 1.0 if low >= self.at_least else 0.0 if high < self.at_least else math.nan


def read(path: str | Path | None = None) -> tuple[LabelRule, ...]:
    """The rules of a TOML file, by default those that ship. Raises BadInput for another file."""
    if path is None:
        text = resources.files(__package__).joinpath("label_rules.toml").read_text(encoding="utf-8")
    else:
        text = toml_files.read_text(Path(path))
    where = str(path or "label_rules.toml")
    tables = toml_files.parse(text, where).get(_TABLE)
    if not isinstance(tables, list) or not tables:
        raise BadInput(f"{where}: expected a table [[{_TABLE}]] or more, got none; add one")
    rules = [record_of(LabelRule, table, f"{where}: {_TABLE} {n}") for n, table in enumerate(tables, start=1)]
    for number, rule in enumerate(rules, start=1):
        if math.isfinite(rule.at_least) == bool(rule.no and rule.yes):
            raise BadInput(f"{where}: {_TABLE} {number}: expected either at_least, or no and yes; state one of them")
    return tuple(rules)


@final
@dataclass(frozen=True, slots=True)
class Joined:
    """Effects of one rule and model, a list each, in the order of worlds; what they were; and the rules in words."""

    effects: tuple[tuple[WorldEffect, ...], ...]
    taken: frozenset[tuple[int, str]]
    notes: tuple[str, ...]


def join(readings: Sequence[Reading], effects: Sequence[WorldEffect], rules: Sequence[LabelRule]) -> Joined:
    """The effects that worlds have in other words. effects: of all worlds; taken: places and names of these."""
    opened = cache(finished_run.read)
    made: list[tuple[WorldEffect, ...]] = []
    taken: set[tuple[int, str]] = set()
    notes: list[str] = []
    for rule in rules:
        named = _named(rule, effects)
        if len(named) < 2 or len({_form(rule, rows) for rows in named.values()}) < 2:
            continue
        said = {place: f"{rows[0].attribute} in {readings[place].world.name}" for place, rows in named.items()}
        notes.append(f"{' and '.join(said.values())} are compared as {' to '.join(rule.words)}: yes is {rule.meaning}")
        by_model: dict[tuple[str, str], list[WorldEffect]] = {}
        for place, rows in named.items():
            for key in dict.fromkeys((row.digest, row.outcome) for row in rows):
                of_one = [row for row in rows if (row.digest, row.outcome) == key]
                try:
                    found = _stated(rule, of_one) or _estimated(rule, of_one[0], readings[place], opened)
                except (BadInput, OSError) as error:
                    notes.append(f"{said[place]} is not compared: {words_of(error)}")
                    continue
                by_model.setdefault(key, []).append(found)
                taken.add((place, rows[0].attribute))
        made += [tuple(each) for each in by_model.values()]
    return Joined(tuple(made), frozenset(taken), tuple(dict.fromkeys(notes)))


def _named(rule: LabelRule, effects: Sequence[WorldEffect]) -> dict[int, list[WorldEffect]]:
    """By world the effects of the rule's attribute, under the first of its names that the world has."""
    found: dict[int, list[WorldEffect]] = {}
    for place in dict.fromkeys(effect.world for effect in effects):
        rows = [effect for effect in effects if effect.world == place]
        name = next((name for name in rule.names if any(row.attribute == name for row in rows)), None)
        if name is not None:
            found[place] = [row for row in rows if row.attribute == name]
    return dict(sorted(found.items()))


def _form(rule: LabelRule, rows: Sequence[WorldEffect]) -> tuple[str, str]:
    """What worlds must have in common to be compared without a rule."""
    named = rows[0].kind == "binary" and {*rows[0].labels} <= {*rule.no, *rule.yes}
    return rows[0].attribute, "categorical" if named else rows[0].kind


def _sides(rule: LabelRule, row: WorldEffect) -> tuple[float, float]:
    """The side of the rule of both levels of a contrast."""
    if row.kind == "binary" and all(label.lower() in _WORDS for label in row.labels):
        no, yes = (_WORDS[label.lower()] for label in row.labels)
        return (1 - no, 1 - yes) if row.attribute in rule.opposite else (no, yes)
    levels = (row.origin, row.to) if row.kind in ("continuous", "ordinal") else row.labels
    return rule.side(levels[0]), rule.side(levels[1])


def _stated(rule: LabelRule, rows: Sequence[WorldEffect]) -> WorldEffect | None:
    """The report's own effect, where it compares one level of each side and there is no other level."""
    contrasts = [row for row in rows if not row.slope]
    if len(contrasts) != 1 or len(rows) != 1:
        return None
    (row,), sides = contrasts, _sides(rule, contrasts[0])
    if {*sides} != {0.0, 1.0}:
        return None
    if sides[0] == 1:
        row = replace(row, estimate=-row.estimate, low=-row.high, high=-row.low)
    return _renamed(rule, row)


def _renamed(rule: LabelRule, row: WorldEffect) -> WorldEffect:
    return replace(
        row, attribute=rule.attribute, kind="binary", attribute_unit="", labels=rule.words, origin=0.0, to=1.0,
        slope=False, unit=row.unit.split(" per ")[0],
    )  # fmt: skip


def _estimated(rule: LabelRule, row: WorldEffect, reading: Reading, opened: Callable[[Path], Run]) -> WorldEffect:
    """The effect of all levels of one side against all of the other, from the tables of the run.

    Raises BadInput without tables, and where levels lie on one side alone.
    """
    if reading.place is None:
        raise BadInput(_NO_TABLES)
    run = opened(reading.place)
    target = next((target for target in run.spec.targets if target.name == row.target), None)
    if target is None or row.attribute not in run.attributes:
        raise BadInput(_NO_TABLES)
    outcome = TargetOutcomes(run, target).outcome(row.outcome)
    two = {rule.attribute: Attribute(rule.attribute, "binary", rule.meaning, levels=rule.words)}
    measure = measure_of(run, target.name, outcome)
    attribute = run.attributes[row.attribute]

    def sides(values: Sequence[float]) -> Float[np.ndarray, " n"]:
        return np.array([_side(rule, attribute, value) for value in values], dtype=np.float64)

    if not run.design.levels:
        columns = {rule.attribute: sides(run.true[row.attribute].tolist())}
        _check_sides(columns[rule.attribute])
        made = analyse_population(
            outcome.values, outcome.reasons, columns, two, measure, subjects=run.people, max_order=1
        )
        return _from(rule, row, made.effects[0], reading.tests)
    own = sides(run.design.levels[row.attribute])
    _check_sides(own)
    grid = outcome.values.reshape(run.design.subjects, *run.design.shape)
    levels = by_level(grid, list(run.design.levels).index(row.attribute))
    values = np.stack([levels[:, own == side].mean(axis=(1, 2)) for side in (0.0, 1.0)], axis=1)
    reasons = np.where(np.isfinite(values), "", _MISSING).astype(object)
    design = Design({rule.attribute: (0.0, 1.0)}, len(values), run.design.seed)
    made = analyse_transects(values, reasons, design, two, measure, people=run.people[:: run.design.n_cells])
    return _from(rule, row, made.effects[0], reading.tests)


def _check_sides(sides: Float[np.ndarray, " n"]) -> None:
    if not ((sides == 0).any() and (sides == 1).any()):
        raise BadInput("its levels do not lie on both sides of the rule")


def _side(rule: LabelRule, attribute: Attribute, value: float) -> float:
    if math.isnan(value):
        return math.nan
    return rule.side(attribute.label(value) if attribute.discrete else value)


def _from(rule: LabelRule, row: WorldEffect, effect: Effect, tests: int) -> WorldEffect:
    """The effect under the rule's name; its p is corrected by Bonferroni for all tests of the world's report."""
    found = {name: getattr(effect, name) for name in ("estimate", "low", "high", "reason", "p", "n_subjects")}
    return replace(_renamed(rule, row), **found, p_adjusted=min(1.0, effect.p * max(1, tests)))
