"""How often does a model pass that is at the limit? By simulated runs, for each kind of requirement."""

import numpy as np
from scipy.special import ndtri

from transect.effects.planning import plan_equivalence
from transect.effects.samples import Measure
from transect.effects.verdicts import group_rates, sizes_beyond_baseline, sizes_of_differences, status

MISS = Measure("t", "miss", "proportion", True)


def outcomes(rng, subjects, rates, cells=1):
    """Yes or no [n, levels, cells]; half of the subjects never say yes, so that images of a person are alike."""
    prone = rng.random((subjects, 1, 1)) < 0.5
    return ((rng.random((subjects, len(rates), cells)) < 2 * np.array(rates)[:, None]) & prone).astype(float)


def share(size, said, judge):
    return np.mean([judge() == said for _ in range(size.tables)])


def test_a_difference_at_the_margin_passes_and_fails_in_at_most_five_per_cent(size, subjects, rates, cells):
    rng = np.random.default_rng([subjects, cells])
    said = [
        status(sizes_of_differences(outcomes(rng, subjects, rates, cells), 0, MISS), 0.05) for _ in range(size.tables)
    ]
    size.rejects([np.mean([each == verdict for each in said]) for verdict in ("met", "violated")])


def test_a_group_at_the_largest_rate_passes_and_fails_in_at_most_five_per_cent(size, subjects, rates, cells):
    rng = np.random.default_rng([subjects, 2])

    def judge():
        y = outcomes(rng, subjects, rates, cells)
        return status(group_rates(y.sum(axis=2), np.full(y.shape[:2], float(cells))), max(rates))

    said = [judge() for _ in range(size.tables)]
    size.rejects([np.mean([each == verdict for each in said]) for verdict in ("met", "violated")])


def test_a_gap_that_is_larger_by_the_margin_passes_in_at_most_five_per_cent(size, turned):
    """The baseline's gap is .05 and the model's .10, to the same side or to the other."""
    rng = np.random.default_rng([8, turned])

    def judge():
        before = outcomes(rng, 300, (0.10, 0.05) if turned else (0.05, 0.10), 2)
        now = outcomes(rng, 300, (0.05, 0.15), 2)
        return status(sizes_beyond_baseline(now, before, 0, MISS), 0.05)

    size.rejects(share(size, "met", judge))


def test_the_planned_subjects_pass_where_nothing_differs(size, base, cells, margin):
    """Subjects share a normal factor with correlation .5, as the plan assumes; the power is 90 %."""
    rng = np.random.default_rng([10, cells])
    subjects = plan_equivalence(margin, base, cells=cells).subjects

    def judge():
        factor = rng.standard_normal((subjects, 1, 1)) * np.sqrt(0.5)
        y = factor + rng.standard_normal((subjects, 2, cells)) * np.sqrt(0.5) <= ndtri(base)
        return status(sizes_of_differences(y.astype(float), 0, MISS), margin)

    size.covers(share(size, "met", judge))
