"""Rates of every cell and every combination of levels, how they change, and whether images between two of one class
keep it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from transect.effects import intervals
from transect.effects.clusters import by_person, clusters_of
from transect.effects.intervals import (
    CLOPPER_PEARSON,
    NO_INTERVAL,
    WILSON,
    WILSON_CLUSTERED,
    clopper_pearson_clustered,
    mean_interval,
    wilson_clustered,
)
from transect.effects.intervals import SOURCES as INTERVALS
from transect.effects.samples import Exclusions
from transect.errors import BadInput
from transect.records import Attribute, Design, Estimate

HIGHEST_ORDER: Final = 3
MOST_CELLS: Final = 2400
"""Cells of a population's rates; with many attributes the triples alone would be tens of thousands."""
_NUMBERS_AT_ONCE: Final = 1 << 24


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Rate(Estimate):
    """The mean outcome of a cell, a proportion where the outcome is 0 or 1, with its interval.

    cell: attribute -> value, empty for all images; order: number of attributes in it. The estimate is NaN where
    no image has a valid answer. excluded: reason -> images left out. method: of the interval, empty where there is
    none. bounds: attribute -> (low, high) where `cell` stands for a range of values, as in a population.
    """

    cell: Mapping[str, float]
    order: int
    n_subjects: int
    n_images: int
    excluded: Mapping[str, int]
    method: str
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)


def transect_rates(
    values: Float[np.ndarray, "n ..."],
    reasons: np.ndarray,
    levels: Mapping[str, Sequence[float]],
    *,
    people: Int[np.ndarray, " n"] | None = None,
    is_binary: bool,
    answers: int = 1,
    max_order: int = HIGHEST_ORDER,
    confidence: float = 0.95,
) -> tuple[Rate, ...]:
    """Rates of a transect design: values and reasons [n, *shape] with one axis per attribute of `levels`.

    Binary outcomes have Wilson intervals, on the effective number of images where a subject contributes several; others
    the pooled mean with `intervals.mean_interval`. answers: of how many answers of 0 or 1 an image's value is the
    share; they count as images do. Images count equally. people: who is on each subject, where several show one person,
    who then is the unit of the interval.

    Returns the overall rate, then every level of each attribute, then the intersections of two and of three attributes.
    """
    index = np.stack(np.meshgrid(*(np.arange(len(column)) for column in levels.values()), indexing="ij"), axis=-1)
    n, n_cells = len(values), index[..., 0].size
    clusters = clusters_of(people)
    who = np.arange(n) if clusters is None else clusters
    images = GroupedImages(
        values=values.reshape(-1),
        exclusions=Exclusions.of(values.reshape(-1), np.asarray(reasons, dtype=object).reshape(-1)),
        subjects=np.repeat(who, n_cells),
        n_subjects=int(who.max(initial=-1)) + 1,
        groups=np.tile(index.reshape(n_cells, -1), (n, 1)),
        levels={name: tuple(float(value) for value in column) for name, column in levels.items()},
    )
    return grouped_rates(
        images,
        is_binary=is_binary,
        answers=answers,
        max_order=max_order,
        confidence=confidence,
    )


def affordable_order(sizes: Sequence[int], max_order: int = HIGHEST_ORDER, most: int = MOST_CELLS) -> tuple[int, int]:
    """The largest number of attributes, 1 to `max_order`, whose cells are at most `most`, and the cells beyond."""
    cells = [
        sum(math.prod(chosen) for chosen in itertools.combinations(sizes, order)) for order in range(1, max_order + 1)
    ]
    order = max(1, sum(total <= most for total in itertools.accumulate(cells)))
    return min(order, max_order), sum(cells[order:])


@final
@dataclass(frozen=True, slots=True)
class GroupedImages:
    """Outcomes of N images in a flat list, each with its subject (0 to n_subjects - 1) and, per attribute, its group.

    groups: int64 [N, attributes], index into the attribute's `levels`, -1 where the image has no value of the
    attribute. bounds: attribute -> the range of each group, where groups are ranges.
    """

    values: Float[np.ndarray, " N"]
    exclusions: Exclusions
    subjects: Int[np.ndarray, " N"]
    n_subjects: int
    groups: Int[np.ndarray, "N a"]
    levels: Mapping[str, tuple[float, ...]]
    bounds: Mapping[str, tuple[tuple[float, float], ...]] = field(default_factory=dict)


def grouped_rates(
    images: GroupedImages,
    *,
    is_binary: bool,
    answers: int = 1,
    max_order: int = HIGHEST_ORDER,
    confidence: float = 0.95,
) -> tuple[Rate, ...]:
    """Rates overall, by attribute and by intersection up to `max_order`, of images that carry their groups."""
    rates: list[Rate] = []
    for block in _blocks(images, max_order):
        totals, counts = np.hstack([t.totals for t in block]), np.hstack([t.counts for t in block])
        if is_binary:
            low, high = wilson_clustered(answers * totals, answers * counts, confidence)
            several = answers * counts.sum(axis=0) > (counts > 0).sum(axis=0)
            methods = tuple(np.where(several, WILSON_CLUSTERED, WILSON).tolist())
        else:
            bounds = mean_interval(totals, counts, confidence=confidence)
            low, high, methods = bounds.low, bounds.high, bounds.methods
        first = 0
        for table in block:
            last = first + table.totals.shape[1]
            rates += _rates(images, table, low[first:last], high[first:last], methods[first:last])
            first = last
    return tuple(rates)


@dataclass(frozen=True, slots=True)
class _Table:
    """Sums and counts [subjects, cells] over the cells of one set of attributes."""

    attributes: tuple[str, ...]
    totals: Float[np.ndarray, "n k"]
    counts: Float[np.ndarray, "n k"]
    excluded: tuple[dict[str, int], ...]


def _blocks(images: GroupedImages, max_order: int) -> Iterator[list[_Table]]:
    """Tables of all sets of up to `max_order` attributes, several at once to share the resamples."""
    block: list[_Table] = []
    numbers = 0
    for order in range(min(max_order, len(images.levels)) + 1):
        for chosen in itertools.combinations(range(len(images.levels)), order):
            table = _table(images, chosen)
            if block and numbers + table.totals.size > _NUMBERS_AT_ONCE:
                yield block
                block, numbers = [], 0
            block.append(table)
            numbers += table.totals.size
    yield block


def _table(images: GroupedImages, chosen: tuple[int, ...]) -> _Table:
    names = tuple(list(images.levels)[index] for index in chosen)
    shape = tuple(len(images.levels[name]) for name in names)
    groups = images.groups[:, list(chosen)]
    grouped = np.asarray((groups >= 0).all(axis=1))
    cell = np.ravel_multi_index(tuple(groups.clip(0).T), shape) if chosen else np.zeros(len(groups), dtype=np.int64)
    k = math.prod(shape)
    valid = grouped & np.isfinite(images.values)
    place, size = images.subjects[valid] * k + cell[valid], images.n_subjects * k
    totals = np.bincount(place, weights=images.values[valid], minlength=size).reshape(-1, k).astype(np.float64)
    counts = np.bincount(place, minlength=size).reshape(-1, k).astype(np.float64)
    return _Table(names, totals, counts, _excluded(images.exclusions, cell, grouped, k))


def _excluded(
    exclusions: Exclusions, cell: Int[np.ndarray, " N"], grouped: np.ndarray, k: int
) -> tuple[dict[str, int], ...]:
    q = len(exclusions.names)
    out = grouped & (exclusions.codes >= 0)
    counts = np.bincount(cell[out] * q + exclusions.codes[out], minlength=k * q).reshape(k, q)
    return tuple({name: int(n) for name, n in zip(exclusions.names, row, strict=True) if n} for row in counts)


def _rates(
    images: GroupedImages,
    table: _Table,
    low: Float[np.ndarray, " k"],
    high: Float[np.ndarray, " k"],
    methods: Sequence[str],
) -> Iterator[Rate]:
    n_images, n_subjects = table.counts.sum(axis=0), (table.counts > 0).sum(axis=0)
    mean = np.divide(table.totals.sum(axis=0), n_images, out=np.full(n_images.shape, np.nan), where=n_images > 0)
    places = itertools.product(*(range(len(images.levels[name])) for name in table.attributes))
    for k, place in enumerate(places):
        cell = dict(zip(table.attributes, place, strict=True))
        yield Rate(
            cell={name: images.levels[name][index] for name, index in cell.items()},
            order=len(cell),
            estimate=float(mean[k]),
            low=float(low[k]),
            high=float(high[k]),
            n_subjects=int(n_subjects[k]),
            n_images=int(n_images[k]),
            excluded=table.excluded[k],
            method=methods[k] if np.isfinite(low[k]) else NO_INTERVAL,
            bounds={name: images.bounds[name][index] for name, index in cell.items() if name in images.bounds},
        )


def interpolation_consistency(
    ends: ArrayLike, between: ArrayLike, confidence: float = 0.95
) -> dict[str, dict[str, float]]:
    """Denton et al.'s sanity check: share of images between two latents of one class that keep that class.

    ends: the class [m] of both ends of each line; between: classes [m, k] of k images on it, NaN where there is no
    answer. The line is the cluster. Returns, for "all" and each class, share, low, high, lines, images and dropped:
    lines whose ends have no class (NaN), which are in no class and not in "all".
    """
    label, classes_between = np.asarray(ends, dtype=np.float64).reshape(-1), np.asarray(between, dtype=np.float64)
    if classes_between.ndim != 2 or len(classes_between) != len(label):
        raise BadInput(
            f"between: expected [lines, images], {len(label)} lines, got {classes_between.shape}; reshape it"
        )
    known = np.isfinite(label)
    classes: Sequence[float] = np.unique(label[known]).tolist()
    chosen = {"all": known, **{f"{label_value:g}": label == label_value for label_value in classes}}
    by_class = {}
    for name, rows in chosen.items():
        answered = np.isfinite(classes_between[rows])
        same = np.where(answered, classes_between[rows] == label[rows][:, None], np.nan)
        line = np.repeat(np.arange(len(same)), same.shape[1])
        found = intervals.share_by_subject(same.ravel(), line, confidence)
        by_class[name] = {
            "share": found.estimate,
            "low": found.low,
            "high": found.high,
            "lines": int(rows.sum()),
            "images": int(answered.sum()),
            "dropped": int((~known).sum()) if name == "all" else 0,
        }
    return by_class


SOURCES: Final = (INTERVALS[CLOPPER_PEARSON], INTERVALS[WILSON_CLUSTERED])
FEW_SUBJECTS: Final = 10
"""Intervals of subjects that have several pairs each are withheld below this number of subjects."""
TOO_FEW: Final = f"fewer than {FEW_SUBJECTS} subjects with several pairs each: no interval"
_NAN: Final = float("nan")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Share(Estimate):
    """A share of pairs in [0, 1], each subject with equal weight, and its 95 % interval; NaN where there is none.

    pairs, subjects: how many pairs change this way, and how many subjects, or people who repeat, have such a pair.
    """

    pairs: int
    subjects: int


@final
@dataclass(frozen=True, slots=True)
class Changes:
    """The pairs of one contrast of an outcome of 0 and 1 that change from 0 to 1 (up) and from 1 to 0 (down).

    up.estimate - down.estimate is the effect. reason: why there is no interval.
    """

    name: str
    attribute: str
    origin: float
    to: float
    up: Share
    down: Share
    n_pairs: int
    n_subjects: int
    reason: str = ""

    @property
    def net(self) -> float:
        """The effect: the share that changes up minus the share that changes down."""
        return self.up.estimate - self.down.estimate


def changes(
    values: Float[np.ndarray, "n ..."],
    design: Design,
    attributes: Mapping[str, Attribute],
    *,
    who: Int[np.ndarray, " n"] | None = None,
    confidence: float = 0.95,
) -> tuple[Changes, ...]:
    """The changes behind each contrast of an outcome of 0 and 1, [n, *design.shape], NaN where there is no answer.

    The contrasts are those of `contrasts`, without slopes. With one pair per subject intervals are exact
    (Clopper and Pearson 1934); with several they use the effective number of pairs (Korn and Graubard 1998), from 10
    subjects on. who: the person of each subject, where several photographs show one person (`repeated.clusters_of`):
    shares stay means over photographs, and pairs of one person are one cluster; subjects are then people.

    Returns one record per contrast; shares are NaN where no subject has a pair.

    >>> glasses = Attribute("glasses", "binary", "wears glasses", levels=("off", "on"))
    >>> y = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    >>> row = changes(y, Design({"glasses": (0.0, 1.0)}, subjects=4), {"glasses": glasses})[0]
    >>> row.up.estimate, row.down.estimate, row.net
    (0.5, 0.25, 0.25)
    """
    rows = []
    for axis, (name, levels) in enumerate(design.levels.items()):
        moved = np.moveaxis(values, axis + 1, 1)
        grid = moved.reshape(len(moved), len(levels), -1)
        attribute = attributes[name]
        for level in range(1, len(levels)) if attribute.discrete else [len(levels) - 1]:
            text = f"{name}: {attribute.label(levels[0])} to {attribute.label(levels[level])}"
            rows.append(_changes(text, name, (levels[0], levels[level]), grid[:, [0, level]], who, confidence))
    return tuple(rows)


def _changes(
    text: str,
    attribute: str,
    levels: tuple[float, float],
    two: Float[np.ndarray, "n 2 cells"],
    who: Int[np.ndarray, " n"] | None,
    confidence: float,
) -> Changes:
    paired = np.isfinite(two).all(axis=1)
    pairs = paired.sum(axis=1)
    rise = np.where(paired, two[:, 1] - two[:, 0], 0.0)
    people = np.arange(len(two)) if who is None else who
    subjects = len(np.unique(people[pairs > 0]))
    few = (two.shape[2] > 1 or who is not None) and subjects < FEW_SUBJECTS
    up, down = (_share((sign * rise > 0).sum(axis=1), pairs, people, few, confidence) for sign in (1.0, -1.0))
    return Changes(text, attribute, *levels, up, down, int(pairs.sum()), subjects, TOO_FEW if few and subjects else "")


def _share(hits: np.ndarray, pairs: np.ndarray, people: np.ndarray, few: bool, confidence: float) -> Share:
    """Subjects with fewer pairs than others count as much as they do, as in the effect; people are the clusters."""
    have = pairs > 0
    if not have.any():
        return Share(pairs=0, subjects=0)
    shares = hits[have] / pairs[have]
    totals, counts = by_person(shares[:, None], np.unique(people[have], return_inverse=True)[1])
    weight = pairs[have].mean()
    low, high = clopper_pearson_clustered(totals * weight, counts * weight, confidence)
    ends = (_NAN, _NAN) if few else (float(low[0]), float(high[0]))
    subjects = len(np.unique(people[hits > 0]))
    return Share(float(shares.mean()), *ends, pairs=int(hits.sum()), subjects=subjects)
