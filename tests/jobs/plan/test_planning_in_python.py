"""A study plan as a Python call."""

import json

from published import fits

import transect
from transect.effects.planning import plan


def test_a_plan_is_that_of_the_estimator(tmp_path):
    result, expected = transect.plan(0.05, 0.1, power=0.8, family=3), plan(0.05, 0.1, power=0.8, family=3)
    assert (result.numbers.subjects, result.numbers.images_saved) == (expected.subjects, expected.images_saved)
    assert result.table.num_rows == 1
    page = result.report(tmp_path)
    assert page == tmp_path / "plan.html"
    assert json.loads((tmp_path / "plan.json").read_text()) == result.to_json()
    fits(result)
