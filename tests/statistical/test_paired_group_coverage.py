"""Do comparisons of two models between groups of observed images hold their level? By simulated photographs."""

import numpy as np

from transect.effects.observational import Groups
from transect.effects.paired_models import gaps_between_groups
from transect.records import Attribute

TONE = Attribute("tone", "binary", "tone", levels=("light", "dark"))


def gap_of(rng, sizes, first, second, per):
    """Misses of both models with the rates of each group; half of the images are alike, and half of a person's noise."""
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


def test_the_interval_of_a_gap_covers_also_where_few_images_differ(size, sizes, first, second, per):
    rng = np.random.default_rng([sizes[0], per, int(1000 * sum(second))])
    truth = abs(second[1] - second[0]) - abs(first[1] - first[0])
    covered = []
    for _ in range(size.tables):
        low, high = gap_of(rng, sizes, first, second, per).interval(0.95)
        covered.append(low <= truth <= high)
    size.covers(np.mean(covered))
