"""Do intervals of differences between two models cover, and how often is a verdict wrong? By simulated transects."""

import numpy as np

from transect.effects.multiplicity import holm
from transect.effects.paired_models import gap_between_levels, rate_difference, stand

MARGIN = 0.05


def tables(rng, subjects, first, second, alike=0.5):
    """Misses of two models [n, 2 lights, 2 tones] with the rates of each tone; half of the subjects never miss.

    alike: share of the images on which both models see the same noise, so that their misses go together.
    """
    prone = rng.random((subjects, 1, 1)) < 0.5
    noise = rng.random((subjects, 2, 2))
    other = np.where(rng.random(noise.shape) < alike, noise, rng.random(noise.shape))
    return tuple(
        ((each < 2 * np.array(rates)) & prone).astype(float)
        for each, rates in ((noise, first), (other, second))
    )  # fmt: skip


def quantities(first, second):
    flat = first.reshape(len(first), -1), second.reshape(len(second), -1)
    return rate_difference(*flat, True), gap_between_levels(first, second, 1, (0, 1), True)


def verdicts(first, second):
    found = quantities(first, second)
    adjusted = holm(np.array([each.p for each in found]))
    return [
        stand(each.estimate, p <= 0.05, *each.interval(0.9), MARGIN, smaller_is_better=True)
        for each, p in zip(found, adjusted, strict=True)
    ]


def test_intervals_of_rates_and_gaps_cover_the_truth(size, subjects, first, second):
    """Also of gaps of opposite effects, whose sizes are equal, and where neither model has one."""
    rng = np.random.default_rng([subjects, *(int(100 * rate) for rate in (*first, *second))])
    truth = np.mean(second) - np.mean(first), abs(second[1] - second[0]) - abs(first[1] - first[0])
    covered = []
    for _ in range(size.tables):
        ends = [each.interval(0.95) for each in quantities(*tables(rng, subjects, first, second))]
        covered.append([low <= value <= high for (low, high), value in zip(ends, truth, strict=True)])
    # Rates of 300 subjects cover 94.3 % in 1,500 tables.
    size.covers(np.mean(covered, axis=0))


def test_where_models_do_not_differ_one_is_called_better_in_at_most_five_per_cent(size, subjects, first, second):
    rng = np.random.default_rng([subjects, 3])
    found = [verdicts(*tables(rng, subjects, first, second)) for _ in range(size.tables)]
    size.rejects(np.mean([bool({"better", "worse"} & set(each)) for each in found]))
