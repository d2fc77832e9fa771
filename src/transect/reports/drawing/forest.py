"""The effect plot: each contrast's estimate and interval on a common axis, by attribute.

A row is text and a small graphic whose positions are per cent of its width, so that the words keep their size
on every screen (Cleveland's dot plot with intervals; the forest plot of meta-analysis). A filled mark stays
significant after adjustment, a hollow one does not; a row without an estimate says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from markupsafe import Markup

from transect.reports.document import Document, Style, finite, pointer
from transect.reports.drawing import svg
from transect.reports.drawing.svg import Scale, covering
from transect.reports.entries import EffectEntry
from transect.reports.results import significant
from transect.reports.wording import effect_style, level, outcome_meaning, outcome_words, task_of, unit_words, with_unit
from transect.runs.wording import spaced


@final
@dataclass(frozen=True)
class Row:
    """One effect: where it stands, its words, and its mark (None where it is not estimable)."""

    place: str
    target: Markup
    style: Style
    significant: bool
    mark: svg.Interval | None
    description: str


@final
@dataclass(frozen=True)
class Group:
    """One comparison of two levels of an attribute: a row per target."""

    attribute: str
    change: Markup
    rows: tuple[Row, ...]


@final
@dataclass(frozen=True)
class Forest:
    """All contrasts of one outcome in one unit."""

    outcome: str
    words: str
    meaning: str
    unit: str
    ticks: tuple[svg.Tick, ...]
    groups: tuple[Group, ...]
    several_targets: bool


def forests(document: Document, study: int) -> tuple[Forest, ...]:
    """The effect plots of a study: one per outcome and unit, in the study's order of outcomes."""
    entry = document.results.studies[study]
    contrasts: dict[tuple[str, str], list[int]] = {}
    for index, effect in enumerate(document.results.effects):
        if effect.study == entry.name and effect.kind == "contrast":
            contrasts.setdefault((effect.outcome, effect.unit), []).append(index)
    ordered = sorted(contrasts.items(), key=lambda item: entry.outcomes.index(item[0][0]))
    return tuple(_forest(document, study, *key, members) for key, members in ordered)


def _forest(document: Document, study: int, outcome: str, unit: str, members: Sequence[int]) -> Forest:
    effects = document.results.effects
    bounds = [bound for i in members for bound in (effects[i].estimate, effects[i].low, effects[i].high)]
    scale = covering(finite(bounds))
    task = task_of(document.results.studies[study].targets)
    return Forest(
        outcome=outcome,
        words=outcome_words(outcome, unit, task),
        meaning=outcome_meaning(outcome, task),
        unit=unit_words(unit),
        ticks=svg.ticks_across(scale, effect_style(unit) == "points"),
        groups=_groups(document, study, members, scale),
        several_targets=len({effects[i].target for i in members}) > 1,
    )


def _groups(document: Document, study: int, members: Sequence[int], scale: Scale) -> tuple[Group, ...]:
    """By attribute in the order of the study, then by level; the targets of one comparison stand together."""
    effects = document.results.effects
    order = [attribute.name for attribute in document.results.studies[study].attributes]
    comparisons: dict[tuple[int, float, float, str], list[int]] = {}
    for i in members:
        key = (order.index(effects[i].attribute), effects[i].origin or 0.0, effects[i].to or 0.0, effects[i].name)
        comparisons.setdefault(key, []).append(i)
    return tuple(
        Group(
            attribute=spaced(effects[positions[0]].attribute),
            change=_comparison(document, study, positions[0])
            + with_unit(document, study, effects[positions[0]].attribute),
            rows=tuple(_row(document, i, scale) for i in positions),
        )
        for _, positions in sorted(comparisons.items())
    )


def _row(document: Document, index: int, scale: Scale) -> Row:
    effect = document.results.effects[index]
    place = pointer("effects", index)
    stays = significant(effect, document.results.family.alpha)
    return Row(
        place=place,
        target=document.text(f"{place}/target"),
        style=effect_style(effect.unit),
        significant=stays,
        mark=_mark(effect, scale, stays),
        description=_description(effect, stays),
    )


def _comparison(document: Document, study: int, index: int) -> Markup:
    """What is compared: "1 to 10" where we set it, "high vs low" where we did not, else the effect's own name."""
    effect = document.results.effects[index]
    place = pointer("effects", index)
    if effect.origin is None or effect.to is None:
        return document.text(f"{place}/name")
    origin = level(document, study, effect.attribute, effect.origin, f"{place}/from")
    to = level(document, study, effect.attribute, effect.to, f"{place}/to")
    if effect.basis == "experimental":
        return Markup("{} to {}").format(origin, to)
    return Markup("{} vs {}").format(to, origin)


def _mark(effect: EffectEntry, scale: Scale, filled: bool) -> svg.Interval | None:
    if effect.estimate is None:
        return None
    ends = (None, None) if effect.low is None or effect.high is None else (effect.low, effect.high)
    low, high = (None if end is None else 100 * scale.fraction(end) for end in ends)
    return svg.Interval(100 * scale.fraction(effect.estimate), low, high, filled=filled)


def _description(effect: EffectEntry, stays: bool) -> str:
    """What the graphic shows, in words without numbers: the numbers stand beside it."""
    if effect.estimate is None:
        return "No mark: not estimable."
    side = "right of" if effect.estimate > 0 else "left of" if effect.estimate < 0 else "on"
    if effect.low is None or effect.high is None:
        return f"The estimate lies {side} zero; it has no interval."
    crosses = "includes" if effect.low <= 0 <= effect.high else "excludes"
    verdict = "stays" if stays else "is not"
    return f"The estimate lies {side} zero, the interval {crosses} zero; it {verdict} significant after adjustment."
