"""What an attacker is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from transect.leakage.records import Problem


@runtime_checkable
class Attacker(Protocol):
    """Learns the protected class from evidence; is asked about many problems at a time.

    is_slow: a permutation costs seconds rather than milliseconds. is_random: rounds with other seeds differ.
    knows_noise: learns from the clean categories where labels are noisy copies of them.
    """

    name: str
    is_slow: bool
    is_random: bool
    knows_noise: bool

    def attack(self, problems: Sequence[Problem]) -> list[Float[np.ndarray, "_ _"]]:
        """For each problem a float array [tested rows, classes]: the class with the largest score is the guess.

        A problem's answer depends on that problem alone.
        """
        ...
