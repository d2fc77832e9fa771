"""What an attacker is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from transect.attacks.records import Problem
from transect.runs.progress import Progress


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

    def attack(self, problems: Sequence[Problem], stage: str = "") -> list[Float[np.ndarray, "_ _"]]:
        """For each problem a float array [tested rows, classes]: the class with the largest score is the guess.

        A problem's answer depends on that problem alone. stage: the label of the progress on standard error; "" is
        silent.
        """


def watched(name: str, stage: str, problems: Sequence[Problem]) -> Iterator[Problem]:
    """The problems one by one; each counts as done when the next is asked for. Silent without a stage."""
    with Progress(f"{stage}: {name}", len(problems), quiet=not stage) as progress:
        for problem in problems:
            yield problem
            progress.advance(1)
