"""The page of a comparison of distances: `neighbours.html`, and its numbers in `neighbours.json`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from markupsafe import Markup

from transect.effects.identity_pairs import DYADIC, Preserved
from transect.jobs.neighbours.examples import table_of
from transect.reports import builder
from transect.reports.blocks import Answer, Block, Bullets, Page, Paragraph, Part, Picture, TextTable, summary
from transect.runs.wording import spaced

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
        Part("errors", "Differences by distance", (TextTable("Differences by distance", headings, rows),)),
        Part("nearest", "Nearest images by each distance", tuple(_examples(result))),
        Part("sources", "Sources", (Bullets([result.numbers.source, DYADIC]),)),
    )
    return Page("What nearest images share", parts, question=_question(result))


def _question(result: NeighboursResult) -> str:
    *distances, chance = result.numbers.distances
    if len(distances) == 1:
        return "Which attributes do the nearest images share?"
    of_people = " and the identity" if any(cell.attribute == "identity" for cell in chance.attributes) else ""
    return f"By which distance do the nearest images share each attribute{of_people}?"


_CHANCE: Final = (
    "± is one standard error; it allows for images that are near to several others. A difference counts from three "
    "standard errors on; a smaller one may be chance. Differences of numbers are in the attribute's own unit."
)
_SURE: Final = 3
"""Standard errors of a difference, of both as if they were independent, from which on it is no chance."""
HARDLY: Final = 0.8
"""Share of the difference between images at random, from which on nearest images are hardly more alike."""
_SHARE: Final = {False: "share it", True: "share it hardly more than images at random"}
MOST: Final = 6
"""Attributes that the answer names; the table has all."""


def answers(result: NeighboursResult) -> list[Markup]:
    """For each attribute whether near images share it, and by which distance most, where that is sure."""
    attributes = result.numbers.distances[0].attributes
    left = len(attributes) - MOST
    sentences = [_answer(result, place) for place in range(min(len(attributes), MOST))]
    return sentences + ([Markup("{} more in the table.").format(left)] if left > 0 else [])


def _answer(result: NeighboursResult, place: int) -> Markup:
    """One attribute: the claim, then the numbers that it rests on."""
    *distances, chance = result.numbers.distances
    known = [row for row in distances if math.isfinite(row.attributes[place].error)]
    known.sort(key=lambda row: row.attributes[place].error)
    name = Markup("<b>{}</b>").format(spaced(chance.attributes[place].attribute))
    if not known:
        return Markup("{}: not estimable by any distance.").format(name)
    claim, told = _claim([row.attributes[place] for row in known], chance.attributes[place])
    texts = {row[0]: row[place + 1] for row in result.rows()[1]}
    cell = chance.attributes[place]
    unit = " %" if cell.unit == "proportion" else ""
    nearest = [Markup("{}{} by <b>{}</b>").format(texts[row.distance], unit, row.distance) for row in known]
    numbers = Markup(", ").join(nearest[: 1 if told else 2])
    by_chance = Markup("{}{} for {}").format(texts[chance.distance], unit, chance.distance)
    said = Markup(". {}: {}, {}.").format(_kind(cell), numbers, by_chance)
    return claim.format(name, known[0].distance) + said


def _kind(cell: Preserved) -> str:
    """What the numbers of an attribute are."""
    if cell.attribute == "identity":
        return "Of another person"
    return "Differing" if cell.unit == "proportion" else "Mean difference"


def _claim(nearest: Sequence[Preserved], chance: Preserved) -> tuple[Markup, bool]:
    """What can be said of an attribute, and whether the best distance differs from the others by more than chance."""
    best, *others = nearest
    if _is_less(chance, best):
        return Markup("{}: nearest images share it less often than images at random"), True
    if not _is_less(best, chance):
        return Markup("{}: whether nearest images share it cannot be told"), True
    hardly = best.error > HARDLY * chance.error
    if not others:
        return Markup("{}: nearest images ") + _SHARE[hardly], True
    if all(_is_less(best, other) for other in others):
        return Markup("{}: by <b>{}</b>, more than by the others, nearest images ") + _SHARE[hardly], True
    return Markup("{}: nearest images ") + f"{_SHARE[hardly]}; by which distance most cannot be told", False


def _is_less(one: Preserved, other: Preserved) -> bool:
    """Whether an error is less than another by more than chance; never where one or its standard error is unknown."""
    return other.error - one.error > _SURE * math.hypot(one.standard_error, other.standard_error)


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
