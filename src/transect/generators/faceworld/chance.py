"""A subject's own chance: every draw comes from the subject's seed and a named stream, never from its place in a batch.

Source of the counter-based generator: Salmon et al. 2011, Parallel random numbers: as easy as 1, 2, 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from transect.errors import BadInput


class Stream(IntEnum):
    """Independent streams of one subject."""

    NOISE = 0
    TEXTURE = 1
    SENSOR = 2


def check_seeds(seeds: Sequence[Any] | Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """The seeds as int64; raises BadInput unless they are whole numbers from 0 to 2⁶³ - 1 in one list."""
    array = np.asarray(seeds)
    whole = array.ndim == 1 and (array.size == 0 or np.issubdtype(array.dtype, np.integer))
    if not whole or (array.size and (array.min() < 0 or array.max() > np.iinfo(np.int64).max)):
        raise BadInput(f"expected seeds as a list of whole numbers from 0 to 2^63 - 1, got {seeds!r}; change them")
    return array.astype(np.int64)


def generator(seed: int, stream: Stream) -> np.random.Generator:
    """The generator of that subject and stream."""
    return np.random.Generator(np.random.Philox(key=np.array([seed, int(stream)], dtype=np.uint64)))


def exogenous_noise(seeds: Int[np.ndarray, " n"], dimensions: int) -> Float[np.ndarray, "n d"]:
    """U ~ N(0, I): one row per subject.

    >>> both, one = exogenous_noise(np.array([3, 7]), 4), exogenous_noise(np.array([7]), 4)
    >>> bool((both[1] == one[0]).all())
    True
    """
    rows = [generator(int(seed), Stream.NOISE).standard_normal(dimensions) for seed in seeds]
    return np.array(rows).reshape(len(seeds), dimensions)
