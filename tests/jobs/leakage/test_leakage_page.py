"""Every number of the leakage page is in leakage.json, and nothing else on it is a number."""

import json

import numpy as np
import pytest
from leaky_data import planted, planted_bits
from report_reader import loose_digits, number_faults, parse, text_faults

from transect.attacks import Settings, analyse, labelled, model_outputs
from transect.attacks.attackers import Bayes, Logistic
from transect.attacks.balance import overview
from transect.attacks.numbers import numbers_of
from transect.jobs.leakage.page import write


def with_model():
    data = planted(n=2000)
    scores = np.random.default_rng(0).normal(size=(2000, 4)) + 2 * data.labels.dense(np.arange(2000))
    found = analyse(data, Logistic(), outputs=model_outputs(data, scores), settings=Settings(permutations=20))
    return numbers_of(found, overview(data), "labels.parquet")


def without_model():
    data = planted_bits(n=1500)
    return numbers_of(analyse(data, Logistic(), settings=Settings(permutations=0)), overview(data, ()), "labels.csv")


def cross_fitted():
    verbs = np.array(["<cook>"] * 60 + ["drive & park"] * 60)
    data = labelled(verbs, np.arange(120) % 3, attribute="age")
    return numbers_of(analyse(data, Bayes(), settings=Settings(permutations=5)), overview(data), "a&b.csv")


@pytest.mark.parametrize("make", [with_model, without_model, cross_fitted])
def test_numbers_and_texts_are_those_of_the_json(make, tmp_path):
    page = write(make(), tmp_path).read_text()
    written = json.loads((tmp_path / "leakage.json").read_text())
    tree = parse(page)
    assert number_faults(tree, written) == []
    assert text_faults(tree, written) == []
    assert loose_digits(tree) == []
    assert len(list(tree.iter("data"))) > 20


def test_contributions_sum_to_the_amplification():
    data = planted(n=2000)
    scores = np.random.default_rng(0).normal(size=(2000, 4)) + 2 * data.labels.dense(np.arange(2000))
    found = analyse(data, Logistic(), outputs=model_outputs(data, scores), settings=Settings(permutations=0))
    assert found.contributions.sum() == pytest.approx(found.headline.amplification.estimate)
