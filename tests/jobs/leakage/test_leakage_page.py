"""The leakage page: its figures are those of the analysis, whatever the labels are called."""

import numpy as np
import pytest
from leaky_data import planted, planted_bits
from report_reader import parse, text_of

from transect.attacks import Settings, analyse, labelled, model_outputs
from transect.attacks.attackers import Bayes, Logistic
from transect.attacks.balance import overview
from transect.attacks.numbers import numbers_of
from transect.job import Finished
from transect.jobs.leakage import Leakage
from transect.reports.columns import shown


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
def test_every_leakage_is_on_the_page_and_names_are_escaped(make, tmp_path):
    numbers = make()
    Finished(numbers, Leakage({})).report(tmp_path)
    trees = [parse(path.read_text()) for path in sorted(tmp_path.glob("*.html"))]
    elements = [one for tree in trees for one in tree.iter()]
    rows = [" ".join(text_of(row).split()) for row in elements if row.get("class", "").startswith("effect")]
    drawn = [numbers.dataset_leakage, *numbers.at_accuracy, *(one.model_leakage for one in numbers.comparisons)]
    for one in drawn:
        assert any(row.endswith(shown(one, "tenths interval")) for row in rows), one
    assert len(rows) > 3
    names = {label.name for label in numbers.overview.labels}
    assert names <= {" ".join(text_of(cell).split()) for cell in elements if cell.tag == "th"}


def test_contributions_sum_to_the_amplification():
    data = planted(n=2000)
    scores = np.random.default_rng(0).normal(size=(2000, 4)) + 2 * data.labels.dense(np.arange(2000))
    found = analyse(data, Logistic(), outputs=model_outputs(data, scores), settings=Settings(permutations=0))
    assert found.contributions.sum() == pytest.approx(found.headline.amplification.estimate)
