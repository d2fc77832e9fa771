"""Rounds, folds, draws and the null: calibrated where labels say nothing, and independent of what else is asked."""

import numpy as np
import pytest
from leaky_data import planted, planted_bits

from transect.attacks import Settings, dataset_leakage, labelled
from transect.attacks.attackers import Bayes, Logistic
from transect.attacks.estimation import Plan, attack, estimate, null


def independent(seed, n=1500, k=30, split=True):
    rng = np.random.default_rng(seed)
    places = np.where(np.arange(n) % 3 == 0, "test", "train") if split else None
    return labelled(rng.integers(0, k, n), (rng.random(n) < 0.35).astype(int), split=places)


@pytest.mark.integration
@pytest.mark.parametrize("split", [True, False])
def test_labels_that_say_nothing_give_50(split):
    """In at least 95 % of seeds the estimate lies within the null, and 50 in the interval (of 120: 5 SD are 12)."""
    inside = covered = 0
    estimates = []
    for seed in range(120):
        plan = Plan.of(independent(seed, split=split), Bayes(), Settings(permutations=30, seed=seed))
        asked = [plan.evidence(plan.data.labels), plan.shuffled(plan.data.labels)]
        made = attack(plan.attacker, asked)
        found, (low, high) = estimate(plan, made[0]), null(plan, asked[1], made[1])
        estimates.append(found.estimate)
        inside += low <= found.estimate <= high
        covered += found.low <= 50 <= found.high
    assert inside >= 0.95 * 120 - 5
    assert covered >= 0.95 * 120 - 5
    # Nothing is folded about 50: the mean is 50 within 4 SE; folding would add about 0.8 SD.
    assert abs(np.mean(estimates) - 50) < 4 * np.std(estimates) / np.sqrt(120)


def test_the_published_fold_lifts_what_is_nothing():
    settings = Settings(published=True, rounds=3)
    lifted = [dataset_leakage(independent(seed), Bayes(), settings).estimate for seed in range(40)]
    plain = [dataset_leakage(independent(seed), Bayes()).estimate for seed in range(40)]
    assert min(lifted) >= 50
    assert np.mean(lifted) > np.mean(plain) + 0.5


def test_three_classes_have_chance_of_a_third():
    rng = np.random.default_rng(0)
    category, protected = rng.integers(0, 3, 6000), rng.integers(0, 3, 6000)
    data = labelled(np.where(rng.random(6000) < 0.5, protected, category), protected)
    assert data.chance == pytest.approx(100 / 3)
    # The category is the class with probability 1/2 + 1/2 · 1/3 = 2/3.
    found = dataset_leakage(data, Bayes())
    assert found.low < 200 / 3 < found.high


def test_an_attack_does_not_depend_on_what_else_is_asked():
    data = planted_bits(n=800)
    plan = Plan.of(data, Logistic(), Settings(permutations=3, seed=2))
    requests = [plan.evidence(data.labels), plan.noisy("flips", 0.1), plan.shuffled(data.labels)]
    together = attack(plan.attacker, requests)
    for request, rounds in zip(requests, together, strict=True):
        for one, other in zip(attack(plan.attacker, [request])[0], rounds, strict=True):
            assert (one.rows == other.rows).all()
            assert (one.credit == other.credit).mean() > 0.995


def test_published_draws_have_the_sizes_asked_for():
    data = planted(n=4000)
    plan = Plan.of(data, Bayes(), Settings(published=True, train_per_class=500, test_per_class=100))
    (problem,) = plan.evidence(data.labels).rounds[0]
    assert np.bincount(data.protected[problem.train]).tolist() == [500, 500]
    assert np.bincount(data.protected[problem.test]).tolist() == [100, 100]
    assert set(data.split[problem.train]) == {"train"}


def test_the_order_of_rows_changes_nothing():
    data = planted(n=900, split=False)
    order = np.random.default_rng(3).permutation(900)
    one, other = dataset_leakage(data, Bayes()), dataset_leakage(data.take(order), Bayes())
    assert (one.estimate, one.low, one.high) == (other.estimate, other.low, other.high)
