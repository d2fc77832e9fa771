"""How much of the spread between cells is each attribute's? Sobol indices and Shapley effects of a full factorial.

The mean outcome of a cell, seen as a function of independent attributes, splits into parts of single attributes and of
their combinations (Sobol 1993). Estimated means scatter, which would count as spread: the part that subjects' scatter
adds is taken off, without bias. A grid needs no sampling, so that the split is exact for the means that are there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from transect.effects import repeated
from transect.effects.factorial import CellMeans, Factorial, as_factorial, empty_cells
from transect.errors import BadInput

METHOD: Final = "symmetric bootstrap by subject"
SOURCES: Final = (
    "Sobol 1993, Sensitivity estimates for nonlinear mathematical models, "
    "Mathematical Modeling and Computational Experiment 1(4)",
    "Owen 2014, Sobol' indices and Shapley value, doi:10.1137/130936233",
)
NO_SPREAD: Final = "cell means do not differ by more than chance (permutation test within subjects, p = {p:.2g})"
ONE_SUBJECT: Final = "one subject: no interval"
UNSURE: Final = "no spread beyond scatter in more than one resample of twenty: no interval"
FEW: Final = "{n} subjects, fewer than {least}: no interval"
ALPHA: Final = 0.05
LEAST_SUBJECTS: Final = 60
NOMINAL: Final = 0.4
"""The share of the allowed misses that the bootstrap is given: at 95 % its level is 98 %, since it falls short."""
PERMUTATIONS: Final = 499
_MOST_DRAWS: Final = 2 * 10**7
_AT_ONCE: Final = 2 * 10**6
_MOST_ATTRIBUTES: Final = 12
_ROUNDING: Final = 1e-12


@final
@dataclass(frozen=True, slots=True)
class Shares:
    """One index per attribute, in [0, 1], with its interval; NaN where there is none.

    raw: before they are cut to [0, 1]; taking the scatter off may leave less than 0 or more than 1.
    """

    estimate: Float[np.ndarray, " k"]
    low: Float[np.ndarray, " k"]
    high: Float[np.ndarray, " k"]
    raw: Float[np.ndarray, " k"]


@final
@dataclass(frozen=True, slots=True)
class SobolIndices:
    """How the variance of the cell means is shared.

    first: what an attribute does alone; total: with every combination that it is part of; shapley: each combination's
    part shared equally among its attributes, so that they add up to 1. parts: attributes -> share of the variance that
    belongs to just their combination. variance: of the cell means over the cells, scatter taken off. spread: that plus
    the scatter. reason: why there are no indices, or no intervals.
    """

    attributes: tuple[str, ...]
    first: Shares
    total: Shares
    shapley: Shares
    parts: Mapping[tuple[str, ...], float]
    variance: float
    spread: float
    n_subjects: int
    n_images: int
    n_missing: int
    method: str
    reason: str = ""
    sources: Sequence[str] = SOURCES


def sobol(
    values: Factorial | pa.Table | ArrayLike,
    *,
    outcome: str = "",
    attributes: Sequence[str] = (),
    weights: Mapping[str, Sequence[float]] | None = None,
    people: Int[np.ndarray, " n"] | None = None,
    resamples: int = 500,
    confidence: float = 0.95,
    seed: int = 0,
) -> SobolIndices:
    """First-order and total Sobol indices and Shapley effects of the attributes of a full factorial.

    values: outcomes [n, *shape], NaN without a valid answer, one axis per attribute; or a Factorial; or an Arrow table
    with a row per image and columns `subject`, `outcome` and `attributes`. weights: attribute -> how often each level
    occurs (default: all equally); attributes are taken as independent. people: who is on each subject, where several
    show one person: then people are resampled, and all cells of a person are permuted alike. With one subject the
    outcomes are taken as the function itself. Intervals, from 60 subjects: estimate ∓ the larger tail of the bootstrap
    over subjects, cut to [0, 1].

    Returns SobolIndices; NaN with the reason where cells are empty, or differ by no more than chance: a test permutes
    each subject's cells, at 5 %.

    Raises BadInput for weights that do not fit the levels or do not sum to 1, more than 12 attributes, shapes.

    >>> f = np.array([[[0.0, 1.0], [2.0, 3.0]]])  # 2 a + b: variances 1 and 1/4
    >>> result = sobol(f, attributes=["a", "b"])
    >>> result.first.estimate, result.total.estimate, result.reason
    (array([0.8, 0.2]), array([0.8, 0.2]), 'one subject: no interval')
    """
    data = as_factorial(values, outcome=outcome, attributes=attributes)
    names, shape = tuple(data.levels), data.values.shape[1:]
    if len(names) > _MOST_ATTRIBUTES:
        raise BadInput(f"expected at most {_MOST_ATTRIBUTES} attributes, got {len(names)}; average over the others")
    chances = [_chances(name, size, (weights or {}).get(name)) for name, size in zip(names, shape, strict=True)]
    cells, who = CellMeans.of(data.values, people), repeated.clusters_of(people)
    images, n = int(cells.valid.sum()), len(cells.values)
    counted = (n, images, data.values.size - images)
    if cells.empty:
        return _none(names, counted, empty_cells(cells.empty))
    split = _Split(chances)
    raw = split.parts(cells.means[None])[0]
    scatter = split.parts(cells.influence)
    variances = raw - (scatter.sum(axis=0) / (n * (n - 1)) if n > 1 else 0.0)
    p = spread_test(repeated.of_people(data.values, who), chances, seed) if n > 1 else 0.0
    if p > ALPHA or not _spreads(variances, raw, cells.means):
        return _none(names, counted, NO_SPREAD.format(p=p))
    estimates = split.indices(variances[None])[0]
    low, high, reason = _intervals(cells, split, raw, estimates, resamples, confidence, seed)
    first, total, shapley = (Shares(estimates[row].clip(0, 1), low[row], high[row], estimates[row]) for row in range(3))
    parts = dict(zip(split.named(names), (variances / variances.sum()).tolist(), strict=True))
    return SobolIndices(
        names,
        first,
        total,
        shapley,
        parts,
        float(variances.sum()),
        float(raw.sum()),
        *counted,
        "" if reason else METHOD,
        reason,
    )


def spread_test(values: Float[np.ndarray, "n ..."], chances: Sequence[Float[np.ndarray, " _"]], seed: int = 0) -> float:
    """Test that a subject's cells are exchangeable: p of the variance of the cell means, by permuting them.

    chances: of each level, by attribute. Cells are permuted within each subject, and missing images stay missing.
    Returns an exact p of at least 1/500; there are fewer permutations where there are many images.

    >>> y = np.tile([[0.0, 0.0], [1.0, 1.0]], (8, 1, 1)) + np.arange(8)[:, None, None]
    >>> spread_test(y, [np.full(2, 0.5), np.full(2, 0.5)]) < 0.05
    True
    """
    flat = values.reshape(len(values), -1)
    weights = np.ones(1)
    for chance in chances:
        weights = np.multiply.outer(weights, chance).ravel()
    observed = float(_spreads_of(flat[None], weights)[0]) * (1 - _ROUNDING)
    draws = max(99, min(PERMUTATIONS, _MOST_DRAWS // flat.size))
    block, reached, rng = max(1, _AT_ONCE // flat.size), 0, np.random.default_rng([seed, 1])
    for start in range(0, draws, block):
        shuffled = _permuted(flat, min(block, draws - start), rng)
        reached += int((_spreads_of(shuffled, weights) >= observed).sum())
    return (1 + reached) / (1 + draws)


def _spreads_of(
    tables: Float[np.ndarray, "b n cells"], weights: Float[np.ndarray, " cells"]
) -> Float[np.ndarray, " b"]:
    """The weighted variance of each table's cell means; of the cells that have an image."""
    images = np.isfinite(tables[0]).sum(axis=0)
    there = images > 0
    means = np.nansum(tables[:, :, there], axis=1) / images[there]
    share = weights[there] / weights[there].sum()
    return np.asarray((means - (means @ share)[:, None]) ** 2 @ share)


def _permuted(
    flat: Float[np.ndarray, "n cells"], times: int, rng: np.random.Generator
) -> Float[np.ndarray, "b n cells"]:
    """The table, `times` over, each with its valid cells permuted within every subject."""
    valid = np.isfinite(flat)
    whole = valid.all(axis=1)
    out = np.repeat(flat[None], times, axis=0)
    out[:, whole] = rng.permuted(out[:, whole], axis=2)
    for row in np.flatnonzero(~whole):
        out[:, row, valid[row]] = rng.permuted(out[:, row, valid[row]], axis=1)
    return out


def _chances(name: str, size: int, weights: Sequence[float] | None) -> Float[np.ndarray, " levels"]:
    chances = np.full(size, 1 / size) if weights is None else np.asarray(weights, dtype=np.float64)
    if chances.shape != (size,) or (chances < 0).any() or not math.isclose(float(chances.sum()), 1.0, abs_tol=1e-6):
        raise BadInput(
            f"weights of {name}: expected {size} shares from 0 on that sum to 1, got {len(chances)} with the sum "
            f"{float(chances.sum()):g}; divide them by their sum"
        )
    return chances


def _spreads(
    variances: Float[np.ndarray, " sets"], raw: Float[np.ndarray, " sets"], means: Float[np.ndarray, " cells"]
) -> bool:
    return bool(variances.sum() > _ROUNDING * max(float(raw.sum()), float((means**2).max())))


@final
class _Split:
    """The decomposition of functions on a grid with independent axes: one column per non-empty set of attributes."""

    def __init__(self, chances: Sequence[Float[np.ndarray, " _"]]) -> None:
        self.chances = chances
        self.k = len(chances)
        sets = np.arange(2**self.k)
        members = (sets[:, None] >> np.arange(self.k)) & 1
        inside = (sets[:, None] & ~sets[None, :]) == 0  # [t, s]: t is within s
        sizes = members.sum(axis=1)
        self.moebius = np.where(inside, (-1.0) ** (sizes[None, :] - sizes[:, None]), 0.0)[:, 1:]
        self.members: Int[np.ndarray, "sets k"] = members[1:]

    def parts(self, functions: Float[np.ndarray, "m cells"]) -> Float[np.ndarray, "m sets"]:
        """Each function's variance by set of attributes: closed variances, then inclusion and exclusion."""
        grid = functions.reshape(len(functions), *(len(c) for c in self.chances))
        closed = np.stack([self._closed(grid, chosen) for chosen in range(2**self.k)], axis=1)
        return closed @ self.moebius

    def _closed(self, grid: Float[np.ndarray, "m ..."], chosen: int) -> Float[np.ndarray, " m"]:
        """Mean square of the mean over the attributes that are not chosen."""
        for axis in reversed(range(self.k)):
            if not chosen >> axis & 1:
                grid = np.tensordot(grid, self.chances[axis], axes=(axis + 1, 0))
        grid = grid**2
        for axis in reversed(range(self.k)):
            if chosen >> axis & 1:
                grid = grid @ self.chances[axis]
        return grid

    def indices(self, variances: Float[np.ndarray, "m sets"]) -> Float[np.ndarray, "m 3 k"]:
        """First-order, total and Shapley shares; NaN where the variance is not positive."""
        sizes = self.members.sum(axis=1)
        alone = self.members * (sizes == 1)[:, None]
        weights = np.stack([alone, self.members, self.members / sizes[:, None]])
        whole = variances.sum(axis=1)
        shares = np.einsum("ms,isk->mik", variances, weights)
        safe = np.where(whole > 0, whole, np.nan)
        return np.asarray(shares / safe[:, None, None])

    def named(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        """The names of each set."""
        return [tuple(name for name, inside in zip(names, row, strict=True) if inside) for row in self.members]


def _intervals(
    cells: CellMeans,
    split: _Split,
    raw: Float[np.ndarray, " sets"],
    estimates: Float[np.ndarray, "3 k"],
    resamples: int,
    confidence: float,
    seed: int,
) -> tuple[Float[np.ndarray, "3 k"], Float[np.ndarray, "3 k"], str]:
    """Resampled indices scatter about the indices of the raw means, as ours about the true ones."""
    nothing, n = np.full(estimates.shape, np.nan), len(cells.values)
    if n < LEAST_SUBJECTS:
        return nothing, nothing, ONE_SUBJECT if n < 2 else FEW.format(n=n, least=LEAST_SUBJECTS)
    replicates = split.indices(_resampled(cells, split, resamples, seed))
    known = np.isfinite(replicates).all(axis=(1, 2))
    if known.mean() < confidence:
        return nothing, nothing, UNSURE
    center = split.indices(raw[None])[0]
    tail = NOMINAL * (1 - confidence) / 2
    below, above = np.quantile(replicates[known], [tail, 1 - tail], axis=0)
    half = np.maximum(above - center, center - below)
    low, high = np.clip([estimates - half, estimates + half], 0.0, 1.0)
    return np.minimum(low, estimates.clip(0, 1)), np.maximum(high, estimates.clip(0, 1)), ""


def _resampled(cells: CellMeans, split: _Split, resamples: int, seed: int) -> Float[np.ndarray, "b sets"]:
    """The variances, scatter taken off, of every resample of subjects; NaN where a cell is empty."""
    n = len(cells.values)
    scatter = split.parts(cells.influence)
    blocks = []
    for counts, means in cells.resampled(resamples, seed):
        full = np.isfinite(means).all(axis=1)
        filled = np.where(full[:, None], means, cells.means)
        moved = n * split.parts(filled - cells.means)
        variances = split.parts(filled) - (counts @ scatter - moved) / (n * (n - 1))
        blocks.append(np.where(full[:, None], variances, np.nan))
    return np.concatenate(blocks)


def _none(names: tuple[str, ...], counted: tuple[int, int, int], reason: str) -> SobolIndices:
    nothing = np.full(len(names), np.nan)
    empty = Shares(nothing, nothing, nothing, nothing)
    return SobolIndices(names, empty, empty, empty, {}, math.nan, math.nan, *counted, "", reason)
