"""The page of a comparison of distances: `neighbours.html`, and its numbers in `neighbours.json`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from markupsafe import Markup

from transect.jobs.neighbours.examples import table_of
from transect.reports import builder
from transect.reports.blocks import Answer, Block, Bullets, Page, Paragraph, Part, Picture, TextTable, summary

if TYPE_CHECKING:
    from transect.jobs.neighbours.run import NeighboursResult


def write(result: NeighboursResult, folder: Path) -> Path:
    """Write `neighbours.html` and `neighbours.json`; returns the page's path. Makes the folder where it is missing."""
    return builder.write(page_of(result), folder / "neighbours.html", result.numbers)


def page_of(result: NeighboursResult) -> Page:
    """What the page shows."""
    headings, rows = result.rows()
    remarks = [Paragraph(f"{note[0].upper()}{note[1:]}.", "note") for note in notes(result)]
    parts = (
        summary(Answer(answers(result), (result.headline(), _CHANCE)), *remarks),
        Part("errors", "Errors by distance", (TextTable("Errors by distance", headings, rows),)),
        Part("nearest", "Nearest images by each distance", tuple(_examples(result))),
        Part("sources", "Source", (Bullets([result.numbers.source]),)),
    )
    question = "Which distance keeps each attribute and the identity among the nearest images?"
    return Page("What nearest images share", parts, question=question)


_CHANCE: Final = (
    "± is one standard error: where two numbers differ by less than about three of these, it may be chance."
)
MOST: Final = 6
"""Attributes that the answer names; the table has all."""


def answers(result: NeighboursResult) -> list[Markup]:
    """For each attribute the distance whose nearest images differ least in it, and what images at random differ by."""
    (*distances, chance), (_, texts) = result.numbers.distances, result.rows()
    sentences = []
    for place, attribute in enumerate(distances[0].attributes[:MOST]):
        errors = [row.attributes[place].error for row in distances]
        known = [number for number, error in enumerate(errors) if math.isfinite(error)]
        if not known:
            sentences.append(Markup("<b>{}</b>: not estimable by any distance.").format(attribute.attribute))
            continue
        best = min(known, key=lambda number: errors[number])
        unit = " %" if attribute.unit == "proportion" else ""
        name, least, random = distances[best].distance, texts[best][place + 1], texts[-1][place + 1]
        words = _words(len(distances), errors[best] < chance.attributes[place].error)
        others = chance.distance[0].upper() + chance.distance[1:]
        sentences.append(words.format(attribute.attribute, name, least, unit, others, random, unit))
    left = len(distances[0].attributes) - MOST
    return sentences + ([Markup("{} more in the table.").format(left)] if left > 0 else [])


def _words(distances: int, nearer: bool) -> Markup:
    """The sentence about one attribute. nearer: whether its nearest images differ less than images at random."""
    if not nearer:
        return Markup("<b>{}</b> is not kept: the nearest by <b>{}</b> differ by {}{}. {} differ by {}{}.")
    if distances == 1:
        return Markup("<b>{}</b> of the nearest by <b>{}</b> differs by {}{}. {} differ by {}{}.")
    return Markup("<b>{}</b> differs least by <b>{}</b>: {}{}. {} differ by {}{}.")


def _examples(result: NeighboursResult) -> Iterator[Block]:
    """A few images, drawn at random, and their neighbours: pictures where a column has them, and rows."""
    words = "Distances are divided by that to the nearest image; rows are numbered from 0."
    missing = "" if result.sheets else " To see the pictures, give --pictures COLUMN."
    yield Paragraph(f"A few images, drawn by the seed, and those that each distance finds nearest. {words}{missing}")
    for number, example in enumerate(result.numbers.examples):
        if result.sheets:
            names = ", then ".join(each.distance for each in example.nearest)
            caption = (
                f"Row {example.row} at the left, and its neighbours from the nearest on; from top to bottom {names}"
            )
            yield Picture(result.sheets[number], caption)
        yield TextTable(f"Nearest images of row {example.row}", *table_of(example))


def notes(result: NeighboursResult) -> list[str]:
    """How ids were compared, and images that a distance leaves out."""
    left_out = ((row.without_features, row.distance) for row in result.numbers.distances if row.without_features)
    return [
        *result.numbers.notes,
        *(
            f"left out: {'1 image' if count == 1 else f'{count} images'} without features ({name})"
            for count, name in left_out
        ),
    ]
