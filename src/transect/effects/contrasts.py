"""What does an attribute change within a subject? Differences between levels and slopes, one number per subject.

Arrays of a transect design: outcomes float64 [n, *shape], one axis per varied attribute, NaN where there is no valid
answer. A subject's difference averages over the cells of the other attributes, and compares only images of the same
cell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float

from transect.effects.exclusions import Exclusions
from transect.errors import BadInput
from transect.records import Attribute, Design

PAIR_INCOMPLETE: Final = "pair incomplete"
"""A valid image that is left out because no other level of its cell is valid."""


@final
@dataclass(frozen=True, slots=True)
class Contrast:
    """One estimand, and what each subject says about it.

    differences: float64 [n], NaN where a subject has no valid pair; the effect is their mean. base: how rare the
    outcome is, the smallest over the compared levels of the rate and of 1 - rate. reach: the largest difference of
    one subject with outcomes in [0, 1]. pairs: most pairs that one subject averages over. excluded: reason -> images
    left out, so that n_images and these add up to the images of the compared levels. same_test_as: the contrast whose
    differences these are, but for a factor: with three evenly spaced levels, all or none valid in each cell, the slope
    is the last level minus the first, divided by their distance.
    """

    name: str
    attribute: str
    kind: str
    origin: float
    to: float
    per: str
    differences: Float[np.ndarray, " n"]
    base: float
    reach: float
    pairs: float
    n_images: int
    excluded: Mapping[str, int]
    same_test_as: str = ""

    @property
    def n_subjects(self) -> int:
        """Subjects with at least one valid pair."""
        return int(np.isfinite(self.differences).sum())

    @property
    def subjects_dropped(self) -> int:
        """Subjects without any valid pair."""
        return len(self.differences) - self.n_subjects


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
    if values.shape != (design.subjects, *design.shape) or np.shape(reasons) != values.shape:
        raise BadInput(
            f"expected values and reasons of shape {(design.subjects, *design.shape)}, got {values.shape} and "
            f"{np.shape(reasons)}; reshape them to [subjects, *design.shape]"
        )
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
    first: Float[np.ndarray, "n cells"], second: Float[np.ndarray, "n cells"]
) -> Float[np.ndarray, " n"]:
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
        base=rarer_rate(two, paired),
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
        base=rarer_rate(grid, used),
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


def rarer_rate(grid: Float[np.ndarray, "n levels cells"], used: Bool[np.ndarray, "n levels cells"]) -> float:
    """The smallest rate of a level, of the outcome or its opposite; NaN where a level has no image."""
    rates = _divide(np.where(used, grid, 0.0).sum(axis=(0, 2)), used.sum(axis=(0, 2)))
    return float(np.min(np.minimum(rates, 1 - rates)))


def excluded_pairs(used: Bool[np.ndarray, "n levels cells"], why: Exclusions) -> dict[str, int]:
    """Images left out by reason; those whose partner is missing under a reason of their own."""
    excluded = why.count(np.ones_like(used))
    alone = int(((why.codes < 0) & ~used).sum())
    return {**excluded, PAIR_INCOMPLETE: alone} if alone else excluded


def known_mean(values: Float[np.ndarray, " ..."]) -> float:
    """The mean of what is known; NaN where nothing is."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else math.nan


def by_level(array: np.ndarray, axis: int) -> np.ndarray:
    """Outcomes [n, *shape] as [n, levels of one attribute, cells of the others]."""
    moved = np.moveaxis(array, axis + 1, 1)
    return moved.reshape(moved.shape[0], moved.shape[1], -1)


def _divide(above: np.ndarray, below: np.ndarray) -> Float[np.ndarray, " ..."]:
    return np.asarray(np.divide(above, below, out=np.full(np.shape(above), np.nan), where=below > 0))
