import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import binom, binomtest, fisher_exact, norm

from transect.effects import plan, plan_from_pilot, sign_flip
from transect.effects.planning import (
    WEIGHTS,
    averaged_power,
    detectable,
    detectable_rate,
    given_factor,
    paired_power,
    plan_equivalence,
    unpaired_power,
)


def answers(rng, shape, rates, rho):
    """0/1 [*shape, 2] whose rows share a normal factor of correlation rho."""
    factor, noise = rng.standard_normal((shape[0], shape[1], 1, 1)), rng.standard_normal((*shape, 2))
    return (np.sqrt(rho) * factor + np.sqrt(1 - rho) * noise < ndtri(np.array(rates))).astype(float)


def test_the_power_of_mcnemar_is_its_sum_over_tables():
    """By brute force over the trinomial (up, down, equal) with independent answers: up = .6 * .7, down = .4 * .3."""
    n, up, down = 25, 0.6 * 0.7, 0.4 * 0.3
    total = 0.0
    for d in range(n + 1):
        for b in range(d + 1):
            p = binomtest(b, d).pvalue - binom.pmf(b, d, 0.5) if d else 1.0  # mid-p: half of both equal splits
            total += binom.pmf(d, n, up + down) * binom.pmf(b, d, up / (up + down)) * (p <= 0.05)
    assert paired_power(n, (0.3, 0.6), correlation=0.0) == pytest.approx(total, abs=1e-9)


@pytest.mark.coverage
@pytest.mark.parametrize(
    ("base", "effect", "rho", "family"), [(0.1, 0.05, 0.5, 1), (0.3, -0.1, 0.2, 1), (0.05, 0.1, 0.8, 10)]
)
def test_simulated_power_is_the_planned_one_for_pairs(base, effect, rho, family):
    """4,000 simulated audits with the test that an audit makes: standard error .5 points near 90 %."""
    made = plan(effect, base, power=0.9, correlation=rho, family=family)
    assert made.power >= 0.9
    y = answers(np.random.default_rng(1), (made.subjects, 4000, 1), (base, base + effect), rho)
    p, _ = sign_flip(y[:, :, 0, 1] - y[:, :, 0, 0], single=np.ones(4000, dtype=bool))
    assert (p <= 0.05 / family).mean() == pytest.approx(made.power, abs=0.02)


@pytest.mark.coverage
def test_simulated_power_is_the_planned_one_for_groups():
    made = plan(0.1, 0.2, power=0.9)
    group = made.unpaired_subjects // 2
    rng = np.random.default_rng(3)
    counts = rng.binomial(group, [0.2, 0.3], size=(3000, 2))
    unique, times = np.unique(counts, axis=0, return_counts=True)
    p = np.array([fisher_exact([[a, group - a], [b, group - b]])[1] for a, b in unique])
    assert (p <= 0.05) @ times / 3000 == pytest.approx(0.9, abs=0.02)


def test_the_published_table_of_groups():
    """Casagrande, Pike and Smith's formula by hand for .1 against .3, alpha .05 two-sided, power .9.

    A = [1.96 sqrt(2 * .2 * .8) + 1.2816 sqrt(.09 + .21)]² = 3.2743; n = A (1 + sqrt(1 + 4 * .2 / A))² / (4 * .04) = 91.6.
    """
    a = (ndtri(0.975) * np.sqrt(0.32) + ndtri(0.9) * np.sqrt(0.3)) ** 2
    n = a * (1 + np.sqrt(1 + 0.8 / a)) ** 2 / 0.16
    assert unpaired_power(int(np.ceil(n)), (0.1, 0.3)) >= 0.9 > unpaired_power(int(n) - 1, (0.1, 0.3))


@pytest.mark.parametrize(
    ("effect", "discordant", "by_student", "exact"), [(0.2, 0.3, 71, 0.905), (0.05, 0.1, 410, 0.909)]
)
def test_a_pilot_of_single_pairs_plans_for_mcnemars_mid_p(effect, discordant, by_student, exact):
    """One pair of 0/1 a subject: mid-p is 2 P(Bin(those that differ, 1/2) <= the fewer) less P(= the fewer), by hand."""
    up = (discordant + effect) / 2 / discordant

    def power(n):
        rejected = [0.0]
        for k in range(1, n + 1):
            ups = np.arange(k + 1)
            fewer = np.minimum(ups, k - ups)
            p = 2 * binom.cdf(fewer, k, 0.5) - binom.pmf(fewer, k, 0.5)
            rejected.append(binom.pmf(ups, k, up)[p <= 0.05].sum())
        return binom.pmf(np.arange(n + 1), n, discordant) @ rejected

    deviation = np.sqrt(discordant - effect**2)
    given = {"images_per_subject": 2, "unpaired_deviation": 0.4}
    assert plan_from_pilot(effect, deviation, **given).subjects == by_student
    assert power(by_student) == pytest.approx(exact, abs=0.001)
    made = plan_from_pilot(effect, deviation, discordant=discordant, **given)
    assert made.power == pytest.approx(power(made.subjects), abs=1e-9)
    assert made.power >= 0.9
    assert detectable(deviation, made.subjects, discordant=discordant) <= effect + 1e-9
    assert detectable(0.1, 4, discordant=0.01) == np.inf  # even four pairs that agree have p = 2 / 2^4


@pytest.mark.parametrize(("effect", "family"), [(0.3, 1), (-0.3, 12), (0.6, 1)])
def test_a_pilot_of_averages_plans_for_flips_of_such_averages(effect, family):
    """Averages of three answers that share a factor: the plan finds the effect as `averaged_power` says it does."""
    rates, cells, correlation, level = (0.3, 0.3 + abs(effect)), 3, 0.3, 0.05 / family
    low, high, conditional = given_factor(rates, correlation)
    scatter = WEIGHTS @ conditional**2 - effect**2 + WEIGHTS @ (low * (1 - low) + high * (1 - high)) / cells
    given = {"images_per_subject": 6, "unpaired_deviation": 0.4, "family": family}
    made = plan_from_pilot(effect, np.sqrt(scatter), base=0.3, cells=cells, **given)
    power = averaged_power(made.subjects, rates, correlation, cells, level)
    assert power + 0.02 >= 0.9
    assert made.power == pytest.approx(power, abs=0.04)
    assert made.subjects > plan_from_pilot(effect, np.sqrt(scatter), **given).subjects  # Student's power: .78 to .86


def test_equivalence_takes_the_subjects_of_two_one_sided_tests():
    """With no correlation the variance of a difference is 2 p (1 - p); 1.645 + 1.645 deviations fit into the margin."""
    made = plan_equivalence(0.05, 0.2, correlation=0.0)
    by_hand = (2 * norm.ppf(0.95)) ** 2 * 2 * 0.2 * 0.8 / 0.05**2
    assert by_hand <= made.subjects <= 1.06 * by_hand  # in steps of 5 % until enough of Tango's intervals are inside
    assert made.images == 2 * made.subjects
    assert made.unpaired_subjects == 2 * math.ceil(by_hand)
    assert plan_equivalence(0.05, 0.2, correlation=0.8).subjects < made.subjects
    assert plan_equivalence(0.05, 0.2, cells=4, correlation=0.0).subjects == pytest.approx(by_hand / 4, abs=1)


def test_where_nobody_misses_equivalence_takes_what_the_score_interval_does():
    """Without a discordant pair the interval is ∓ z² / (n + z²), below .02 from n = z² (1 / .02 - 1) on."""
    assert plan_equivalence(0.02, 0.0).subjects == math.ceil(norm.ppf(0.95) ** 2 * 49)


def found(n, rates, correlation, cells, alpha):
    """The share of 1,000 simulated audits that find the difference, by the test that audits use."""
    rng = np.random.default_rng(3)
    factor = np.sqrt(correlation) * rng.standard_normal((n, 1000, 1, 1))
    latent = factor + np.sqrt(1 - correlation) * rng.standard_normal((n, 1000, 2, cells))
    yes = (latent < ndtri(np.array(rates))[:, None]).mean(axis=3)
    return (sign_flip(yes[:, :, 1] - yes[:, :, 0], resamples=999)[0] <= alpha).mean()


@pytest.mark.parametrize(("n", "base", "correlation"), [(24, 0.02, 0.5), (24, 0.3, 0.8), (200, 0.1, 0.5)])
def test_what_a_study_could_detect_is_found_with_the_stated_power(n, base, correlation):
    """Three cells, a family of twelve. Student's power of 24 subjects says 6 to 23 points, found in 0 to 68 %."""
    node, weight = np.polynomial.hermite_e.hermegauss(64)
    rate = ndtr((ndtri(base) - np.sqrt(correlation) * node) / np.sqrt(1 - correlation))
    deviation = np.sqrt(2 * weight @ (rate * (1 - rate)) / weight.sum() / 3)
    effect = detectable_rate(n, base, deviation, 3, alpha=0.05 / 12)
    assert 0.87 <= found(n, (base, base + effect), correlation, 3, 0.05 / 12) <= 0.97


def test_subjects_too_few_for_a_p_so_small_detect_nothing():
    """Eight that all differ have p = 2 / 2^8 = .008, above .05 / 12."""
    assert detectable_rate(8, 0.3, 0.3, 3, alpha=0.05 / 12) == np.inf
