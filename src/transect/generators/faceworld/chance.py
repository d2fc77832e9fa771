"""A subject's own chance: every draw comes from the subject's seed and a named stream, never from its place in a batch.

Source of the counter-based generator: Salmon et al. 2011, Parallel random numbers: as easy as 1, 2, 3.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from enum import IntEnum

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtri

from transect.errors import BadInput


class Stream(IntEnum):
    """Independent streams of one subject."""

    NOISE = 0
    TEXTURE = 1
    SENSOR = 2


def check_seeds(seeds: Sequence[object] | Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """The seeds as int64; raises BadInput unless they are whole numbers from 0 to 2⁶³ - 1 in one list."""
    array = np.asarray(seeds)
    whole = array.ndim == 1 and (array.size == 0 or np.issubdtype(array.dtype, np.integer))
    if not whole or (array.size and (array.min() < 0 or array.max() > np.iinfo(np.int64).max)):
        raise BadInput(f"expected seeds as a list of whole numbers from 0 to 2^63 - 1, got {_shown(array)}")
    return array.astype(np.int64)


def _shown(array: np.ndarray) -> str:
    """The first invalid values of a list, or what was passed in place of a list of whole numbers."""
    if array.ndim == 1 and np.issubdtype(array.dtype, np.integer):
        wrong = [value for value in array.tolist() if not 0 <= value <= np.iinfo(np.int64).max]
        return ", ".join(map(str, wrong[:3])) + (f" and {len(wrong) - 3} more" if len(wrong) > 3 else "")
    return f"{' '.join(repr(array.tolist()).split()):.100}"


def _philox(seed: int, stream: Stream) -> np.random.Philox:
    return np.random.Philox(key=np.array([seed, int(stream)], dtype=np.uint64))


def generator(seed: int, stream: Stream) -> np.random.Generator:
    """The generator of that subject and stream."""
    return np.random.Generator(_philox(seed, stream))


def fine_noise(seed: int, stream: Stream, count: int) -> Float[np.ndarray, " count"]:
    """Standard normal float32 in 65,536 equally probable steps: looked up, five times as fast as NumPy's own."""
    words = _philox(seed, stream).random_raw(-(-count // 4)).astype("<u8")
    return _quantiles().take(words.view("<u2")[:count])


@functools.lru_cache(maxsize=1)
def _quantiles() -> Float[np.ndarray, 65536]:
    """The middle of each of 65,536 equally probable parts of the standard normal distribution."""
    return np.asarray(ndtri((np.arange(65536) + 0.5) / 65536), dtype=np.float32)


def exogenous_noise(seeds: Int[np.ndarray, " n"], dimensions: int) -> Float[np.ndarray, "n d"]:
    """U ~ N(0, I): one row per subject."""
    rows = [generator(int(seed), Stream.NOISE).standard_normal(dimensions) for seed in seeds]
    return np.array(rows).reshape(len(seeds), dimensions)
