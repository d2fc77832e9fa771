"""Data in which labels follow each person's habit, and not the protected attribute."""

import numpy as np

from transect.attacks import Settings, labelled
from transect.attacks.attackers import Bayes
from transect.attacks.estimation import Plan, attack, estimate, null

CATEGORIES = 20
CONCENTRATION = 0.1


def habits(seed, people, pictures, by_subject=True):
    """Every person draws the labels of their pictures from a distribution that is theirs; half are of either class."""
    rng = np.random.default_rng([seed, people, pictures])
    group = rng.permutation(np.arange(people) % 2)
    habit = rng.dirichlet(np.full(CATEGORIES, CONCENTRATION), size=people).cumsum(axis=1)
    label = (rng.random((people, pictures, 1)) > habit[:, None]).sum(axis=2).clip(0, CATEGORIES - 1).ravel()
    person = np.repeat(np.arange(people), pictures)
    return labelled(label, np.repeat(group, pictures), subjects=person if by_subject else None)


def nulls_exceeded(data_sets, people, pictures, permutations, by_subject=True):
    """In how many data sets λ_D lies above its null."""
    above = 0
    for seed in range(data_sets):
        data = habits(seed, people, pictures, by_subject)
        plan = Plan.of(data, Bayes(), Settings(permutations=permutations, seed=seed))
        requests = [plan.evidence(data.labels), plan.shuffled(data.labels)]
        found, shuffled = attack(plan.attacker, requests)
        above += estimate(plan, found).estimate > null(plan, requests[1], shuffled)[1]
    return above
