"""A study plan as a Python call."""

from published import fits

import transect
from transect.effects.planning import plan


def test_a_plan_is_that_of_the_estimator(tmp_path):
    result, expected = transect.plan(0.05, 0.1, power=0.8, family=3), plan(0.05, 0.1, power=0.8, family=3)
    assert (result.numbers.subjects, result.numbers.images_saved) == (expected.subjects, expected.images_saved)
    assert result.table.num_rows == 1
    assert f"{expected.subjects:,} subjects detect an effect of 0.05" in result.headline()
    assert "tests that share it" in result.report(tmp_path).read_text()
    fits(result)
