"""Do an experiment and matched photographs say the same? The difference of two independent estimates, tested.

That an experiment finds an effect and photographs do not, or vice versa, is no disagreement: one may be the
noisier. The test is of their difference itself (Gelman and Stern 2006), with the smallest difference it could detect.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from scipy.special import ndtr, ndtri

from transect.errors import BadInput

SOURCES: Final = (
    "Gelman and Stern 2006, The difference between significant and not significant is not itself statistically "
    "significant, doi:10.1198/000313006X152649",
    "Zou and Donner 2008, Construction of confidence limits about effect measures: a general approach, "
    "doi:10.1002/sim.3095",
)
METHOD: Final = "square-and-add of both intervals; z from their widths"
POWER: Final = 0.8


@final
@dataclass(frozen=True, slots=True)
class Disagreement:
    """One estimate minus another, its interval and p; NaN with a reason.

    smallest_found: the true difference that would be found in 80 % of such studies; smaller ones are easily missed.
    """

    difference: float
    low: float
    high: float
    p: float
    smallest_found: float
    reason: str = ""


def disagreement(
    first: tuple[float, float, float], second: tuple[float, float, float], confidence: float = 0.95
) -> Disagreement:
    """`first` minus `second`, each an estimate with the ends of its interval, of different subjects."""
    numbers = np.array([*first, *second], dtype=np.float64)
    if not np.isfinite(numbers[[0, 3]]).all():
        return Disagreement(*(np.nan,) * 5, "one of the two has no estimate")
    difference = float(numbers[0] - numbers[3])
    if not np.isfinite(numbers).all():
        return Disagreement(difference, *(np.nan,) * 4, "one of the two has no interval")
    (m, m_low, m_high), (e, e_low, e_high) = numbers[:3], numbers[3:]
    if not (m_low <= m <= m_high and e_low <= e <= e_high):
        raise BadInput(f"expected intervals that hold their estimates, got {tuple(first)} and {tuple(second)}")
    low = difference - float(np.hypot(m - m_low, e_high - e))
    high = difference + float(np.hypot(m_high - m, e - e_low))
    z = float(ndtri((1 + confidence) / 2))
    error = float(np.hypot(m_high - m_low, e_high - e_low)) / (2 * z)
    if not error > 0:
        return Disagreement(difference, low, high, np.nan, np.nan, "neither interval has a width: no test")
    smallest = (float(ndtri(0.975)) + float(ndtri(POWER))) * error
    return Disagreement(difference, low, high, float(2 * ndtr(-abs(difference) / error)), smallest)
