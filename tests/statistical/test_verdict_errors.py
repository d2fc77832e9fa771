"""How often is a verdict wrong? By simulated transects of known effects."""

import numpy as np

from transect.effects.analysis import adjust, analyse_transects
from transect.effects.samples import Measure
from transect.effects.verdicts import judge, outermost, pairs_of_levels
from transect.records import Attribute, Design

MARGIN = 0.05
LEVELS = {"light": (0.0, 1.0), "tone": (0.0, 1.0, 2.0)}
KNOWN = {
    "light": Attribute("light", "binary", "light", levels=("off", "on")),
    "tone": Attribute("tone", "continuous", "tone", low=0, high=2),
}
MEASURE = Measure("t", "miss", "proportion", True)


def table(rng, subjects, rates):
    """Outcomes [n, 2, 3] with the rate of each tone; subjects differ (half of them never miss)."""
    prone = rng.random((subjects, 1, 1)) < 0.5
    return ((rng.random((subjects, 2, 3)) < 2 * np.array(rates)) & prone).astype(float)


def verdict_on_tone(y):
    design = Design(LEVELS, subjects=len(y))
    effects = adjust(analyse_transects(y, np.full(y.shape, "", object), design, KNOWN, MEASURE, max_order=0).effects)
    significant = any(effect.p_adjusted <= 0.05 for effect in effects if effect.attribute == "tone")
    return judge(significant, *outermost(pairs_of_levels(y, 1, MEASURE)), MARGIN)


def test_a_difference_of_the_margin_is_rarely_called_none(size, subjects, rates):
    """At a difference of exactly the margin, also where only the level between the ends differs: at most 5 %."""
    rng = np.random.default_rng([subjects, int(100 * rates[1])])
    wrong = np.mean([verdict_on_tone(table(rng, subjects, rates)) == "no difference" for _ in range(size.tables)])
    size.rejects(wrong)


def test_where_nothing_differs_a_difference_is_found_in_at_most_five_per_cent(size, subjects, rate):
    rng = np.random.default_rng([subjects, 7])
    wrong = np.mean([verdict_on_tone(table(rng, subjects, (rate,) * 3)) == "found" for _ in range(size.tables)])
    size.rejects(wrong)
