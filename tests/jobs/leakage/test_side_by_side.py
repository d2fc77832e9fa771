"""Several models, subsets, attackers and protected attributes: each row is what its own run would say."""

from dataclasses import replace

import numpy as np
import pytest
from leaky_data import planted

import transect
from transect import LeakageOptions, ModelPredictions

N = 800
QUICK = LeakageOptions(permutations=0, rounds=1, curve=False, f1=(90,))


def labels(n=N):
    data = planted(n=n)
    rng = np.random.default_rng(3)
    return {
        "id": list(data.ids),
        "verb": data.labels.category,
        "gender": np.where(data.protected == 1, "woman", "man"),
        "age": np.where(rng.random(n) < 0.3 + 0.4 * data.protected, "old", "young"),
        "split": data.split.tolist(),
    }


def predicted(share, n=N, seed=0):
    """The verb; in this share of items one that is 0 for men and 3 for women."""
    table = labels(n)
    revealed = np.random.default_rng(seed).random(n) < share
    return {"id": table["id"], "verb": np.where(revealed, np.where(table["gender"] == "man", 0, 3), table["verb"])}


def scored(push, n=N):
    table = labels(n)
    scores = np.random.default_rng(0).normal(size=(n, 4)) + 2 * np.eye(4)[table["verb"]]
    scores[:, 0] += push * (table["gender"] == "man")
    return {"id": table["id"], "verb": scores}


def run(predictions=None, attacker="bayes", protected="gender", options=QUICK, **more):
    settings = {"split": "split", "attacker": attacker, "quiet": True, "options": options, **more}
    return transect.leakage(labels(), protected, "verb", predictions=predictions, **settings)


def ends(estimate):
    return estimate.estimate, estimate.low, estimate.high, estimate.n


def test_a_model_that_reveals_the_class_and_one_that_says_nothing_differ_by_fifty_points():
    """λ_M is 100 and 50, whatever is drawn, so that the difference is 50 in every item's pair of credits."""
    constant = {"id": labels()["id"], "verb": np.where(np.arange(N) < N, 1, 0)}
    result = run([ModelPredictions("nothing", constant), ModelPredictions("all", predicted(1.0))])
    (apart,) = result.numbers.differences
    assert (apart.model, apart.reference, apart.format) == ("all", "nothing", "hard")
    assert apart.difference.estimate == 50
    assert apart.difference.low < 50 < apart.difference.high
    assert [row.model_leakage.estimate for row in result.numbers.table] == [50, 100]
    assert result.numbers.model == "nothing"


def test_intervals_of_several_models_hold_together():
    """Of several models the intervals hold together: each at 1 - .05 / 2 beside two others."""
    models = [ModelPredictions(name, scored(push)) for name, push in (("low", 0.0), ("high", 20.0), ("same", 0.0))]
    two, three = run(models[:2]), run(models)
    (alone,), (first, same) = two.numbers.differences, three.numbers.differences
    assert (alone.confidence, first.confidence) == (0.95, 0.975)
    assert first.difference.estimate == alone.difference.estimate
    assert first.difference.low < alone.difference.low
    assert first.difference.high > alone.difference.high
    assert same.difference.estimate == 0


def test_models_that_answer_other_items_have_no_difference():
    """Two files of the same predictions, one of them of the test rows only: their difference is 0, or not estimable."""
    whole = predicted(0.3)
    test = np.array(labels()["split"]) == "test"
    part = {name: np.array(column)[test].tolist() for name, column in whole.items()}
    (same,) = run([ModelPredictions("a", whole), ModelPredictions("b", whole)]).numbers.differences
    assert same.difference.estimate == 0
    (other,) = run([ModelPredictions("a", whole), ModelPredictions("b", part)]).numbers.differences
    assert np.isnan(other.difference.estimate)
    assert "predictions for different items" in other.difference.reason


def test_each_row_has_the_figures_of_its_own_run():
    options = replace(QUICK, alphas=(2.0,))
    models = [ModelPredictions("a", scored(0.5)), ModelPredictions("b", scored(2.0))]
    together = run(models, "logistic,bayes", options=options)
    rows = {(row.part, row.model, row.attacker): row for row in together.numbers.table}
    assert list(rows) == [
        ("model", "a", "logistic"),
        ("model", "b", "logistic"),
        ("attacker", "a", "bayes"),
        ("attacker", "b", "bayes"),
        ("balanced", "", "logistic"),
    ]
    for model in models:
        for attacker, part in (("logistic", "model"), ("bayes", "attacker")):
            alone = run(model.table, attacker, options=QUICK).numbers
            row = rows[part, model.name, attacker]
            assert ends(row.model_leakage) == ends(alone.model_leakage)
            assert ends(row.dataset_leakage) == ends(alone.dataset_leakage)
            assert row.amplification.estimate == alone.amplification.estimate
            scores = alone.model_f1, alone.model_mean_average_precision
            assert (row.f1, row.mean_average_precision) == scores
    settings = {"split": "split", "attacker": "logistic", "where": "in_alpha2", "options": QUICK, "quiet": True}
    marked = transect.leakage(together.numbers.marked, "gender", "verb", **settings)
    assert rows["balanced", "", "logistic"].dataset_leakage.estimate == marked.numbers.dataset_leakage.estimate


def test_a_model_of_a_balanced_subset_has_the_row_of_that_subset_and_the_tables_own_column_is_taken():
    table = {**labels(), "in_alpha1": np.arange(N) % 8 < 5}
    models = [ModelPredictions("plain", predicted(0.2)), ModelPredictions("fair", predicted(0.1), alpha=1.0)]
    result = transect.leakage(
        table, "gender", "verb", split="split", attacker="bayes", predictions=models, options=QUICK, quiet=True
    )
    first, second = result.numbers.table
    assert (first.model, first.alpha) == ("plain", None)
    assert (second.model, second.alpha, second.note) == ("fair", 1.0, "rows of the table's column in_alpha1")
    kept = transect.leakage(
        table, "gender", "verb", split="split", attacker="bayes", where="in_alpha1", options=QUICK, quiet=True
    )
    assert ends(second.dataset_leakage) == ends(kept.numbers.dataset_leakage)
    assert sum(second.n_train) == sum((np.arange(N) % 8 < 5) & (np.array(labels()["split"]) == "train"))


def test_an_attribute_that_follows_another_leaks_alone_and_not_within_its_levels():
    """Age depends on gender alone: verbs say something of age, and nothing where gender is known."""
    n = 12_000
    result = transect.leakage(
        labels(n), ["gender", "age"], "verb", split="split", attacker="bayes", options=QUICK, quiet=True
    )
    rows = {(row.attribute, row.within): row for row in result.numbers.table}
    assert rows["age", ""].dataset_leakage.low > 52
    for level in ("man", "woman"):
        row = rows["age", f"gender = {level}"]
        assert row.dataset_leakage.low < 50 < row.dataset_leakage.high
    assert rows["gender", "age = old"].dataset_leakage.low > 60
    crossed = rows["gender × age", ""]
    assert (crossed.chance, crossed.classes) == (25.0, ("man, old", "man, young", "woman, old", "woman, young"))
    assert [sum(row.n_train) for row in (rows["gender", ""], crossed)] == [n * 3 // 4] * 2


def test_small_cells_have_a_warning_and_empty_ones_a_reason():
    table = labels(200)
    table["age"] = np.where((table["gender"] == "man") | (np.arange(200) % 40 == 0), "old", "young")
    result = transect.leakage(
        table, ["gender", "age"], "verb", split="split", attacker="bayes", options=QUICK, quiet=True
    )
    rows = {(row.attribute, row.within): row for row in result.numbers.table}
    assert rows["age", "gender = woman"].reason or "scored items" in rows["age", "gender = woman"].note
    empty = rows["gender", "age = young"]
    assert "expected at least two classes, got only 'woman'" in empty.reason
    assert np.isnan(empty.dataset_leakage.estimate)


def test_the_map_is_that_of_scikit_learn():
    from sklearn.metrics import average_precision_score

    table, test = labels(), np.array(labels()["split"]) == "test"
    truth = np.eye(4)[table["verb"]][test]
    expected = 100 * average_precision_score(truth, scored(0.5)["verb"][test].astype(np.float32), average="macro")
    result = run(scored(0.5), "logistic", options=LeakageOptions(permutations=0, rounds=1, curve=False))
    assert result.numbers.model_mean_average_precision == pytest.approx(expected, abs=1e-9)
