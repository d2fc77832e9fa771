"""Bounds of effects where paraphrases were not answered: by hand, against every way to fill them, and by property."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transect.effects.interrogation import TOO_FEW
from transect.effects.wordings import incomplete_bounds


def test_bounds_are_the_extremes_over_every_way_to_fill_the_gaps():
    rng = np.random.default_rng(0)
    tables = rng.integers(0, 11, size=(2, 3, 2, 2)).astype(float)
    gaps = [(0, 0, 1, 0), (1, 0, 0, 1), (1, 2, 1, 1), (0, 1, 0, 0)]
    for gap in gaps:
        tables[gap] = np.nan
    bounds = incomplete_bounds(*tables, scale=(0.0, 10.0), binary=False)
    effects = []
    for filled in itertools.product([0.0, 4.0, 10.0], repeat=4):
        for gap, value in zip(gaps, filled, strict=True):
            tables[gap] = value
        effects.append((tables[1] - tables[0]).mean(axis=(1, 2)).mean())
    assert (bounds.smallest, bounds.largest) == pytest.approx((min(effects), max(effects)))
    assert bounds.reason == TOO_FEW


def test_what_was_not_sent_does_not_count():
    first, second = np.zeros((12, 2, 1)), np.ones((12, 2, 1))
    second[:, 1] = np.nan
    sent = np.array([[True, False]] * 12)
    bounds = incomplete_bounds(first, second, sent=sent)
    assert (bounds.smallest, bounds.largest) == (1.0, 1.0)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_the_effect_of_the_whole_table_lies_within(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.uniform(-5, 20, size=(2, 20, 2, 3))
    truth = (second - first).mean()
    second[rng.random(second.shape) < 0.2] = np.nan
    bounds = incomplete_bounds(first, second, scale=(-5.0, 20.0), binary=False)
    assert bounds.smallest - 1e-9 <= truth <= bounds.largest + 1e-9
    assert bounds.low <= bounds.smallest <= bounds.largest <= bounds.high
