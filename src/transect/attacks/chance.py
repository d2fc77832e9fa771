"""Randomness that belongs to the item: a draw depends on the item's key, the seed and what is drawn, on nothing else.

Keys and salts are mixed by the finalizer of SplitMix64 (Steele, Lea and Flood 2014, doi:10.1145/2660193.2660195), so
that neither the order of the rows, nor which other rows there are, nor a batch changes an item's draw.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

import numpy as np
from jaxtyping import Float, UInt64

_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_FIRST: Final = np.uint64(0xBF58476D1CE4E5B9)
_SECOND: Final = np.uint64(0x94D049BB133111EB)


def item_keys(ids: Iterable[object]) -> UInt64[np.ndarray, " n"]:
    """A key per identifier: the first eight bytes of BLAKE2b of its text."""
    digests = b"".join(hashlib.blake2b(str(item).encode(), digest_size=8).digest() for item in ids)
    return np.frombuffer(digests, dtype=np.uint64)


def mixed(
    keys: UInt64[np.ndarray, " *shape"], *salts: int | UInt64[np.ndarray, " *salted"]
) -> UInt64[np.ndarray, " *out"]:
    """Keys mixed with one salt after the other (whole numbers from 0, or arrays that broadcast against the keys)."""
    for salt in salts:
        # An array wraps around without a warning, where a scalar would give one.
        salted = np.atleast_1d(np.asarray(salt, dtype=np.uint64)) + np.uint64(1)
        keys = _finalize(keys + _GOLDEN * salted)
    return keys


def uniforms(
    keys: UInt64[np.ndarray, " *shape"], *salts: int | UInt64[np.ndarray, " *salted"]
) -> Float[np.ndarray, " *out"]:
    """Uniform draws in [0, 1), float64, one for each mixed key."""
    return (mixed(keys, *salts) >> np.uint64(11)) * 2.0**-53


def _finalize(z: UInt64[np.ndarray, " *shape"]) -> UInt64[np.ndarray, " *shape"]:
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return np.asarray(z ^ (z >> np.uint64(31)))
