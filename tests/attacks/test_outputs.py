"""A model's answers, and copies of them that err by chance alone."""

import numpy as np
import pytest
from leaky_data import planted

from transect.attacks import chance_errors, labelled, model_leakage, model_outputs
from transect.attacks.attackers import Bayes, Logistic
from transect.errors import BadInput


def confusions(data, answers, split):
    k = len(data.labels.names)
    rows = data.split == split
    return np.bincount(data.labels.category[rows] * k + answers.category[rows], minlength=k * k).tolist()


def test_scores_become_the_largest_label_or_those_over_the_threshold():
    one = labelled(["a", "b"], [0, 1])
    assert model_outputs(one, [[1.0, 3.0], [2.0, 0.0]]).hard.category.tolist() == [1, 0]
    several = labelled([[0, 1], [1, 1]], [0, 1])
    assert model_outputs(several, [[-1.0, 3.0], [2.0, 0.0]]).hard.values.tolist() == [[False, True], [True, True]]
    assert model_outputs(several, [[0.6, 0.4], [0.2, 0.5]]).hard.values.tolist() == [[True, False], [False, True]]
    assert model_outputs(several, [[0, 1], [1, 0]]).scores is None  # hard answers have no scores
    assert model_outputs(one, ["b", "b"]).hard.category.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([[1.0, 2.0]], "expected one prediction for each of 2 items, got 1"),
        ([[1.0], [2.0]], "expected one score for each of 2 labels, got 1 columns"),
        ([[1.0, np.nan], [2.0, 0.0]], "got NaN, infinity or more than 3e38 in 1 of 2 rows, the first in row 0"),
        (["d", "c"], "expected labels such as 'a', got 'c'"),
    ],
)
def test_answers_that_do_not_fit_are_refused(answers, message):
    with pytest.raises(BadInput, match=message):
        model_outputs(labelled(["a", "b"], [0, 1]), answers)


def test_the_f1_of_a_model():
    data = labelled(["a", "a", "b"], [0, 1, 1])
    # a: TP 1, FN 1: 2/3; b: TP 1, FP 1: 2/3.
    assert model_outputs(data, ["a", "b", "b"]).f1(data, np.arange(3)) == pytest.approx(200 / 3)


def test_dealt_out_answers_keep_the_confusions_of_each_split():
    data = planted(n=400)
    rng = np.random.default_rng(1)
    hard = model_outputs(data, rng.integers(0, 4, 400).astype(str)).hard
    dealt = chance_errors(data, hard, seed=1)
    for split in ("train", "test"):
        assert confusions(data, dealt, split) == confusions(data, hard, split)
    assert (dealt.category != hard.category).any()


def test_dealt_out_answers_say_no_more_than_the_label():
    """A model whose mistakes follow the protected class leaks 100 %; dealt out, only what its labels leak."""
    rng = np.random.default_rng(0)
    category, protected = rng.integers(0, 2, 4000), rng.integers(0, 2, 4000)
    data = labelled(category, protected, split=np.where(np.arange(4000) % 2, "test", "train"))
    told = model_outputs(data, np.stack([protected, 1 - protected], axis=1) * 1.5)
    assert model_leakage(data, told.scores, Logistic()).estimate == 100
    dealt = [model_leakage(data, chance_errors(data, told.scores, seed), Logistic()).estimate for seed in range(20)]
    # 2,000 tested items: an SD of 1.1 points a draw, 0.25 for the mean of 20.
    assert np.mean(dealt) == pytest.approx(50, abs=1.25)
    assert model_leakage(data, told.hard, Bayes()).estimate == 100
