"""The penalised likelihood's optimum, judged by scikit-learn; many targets at once change nothing."""

import numpy as np
import pytest
from leaky_data import planted_bits
from sklearn.linear_model import LogisticRegression

from transect.attacks import Evidence, Problem, dataset_leakage
from transect.attacks.attackers import Logistic
from transect.attacks.attackers.classical import fit


@pytest.mark.parametrize("c", [2, 3])
def test_probabilities_agree_with_scikit_learn(c):
    rng = np.random.default_rng(c)
    x = rng.normal(size=(300, 4))
    y = np.argmax(x[:, :c] * 2 + rng.gumbel(size=(300, c)), axis=1)
    design = np.concatenate([x, np.ones((300, 1))], axis=1)
    ours = design @ fit(design, np.eye(c)[y][:, None, :])[:, 0]
    judge = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000).fit(x, y)
    theirs = judge.predict_proba(x)
    if c == 2:
        # Two columns of coefficients b and -b carry the penalty 2 b^2, where the judge's single 2b carries 4 b^2.
        judge = LogisticRegression(C=2.0, tol=1e-10, max_iter=10_000).fit(x, y)
        theirs = judge.predict_proba(x)
    p = np.exp(ours - ours.max(axis=1, keepdims=True))
    assert p / p.sum(axis=1, keepdims=True) == pytest.approx(theirs, abs=2e-3)


def test_an_answer_depends_on_its_problem_alone():
    data = planted_bits(n=600)
    rng = np.random.default_rng(0)
    rows = np.arange(600)
    problems = [Problem(data.labels, rng.permutation(data.protected), 2, rows[:400], rows[400:]) for _ in range(5)]
    together = Logistic().attack(problems)
    for problem, answer in zip(problems, together, strict=True):
        alone = Logistic().attack([problem])[0]
        difference = (answer[:, 1] - answer[:, 0]) - (alone[:, 1] - alone[:, 0])
        assert np.abs(difference).max() < 2e-3  # they stop at other steps, within the tolerance


def test_scores_are_standardized():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, 2)).astype(np.float32)
    groups = (x[:, 0] + rng.normal(size=400) > 0).astype(np.int64)
    rows = np.arange(400)
    plain, scaled = (
        Logistic().attack([Problem(Evidence(("a", "b"), values=v), groups, 2, rows[:300], rows[300:])])[0]
        for v in (x, x * np.float32(1000) + np.float32(7000))
    )
    assert plain == pytest.approx(scaled, abs=2e-2)


def test_the_planted_leakage_is_found():
    # Odds e^±1/2 by a bit: the better guess is right with probability 1 / (1 + e^-1/2) = 62.2 %.
    found = dataset_leakage(planted_bits(n=40_000), Logistic())
    assert found.low < 100 / (1 + np.exp(-0.5)) < found.high
