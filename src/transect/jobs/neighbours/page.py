"""The page of a comparison of distances: `neighbours.html`, and its numbers in `neighbours.json`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from transect.reports import builder
from transect.reports.blocks import Answer, Bullets, Page, Paragraph, Part, TextTable, summary

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
        summary(Answer((result.headline(),)), *remarks),
        Part("errors", "Errors by distance", (TextTable("Errors by distance", headings, rows),)),
        Part("sources", "Source", (Bullets([result.numbers.source]),)),
    )
    question = "Which distance keeps each attribute and the identity among the nearest images?"
    return Page("What nearest images share", parts, question=question)


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
