"""The whole answer: amplification where it is planted, none where errors are chance's, like against like."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from leaky_data import planted, planted_bits

from transect.attacks import Settings, analyse, labelled, model_outputs
from transect.attacks.attackers import Bayes, Logistic, Mlp, load
from transect.attacks.balance import overview
from transect.attacks.numbers import numbers_of, rows_of
from transect.attacks.outputs import predictions
from transect.errors import BadInput
from transect.jobs.leakage.page import page_of
from transect.reports.builder import build
from transect.runs.json_records import plain


def numbers(analysis):
    return numbers_of(analysis, overview(analysis.data, ()), "labels.csv")


def amplifying_scores(data, push, seed=0):
    """Logits of a fair model of the category, with `push` towards the lower half of the categories for class 1."""
    rng = np.random.default_rng(seed)
    k = len(data.labels.names)
    scores = rng.normal(size=(len(data), k)) + 1.0 * data.labels.dense(np.arange(len(data)))
    scores[:, : k // 2] += push * (2 * data.protected[:, None] - 1)
    return scores


def test_a_fair_model_does_not_amplify_and_a_partial_one_does():
    data = planted(n=12_000, k=8)
    for push, lower in ((0.0, None), (1.0, 10)):
        found = analyse(data, load("logistic"), outputs=model_outputs(data, amplifying_scores(data, push)))
        kinds = {(c.name, c.noise): c for c in found.comparisons}
        assert set(kinds) == {
            ("published", "flips"),
            ("scores", "dealt out within labels"),
            ("hard", "dealt out within labels"),
            ("hard", "frequency"),
        }
        for name in ("scores", "hard"):
            delta = kinds[name, "dealt out within labels"].amplification
            assert (delta.low < 0 < delta.high) if lower is None else delta.low > lower, (push, name, delta)
        assert found.headline is kinds["scores", "dealt out within labels"]


def test_the_published_difference_is_partly_format():
    """A model that amplifies nothing: from its logits less is learned than from flipped bits of equal F1."""
    data = planted(n=12_000, k=40)
    scores = np.random.default_rng(0).normal(size=(12_000, 40)) + 3 * data.labels.dense(np.arange(12_000))
    found = analyse(data, load("logistic"), outputs=model_outputs(data, scores), settings=Settings(permutations=0))
    by_name = {comparison.name: comparison.amplification for comparison in reversed(found.comparisons)}
    assert by_name["published"].high < -5
    assert by_name["scores"].low < 0 < by_name["scores"].high
    assert by_name["hard"].low < 0 < by_name["hard"].high


def test_levels_fall_with_the_f1_and_are_interpolated():
    found = analyse(planted(n=20_000, k=8), Bayes())
    estimates = [found.dataset.estimate, *(level.leakage.estimate for level in found.levels)]
    assert estimates == sorted(estimates, reverse=True)
    for level in found.levels:
        assert level.f1_measured == pytest.approx(level.f1, abs=1.5)
        assert found.at(level.f1).estimate == pytest.approx(level.leakage.estimate)
    between = found.at(70.0)
    assert between.estimate == pytest.approx((estimates[1] + estimates[2]) / 2)
    assert between.low == pytest.approx((found.levels[0].leakage.low + found.levels[1].leakage.low) / 2)
    assert np.isnan(found.at(5.0).estimate)


def test_leakage_at_an_f1_is_linear_in_the_rate_where_the_attacker_is_exact():
    """Frequency noise at rate p: λ_D(a) = (1 − p) λ_D + p · 50, since a redrawn label says nothing."""
    data = planted(n=40_000, k=8)
    found = analyse(data, Bayes(), f1=[50.0])
    (level,) = found.levels
    expected = (1 - level.rate) * found.dataset.estimate + level.rate * 50
    assert level.leakage.low < expected < level.leakage.high
    assert level.leakage.high - level.leakage.low < 3


def test_several_labels():
    data = planted_bits(n=6000)
    outputs = model_outputs(data, data.labels.values * 2.0 - 1)
    found = analyse(data, Logistic(), outputs=outputs)
    assert found.f1 == 100
    assert [c.amplification.estimate for c in found.comparisons] == [0.0] * 4  # a perfect model leaks what labels leak


def test_bayes_compares_hard_answers_only():
    data = planted(n=3000)
    found = analyse(data, Bayes(), outputs=model_outputs(data, amplifying_scores(data, 0.5)))
    assert {c.name for c in found.comparisons} == {"hard"}


def test_answers_on_the_test_split_alone():
    data = planted(n=8000)
    scores = amplifying_scores(data, 1.0)
    rows_ = data.rows_of("test")
    answered = planted(n=8000, split=False).take(rows_)
    found = analyse(data, Logistic(), outputs=model_outputs(answered, scores[rows_]), answered=answered)
    assert found.dataset.n == len(rows_)
    assert found.headline.model_leakage.n == len(rows_)
    assert found.headline.amplification.low > 5


def test_as_published_uses_flips_and_rounds():
    data = planted(n=4000)
    outputs = model_outputs(data, amplifying_scores(data, 0.5))
    found = analyse(data, Logistic(), outputs=outputs, settings=Settings(published=True, rounds=3))
    assert (found.noise, found.headline.name, found.dataset.rounds) == ("flips", "published", 3)


def test_an_f1_out_of_reach_is_refused():
    with pytest.raises(BadInput, match="F1 of 1 %"):
        analyse(planted(n=1000), Bayes(), f1=[1.0])


def test_a_model_worse_than_any_noise_still_has_its_leakage():
    """Answers that are mostly wrong have an F1 that no noise leaves: what hangs on noise says why, the rest stands."""
    data = planted_bits(n=800, k=2)
    bits = data.labels.dense(np.arange(800))
    wrong = np.where(np.random.default_rng(0).random(bits.shape) < 0.9, 1 - 2 * bits, 2 * bits - 1)
    found = analyse(data, Logistic(), outputs=model_outputs(data, wrong + 0.25), settings=Settings(permutations=0))
    kinds = {(c.name, c.noise): c for c in found.comparisons}
    assert next(iter(kinds)) == ("published", "flips")
    assert kinds["published", "flips"].amplification.reason.startswith("the model's F1, ")
    assert np.isnan(kinds["hard", "frequency"].dataset_leakage.estimate)
    assert kinds["published", "flips"].model_leakage == kinds["scores", "dealt out within labels"].model_leakage
    assert np.isfinite(found.headline.amplification.estimate)
    assert found.levels[0].leakage.reason.endswith("the least that noise (frequency) leaves")
    written = plain(numbers(found))
    assert written["at_accuracy"][0]["rate"] is None
    assert ["amplification Δ", "not estimable"] in [row[:2] for row in rows_of(numbers(found))]
    assert "the least that noise (flips) leaves" in build(page_of(numbers(found)))


def test_the_published_difference_is_that_of_the_published_figures():
    """At an even guess both sides are folded, so that the difference is of the folded figures, round by round."""
    data = planted(n=1200, excess=0.0)
    said = model_outputs(data, np.random.default_rng(0).permutation(data.labels.category))
    drawn = Settings(published=True, rounds=6, permutations=0, test_per_class=40)
    hard = analyse(data, Bayes(), outputs=said, noise="frequency", settings=drawn).comparisons
    for found in (comparison for comparison in hard if not comparison.dataset_leakage.reason):
        apart = found.model_leakage.estimate - found.dataset_leakage.estimate
        assert found.amplification.estimate == pytest.approx(apart, abs=1e-9)
        assert min(found.model_leakage.estimate, found.dataset_leakage.estimate) >= 50
    assert hard[0].dataset_leakage.rounds == 6


def test_where_no_label_occurs_the_model_still_leaks_and_says_why_there_is_no_f1():
    data = labelled(np.zeros((400, 2), dtype=int), np.arange(400) % 2)
    said = model_outputs(data, np.stack([np.arange(400) % 2, np.zeros(400)], axis=1))
    found = analyse(data, Logistic(), outputs=said, settings=Settings(permutations=0))
    assert found.headline.model_leakage.estimate == 100
    assert found.levels[0].leakage.reason.startswith("no label occurs in the scored rows")
    printed = plain(numbers(found))
    assert (printed["model_f1"], printed["at_accuracy"][0]["f1"]) == (None, None)
    assert ["λ_D at F1 of the model", "not estimable"] in [row[:2] for row in rows_of(numbers(found))]
    with pytest.raises(BadInput, match="no label occurs"):
        analyse(data, Logistic(), f1=[50.0])


def test_what_labels_and_classes_add_to_the_counted_measures_sums_to_them():
    data = planted_bits(n=2000)
    found = analyse(
        data, Logistic(), outputs=model_outputs(data, ~data.labels.matrix), settings=Settings(permutations=0)
    )
    for name, by in found.counted_by.items():
        assert by.shape == (6, 2)
        assert by.sum() == pytest.approx(found.counted[name])
    shown = numbers(found).counted_contributions["directional"]
    assert [abs(item.points) for item in shown] == sorted((abs(item.points) for item in shown), reverse=True)


@pytest.mark.parametrize(("attacker", "curve", "points"), [("auto", None, 4), ("mlp-1", None, 0), ("bayes", False, 0)])
def test_the_learning_curve_is_shown_unless_networks_would_have_to_learn_it(attacker, curve, points):
    fighter = Mlp(attacker, epochs=1) if attacker.startswith("mlp") else load(attacker)
    found = analyse(planted(n=400), fighter, curve=curve, settings=Settings(rounds=1, permutations=0))
    assert len(found.curve) == points
    assert ("learning curve shows" in numbers(found).caveat) == bool(points)
    assert ("--curve" in numbers(found).caveat) == (not points)


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


def test_where_noise_reaches_the_f1_of_the_answers_but_not_of_all_rows_the_rest_is_still_said():
    """Even draws of two labels leave F1 50 of even rows, and p / (p + 1/2) of a label of share p: 40 of .9 and .1."""
    rng = np.random.default_rng(0)
    label = np.concatenate([np.arange(400) % 2, (rng.random(2000) < 0.1).astype(int), np.arange(100) % 2])
    data = labelled(label, np.arange(2500) // 2 % 2, split=["train"] * 400 + ["val"] * 2000 + ["test"] * 100)
    data = replace(data, split=np.where(data.split == "val", "development", data.split))
    said = np.where(rng.random(2500) < 0.9, rng.integers(0, 2, 2500), label)[400:]
    covered, outputs = predictions(pa.table({"id": list(data.ids[400:]), "said": said}), data, ["said"])
    quick = Settings(permutations=0)
    found = analyse(data, Bayes(), outputs=outputs, answered=covered, noise="replacement", settings=quick)
    assert 40 < found.f1 < 50
    assert "is below 50.00 %" in found.levels[0].leakage.reason
    assert all(np.isfinite(comparison.amplification.estimate) for comparison in found.comparisons)
