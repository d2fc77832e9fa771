"""Planted failures have the volumes that they state."""

import numpy as np
import pytest
from planted_failures import NOISE, SHAPES, failing_target

N = 100_000


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("dimensions", "rate"), [(4, 0.08), (12, 0.005)])
def test_regions_have_their_volume_and_do_not_overlap(shape, dimensions, rate):
    points = np.random.default_rng(1).random((N, dimensions))
    for seed in range(3):
        target = failing_target(shape, dimensions, rate, seed)
        inside = np.array([region.holds(points) for region in target.regions])
        assert inside.sum(axis=0).max() == 1
        error = np.sqrt(rate / N)
        assert abs(target.fails(points).mean() - rate) < 4.5 * error
        for region in inside:
            assert abs(region.mean() - rate / len(inside)) < 4.5 * error


def test_noise_turns_a_share_of_answers_round_whatever_the_batch():
    target = failing_target("one box, 5 % label noise", 4, 0.03, 2)
    points = np.random.default_rng(1).random((20_000, 4))
    told = target(points)
    wrong = (told == 1) != target.fails(points)
    assert abs(wrong.mean() - NOISE) < 4.5 * np.sqrt(NOISE * (1 - NOISE) / 20_000)
    np.testing.assert_array_equal(told[500:600], target(points[500:600]))
