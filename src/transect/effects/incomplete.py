"""What could an effect be if every paraphrase had been answered? Worst-case bounds of numbers, choices, and yes or no.

An image asked in several paraphrases is incomplete where one of them has no answer. Its value then lies between those
that it would have with the smallest and with the largest answer in each gap.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from jaxtyping import Bool, Float, Int

from transect.effects import missing_answers
from transect.effects.missing_answers import Bounds
from transect.errors import BadInput

SOURCES: Final = missing_answers.SOURCES[:1]


def incomplete_bounds(
    first: Float[np.ndarray, "n cells wordings *repeats"],
    second: Float[np.ndarray, "n cells wordings *repeats"],
    *,
    scale: tuple[float, float] = (0.0, 1.0),
    binary: bool = True,
    sent: Bool[np.ndarray, "n cells"] | None = None,
    people: Int[np.ndarray, " n"] | None = None,
    seed: int = 0,
) -> Bounds:
    """Worst-case bounds of the mean over subjects of second - first, where answers are missing in a bounded range.

    first, second: answers at the two levels, NaN where one is missing; scale: the smallest and the largest answer that
    the question allows; binary: answers of 0 and 1 (also those that are coded as the ends of the scale), else numbers.
    sent: which pairs count, answered or not (default: all). An image's value is the mean of its answers, all equally.
    people: who is on each subject, where several show one person, who then is the unit.

    For the smallest effect a missing answer is the largest at the first level and the smallest at the second; for the
    largest effect the other way (Manski 1990). No assumption is made about why an answer is missing. Of
    yes or no, each bound has the interval of a paired difference, from 10 subjects on; of numbers, a band covers both
    at once (`bands.mean_band`), from 20 subjects on and where they vary.

    Returns bounds in the units of the scale, at most its width in size.

    Raises BadInput where the shapes differ, the scale is inverted, or an answer is beyond it.

    >>> asked = np.array([[[20.0, 40.0]], [[30.0, np.nan]]])  # ages from 0 to 100
    >>> bounds = incomplete_bounds(np.full((2, 1, 2), 30.0), asked, scale=(0.0, 100.0), binary=False)
    >>> round(bounds.smallest, 6), round(bounds.largest, 6)  # the second subject's effect is -15 to 35
    (-7.5, 17.5)
    """
    low, high = scale
    known = np.concatenate([values[np.isfinite(values)] for values in (first, second)])
    if first.shape != second.shape:
        raise BadInput(f"expected answers of one shape at both levels, got {first.shape} and {second.shape}")
    if not low < high or (len(known) and not low <= known.min() <= known.max() <= high):
        span = f"{known.min():g} to {known.max():g}" if len(known) else "none"
        raise BadInput(f"expected answers from {low:g} to {high:g}, got {span}; give the ends of the scale")
    counted = np.ones(first.shape[:2], dtype=np.bool_) if sent is None else sent
    flat = [(values.reshape(*values.shape[:2], -1) - low) / (high - low) for values in (first, second)]
    least, most = ([np.nan_to_num(values, nan=end).mean(axis=2) for values in flat] for end in (0.0, 1.0))
    found = missing_answers.bounded_effect(
        least[1] - most[0], most[1] - least[0], counted, pairs=float(first[0].size) if len(first) else 1.0,
        binary=binary, people=people, seed=seed,
    )  # fmt: skip
    width = high - low
    ends = width * found.smallest, width * found.largest, width * found.low, width * found.high
    return Bounds(*ends, found.reason)
