"""Which images of a subject are shown side by side: pairs of cells of a transect."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final

import numpy as np

from transect.records import Design

MOST_CELLS: Final = 6
"""Cells up to which every pair of a subject's images is shown."""
Pair = tuple[int, int]
"""Two numbers of cells, the lower one first."""


def cell_pairs(design: Design) -> tuple[Pair, ...]:
    """The pairs of cells that each subject is shown at, by number, the lower one first; () without levels.

    Up to six cells all pairs; of more cells those of two levels of one attribute, the others at their first level.

    >>> cell_pairs(Design({"tone": (0.0, 1.0), "hat": (0.0, 1.0)}, subjects=9))
    ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
    >>> cell_pairs(Design({"tone": (0.0, 1.0), "age": (20.0, 40.0, 60.0, 80.0)}, subjects=9))
    ((0, 4), (0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
    """
    if not design.levels:
        return ()
    if all_pairs(design):
        return tuple(itertools.combinations(range(design.n_cells), 2))
    return tuple(pair for axis in range(len(design.shape)) for pair in _along_edge(design, axis))


def all_pairs(design: Design) -> bool:
    """Whether a subject has so few cells that every two of them are shown."""
    return design.n_cells <= MOST_CELLS


def rule(design: Design) -> str:
    """Which pairs these are, in words."""
    if all_pairs(design):
        return f"all pairs of the {design.n_cells} images of a subject"
    return (
        f"of the {design.n_cells} images of a subject the pairs that differ in one attribute alone, with the other "
        "attributes at their first level"
    )


def along(design: Design, name: str) -> dict[Pair, list[Pair]]:
    """The shown pairs that differ in one attribute alone, by the places of its two levels.

    >>> along(Design({"tone": (0.0, 1.0), "hat": (0.0, 1.0)}, subjects=9), "tone")
    {(0, 1): [(0, 2), (1, 3)]}
    """
    axis = list(design.levels).index(name)
    places = np.array(list(itertools.product(*map(range, design.shape))))
    found: dict[Pair, list[Pair]] = {}
    for first, second in cell_pairs(design):
        if np.flatnonzero(places[first] != places[second]).tolist() == [axis]:
            found.setdefault((int(places[first, axis]), int(places[second, axis])), []).append((first, second))
    return dict(sorted(found.items()))


def _along_edge(design: Design, axis: int) -> Iterator[Pair]:
    """Pairs of the levels of one attribute, the others at their first."""
    step = int(np.prod(design.shape[axis + 1 :], dtype=np.int64))
    yield from ((low * step, high * step) for low, high in itertools.combinations(range(design.shape[axis]), 2))
