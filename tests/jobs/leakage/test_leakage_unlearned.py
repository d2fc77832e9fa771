"""An attacker that did not learn says nothing of leakage, and every place that would show a number says so."""

import json

import numpy as np
import pytest
from leaky_data import planted
from report_reader import parse, text_faults
from transect.jobs.leakage.page import write

from transect.attacks import Settings, analyse, model_outputs, side_by_side
from transect.attacks.balance import overview
from transect.attacks.numbers import figures, headline, numbers_of, table_of

REASON = "the attacker did not learn: on its own training rows it is no better than guessing"


class Constant:
    """Scores every class of every item alike, as a network does whose steps were too few."""

    name, is_slow, is_random, knows_noise = "constant", False, False, False

    def attack(self, problems, stage=""):
        return [np.zeros((len(problem.test), problem.n_classes)) for problem in problems]


@pytest.fixture
def found():
    data = planted(n=200)
    scores = np.random.default_rng(0).normal(size=(200, 4))
    return analyse(data, Constant(), outputs=model_outputs(data, scores), settings=Settings(permutations=5), curve=True)


def test_no_figure_of_the_analysis_has_a_number(found):
    numbers = numbers_of(found, overview(found.data), "labels.csv")
    for name, estimate, _ in figures(numbers):
        if name not in ("BiasAmp", "BiasAmp→, label from class", "multi-attribute"):
            assert np.isnan([estimate.estimate, estimate.low, estimate.high]).all(), name
            assert estimate.reason.startswith(REASON), name
    assert all(leak.reason.startswith(REASON) for _, leak in found.curve)
    assert found.at(90.0).reason.startswith(REASON)
    assert numbers.contributions == ()
    assert f"(not estimable: {REASON}" in headline(numbers)
    assert table_of(numbers)["reason"][0].as_py().startswith(REASON)


def test_the_page_says_why(found, tmp_path):
    page = write(numbers_of(found, overview(found.data), "labels.csv"), tmp_path).read_text()
    tree = parse(page)
    text = " ".join("".join(tree.itertext()).split())
    assert "Whether the labels give protected away is not known." in text
    assert f"not estimable : {REASON}" in text or f"not estimable: {REASON}" in text
    assert "not shown to give" not in text
    assert text_faults(tree, json.loads((tmp_path / "leakage.json").read_text())) == []


def test_a_representation_says_why_and_has_no_null(monkeypatch):
    data, rng = planted(n=200), np.random.default_rng(0)
    monkeypatch.setattr(side_by_side, "load", lambda name, device: Constant())
    layer = side_by_side.Layer("last", rng.normal(size=(200, 3)))
    (row,) = side_by_side.representation_rows(data, [layer], ["constant"], Settings(permutations=5), "cpu", "")
    assert row.leakage.reason.startswith(REASON)
    assert row.beyond_label.reason.startswith(REASON)
    assert np.isnan([row.leakage.estimate, row.null.low, row.null.high]).all()
