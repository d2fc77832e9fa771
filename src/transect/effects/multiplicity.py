"""How many of these would chance give? Adjusted p-values over a family; NaN passes through and is not counted."""

from __future__ import annotations

from typing import Final

import numpy as np
from jaxtyping import Float

SOURCES: Final = {
    "holm": "Holm 1979, A simple sequentially rejective multiple test procedure, "
    "Scandinavian Journal of Statistics 6(2)",
    "benjamini-hochberg": "Benjamini and Hochberg 1995, Controlling the false discovery rate, "
    "doi:10.1111/j.2517-6161.1995.tb02031.x",
}


def holm(p: Float[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
    """Holm's step-down p-values: reject those <= alpha and the chance of any false rejection is at most alpha.

    Valid under any dependence between the tests. Holm 1979.

    >>> holm(np.array([0.01, 0.04, np.nan, 0.03]))  # 3 * .01, then 2 * .03, and .04 may not come before it
    array([0.03, 0.06,  nan, 0.06])
    """
    adjusted = np.full(len(p), np.nan)
    order = np.flatnonzero(np.isfinite(p))
    order = order[np.argsort(p[order], kind="stable")]
    remaining = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(remaining * p[order]), 1.0)
    return adjusted


def benjamini_hochberg(p: Float[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
    """Benjamini and Hochberg's step-up p-values: among those <= q, at most a share q is expected to be false.

    Valid for independent or positively dependent tests. Benjamini and Hochberg 1995.

    >>> benjamini_hochberg(np.array([0.01, 0.04, np.nan, 0.03]))  # .01 * 3/1, .03 * 3/2 held at .04 * 3/3
    array([0.03, 0.04,  nan, 0.04])
    """
    adjusted = np.full(len(p), np.nan)
    order = np.flatnonzero(np.isfinite(p))
    order = order[np.argsort(p[order], kind="stable")][::-1]
    m = len(order)
    adjusted[order] = np.minimum.accumulate(p[order] * m / np.arange(m, 0, -1)) if m else p[order]
    return adjusted
