"""The page of a comparison of distances: `neighbours.html`, and its numbers in `neighbours.json`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from transect.reports.environment import render
from transect.runs.folder import write_atomically
from transect.runs.plain_json import dumps

if TYPE_CHECKING:
    from transect.jobs.neighbours.run import NeighboursResult


def write(result: NeighboursResult, folder: Path) -> Path:
    """Write `neighbours.html` and `neighbours.json`; returns the page's path. Makes the folder where it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / "neighbours.json", (dumps(result.numbers, 1) + "\n").encode())
    write_atomically(folder / "neighbours.html", build(result).encode())
    return folder / "neighbours.html"


def build(result: NeighboursResult) -> str:
    """The page as one HTML text."""
    headings, rows = result.rows()
    content = {"headline": result.headline(), "headings": headings, "rows": rows, "notes": notes(result)}
    return render("neighbours", **content, source=result.numbers.source)


def notes(result: NeighboursResult) -> list[str]:
    """Images that a distance leaves out."""
    left_out = ((row.without_features, row.distance) for row in result.numbers.distances if row.without_features)
    return [
        f"left out: {'1 image' if count == 1 else f'{count} images'} without features ({name})"
        for count, name in left_out
    ]
