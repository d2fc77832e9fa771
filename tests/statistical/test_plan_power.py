"""Does an audit have the power that its plan states? Simulated answers, tested as an audit tests them. (slow)"""

import itertools

import numpy as np
import pytest
from scipy.special import ndtri

from transect.effects import plan, plan_from_pilot, sign_flip
from transect.effects.planning import paired_power

AUDITS = 2500
"""Standard error of a share of audits: at most .01."""


def rejected(n, rates, correlation, cells, alpha, seed):
    """The share of simulated audits whose sign-flip test has p <= alpha."""
    rng = np.random.default_rng(seed)
    factor = np.sqrt(correlation) * rng.standard_normal((n, AUDITS, 1, 1))
    latent = factor + np.sqrt(1 - correlation) * rng.standard_normal((n, AUDITS, 2, cells))
    yes = (latent < ndtri(np.array(rates))[:, None]).mean(axis=3)
    p, _ = sign_flip(yes[:, :, 1] - yes[:, :, 0], resamples=999)
    return (p <= alpha).mean()


@pytest.mark.slow
@pytest.mark.parametrize("cells", [2, 9, 18])
@pytest.mark.parametrize(
    ("n", "base", "correlation", "effects"),
    [
        (6, 0.1, 0.8, (0.2, 0.4)),
        (8, 0.05, 0.5, (0.15, 0.3)),
        (10, 0.3, 0.0, (0.1, 0.25)),
        (15, 0.1, 0.8, (0.08, 0.15)),
        (25, 0.05, 0.5, (0.05, 0.1)),
        (100, 0.3, 0.3, (0.05,)),
    ],
)
@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_the_power_of_averages_over_cells(n, base, correlation, effects, cells, alpha):
    """The normal approximation missed by -.38 to +.37 below 26 subjects."""
    for seed, effect in enumerate(effects):
        rates = (base, base + effect)
        stated = paired_power(n, rates, alpha=alpha, correlation=correlation, cells=cells)
        assert stated == pytest.approx(rejected(n, rates, correlation, cells, alpha, seed), abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("effect", "base", "correlation", "cells", "family"),
    [
        (0.6, 0.1, 0.5, 9, 1),
        (0.3, 0.1, 0.5, 9, 1),
        (0.2, 0.05, 0.8, 4, 6),
        (-0.15, 0.4, 0.2, 18, 1),
        (0.03, 0.1, 0.5, 9, 1),
    ],
)
@pytest.mark.parametrize("power", [0.8, 0.9])
def test_a_plan_for_averages_over_cells_has_its_power(effect, base, correlation, cells, family, power):
    design = plan(effect, base, power=power, correlation=correlation, cells=cells, family=family)
    simulated = rejected(design.subjects, (base, base + effect), correlation, cells, 0.05 / family, 5)
    assert simulated == pytest.approx(design.power, abs=0.03)
    assert simulated >= power - 0.03


def p_of_scores(differences):
    """By all flips where there are few; an audit draws 9,999."""
    if len(differences) > 13:
        return sign_flip(differences, resamples=1999)[0]
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=len(differences))))
    return np.mean([np.abs(flip @ differences) >= np.abs(differences.sum(axis=0)) - 1e-9 for flip in signs], axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.05, 0.01])
@pytest.mark.parametrize("effect", [3.0, 2.0, 1.4, 1.0, 0.6])
def test_a_plan_from_a_pilot_of_scores_has_its_power(effect, alpha):
    """Student's power missed by up to .18 with six to eight subjects."""
    design = plan_from_pilot(effect, 1.0, images_per_subject=2, unpaired_deviation=1.0, alpha=alpha)
    p = p_of_scores(np.random.default_rng(6).normal(effect, 1.0, size=(design.subjects, 1500)))
    assert (p <= alpha).mean() == pytest.approx(design.power, abs=0.03)
