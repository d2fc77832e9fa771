"""The choice is made inside the training rows; trees find what no line does."""

import numpy as np

from transect.attacks import Evidence, Problem
from transect.attacks.attackers import Auto, Trees, load
from transect.attacks.scoring import balanced_accuracy, credit


def exclusive_or(n=1200, seed=0):
    """The class is the exclusive or of two bits, but for a tenth: a line sees nothing, trees 90 %."""
    rng = np.random.default_rng(seed)
    bits = rng.random((n, 3)) < 0.5
    groups = (bits[:, 0] ^ bits[:, 1] ^ (rng.random(n) < 0.1)).astype(np.int64)
    return Problem(Evidence(("a", "b", "c"), values=bits), groups, 2, np.arange(800), np.arange(800, n))


def scored(problem, attacker):
    truth = problem.protected[problem.test]
    return balanced_accuracy(credit(attacker.attack([problem])[0], truth), truth)


def test_trees_find_combinations():
    assert scored(exclusive_or(), Trees()) > 80
    assert scored(exclusive_or(), load("logistic")) < 65


def test_auto_takes_the_better_one():
    auto = Auto()
    assert scored(exclusive_or(), auto) > 80
    assert dict(auto.chosen) == {"trees": 1}


def test_the_choice_never_sees_the_tested_rows():
    problem = exclusive_or()
    groups = problem.protected.copy()
    groups[problem.test] = 1 - groups[problem.test]
    turned = Problem(problem.evidence, groups, 2, problem.train, problem.test)
    assert (Auto().attack([problem])[0] == Auto().attack([turned])[0]).all()
