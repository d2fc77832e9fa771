"""How often is a verdict wrong? By simulated transects of known effects."""

import numpy as np

from transect.effects.analysis import adjust, analyse_transects
from transect.effects.samples import Measure
from transect.effects.verdicts import judge, outermost, pairs_of_levels, subjects_to_tell
from transect.records import Attribute, Design

MARGIN = 0.05
LEVELS = {"light": (0.0, 1.0), "tone": (0.0, 1.0, 2.0)}
KNOWN = {
    "light": Attribute("light", "binary", "light", levels=("off", "on")),
    "tone": Attribute("tone", "continuous", "tone", low=0, high=2),
}
MEASURE = Measure("t", "miss", "proportion", True)
NON_MATCH = Measure("t", "non_match", tested=False)


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


def non_matches(rng, subjects):
    """[n, 2, 2]: the first cell is the reference and matches; either edit adds non-matches of exactly the margin."""
    prone = rng.random((subjects, 1, 1)) < 0.5
    rates = np.array([[0.0, MARGIN], [MARGIN, 2 * MARGIN]])
    return ((rng.random((subjects, 2, 2)) < 2 * rates) & prone).astype(float)


def test_non_matches_of_the_margin_are_rarely_called_larger(size, subjects):
    """Two effects without a test, of exactly the margin: either is found in at most 5 % of audits."""
    design = Design({"light": (0.0, 1.0), "hat": (0.0, 1.0)}, subjects=subjects)
    known = dict.fromkeys(design.levels, KNOWN["light"])
    rng, found = np.random.default_rng([subjects, 3]), 0
    for _ in range(size.tables):
        y = non_matches(rng, subjects)
        table = analyse_transects(
            y, np.full(y.shape, "", object), design, known, NON_MATCH, confidence=1 - 0.05 / 2, max_order=0
        )
        assert all(np.isnan(effect.p) for effect in table.effects)
        found += any(effect.low > MARGIN for effect in table.effects)
    size.rejects(found / size.tables)


def test_the_subjects_that_are_said_to_be_needed_can_tell(size):
    """With the stated number a difference of the margin is found, and none is shown to be none, in 90 % or more."""
    rng = np.random.default_rng(11)
    spread = np.std(table(rng, 20_000, (0.1, 0.125, 0.15)).mean(axis=1) @ [-1.0, 0.0, 1.0])
    needed = subjects_to_tell(MARGIN, float(spread), family=3)
    found = np.mean([verdict_on_tone(table(rng, needed, (0.1, 0.125, 0.15))) == "found" for _ in range(size.tables)])
    none = np.mean(
        [verdict_on_tone(table(rng, needed, (0.1, 0.1, 0.1))) == "no difference" for _ in range(size.tables)]
    )
    assert found >= 0.9 - 2 * 0.021
    assert none >= 0.85 - 2 * 0.025  # three pairs of levels must be inside at once
