"""Does an audit have the power that its plan states? Simulated answers, tested as an audit tests them. (slow)"""

import itertools

import numpy as np
import pytest
from scipy.special import ndtri

from transect.effects import plan, plan_from_pilot, sign_flip


def rejected(audits, n, rates, correlation, cells, alpha, seed):
    """The share of simulated audits whose sign-flip test has p <= alpha."""
    rng = np.random.default_rng(seed)
    factor = np.sqrt(correlation) * rng.standard_normal((n, audits, 1, 1))
    latent = factor + np.sqrt(1 - correlation) * rng.standard_normal((n, audits, 2, cells))
    yes = (latent < ndtri(np.array(rates))[:, None]).mean(axis=3)
    p, _ = sign_flip(yes[:, :, 1] - yes[:, :, 0], resamples=999)
    return (p <= alpha).mean()


def test_a_plan_for_averages_over_cells_has_its_power(size, power, effect, base, correlation, cells, family):
    design = plan(effect, base, power=power, correlation=correlation, cells=cells, family=family)
    simulated = rejected(size.tables, design.subjects, (base, base + effect), correlation, cells, 0.05 / family, 5)
    assert simulated == pytest.approx(design.power, abs=0.03)
    assert simulated >= power - 0.03


def p_of_scores(differences):
    """By all flips where there are few; an audit draws 9,999."""
    if len(differences) > 13:
        return sign_flip(differences, resamples=1999)[0]
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=len(differences))))
    return np.mean([np.abs(flip @ differences) >= np.abs(differences.sum(axis=0)) - 1e-9 for flip in signs], axis=0)


def test_a_plan_from_a_pilot_of_scores_has_its_power(size, effect, alpha):
    """Student's power missed by up to .18 with six to eight subjects."""
    design = plan_from_pilot(effect, 1.0, images_per_subject=2, unpaired_deviation=1.0, alpha=alpha)
    p = p_of_scores(np.random.default_rng(6).normal(effect, 1.0, size=(design.subjects, size.tables)))
    assert (p <= alpha).mean() == pytest.approx(design.power, abs=0.03)
