"""Within-subject contrasts, slopes and interactions of a full factorial."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int

from transect.effects import clusters, resampling
from transect.effects.samples import Exclusions
from transect.errors import BadInput, UnknownName
from transect.records import Attribute, Design


@final
@dataclass(frozen=True, slots=True)
class CellMeans:
    """Means of the cells of a factorial, and the subjects' influences on them.

    means: float64 [cells], NaN where no image is valid. influence: [n, cells]; a weighted sum of means has the variance
    of the same sum of influences between subjects, over n. values, valid: [n, cells], sums and numbers of images.
    """

    means: Float[np.ndarray, " cells"]
    influence: Float[np.ndarray, "n cells"]
    values: Float[np.ndarray, "n cells"]
    valid: Float[np.ndarray, "n cells"]

    @classmethod
    def of(cls, values: Float[np.ndarray, "n ..."], people: Int[np.ndarray, " n"] | None = None) -> CellMeans:
        """Cell means of outcomes [n, *shape], NaN where there is no valid image."""
        flat = values.reshape(len(values), -1)
        who = clusters.clusters_of(people)
        if who is None:
            valid = np.isfinite(flat).astype(np.float64)
            filled = np.where(valid > 0, flat, 0.0)
        else:
            filled, valid = clusters.by_person(flat, who)
        images = valid.sum(axis=0)
        means, residual = resampling.ratio(filled, valid)
        return cls(means, residual * len(filled) / np.maximum(images, 1.0), filled, valid)

    @property
    def empty(self) -> int:
        """Cells without any valid image."""
        return int((~np.isfinite(self.means)).sum())

    def pseudo_values(self, weights: Float[np.ndarray, "cells k"]) -> Float[np.ndarray, "n k"]:
        """For each weighted sum of cell means, a value per subject whose mean is the sum and whose spread its error."""
        empty = ~np.isfinite(self.means)
        sums = np.where(empty, 0.0, self.means) @ weights + self.influence @ weights
        return np.where((weights[empty] != 0).any(axis=0), np.nan, sums)


HIGHEST_ORDER: Final = 3
BY: Final = " × "


@final
@dataclass(frozen=True, slots=True)
class Contrast:
    """One estimand, and what each subject says about it.

    differences: float64 [n], NaN where a subject has no valid pair, or set of corners; the effect is their mean. reach:
    the largest difference of one subject with outcomes in [0, 1]. pairs: most pairs that one subject averages over.
    excluded: reason -> images left out, so that n_images and these add up to the images of the compared levels.
    same_test_as: the contrast whose differences these are, but for a factor: with three evenly spaced levels, all or
    none valid in each cell, the slope is the last level minus the first, divided by their distance. spec: of a
    combination of attributes its order, `attributes`, `from` and `to`.
    """

    name: str
    attribute: str
    kind: str
    origin: float
    to: float
    per: str
    differences: Float[np.ndarray, " n"]
    reach: float
    pairs: float
    n_images: int
    excluded: Mapping[str, int]
    same_test_as: str = ""
    spec: Mapping[str, object] = field(default_factory=dict)

    @property
    def n_subjects(self) -> int:
        """Subjects with at least one valid pair."""
        return int(np.isfinite(self.differences).sum())

    @property
    def subjects_dropped(self) -> int:
        """Subjects without any valid pair."""
        return len(self.differences) - self.n_subjects


def interactions(
    values: Float[np.ndarray, "n ..."],
    reasons: np.ndarray,
    design: Design,
    attributes: Mapping[str, Attribute],
    *,
    orders: Sequence[int] = (1, 2, 3),
) -> list[Contrast]:
    """Main effects (order 1) and interactions (orders 2 and 3) of a transect design, in the order of its attributes.

    The attribute of an interaction is "a × b". Its reach is that of one set of corners, in each of which a subject has
    as many pairs.
    """
    _check_shape(values, reasons, design)
    if not set(orders) <= set(range(1, HIGHEST_ORDER + 1)):
        raise BadInput(f"expected orders of 1, 2 and 3, got {list(orders)}; leave out the others")
    for name in design.levels:
        if name not in attributes:
            raise UnknownName("attribute", name, attributes, hint="see: transect list attributes")
    exclusions = Exclusions.of(values, reasons)
    return [
        _interaction(values, exclusions, design, attributes, chosen, ends)
        for order in sorted(set(orders))
        for chosen in itertools.combinations(range(len(design.levels)), order)
        for ends in itertools.product(*(_ends(axis, design, attributes) for axis in chosen))
    ]


def _check_shape(values: Float[np.ndarray, "n ..."], reasons: np.ndarray, design: Design) -> None:
    if values.shape != (design.subjects, *design.shape) or np.shape(reasons) != values.shape:
        raise BadInput(
            f"expected values and reasons of shape {(design.subjects, *design.shape)}, got {values.shape} and "
            f"{np.shape(reasons)}; reshape them to [subjects, *design.shape]"
        )


def _ends(axis: int, design: Design, attributes: Mapping[str, Attribute]) -> Iterator[tuple[int, int]]:
    """Positions of the two levels of each comparison."""
    name, levels = list(design.levels.items())[axis]
    last = len(levels) - 1
    yield from ((0, level) for level in (range(1, last + 1) if attributes[name].discrete else [last] * (last > 0)))


def _interaction(
    values: Float[np.ndarray, "n ..."],
    exclusions: Exclusions,
    design: Design,
    attributes: Mapping[str, Attribute],
    chosen: tuple[int, ...],
    ends: tuple[tuple[int, int], ...],
) -> Contrast:
    names = [list(design.levels)[axis] for axis in chosen]
    corners = _corners(values, chosen, ends)
    codes = _corners(exclusions.codes, chosen, ends)
    used = np.isfinite(corners).all(axis=1, keepdims=True) & np.ones(corners.shape, dtype=bool)
    spans = [
        (design.levels[name][first], design.levels[name][second])
        for name, (first, second) in zip(names, ends, strict=True)
    ]
    labels = [
        f"{attributes[name].label(origin)} to {attributes[name].label(to)}"
        for name, (origin, to) in zip(names, spans, strict=True)
    ]
    order, (origins, to) = len(chosen), zip(*spans, strict=True)
    return Contrast(
        name=f"{BY.join(names)}: {BY.join(labels)}",
        attribute=BY.join(names),
        kind="contrast" if order == 1 else "interaction",
        origin=origins[0] if order == 1 else math.nan,
        to=to[0] if order == 1 else math.nan,
        per="",
        differences=_signed_mean(corners, used),
        reach=2.0 ** (order - 1),
        pairs=2.0 ** (order - 1) * corners.shape[2],
        n_images=int(used.sum()),
        excluded=excluded_pairs(used, Exclusions(codes, exclusions.names)),
        spec={"order": order, "attributes": tuple(names), "from": origins, "to": to},
    )


def _corners(array: np.ndarray, chosen: tuple[int, ...], ends: tuple[tuple[int, int], ...]) -> np.ndarray:
    """[n, 2^order corners, cells of the other attributes]; the corners count in binary, the last attribute fastest."""
    for axis, pair in zip(chosen, ends, strict=True):
        array = np.take(array, pair, axis=axis + 1)
    moved = np.moveaxis(array, [axis + 1 for axis in chosen], range(1, len(chosen) + 1))
    return moved.reshape(len(array), 2 ** len(chosen), -1)


def _signed_mean(
    corners: Float[np.ndarray, "n c cells"], used: Bool[np.ndarray, "n c cells"]
) -> Float[np.ndarray, " n"]:
    """Each subject's mean over complete cells of the corners' signed sum: + where an even number stay at the origin."""
    order = corners.shape[1].bit_length() - 1
    signs = np.array([(-1.0) ** (order - corner.bit_count()) for corner in range(2**order)])
    sums = np.einsum("c,ncm->n", signs, np.where(used, corners, 0.0))
    complete = used[:, 0].sum(axis=1)
    return np.asarray(np.divide(sums, complete, out=np.full(len(corners), np.nan), where=complete > 0))


PAIR_INCOMPLETE: Final = "pair incomplete"
"""A valid image that is left out because no other level of its cell is valid."""


def contrasts(
    values: Float[np.ndarray, "n ..."], reasons: np.ndarray, design: Design, attributes: Mapping[str, Attribute]
) -> list[Contrast]:
    """Every contrast of a transect design, in the order of its attributes.

    Binary and categorical attributes: each level minus the first. Continuous and ordinal ones: the last level minus the
    first, and with three levels or more the slope per unit of the attribute.

    values: [n, *design.shape]; reasons: the same shape, why a value is NaN.

    Raises BadInput when the shapes differ or the design varies nothing.

    >>> glasses = Attribute("glasses", "binary", "wears glasses", levels=("off", "on"))
    >>> y, why = np.array([[0.0, 1.0], [0.0, np.nan]]), np.array([["", ""], ["", "failed: timed out"]], dtype=object)
    >>> result = contrasts(y, why, Design({"glasses": (0.0, 1.0)}, subjects=2), {"glasses": glasses})[0]
    >>> result.name, result.differences, dict(result.excluded)
    ('glasses: off to on', array([ 1., nan]), {'failed': 1, 'pair incomplete': 1})
    """
    if not design.levels:
        raise BadInput(
            "contrasts within subjects need a design that varies an attribute; give --vary, or see analyse_population"
        )
    _check_shape(values, reasons, design)
    exclusions = Exclusions.of(values, reasons)
    rows = []
    for axis, (name, levels) in enumerate(design.levels.items()):
        grid, why = by_level(values, axis), Exclusions(by_level(exclusions.codes, axis), exclusions.names)
        attribute = attributes[name]
        last = range(1, len(levels)) if attribute.discrete else [len(levels) - 1]
        rows += [_level_contrast(attribute, levels, grid, why, level) for level in last]
        if not attribute.discrete and len(levels) >= 3:
            slope = _slope(attribute, np.array(levels, dtype=np.float64), grid, why)
            rows.append(replace(slope, same_test_as=rows[-1].name) if _of_ends_alone(grid, levels) else slope)
    return rows


def level_differences(
    first: Float[np.ndarray, "n cells ..."], second: Float[np.ndarray, "n cells ..."]
) -> Float[np.ndarray, "n ..."]:
    """Each subject's mean of second - first over the cells where both are valid; NaN where none is."""
    paired = np.isfinite(first) & np.isfinite(second)
    sums = np.where(paired, second, 0.0).sum(axis=1) - np.where(paired, first, 0.0).sum(axis=1)
    return _divide(sums, paired.sum(axis=1))


def slopes(grid: Float[np.ndarray, "n levels cells"], levels: Float[np.ndarray, " levels"]) -> Float[np.ndarray, " n"]:
    """Each subject's least-squares slope of the outcome on the level, per unit, with an intercept for each cell."""
    x = _centered(grid, levels)
    terms = x * np.nan_to_num(grid)
    above = terms.sum(axis=(1, 2))
    # Terms that cancel leave a remainder in the last bits; a subject without a slope must count as one.
    above[np.abs(above) <= 1e-12 * np.abs(terms).sum(axis=(1, 2))] = 0.0
    return _divide(above, (x**2).sum(axis=(1, 2)))


def steepest_slope(levels: Sequence[float]) -> float:
    """The steepest slope of a subject with an outcome in [0, 1] at every level: 1 above the mean level and 0 below."""
    x = np.array(levels, dtype=np.float64)
    return _steepest((x - x.mean())[None, :, None])


def _level_contrast(
    attribute: Attribute,
    levels: tuple[float, ...],
    grid: Float[np.ndarray, "n levels cells"],
    why: Exclusions,
    level: int,
) -> Contrast:
    two, why = grid[:, [0, level]], Exclusions(why.codes[:, [0, level]], why.names)
    paired = np.isfinite(two).all(axis=1, keepdims=True) & np.ones_like(two, dtype=bool)
    origin, to = levels[0], levels[level]
    return Contrast(
        name=f"{attribute.name}: {attribute.label(origin)} to {attribute.label(to)}",
        attribute=attribute.name,
        kind="contrast",
        origin=origin,
        to=to,
        per="",
        differences=level_differences(two[:, 0], two[:, 1]),
        reach=1.0,
        pairs=float(grid.shape[2]),
        n_images=int(paired.sum()),
        excluded=excluded_pairs(paired, why),
    )


def _slope(
    attribute: Attribute,
    levels: Float[np.ndarray, " levels"],
    grid: Float[np.ndarray, "n levels cells"],
    why: Exclusions,
) -> Contrast:
    used = np.isfinite(grid) & (np.isfinite(grid).sum(axis=1, keepdims=True) >= 2)
    return Contrast(
        name=f"{attribute.name}: slope",
        attribute=attribute.name,
        kind="slope",
        origin=float(levels[0]),
        to=float(levels[-1]),
        per=attribute.unit or "unit",
        differences=slopes(grid, levels),
        reach=_steepest(_centered(grid, levels)),
        pairs=float(grid.shape[1] * grid.shape[2]),
        n_images=int(used.sum()),
        excluded=excluded_pairs(used, why),
    )


def _of_ends_alone(grid: Float[np.ndarray, "n levels cells"], levels: Sequence[float]) -> bool:
    """Whether slopes say nothing of the levels between the first and the last."""
    even = len(levels) == 3 and math.isclose(levels[1] - levels[0], levels[2] - levels[1], rel_tol=1e-9)
    known = np.isfinite(grid).sum(axis=1)
    return even and bool(((known == 0) | (known == 3)).all())


def _centered(
    grid: Float[np.ndarray, "n levels cells"], levels: Float[np.ndarray, " levels"]
) -> Float[np.ndarray, "n levels cells"]:
    """The level of each valid image minus the mean level of its cell's valid images; 0 elsewhere."""
    valid = np.isfinite(grid)
    if len(grid) > 1 and valid.all():
        return np.broadcast_to(_centered(grid[:1], levels), grid.shape)  # of a complete grid all subjects are alike
    x = np.where(valid, levels[None, :, None], 0.0)
    mean = _divide(x.sum(axis=1, keepdims=True), valid.sum(axis=1, keepdims=True))
    return np.where(valid, x - np.nan_to_num(mean), 0.0)


def _steepest(x: Float[np.ndarray, "n levels cells"]) -> float:
    """The steepest slope that a subject can have: outcome 1 at its levels above the mean and 0 below; 1 without any."""
    steepest = _divide(np.abs(x).sum(axis=(1, 2)) / 2, (x**2).sum(axis=(1, 2)))
    return float(np.max(steepest, where=np.isfinite(steepest), initial=0.0)) or 1.0


def excluded_pairs(used: Bool[np.ndarray, "n levels cells"], why: Exclusions) -> dict[str, int]:
    """Images left out by reason; those whose partner is missing under a reason of their own."""
    excluded = why.count(np.ones_like(used))
    alone = int(((why.codes < 0) & ~used).sum())
    return {**excluded, PAIR_INCOMPLETE: alone} if alone else excluded


def known_mean(values: Float[np.ndarray, " ..."]) -> float:
    """The mean of what is known; NaN where nothing is."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else math.nan


def known_means(values: Float[np.ndarray, " ..."], axis: int) -> Float[np.ndarray, " ..."]:
    """The means along an axis of what is known; NaN where nothing is."""
    known = np.isfinite(values)
    return _divide(np.where(known, values, 0.0).sum(axis=axis), known.sum(axis=axis))


def by_level(array: np.ndarray, axis: int) -> np.ndarray:
    """Outcomes [n, *shape] as [n, levels of one attribute, cells of the others]."""
    moved = np.moveaxis(array, axis + 1, 1)
    return moved.reshape(moved.shape[0], moved.shape[1], -1)


def _divide(above: np.ndarray, below: np.ndarray) -> Float[np.ndarray, " ..."]:
    return np.asarray(np.divide(above, below, out=np.full(np.shape(above), np.nan), where=below > 0))
