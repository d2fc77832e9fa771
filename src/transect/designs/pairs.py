"""Pairs of images: of one subject, shown side by side, and of two subjects, matched on labels.

Which images of a subject are shown side by side: pairs of cells of a transect.

Pairs of images of different subjects that differ in one label and are matched on others, as they were found.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int

from transect.errors import BadInput
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
    shown: list[Pair] = []
    for axis, count in enumerate(design.shape):
        step = int(np.prod(design.shape[axis + 1 :], dtype=np.int64))
        shown += [(low * step, high * step) for low, high in itertools.combinations(range(count), 2)]
    return tuple(shown)


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


@final
@dataclass(frozen=True, slots=True)
class MatchedPairs:
    """Pairs of observed images by number, in order of their first, which is at the lower level of `attribute`. name: of
    their file.
    """

    attribute: str
    first: tuple[int, ...]
    second: tuple[int, ...]
    name: str

    def __len__(self) -> int:
        return len(self.first)

    @property
    def sha256(self) -> str:
        """A digest of the pairs, whatever the file was called."""
        return digest(list(zip(self.first, self.second, strict=True)))

    def of_images(self, images: range) -> list[tuple[int, int, int]]:
        """Number, first and second image of each pair whose first image is among these.

        >>> pairs = MatchedPairs("hat", (1, 4), (3, 2), "pairs.csv")
        >>> pairs.of_images(range(2)), pairs.of_images(range(2, 5))
        ([(0, 1, 3)], [(1, 4, 2)])
        """
        both = zip(self.first, self.second, strict=True)
        return [(number, first, second) for number, (first, second) in enumerate(both) if first in images]


def digest(pairs: Sequence[tuple[int, int]]) -> str:
    """SHA-256 of the numbers of images."""
    return hashlib.sha256(np.array(pairs, dtype="<i8").reshape(-1, 2).tobytes()).hexdigest()


def matched_pairs(
    attribute: str, values: Float[np.ndarray, " n"], pairs: Sequence[tuple[int, int]], name: str
) -> MatchedPairs:
    """The pairs with the lower level first, in order. values: of the attribute, of each image, NaN where unknown.

    Raises BadInput for a pair whose images have one level, or an unknown one, and for a pair that is there twice.

    >>> found = matched_pairs("hat", np.array([1.0, 0.0, 0.0, 1.0]), [(3, 2), (0, 1)], "pairs.csv")
    >>> found.first, found.second
    ((1, 2), (0, 3))
    """
    turned = sorted((a, b) if values[a] < values[b] else (b, a) for a, b in pairs)
    alike = [(a, b) for a, b in pairs if values[a] == values[b] or np.isnan(values[[a, b]]).any()]
    if alike:
        a, b = alike[0]
        raise BadInput(
            f"{name}: expected pairs that differ in {attribute}, got {len(alike)} of {len(pairs)} that do "
            f"not, first images {a} and {b}; were the pairs made from these images, and matched by "
            f"{attribute}?"
        )
    twice = next((pair for pair, following in itertools.pairwise(turned) if pair == following), None)
    if twice is not None:
        raise BadInput(f"{name}: expected each pair once, got images {twice[0]} and {twice[1]} twice; keep one")
    return MatchedPairs(attribute, tuple(a for a, _ in turned), tuple(b for _, b in turned), name)


def clusters(
    first: Int[np.ndarray, " m"], second: Int[np.ndarray, " m"], people: Int[np.ndarray, " n"]
) -> Int[np.ndarray, " m"]:
    """A number for each pair, the same for pairs that share a person, directly or through other pairs.

    people: who is on each image.

    >>> clusters(np.array([0, 1, 4]), np.array([2, 3, 5]), np.array([7, 8, 9, 9, 6, 5])).tolist()
    [0, 0, 1]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    _, place = np.unique(people, return_inverse=True)
    n = int(place.max(initial=-1)) + 1
    joined = coo_array((np.ones(len(first)), (place[first], place[second])), shape=(n, n))
    _, group = connected_components(joined, directed=False)
    number = {each: place for place, each in enumerate(dict.fromkeys(group[place[first]].tolist()))}
    return np.array([number[each] for each in group[place[first]].tolist()], dtype=np.int64)


def level_numbers(
    levels: Sequence[str], values: Mapping[int, float], pairs: Sequence[tuple[int, int]]
) -> tuple[tuple[str, ...], list[tuple[int, int]]]:
    """Names of the levels that occur, and the two levels of each pair by their places among them.

    levels: names of all, () of a number, of which a pair has the lower and the higher value. values: by image.

    >>> level_numbers(("no", "some", "yes"), {0: 0.0, 5: 2.0}, [(0, 5)])
    (('no', 'yes'), [(0, 1)])
    >>> level_numbers((), {0: 20.0, 5: 41.0}, [(0, 5)])
    (('lower', 'higher'), [(0, 1)])
    """
    if not levels:
        return ("lower", "higher"), [(0, 1)] * len(pairs)
    seen = sorted({int(values[image]) for pair in pairs for image in pair})
    place = {level: number for number, level in enumerate(seen)}
    return tuple(levels[level] for level in seen), [
        (place[int(values[first])], place[int(values[second])]) for first, second in pairs
    ]
