"""Draws belong to the item."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest

from transect.attacks.records import item_keys, mixed, uniforms

MASK = (1 << 64) - 1


def mixed_by_hand(key, salts):
    """SplitMix64's finalizer in Python's own whole numbers."""
    z = key
    for salt in salts:
        z = (z + 0x9E3779B97F4A7C15 * (salt + 1)) & MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        z ^= z >> 31
    return z


@settings(deadline=None)
@given(st.integers(0, MASK), st.lists(st.integers(0, 1 << 40), min_size=1, max_size=3))
def test_mixing_is_splitmix(key, salts):
    assert int(mixed(np.array([key], dtype=np.uint64), *salts)[0]) == mixed_by_hand(key, salts)


def test_the_first_output_of_splitmix_with_seed_0():
    # Published test vector: the first output for seed 0 is 0xE220A8397B1DCDAF.
    assert int(mixed(np.array([0], dtype=np.uint64), 0)[0]) == 0xE220A8397B1DCDAF


def test_draws_are_uniform_and_independent_of_their_salt():
    keys = item_keys(range(20_000))
    one, other = uniforms(keys, 1, 0), uniforms(keys, 1, 1)
    assert kstest(one, "uniform").pvalue > 1e-4
    assert abs(np.corrcoef(one, other)[0, 1]) < 4 / np.sqrt(len(keys))
