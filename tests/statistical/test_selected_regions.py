"""The region that a search's headline names: its rate does not lean, since fresh images have no part in the choice."""

import dataclasses
import itertools
from types import SimpleNamespace

import numpy as np

from transect.analysis.search_numbers import summary
from transect.designs.search import History
from transect.designs.search.phases import ConfirmedSearch
from transect.designs.search.rules import Rule
from transect.designs.search.space import Space
from transect.records import Attribute
from transect.targets import as_target

RATE, FRESH = 0.3, 24
SPACE = Space((Attribute("tone", "continuous", "tone", low=0, high=1),), np.linspace(0, 1, 4097)[None])


@dataclasses.dataclass(frozen=True)
class ThreeRules(ConfirmedSearch):
    """Three rules whose fresh images are the first 24 calls, the next, and the last."""

    def confirmed(self, history):
        ends = np.linspace(0, 1, 4)
        rules = [Rule(np.array([low]), np.array([high])) for low, high in itertools.pairwise(ends)]
        return list(zip(rules, np.arange(3 * FRESH).reshape(3, FRESH), strict=True))


def test_the_first_of_three_equal_regions_is_not_overstated(size):
    """Sorted by their rates, the first of three regions that fail alike had a rate of 38 % for 30."""
    rng = np.random.default_rng(19)
    target = as_target(lambda pixels: [0.5] * len(pixels), name="reader", task="binary")
    setting = {"target": target, "space": SPACE, "goal": "regions", "outcome": "miss", "budget": 3 * FRESH}
    search = SimpleNamespace(**setting, strategy=ThreeRules(0, 3 * FRESH))
    points, explored = rng.random((3 * FRESH, 1)), np.ones(3 * FRESH, dtype=np.bool_)
    answers = (rng.random((size.tables, 3 * FRESH)) < RATE).astype(float)
    first = [summary(search, History(points, failures, explored), (0, 0.0)).regions[0] for failures in answers]
    covered = np.mean([region.low <= RATE <= region.high for region in first])
    assert abs(np.mean([region.rate for region in first]) - RATE) < 0.015  # standard error 0.004
    assert covered >= 0.95
