"""Of the three largest of twelve contrasts: do intervals miss in 5 %, and are estimates of the right size?"""

import numpy as np

from transect.effects.intervals import mean_difference_interval
from transect.effects.multiplicity import confidence_of, errors_of, shrunken

CONTRASTS, LISTED = 12, 3


def planted(rng, kind):
    """Effects in standard deviations of a subject's difference: a few, many small ones, or one beside nothing."""
    if kind == "few":
        return np.where(rng.random(CONTRASTS) < 0.25, rng.normal(0, 0.3, CONTRASTS), 0.0)
    return rng.normal(0, 0.1, CONTRASTS) if kind == "small" else np.r_[1.0, np.zeros(CONTRASTS - 1)]


def test_the_three_largest_are_covered_and_not_overstated(size, subjects, kind):
    rng = np.random.default_rng([subjects, len(kind)])
    covered, sizes = [], []
    level = confidence_of(LISTED, CONTRASTS)
    for _ in range(size.tables):
        effects = planted(rng, kind)
        differences = effects + rng.normal(size=(subjects, CONTRASTS))
        wide, narrow = (mean_difference_interval(differences, binary=False, confidence=c) for c in (level, 0.95))
        estimates = differences.mean(axis=0)
        likely = shrunken(estimates, errors_of(estimates, narrow.low, narrow.high, 0.95))
        top = np.argsort(-np.abs(estimates))[:LISTED]
        covered.append((wide.low <= effects) & (effects <= wide.high))
        covered[-1] = covered[-1][top]
        sign = np.sign(estimates[top])
        sizes.append([(sign * each[top]).sum() for each in (estimates, likely, effects)])
    raw, drawn, true = np.mean(sizes, axis=0)
    size.covers(np.mean(covered), LISTED * size.tables)
    assert size.small or abs(drawn / true - 1) <= 0.2 < raw / true - 1 + 0.1
