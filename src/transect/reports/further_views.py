"""What the page shows beside effects and rates, by study: interactions, projections, controls, plans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from markupsafe import Markup

from transect.reports.document import Document, pointer
from transect.reports.entries import ComparedEntry, ProjectionEntry
from transect.reports.wording import effect_style, level, outcome_words
from transect.runs.wording import spaced

MOST_ROWS = 60
"""Interactions printed on the page, the surest first; the rest stands in results.json alone, and the page says so."""


@final
@dataclass(frozen=True)
class ProjectedRow:
    """One quantity in words, and where it stands."""

    place: str
    quantity: str
    subject: Markup
    style: str
    signed: bool


@final
@dataclass(frozen=True)
class Projection:
    """All quantities of one target and outcome in one population."""

    place: str
    words: str
    equal: tuple[str, ...]
    rows: tuple[ProjectedRow, ...]


@final
@dataclass(frozen=True)
class Further:
    """Places in results.json of what else a study's page shows; empty where there is nothing."""

    interactions: tuple[str, ...]
    interactions_cut: bool
    projections: tuple[Projection, ...]
    controls: tuple[str, ...]
    plans: tuple[str, ...]


def further(document: Document, study: int) -> Further:
    """Everything beside effects and rates of one study."""
    results, name = document.results, document.results.studies[study].name
    crossed = [i for i, row in enumerate(results.interactions) if row.study == name]
    crossed.sort(key=lambda i: _uncertainty(results.interactions[i]))
    return Further(
        interactions=tuple(pointer("interactions", i) for i in crossed[:MOST_ROWS]),
        interactions_cut=len(crossed) > MOST_ROWS,
        projections=tuple(
            _projection(document, study, i, row) for i, row in enumerate(results.projections) if row.study == name
        ),
        controls=_places("negative_controls", [row.study == name for row in results.negative_controls]),
        plans=_places("plans", [row.study == name for row in results.plans]),
    )


def alarms(document: Document) -> tuple[Markup, ...]:
    """A loud sentence for each negative control that shows an effect after adjustment."""
    alpha = document.results.family.alpha
    sentences = []
    for index, row in enumerate(document.results.negative_controls):
        if row.p_adjusted is None or row.p_adjusted > alpha:
            continue
        place = pointer("negative_controls", index)
        sentences.append(
            Markup(
                "<strong>A negative control shows an effect.</strong> {}, which says nothing about a face, changes "
                "the {} of {} by {} (interval {} to {}): the target reacts to something irrelevant, or the images "
                "differ in more than was set. Interpret every effect on this page with caution."
            ).format(
                spaced(row.attributes[0]).capitalize(),
                outcome_words(row.outcome, row.unit, _task(document, row)),
                document.text(f"{place}/target"),
                _amount(document, place, row),
                *(document.number(f"{place}/{end}", effect_style(row.unit), none="none") for end in ("low", "high")),
            )
        )
    return tuple(sentences)


def _task(document: Document, row: ComparedEntry) -> str:
    targets = [t for study in document.results.studies if study.name == row.study for t in study.targets]
    return next(target.task for target in targets if target.name == row.target)


def _amount(document: Document, place: str, row: ComparedEntry) -> Markup:
    style = effect_style(row.unit)
    number = document.number(f"{place}/estimate", style, signed=True)
    return Markup("{}{}").format(number, " points" if style == "points" else "")


def _uncertainty(row: ComparedEntry) -> tuple[float, float]:
    adjusted = 2.0 if row.p_adjusted is None else row.p_adjusted
    return adjusted, -abs(row.estimate or 0.0)


def _places(table: str, chosen: Sequence[bool]) -> tuple[str, ...]:
    return tuple(pointer(table, index) for index, wanted in enumerate(chosen) if wanted)


def _projection(document: Document, study: int, index: int, row: ProjectionEntry) -> Projection:
    place = pointer("projections", index)
    hundredfold = row.unit == "proportion"
    rows = []
    for position, each in enumerate(row.rows):
        compared = each.origin is not None
        ratio = each.quantity == "ratio of rates"
        style = "plain" if ratio or not hundredfold else "points" if compared else "percent"
        rows.append(
            ProjectedRow(
                f"{place}/rows/{position}",
                each.quantity,
                _who(document, study, f"{place}/rows/{position}", each.attribute, each.origin, each.to),
                style,
                compared and not ratio,
            )
        )
    return Projection(place, outcome_words(row.outcome, row.unit), tuple(map(spaced, row.equal)), tuple(rows))


def _who(document: Document, study: int, place: str, attribute: str, origin: float | None, to: float | None) -> Markup:
    """Whom a quantity is about: the whole population, a group, or two groups."""
    if not attribute:
        return Markup("the whole population")
    upper = level(document, study, attribute, to, f"{place}/to")
    if origin is None:
        return Markup("{}: {}").format(spaced(attribute), upper)
    lower = level(document, study, attribute, origin, f"{place}/from")
    return Markup("{}: {} instead of {}").format(spaced(attribute), upper, lower)
