"""What a reading of a photograph should be once an attribute was set on it: stated for a level, or moved the same way.

Latents lie along a direction, so that unedited images show which reading to expect at a value. Photographs all lie at
the level "as it is": what is expected of another level has to be stated, or is the way in which the reading moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, final, runtime_checkable

import numpy as np
from jaxtyping import Float


@runtime_checkable
class Intended(Protocol):
    """What the reading of an attribute should be at each of its values."""

    @property
    def tolerance(self) -> float:
        """By how much a reading may miss it, in the reader's unit; NaN where it only has to move one way."""
        ...

    def excess(
        self,
        edited: Float[np.ndarray, " n"],
        unedited: Float[np.ndarray, " n"],
        values: Float[np.ndarray, " n"],
    ) -> Float[np.ndarray, " n"]:
        """Above 0 where the reading misses what was set; NaN where that cannot be said.

        edited, unedited: readings of an image and of its subject's own; values: what was set.
        """
        ...


@final
@dataclass(frozen=True, slots=True)
class Stated:
    """A reading for each level; at the level "as it is" that of the photograph itself.

    >>> glasses = Stated({1.0: 0.0, 2.0: 1.0}, 0.0, 0.5)
    >>> seen, levels = np.array([0.9, 0.1, 0.9, 0.2]), np.array([0.0, 1.0, 1.0, 2.0])
    >>> (glasses.excess(seen, np.full(4, 0.9), levels) > 0).tolist()
    [False, False, True, True]
    """

    readings: Mapping[float, float]
    as_it_is: float
    tolerance: float

    def excess(
        self,
        edited: Float[np.ndarray, " n"],
        unedited: Float[np.ndarray, " n"],
        values: Float[np.ndarray, " n"],
    ) -> Float[np.ndarray, " n"]:
        """Distance to the stated reading beyond the tolerance; NaN for levels of which none is stated."""
        wanted = np.array([self.readings.get(value, np.nan) for value in values.tolist()], dtype=np.float64)
        wanted = np.where(values == self.as_it_is, unedited, wanted)
        return np.asarray(np.abs(edited - wanted) - self.tolerance)


@final
@dataclass(frozen=True, slots=True)
class Moved:
    """The reading rises where the level was raised above "as it is", and falls where it was lowered.

    >>> exposure = Moved(0.0)
    >>> seen, levels = np.array([0.5, 0.7, 0.4, 0.5]), np.array([0.0, 1.0, 1.0, -1.0])
    >>> (exposure.excess(seen, np.full(4, 0.5), levels) > 0).tolist()
    [False, False, True, True]
    """

    as_it_is: float
    tolerance: float = np.nan

    def excess(
        self,
        edited: Float[np.ndarray, " n"],
        unedited: Float[np.ndarray, " n"],
        values: Float[np.ndarray, " n"],
    ) -> Float[np.ndarray, " n"]:
        """1 where the reading stays or moves the other way, else -1; at the level as it is -1."""
        way = np.sign(values - self.as_it_is)
        moved = way * (edited - unedited)
        fails = np.where((way != 0) & (moved <= 0), 1.0, -1.0)
        return np.asarray(np.where(np.isfinite(moved), fails, np.nan))
