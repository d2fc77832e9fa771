"""A model that never looks at the class amplifies nothing, whatever it mistakes."""

import numpy as np

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


def test_a_model_that_sees_the_label_alone_amplifies_nothing():
    """It confuses labels of one class, so that λ_M = λ_D = 80, and so do its predictions dealt out within labels."""
    data, answers = confusing()
    result = analyse(
        data, Bayes(), outputs=model_outputs(data, answers), settings=Settings(permutations=0), curve=False
    )
    (only,) = result.comparisons
    assert only.noise == "dealt out within labels"
    assert abs(only.model_leakage.estimate - 80) < 1.5
    assert only.amplification.low < 0 < only.amplification.high
