"""The paired interval of the difference of λ_M between two models covers, cross-fitted, by item and by person (slow)."""

import numpy as np

from transect.attacks import Settings, labelled, model_outputs
from transect.attacks.attackers import Bayes
from transect.attacks.estimation import Plan, attack, difference


def apart(seed, people, each, shares):
    """λ_M of two models, of which each reveals the class on its share of people; otherwise they say the label."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(people), each)
    gender = (np.arange(people) % 2)[person]
    label = np.where(rng.random(people) < 0.6, np.arange(people) % 2, rng.integers(0, 3, people))[person]
    label = np.where(rng.random(len(label)) < 0.3, rng.integers(0, 3, len(label)), label)
    data = labelled(label, gender, subjects=person if each > 1 else None)
    plan = Plan.of(data, Bayes(), Settings(seed=seed, permutations=0))
    said = [np.where((rng.random(people) < share)[person], 1 - gender, label) for share in shares]
    requests = [plan.evidence(model_outputs(data, answers).hard) for answers in said]
    first, second = attack(plan.attacker, requests)
    return difference(plan, second, plan, first)[2]


def test_intervals_cover_the_expected_difference(size, people, each, shares):
    """The truth is the mean over as many data sets: the expected difference of attackers that learn from so many."""
    found = [apart(seed, people, each, shares) for seed in range(size.tables)]
    truth = np.mean([difference.estimate for difference in found])
    covered = np.mean([difference.low <= truth <= difference.high for difference in found])
    size.covers(covered)
