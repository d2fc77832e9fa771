"""Do comparisons of two models between groups of observed images hold their level? By simulated photographs."""

import numpy as np
import pytest

from transect.effects.observational import Groups
from transect.effects.paired_groups import gaps_between_groups
from transect.records import Attribute

TONE = Attribute("tone", "binary", "tone", levels=("light", "dark"))
RUNS = 300
MARGIN = 0.02
COVERED = 0.95 - 2 * np.sqrt(0.95 * 0.05 / RUNS)
ALLOWED = 0.05 + 2 * np.sqrt(0.05 * 0.95 / RUNS)


def gap_of(rng, sizes, first, second, per):
    """Misses of both models with the rates of each group; half of the images, and half of the noise of a person's
    images, are alike.
    """
    people, group = np.repeat(np.arange(sum(sizes)), per), np.repeat([0, 1], np.multiply(sizes, per))

    def noise():
        own = rng.random(len(people))
        if per == 1:
            return own
        return np.where(rng.random(len(people)) < 0.5, rng.random(sum(sizes))[people], own)

    one = noise()
    other = np.where(rng.random(len(people)) < 0.5, one, noise())
    before, after = one < np.array(first)[group], other < np.array(second)[group]
    ((_, gap),) = gaps_between_groups(
        before.astype(float), after.astype(float), Groups(TONE, group, (0.0, 1.0)), group.astype(float), people, True
    )
    return gap


@pytest.mark.slow
@pytest.mark.parametrize(("sizes", "first", "second", "per"), [
    ((30, 400), (0.0, 0.0), (0.05, 0.05), 1), ((60, 240), (0.0, 0.0), (0.05, 0.05), 1),
    ((200, 200), (0.1, 0.3), (0.1, 0.12), 1), ((400, 400), (0.02, 0.02), (0.02, 0.04), 1),
    ((30, 200), (0.1, 0.2), (0.2, 0.3), 4),
])  # fmt: skip
def test_the_interval_of_a_gap_covers_also_where_few_images_differ(sizes, first, second, per):
    rng = np.random.default_rng([sizes[0], per, int(1000 * sum(second))])
    truth = abs(second[1] - second[0]) - abs(first[1] - first[0])
    covered = []
    for _ in range(RUNS):
        low, high = gap_of(rng, sizes, first, second, per).interval(0.95)
        covered.append(low <= truth <= high)
    print(sizes, first, second, per, np.mean(covered))
    assert np.mean(covered) >= COVERED


@pytest.mark.slow
@pytest.mark.parametrize(("sizes", "per"), [((30, 400), 1), ((150, 400), 1), ((60, 400), 3)])
def test_a_gap_above_the_margin_is_rarely_called_none(sizes, per):
    """The first model never misses; the second misses 5 % of the small group and 0.5 % of the large one."""
    rng = np.random.default_rng([sizes[0], per])
    none = []
    for _ in range(RUNS):
        low, high = gap_of(rng, sizes, (0.0, 0.0), (0.05, 0.005), per).interval(0.9)
        none.append(low > -MARGIN and high < MARGIN)
    print(sizes, per, np.mean(none))
    assert np.mean(none) <= ALLOWED


@pytest.mark.slow
@pytest.mark.parametrize(("sizes", "per"), [((30, 400), 1), ((200, 200), 1), ((40, 200), 3)])
def test_where_gaps_are_equal_few_are_called_different(sizes, per):
    rng = np.random.default_rng([sizes[0], per, 5])
    found = [gap_of(rng, sizes, (0.1, 0.2), (0.1, 0.2), per).p <= 0.05 for _ in range(RUNS)]
    print(sizes, per, np.mean(found))
    assert np.mean(found) <= ALLOWED
