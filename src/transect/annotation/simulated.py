"""Raters that are simulated by a stated psychometric model, so that you can try a whole study without people.

A rater sees x = truth + bias + drift * t + noise, where t counts their answers, noise is normal, and answers the level
whose thresholds x lies between; a share `lapse` of answers is any level, all equally likely. With equal noise this is
the ordered probit of signal detection (Wickens 2002, Elementary Signal Detection Theory, ch. 5), lapses as in Wichmann
& Hill 2001, doi:10.3758/BF03194544.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike
from scipy.special import ndtr

from transect.errors import BadInput
from transect.runs.wording import counted

NAME: Final = "simulated"
"""Simulated raters are simulated-001, simulated-002 and so on."""
NO_PEOPLE: Final = "which say nothing about people"


def simulated_count(raters: Iterable[str | None]) -> int:
    """How many answers are of simulated raters. raters: of each answer.

    >>> simulated_count(["simulated-001", "rater-0001", None, "simulated-001"])
    2
    """
    return sum((rater or "").startswith(f"{NAME}-") for rater in raters)


def notice(simulated: int, answers: int) -> str:
    """That answers are of simulated raters, in words; "" where none is.

    >>> notice(2, 3), notice(0, 3)
    ('2 of 3 answers are of simulated raters, which say nothing about people', '')
    """
    return f"{simulated:,} of {counted(answers, 'answer')} are of simulated raters, {NO_PEOPLE}" if simulated else ""


@final
@dataclass(frozen=True, slots=True)
class Psychometric:
    """How one rater answers. thresholds: between neighbouring levels, in the units of the truth, in order.

    noise: standard deviation of one look; lapse: share of answers given blindly, 0 to 1; bias: added to every look;
    drift: added per answer given. Raises BadInput for thresholds out of order, noise below 0, or another share.

    >>> Psychometric((0.5,)).probabilities(0.5).round(2).tolist()
    [0.5, 0.5]
    """

    thresholds: tuple[float, ...]
    noise: float = 0.1
    lapse: float = 0.0
    bias: float = 0.0
    drift: float = 0.0

    def __post_init__(self) -> None:
        if not self.thresholds or list(self.thresholds) != sorted(set(self.thresholds)):
            raise BadInput(f"thresholds: expected one or more, rising, got {self.thresholds}; sort them")
        if not (self.noise >= 0 and 0 <= self.lapse <= 1):
            raise BadInput(f"expected noise of 0 or more and a lapse of 0 to 1, got {self.noise} and {self.lapse}")

    def probabilities(self, truth: ArrayLike, answered: int = 0) -> Float[np.ndarray, "*n levels"]:
        """How probable each level is for a truth, after `answered` answers."""
        x = np.asarray(truth, dtype=np.float64)[..., None] + self.bias + self.drift * answered
        gaps = np.asarray(self.thresholds) - x
        with np.errstate(over="ignore"):  # next to no noise: infinitely many standard deviations away
            below = ndtr(gaps / self.noise) if self.noise else (gaps > 0).astype(float)
        ends = np.zeros((*below.shape[:-1], 1))
        shares = np.diff(np.concatenate([ends, below, ends + 1], axis=-1), axis=-1)
        return np.asarray((1 - self.lapse) * shares + self.lapse / shares.shape[-1])


def even_thresholds(levels: int, low: float = 0.0, high: float = 1.0) -> tuple[float, ...]:
    """Thresholds that give each level an even part of a range.

    >>> even_thresholds(4)
    (0.25, 0.5, 0.75)
    """
    if levels < 2:
        raise BadInput(f"levels: expected 2 or more, got {levels}")
    return tuple(np.linspace(low, high, levels + 1)[1:-1].tolist())


def answers(
    rater: Psychometric, truth: ArrayLike, seeds: Sequence[int] | Int[np.ndarray, " n"], start: int = 0
) -> Int[np.ndarray, " n"]:
    """Levels that a rater answers about images with these truths [n], one after another.

    seeds [n]: each look's chance, which is of the image and the rater alone whatever else is asked; start: answers that
    the rater has given before.
    """
    values = np.asarray(truth, dtype=np.float64)
    chances = np.array([np.random.default_rng(seed).random() for seed in seeds])
    shares = np.stack([rater.probabilities(value, start + place) for place, value in enumerate(values)])
    return np.asarray((chances[:, None] > shares.cumsum(axis=1)[:, :-1]).sum(axis=1), dtype=np.int64)


def seed_of(*parts: object) -> int:
    """A seed from what a draw is about.

    >>> seed_of("rater-0001", "smile", "3-0001") == seed_of("rater-0001", "smile", "3-0001")
    True
    """
    return zlib.crc32("/".join(map(str, parts)).encode())
