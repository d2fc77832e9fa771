"""Simulated raters answer as their stated model says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transect.annotation.simulated import Psychometric, answers, even_thresholds, seed_of
from transect.errors import BadInput


def test_probabilities_by_hand():
    # x = .5 between thresholds .4 and .6 with noise .1: P(below .4) = Phi(-1) = .1587, the same above .6.
    made = Psychometric((0.4, 0.6), noise=0.1).probabilities(0.5)
    assert made == pytest.approx([0.1587, 0.6827, 0.1587], abs=1e-4)
    # A tenth of lapses: nine tenths of that and a third of a tenth each.
    lapsing = Psychometric((0.4, 0.6), noise=0.1, lapse=0.1).probabilities(0.5)
    assert lapsing == pytest.approx(0.9 * made + 0.1 / 3)
    # Bias .1 puts x on the upper threshold: half of the looks lie above. So does a drift of .001 after 100 answers.
    assert Psychometric((0.4, 0.6), noise=0.1, bias=0.1).probabilities(0.5)[2] == pytest.approx(0.5)
    assert Psychometric((0.4, 0.6), noise=0.1, drift=0.001).probabilities(0.5, 100)[2] == pytest.approx(0.5)
    assert Psychometric((0.4, 0.6), noise=0.0).probabilities(0.5).tolist() == [0.0, 1.0, 0.0]


def test_answers_have_these_frequencies():
    model = Psychometric((0.4, 0.6), noise=0.1, lapse=0.1)
    said = answers(model, np.full(4000, 0.5), np.arange(4000))
    # Standard errors are below .008: five of them.
    assert np.bincount(said, minlength=3) / 4000 == pytest.approx(model.probabilities(0.5), abs=0.04)


@given(truth=st.floats(-2, 3), lapse=st.floats(0, 1), noise=st.floats(0, 2), levels=st.integers(2, 7))
def test_probabilities_are_probabilities(truth, lapse, noise, levels):
    made = Psychometric(even_thresholds(levels), noise=noise, lapse=lapse).probabilities(truth)
    assert made.sum() == pytest.approx(1)
    assert (made >= -1e-12).all()
    assert len(made) == levels


def test_an_answer_depends_on_the_image_and_the_rater_alone():
    model, truth = Psychometric((0.5,), noise=0.3), np.linspace(0, 1, 20)
    seeds = [seed_of("ada", i) for i in range(20)]
    whole = answers(model, truth, seeds)
    assert [int(answers(model, [truth[i]], [seeds[i]])[0]) for i in range(20)] == whole.tolist()
    assert answers(model, truth, [seed_of("ben", i) for i in range(20)]).tolist() != whole.tolist()


@pytest.mark.parametrize("wrong", [{"thresholds": ()}, {"thresholds": (0.5, 0.4)}, {"noise": -1.0}, {"lapse": 1.5}])
def test_models_that_are_none_are_refused(wrong):
    with pytest.raises(BadInput):
        Psychometric(**{"thresholds": (0.5,), **wrong})
