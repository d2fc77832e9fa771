"""Margins of equivalence: how they are written, stored and looked up."""

import math

import pytest

from transect.errors import BadInput, UnknownName
from transect.runs import report_options

OUTCOMES = ("answer", "miss", "score")


def test_an_outcomes_own_margin_comes_before_that_of_all_rates():
    chosen = report_options.parse_margins(["0.03", "miss=0.01", "score=0.5"], OUTCOMES)
    assert report_options.margin_of(chosen, "miss", "proportion") == 0.01
    assert report_options.margin_of(chosen, "answer", "proportion") == 0.03
    assert report_options.margin_of(chosen, "score", "score") == 0.5


def test_rates_have_a_default_and_scores_have_none():
    assert report_options.margin_of({}, "miss", "proportion") == 0.02
    assert math.isnan(report_options.margin_of({}, "score", "score"))
    assert math.isnan(report_options.margin_of({"": 0.03}, "score", "score"))


@pytest.mark.parametrize(
    ("texts", "error", "message"),
    [
        (["small"], BadInput, "--margin 'small': expected a number or OUTCOME=NUMBER"),
        (["0"], BadInput, "expected a difference above 0, got 0"),
        (["-0.02"], BadInput, "expected a difference above 0, got -0.02"),
        (["2"], BadInput, "expected a share below 1, got 2; two points are 0.02"),
        (["miss=1"], BadInput, "expected a share below 1, got 1"),
        (["nan"], BadInput, "expected a difference above 0, got nan"),
        (["0.02", "0.03"], BadInput, "expected one margin for all rates, got two"),
        (["miss=0.02", "miss=0.03"], BadInput, "expected one margin for miss, got two"),
        (["mis=0.02"], UnknownName, "miss"),
    ],
)
def test_bad_margins_are_refused_in_one_line(texts, error, message):
    with pytest.raises(error, match=message) as caught:
        report_options.parse_margins(texts, OUTCOMES)
    assert "\n" not in str(caught.value)


def test_margins_are_stored_and_read_back(tmp_path):
    assert report_options.read_margins(tmp_path) == {}
    report_options.write_margins(tmp_path, {"": 0.03, "score": 0.5})
    assert report_options.read_margins(tmp_path) == {"": 0.03, "score": 0.5}
    report_options.write_margins(tmp_path, {})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["[0.02]", '{"miss": "wide"}', '{"miss": -1}', "0.02", "{"])
def test_a_stored_file_that_holds_no_margins_is_refused(tmp_path, text):
    (tmp_path / report_options.MARGINS_FILE).write_text(text)
    with pytest.raises(BadInput, match=r"margins\.json.*delete it, or give --margin again"):
        report_options.read_margins(tmp_path)
