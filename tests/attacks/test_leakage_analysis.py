"""The whole answer: amplification where it is planted, none where errors are chance's, like against like."""

import numpy as np
import pyarrow as pa
import pytest
from leaky_data import planted, planted_bits

from transect.attacks import Model, Outputs, Settings, analyse, analyse_models, labelled, model_outputs
from transect.attacks.attackers import Bayes, Logistic, load
from transect.attacks.balance import overview
from transect.attacks.numbers import numbers_of
from transect.attacks.outputs import predictions
from transect.runs.json_records import plain

AS_PUBLISHED = Settings(permutations=0, published=True, rounds=3)


def numbers(analysis):
    return numbers_of(analysis, overview(analysis.data, ()), "labels.csv")


def amplifying_scores(data, push, seed=0):
    """Logits of a fair model of the category, with `push` towards the lower half of the categories for class 1."""
    rng = np.random.default_rng(seed)
    k = len(data.labels.names)
    scores = rng.normal(size=(len(data), k)) + 1.0 * data.labels.dense(np.arange(len(data)))
    scores[:, : k // 2] += push * (2 * data.protected[:, None] - 1)
    return scores


@pytest.mark.integration
def test_a_fair_model_does_not_amplify_and_a_partial_one_does():
    data = planted(n=12_000, k=8)
    for push, lower in ((0.0, None), (1.0, 10)):
        outputs = model_outputs(data, amplifying_scores(data, push))
        for name, given in (("scores", outputs), ("hard", Outputs(outputs.hard))):
            (found,) = analyse(data, load("logistic"), outputs=given).comparisons
            assert (found.name, found.noise) == (name, "dealt out within labels")
            delta = found.amplification
            assert (delta.low < 0 < delta.high) if lower is None else delta.low > lower, (push, name, delta)


def test_models_with_and_without_scores_are_compared_on_hard_answers():
    data = planted(n=1200, k=4)
    outputs = model_outputs(data, amplifying_scores(data, 1.0))
    models = [Model(outputs, name="scores"), Model(Outputs(outputs.hard), name="hard")]
    several = analyse_models(data, load("logistic"), models, settings=Settings(permutations=0))
    assert [[c.name for c in found.comparisons] for found in several.analyses] == [["scores", "hard"], ["hard"]]
    (apart,) = several.differences
    assert (apart.format, apart.difference.estimate) == ("hard", 0.0)


def test_the_published_difference_is_partly_format():
    """A model that amplifies nothing: from its logits less is learned than from flipped bits of equal F1."""
    data = planted(n=12_000, k=40)
    scores = np.random.default_rng(0).normal(size=(12_000, 40)) + 3 * data.labels.dense(np.arange(12_000))
    found = analyse(data, load("logistic"), outputs=model_outputs(data, scores), settings=AS_PUBLISHED)
    by_name = {comparison.name: comparison.amplification for comparison in reversed(found.comparisons)}
    assert by_name["published"].high < -5
    assert abs(by_name["scores"].estimate) < 2
    assert abs(by_name["hard"].estimate) < 2


def test_levels_fall_with_the_f1_and_are_interpolated():
    found = analyse(planted(n=20_000, k=8), Bayes())
    estimates = [found.dataset.estimate, *(level.estimate for level in found.levels)]
    assert estimates == sorted(estimates, reverse=True)
    for level in found.levels:
        assert level.f1_measured == pytest.approx(level.f1, abs=1.5)
        assert found.at(level.f1).estimate == pytest.approx(level.estimate)
    between = found.at(70.0)
    assert between.estimate == pytest.approx((estimates[1] + estimates[2]) / 2)
    assert between.low == pytest.approx((found.levels[0].low + found.levels[1].low) / 2)
    assert np.isnan(found.at(5.0).estimate)


def test_leakage_at_an_f1_is_linear_in_the_rate_where_the_attacker_is_exact():
    """Frequency noise at rate p: λ_D(a) = (1 − p) λ_D + p · 50, since a redrawn label says nothing."""
    data = planted(n=40_000, k=8)
    found = analyse(data, Bayes(), f1=[50.0])
    (level,) = found.levels
    expected = (1 - level.rate) * found.dataset.estimate + level.rate * 50
    assert level.low < expected < level.high
    assert level.high - level.low < 3


def test_a_model_worse_than_any_noise_still_has_its_leakage():
    """Answers that are mostly wrong have an F1 that no noise leaves: what hangs on noise says why, the rest stands."""
    data = planted_bits(n=800, k=2)
    bits = data.labels.dense(np.arange(800))
    wrong = np.where(np.random.default_rng(0).random(bits.shape) < 0.9, 1 - 2 * bits, 2 * bits - 1)
    found = analyse(data, Logistic(), outputs=model_outputs(data, wrong + 0.25), settings=AS_PUBLISHED)
    kinds = {(c.name, c.noise): c for c in found.comparisons}
    assert next(iter(kinds)) == ("published", "flips")
    assert kinds["published", "flips"].amplification.reason.startswith("the model's F1, ")
    assert np.isnan(kinds["hard", "flips"].dataset_leakage.estimate)
    assert kinds["published", "flips"].model_leakage == kinds["scores", "dealt out within labels"].model_leakage
    assert np.isfinite(kinds["hard", "dealt out within labels"].amplification.estimate)
    assert found.levels[0].reason.endswith("the least that noise (flips) leaves")
    assert plain(numbers(found))["at_accuracy"][0]["rate"] is None


def test_answers_of_the_test_rows_alone_are_counted_against_training():
    """Training: label 1 is of class 1 in 3 of 4. Answers on the test rows: in 4 of 4. BiasAmp = 25, not 4/4 - 2/4 = 50.

    Label 0 leans to class 0, with 3 of 4 in training; among the answers it is of class 0 in 4 of 4, so that it adds 25.
    """
    label = np.array([1, 1, 1, 1, 0, 0, 0, 0] * 10 + [1, 1, 1, 1, 0, 0, 0, 0] * 10)
    group = np.array([1, 1, 1, 0, 0, 0, 0, 1] * 10 + [1, 1, 0, 0, 1, 1, 0, 0] * 10)
    data = labelled(label, group, split=["train"] * 80 + ["test"] * 80)
    table = pa.table({"id": list(data.ids[80:]), "said": group[80:]})
    covered, outputs = predictions(table, data, ["said"])
    found = analyse(data, Bayes(), outputs=outputs, answered=covered, settings=Settings(permutations=0))
    assert found.counted["bias_amp"] == pytest.approx(25)
