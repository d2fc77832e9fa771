"""Data sets whose leakage is known by hand."""

import numpy as np
from places import SHARED

from transect.attacks import labelled

IMSITU = SHARED / "imsitu_verb_gender.parquet"


def planted(n=4000, seed=0, excess=0.25, k=4, split=True):
    """Half the categories come with class 1 with probability 1/2 + excess, the others with 1/2 - excess."""
    rng = np.random.default_rng(seed)
    category = rng.integers(0, k, n)
    share = 0.5 + excess * np.where(category < k // 2, 1, -1)
    protected = (rng.random(n) < share).astype(int)
    places = np.where(np.arange(n) % 4 == 3, "test", "train") if split else None
    return labelled(category, protected, split=places)


def planted_bits(n=4000, seed=0, k=6, strength=1.0):
    """Independent bits; the odds of class 1 are multiplied by exp(strength) for the first bit; split 3 to 1."""
    rng = np.random.default_rng(seed)
    bits = rng.random((n, k)) < 0.4
    protected = (rng.random(n) < 1 / (1 + np.exp(strength * (0.5 - bits[:, 0])))).astype(int)
    return labelled(bits, protected, split=np.where(np.arange(n) % 4 == 3, "test", "train"))
