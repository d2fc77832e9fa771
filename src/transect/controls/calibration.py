"""The values along a direction between which labels see an attribute appear: step ranges from data, not by hand.

Balakrishnan et al. 2020, arXiv:2007.06570, §4.1.2 set the ranges of their transects by eye; here the labels that a fit
did not see say where an attribute is seen.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from jaxtyping import Float

SEEN: Final = 0.9
"""Share of the labels that see a binary attribute at the high end, and do not at the low end."""
TAILS: Final = (5.0, 95.0)
"""Percentiles of a continuous attribute's labels that the two ends reach."""
_FEWEST: Final = 10
_PENALTY: Final = 0.01
_TOLERANCE: Final = 1e-10


def shown_range(
    values: Float[np.ndarray, " n"], labels: Float[np.ndarray, " n"], kind: str, within: tuple[float, float]
) -> tuple[float, float]:
    """The values at which labels see little and much of the attribute, cut to the range `within`.

    values: where rows lie along the direction; labels: what was seen there, of rows that the direction was not fitted
    on. binary: where 10 % and 90 % of the labels are yes, by logistic regression of labels on values; else where the
    mean label is the 5th and the 95th percentile of labels, by a straight line. NaN, NaN where there are fewer than 10
    rows (of a class), or where labels do not rise with the values.
    """
    nothing = (float("nan"), float("nan"))
    if kind == "binary":
        if min((labels == 0).sum(), (labels == 1).sum()) < _FEWEST:
            return nothing
        slope, offset = _logistic(values, labels)
        percentiles = np.log([(1 - SEEN) / SEEN, SEEN / (1 - SEEN)])
    else:
        if len(values) < _FEWEST or np.ptp(values) == 0:
            return nothing
        slope, offset = (float(number) for number in np.polyfit(values, labels, 1))
        percentiles = np.percentile(labels, TAILS)
    if not slope > 0:
        return nothing
    low, high = np.clip((percentiles - offset) / slope, *within)
    return (float(low), float(high)) if low < high else nothing


def _logistic(x: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"]) -> tuple[float, float]:
    """Slope and offset; a slight penalty on the slope per standard deviation, so that separated classes have one."""
    from sklearn.linear_model import LogisticRegression

    scale = float(x.std()) or 1.0
    model = LogisticRegression(C=1 / _PENALTY, solver="newton-cholesky", tol=_TOLERANCE).fit((x / scale)[:, None], y)
    return float(model.coef_[0, 0] / scale), float(model.intercept_[0])
