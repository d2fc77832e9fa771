"""What each kind of chance errors counts as amplification, on models whose use of the class is known."""

import numpy as np
import pytest

from transect.attacks import Settings, analyse, labelled, model_outputs
from transect.attacks.attackers import Bayes


def confusing(n=24_000, seed=0):
    """Labels 0 and 1 mostly of class 0, 2 and 3 of class 1; a model that takes labels for their neighbour, blindly."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 4, n)
    group = (rng.random(n) < np.where(label < 2, 0.2, 0.8)).astype(int)
    mistaken = rng.random(n) < 0.5
    data = labelled(label, group, split=np.where(np.arange(n) % 4 == 3, "test", "train"))
    return data, np.where(mistaken, label ^ 1, label)


def test_a_model_that_sees_the_label_alone_amplifies_nothing_by_its_own_errors_and_much_by_frequency():
    """It confuses labels of one class, so that λ_M = λ_D = 80; labels drawn by frequency lose .5 / .75 of the 30 points.

    Half of the answers hit (F1 50). Frequency noise at rate p hits 1 - p + p / 4, which is .5 at p = 2/3, and leaves
    50 + 30 / 3 = 60: a Δ of 20 points, without any look at the class.
    """
    data, answers = confusing()
    result = analyse(
        data, Bayes(), outputs=model_outputs(data, answers), settings=Settings(permutations=0), curve=False
    )
    kinds = {comparison.noise: comparison for comparison in result.comparisons}
    assert result.headline is kinds["dealt out within labels"]
    assert result.headline.amplification.low < 0 < result.headline.amplification.high
    assert kinds["frequency"].model_leakage.estimate == pytest.approx(80, abs=1.5)
    assert kinds["frequency"].amplification.estimate == pytest.approx(20, abs=2)
    assert kinds["frequency"].amplification.low > 15
