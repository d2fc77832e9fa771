"""Landmarks of faces in a data set: x and y of the points of each row, in pixels of its picture as it is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from jaxtyping import Float

from transect.datasets.files import columns_of, lines_of
from transect.errors import BadInput

Points = Float[np.ndarray, "n k 2"]
COUNTS: Final = (5, 68)
"""Eyes, tip of the nose and corners of the mouth, left in the picture first; the 68 of 300-W in dlib's order."""


def of_lists(cells: Sequence[Sequence[object] | None], source: str) -> Points:
    """From x and y one after another; NaN where there are none."""
    counts = {len(cell) for cell in cells if cell}
    if len(counts) != 1 or not counts <= {2 * count for count in COUNTS}:
        found = ", ".join(map(str, sorted(counts))) or "none"
        raise BadInput(f"{source}: expected x and y of 5 or 68 points in each row, got {found} numbers; name others")
    nothing = [np.nan] * counts.pop()
    try:
        return np.array([cell or nothing for cell in cells], dtype=np.float64).reshape(len(cells), -1, 2)
    except (TypeError, ValueError):
        raise BadInput(f"{source}: expected numbers as landmarks, got something else; name others") from None


def of_celeba(source: Path, ids: Sequence[str]) -> Points:
    """The five points of CelebA's file of landmarks by stems of file names; NaN for a picture that it lacks."""
    known = _rows(source)
    cells = [known.get(name) for name in ids]
    return of_lists(cells, str(source)) if any(cells) else np.full((len(ids), COUNTS[0], 2), np.nan)


def _rows(source: Path) -> Mapping[str, list[float]]:
    if source.suffix == ".csv":
        rows = [list(row) for row in zip(*columns_of(source).values(), strict=True)]
    else:
        rows = [line.split() for line in lines_of(source)[2:]]
    try:
        return {Path(row[0]).stem: [float(cell) for cell in row[1:]] for row in rows}
    except (ValueError, TypeError):
        raise BadInput(f"{source}: expected a file name and numbers in each row, got others; fetch it again") from None
