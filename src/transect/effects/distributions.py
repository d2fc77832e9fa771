"""Do attributes vary together? Distributions by group, and standardized differences of two groups.

In photographs as sampled, hair length goes with gender and both with age; transects are made so that they do not
(Balakrishnan et al. 2020, Fig. 11 and 12). A standardized mean difference compares two groups in units of their SD:
beyond 0.1 a confounder is commonly called unbalanced (Austin 2009).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from transect.effects.samples import Columns, read_columns
from transect.errors import BadInput

SOURCE: Final = (
    "Austin 2009, Balance diagnostics for comparing the distribution of baseline covariates between treatment groups, "
    "doi:10.1002/sim.3697"
)
UNBALANCED: Final = 0.1
BINS: Final = 24


@final
@dataclass(frozen=True, slots=True)
class Distribution:
    """An attribute's values in one group: counts [bins] between edges [bins + 1], quartiles, images, missing ones."""

    attribute: str
    group: str
    edges: Float[np.ndarray, " e"]
    counts: np.ndarray
    quartiles: tuple[float, float, float]
    mean: float
    n: int
    missing: int


def distributions(
    columns: Columns, groups: Sequence[str] | np.ndarray | None = None, bins: int = BINS
) -> tuple[Distribution, ...]:
    """Histograms of every attribute in every group, on common edges, for violins."""
    names, values = read_columns(columns)
    texts = _groups(groups, len(values))
    chosen = sorted({text for text in texts.tolist() if text})
    rows = []
    for name, column in zip(names, values.T, strict=True):
        edges = _edges(column[np.isfinite(column)], bins)
        rows += [_distribution(name, group, column[texts == group], edges) for group in chosen]
    return tuple(rows)


def smd(first: ArrayLike, second: ArrayLike) -> float:
    """(mean of second - mean of first) / root of the mean variance; NaN where that is 0 or a group has fewer than 2."""
    a, b = (np.asarray(part, dtype=np.float64) for part in (first, second))
    a, b = a[np.isfinite(a)], b[np.isfinite(b)]
    if len(a) < 2 or len(b) < 2:
        return float("nan")
    spread = np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / 2)
    size = max(np.abs(a).max(), np.abs(b).max())
    return float((b.mean() - a.mean()) / spread) if spread > 1e-12 * size else float("nan")


def _distribution(
    name: str, group: str, values: Float[np.ndarray, " n"], edges: Float[np.ndarray, " e"]
) -> Distribution:
    known = values[np.isfinite(values)]
    low, middle, high = np.quantile(known, [0.25, 0.5, 0.75]) if len(known) else (np.nan,) * 3
    mean = float(known.mean()) if len(known) else np.nan
    quartiles = (float(low), float(middle), float(high))
    counts = np.histogram(known, edges)[0]
    return Distribution(name, group, edges, counts, quartiles, mean, len(known), len(values) - len(known))


def _edges(values: Float[np.ndarray, " n"], bins: int) -> Float[np.ndarray, " e"]:
    """Common edges: around each value where there are few, else equal widths."""
    different = np.unique(values)
    if len(different) == 0:
        return np.array([0.0, 1.0])
    if len(different) <= bins:
        half = np.diff(different).min() / 2 if len(different) > 1 else 0.5
        middle = (different[1:] + different[:-1]) / 2
        return np.concatenate([[different[0] - half], middle, [different[-1] + half]])
    return np.linspace(different[0], different[-1], bins + 1)


def _groups(groups: Sequence[str] | np.ndarray | None, n: int) -> np.ndarray:
    texts = np.array(["all"] * n if groups is None else [str(group) for group in groups], dtype=object)
    if len(texts) != n:
        raise BadInput(f"groups: expected one per image, {n}, got {len(texts)}; pass one for each image")
    return texts
