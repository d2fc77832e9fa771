"""An attacker that did not learn says nothing of leakage, and every place that would show a number says so."""

import numpy as np
import pytest
from leaky_data import planted
from report_reader import parse

from transect.attacks import Settings, analyse, model_outputs, side_by_side
from transect.attacks.balance import overview
from transect.attacks.numbers import numbers_of
from transect.job import Finished
from transect.jobs.leakage import Leakage

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


@pytest.fixture
def finished(found):
    return Finished(numbers_of(found, overview(found.data), "labels.csv"), Leakage("labels.csv", "protected"))


def test_no_figure_of_the_analysis_has_a_number(found, finished):
    for row in finished.table.to_pylist():
        if row["figure"] not in ("BiasAmp", "BiasAmp→, label from class", "multi-attribute"):
            assert [row["estimate"], row["low"], row["high"]] == [None] * 3, row["figure"]
            assert row["reason"].startswith(REASON), row["figure"]
    assert all(leak.reason.startswith(REASON) for _, leak in found.curve)
    assert found.at(90.0).reason.startswith(REASON)
    assert finished.numbers.contributions == ()
    assert REASON in " ".join(finished.content.answer)


def test_the_page_says_why(finished, tmp_path):
    tree = parse(finished.report(tmp_path).read_text())
    text = " ".join("".join(tree.itertext()).split())
    assert "It is inconclusive whether the labels reveal protected." in text
    assert REASON in text
    assert "not shown to give" not in text


def test_a_representation_says_why_and_has_no_null(monkeypatch):
    data, rng = planted(n=200), np.random.default_rng(0)
    monkeypatch.setattr(side_by_side, "load", lambda name, device: Constant())
    layer = side_by_side.Layer("last", rng.normal(size=(200, 3)))
    (row,) = side_by_side.representation_rows(data, [layer], ["constant"], Settings(permutations=5), "cpu", "")
    assert row.leakage.reason.startswith(REASON)
    assert row.beyond_label.reason.startswith(REASON)
    assert np.isnan([row.leakage.estimate, row.null.low, row.null.high]).all()
