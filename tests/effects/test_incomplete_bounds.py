"""Bounds of effects where paraphrases were not answered: by hand, against every way to fill them, and by property."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transect.effects.interrogation import TOO_FEW, paired_bounds
from transect.effects.wordings import incomplete_bounds
from transect.errors import BadInput


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


def test_one_paraphrase_of_yes_or_no_is_the_paired_bound():
    rng = np.random.default_rng(1)
    first, second = (rng.random((2, 40, 3)) < 0.4).astype(float)
    second[rng.random(second.shape) < 0.1] = np.nan
    assert incomplete_bounds(first[:, :, None], second[:, :, None]) == paired_bounds(first, second)


def test_what_was_not_sent_does_not_count():
    first, second = np.zeros((12, 2, 1)), np.ones((12, 2, 1))
    second[:, 1] = np.nan
    sent = np.array([[True, False]] * 12)
    bounds = incomplete_bounds(first, second, sent=sent)
    assert (bounds.smallest, bounds.largest) == (1.0, 1.0)


def test_a_scale_that_is_wrong_is_refused_and_numbers_that_do_not_vary_have_no_interval():
    with pytest.raises(BadInput, match="from 0 to 10, got 3 to 12"):
        incomplete_bounds(np.full((1, 1, 1), 3.0), np.full((1, 1, 1), 12.0), scale=(0.0, 10.0))
    with pytest.raises(BadInput, match="from 5 to 0, got none"):
        incomplete_bounds(np.full((1, 1, 1), np.nan), np.full((1, 1, 1), np.nan), scale=(5.0, 0.0))
    with pytest.raises(BadInput, match="of one shape"):
        incomplete_bounds(np.zeros((2, 1, 1)), np.zeros((2, 1, 2)))
    same = incomplete_bounds(np.full((20, 1, 1), 3.0), np.full((20, 1, 1), 5.0), scale=(0.0, 10.0), binary=False)
    assert (same.smallest, same.largest, same.reason) == (
        pytest.approx(2.0),
        pytest.approx(2.0),
        "a level does not vary: no band",
    )


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
