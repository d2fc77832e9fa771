"""A study plan as a Python call."""

import json

import pytest
from published import fits

import transect
from transect.effects.planning import plan
from transect.errors import BadInput


def test_a_plan_is_that_of_the_estimator(tmp_path):
    result, expected = transect.plan(0.05, 0.1, power=0.8, family=3), plan(0.05, 0.1, power=0.8, family=3)
    assert (result.numbers.subjects, result.numbers.images_saved) == (expected.subjects, expected.images_saved)
    assert result.table.num_rows == 1
    assert f"{expected.subjects:,} subjects detect an effect of 0.05" in result.headline()
    page = result.report(tmp_path)
    assert "tests that share it" in page.read_text()
    assert page == tmp_path / "plan.html"
    assert json.loads((tmp_path / "plan.json").read_text()) == result.to_json()
    fits(result)


def test_a_plan_for_a_margin_says_what_it_is_for():
    result = transect.plan(margin=0.05, base=0.2)
    assert result.numbers.margin == 0.05
    assert "show with a power of 0.9 that no difference exceeds 0.05, where there is none" in result.headline()
    assert any("margin of a requirement" in row for row in result.rows()[1])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"base": 0.2}, "expected --effect, to detect it, or --margin"),
        ({"effect": 0.1, "margin": 0.1, "base": 0.2}, "give one"),
        ({"margin": 0.1, "base": 0.2, "family": 3}, "drop --alpha and --family"),
        ({"margin": 0.0, "base": 0.2}, "expected a difference other than 0"),
    ],
)
def test_a_plan_for_neither_or_both_is_refused(settings, message):
    with pytest.raises(BadInput, match=message):
        transect.plan(**settings)
