"""The page of a comparison of distances, with examples of nearest images."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from jaxtyping import Float, Int, UInt8
from markupsafe import Markup

from transect.datasets.files import pixels_of
from transect.datasets.parquet import PictureColumn
from transect.effects.identity_pairs import DYADIC, Preserved
from transect.jobs.neighbours.numbers import Example, Nearest, NearImage
from transect.reports import builder
from transect.reports.blocks import Answer, Block, Bullets, Page, Paragraph, Part, Picture, TextTable, summary
from transect.runs.pictures import png
from transect.runs.wording import spaced

if TYPE_CHECKING:
    from transect.jobs.neighbours.run import NeighboursResult


EXAMPLES: Final = 4
"""Images whose neighbours are shown."""
SHOWN: Final = 4
"""Neighbours of each by each distance, as many as Fig. B2 has."""
_SIDE: Final = 96
_GAP: Final = 8
_PAPER: Final = 255


def chosen(queries: Int[np.ndarray, " q"] | None, images: int, seed: int) -> list[int]:
    """At most four of the images whose neighbours are looked up, drawn by the seed; in order."""
    rows = np.arange(images) if queries is None else queries
    drawn = np.random.default_rng(seed).permutation(len(rows))[:EXAMPLES]
    return sorted(int(row) for row in rows[drawn])


def nearest(name: str, values: Float[np.ndarray, "n d"], row: int, k: int) -> Nearest:
    """The nearest images of one image by one distance; none where the image has no features.

    Distances are divided by that to the nearest image, as in the figure; NaN where that is 0.

    >>> near = nearest("line", np.array([[0.0], [1.0], [3.0]]), 0, k=2)
    >>> [(image.row, image.ratio) for image in near.images]
    [(1, 1.0), (2, 3.0)]
    """
    apart = np.sqrt(((values - values[row]) ** 2).sum(axis=1))
    apart = np.where(np.isfinite(apart), apart, np.inf)
    apart[row] = np.inf
    order = np.argsort(apart, kind="stable")[: min(k, SHOWN)]
    near = order[np.isfinite(apart[order])]
    first = float(apart[near[0]]) if len(near) else np.nan
    ratios = apart[near] / first if first > 0 else np.full(len(near), np.nan)
    return Nearest(name, tuple(NearImage(*pair) for pair in zip(near.tolist(), ratios.tolist(), strict=True)))


def sheet(example: Example, pictures: PictureColumn) -> bytes:
    """A PNG: a row for each distance, the image itself at the left, its neighbours from the nearest to the farthest."""
    lines = [[example.row, *(image.row for image in each.images)] for each in example.nearest]
    wide = max(map(len, lines))
    step = _SIDE + _GAP
    paper = np.full((step * len(lines) - _GAP, step * wide, 3), _PAPER, dtype=np.uint8)
    for down, line in enumerate(lines):
        for across, row in enumerate(line):
            left = across * step + (_GAP if across else 0)
            paper[down * step : down * step + _SIDE, left : left + _SIDE] = _picture(pictures, row)
    return png(paper)


def _picture(pictures: PictureColumn, row: int) -> UInt8[np.ndarray, "h w 3"]:
    """The picture in a square; grey where the row has none."""
    stored = pictures.of(row)
    if stored is None:
        return np.full((_SIDE, _SIDE, 3), 128, dtype=np.uint8)
    return pixels_of(stored, f"picture of row {row}", _SIDE)


def table_of(example: Example) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """A row per distance, and each neighbour's row with its distance."""
    most = max(len(each.images) for each in example.nearest)
    ranks = ["nearest", "second", "third", "fourth"][:most]
    rows = [[each.distance, *(_text(image) for image in each.images)] for each in example.nearest]
    return ["distance", *ranks], [row + [""] * (most + 1 - len(row)) for row in rows]


def _text(image: NearImage) -> str:
    return f"row {image.row}" + (f" ({image.ratio:.2f})" if np.isfinite(image.ratio) else "")


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
    headings, rows = result.rows()
    texts = dict(zip(headings, rows[place], strict=True))
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
