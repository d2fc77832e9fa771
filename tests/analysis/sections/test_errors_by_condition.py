"""Errors by condition in a report, on a few images of which every count can be made by hand."""

import numpy as np
import pytest
from small_answers import answers as answers_of
from small_answers import checked, rows

from transect.analysis.sections import error_rates
from transect.effects.intervals import wilson, wilson_clustered
from transect.records import Design, Task

NO_FACE = "no face: as the answer says"
OBSERVED = Design({}, subjects=8)
# The first half has no glasses. The truth is yes throughout; right, wrong, no face, right | wrong, wrong, right, error.
FAILURES = ("", "", NO_FACE, "", "", "", "", "HTTP 503 (tries: 4)")
SCORES = np.where(np.array(FAILURES) == "", [0.9, 0.1, 0, 0.9, 0.1, 0.1, 0.9, 0], np.nan)
VALUES = {"glasses": [0, 0, 0, 0, 1, 1, 1, 1], "smile": [0, 1, 0, 1, 0, 1, 0, 1]}


def observed(**more):
    options = {"scores": SCORES, "truth": np.ones(8), "failures": FAILURES, "values": VALUES} | more
    return answers_of(OBSERVED, **options)


def table_of(one, measure):
    return {row["images"]: row for row in rows(checked(error_rates.condition_section(one)), f"Errors: {measure}")}


def test_a_miss_is_no_wrong_attribute_and_is_counted_as_one_beside():
    """One of seven has no face; of the six that were found three are wrong; with the miss four of seven."""
    one = observed()
    for measure, errors, images in (
        ("detection", 1, 7), ("attribute given detection", 3, 6), ("attribute, misses counted as errors", 4, 7),
    ):  # fmt: skip
        row = table_of(one, measure)["all images"]
        assert (row["errors"], row["images that count"], row["left out"]) == (errors, images, 8 - images)
        low, high = map(float, wilson(errors, images))
        assert (row["error rate"], row["low"], row["high"]) == pytest.approx((errors / images, low, high))


def test_groups_and_all_weighted_equally():
    """Given detection 1 of 3 without glasses and 2 of 3 with them are wrong."""
    given = table_of(observed(), "attribute given detection")
    assert given["glasses: off"]["error rate"] == pytest.approx(1 / 3)
    assert given["glasses: on"]["error rate"] == pytest.approx(2 / 3)
    assert given["glasses: all, weighted equally"]["error rate"] == pytest.approx(1 / 2)
    assert set(given) == {"all images"} | {
        f"{name}: {group}" for name, groups in (("glasses", "off on"), ("smile", "no yes"))
        for group in [*groups.split(), "all, weighted equally"]
    }  # fmt: skip


def test_combinations_of_attributes_are_one_condition():
    made = table_of(observed(by=("glasses", "smile")), "attribute given detection")
    counts = {name: (row["errors"], row["images that count"]) for name, row in made.items() if "smile no" in name}
    # without glasses and smile: image 0 right, image 2 no face; with glasses, no smile: image 4 wrong, 6 right
    assert counts == {"glasses off, smile no": (0, 1), "glasses on, smile no": (1, 2)}
    # 0/1, 1/2, 1/2 and 1/1 (image 7 has no answer)
    assert made["glasses × smile: all, weighted equally"]["error rate"] == pytest.approx((0 + 1 / 2 + 1 / 2 + 1) / 4)


def test_a_combination_without_an_image_has_no_equal_weights():
    """Who smiles wears glasses and nobody else: two of four combinations are empty."""
    values = {"glasses": [0, 0, 0, 0, 1, 1, 1, 1], "smile": [0, 0, 0, 0, 1, 1, 1, 1]}
    made = table_of(observed(values=values, by=("glasses", "smile")), "detection")
    row = made["glasses × smile: all, weighted equally"]
    assert row["error rate"] is None
    assert "glasses off, smile yes, glasses on, smile no" in row["note"]


def test_an_experiment_is_counted_by_the_levels_that_were_set():
    """Two subjects at three tones, the darkest wrong for both, one wrong at the lightest; intervals are by subject."""
    design = Design({"skin_tone": (1.0, 5.0, 10.0)}, subjects=2)
    one = answers_of(design, scores=[0.1, 0.9, 0.1, 0.9, 0.9, 0.1], truth=np.ones(6), failures=("",) * 6)
    made = table_of(one, "attribute")
    assert [made[f"skin tone: {tone}"]["error rate"] for tone in ("1", "5", "10")] == [1 / 2, 0, 1]
    low, high = wilson_clustered(np.array([[2.0], [1.0]]), np.full((2, 1), 3.0))
    row = made["all images"]
    assert (row["low"], row["high"]) == pytest.approx((float(low[0]), float(high[0])))
    assert "every subject at every combination" in error_rates.condition_section(one).text[0]


def test_a_detector_of_an_attribute_errs_in_two_ways():
    """Truth no: of the four two were found, which is wrong; truth yes: of the four two were missed."""
    one = observed(task=Task.DETECTION, answers=[1, 0, 0, 1, 0, 0, 1, 1], truth=[1, 1, 1, 1, 0, 0, 0, 0], failures=())
    assert [table.title for table in error_rates.condition_section(one).tables] == ["Errors: attribute"]
    row = table_of(one, "attribute")["all images"]
    assert (row["errors"], row["images that count"], row["left out"]) == (4, 8, 0)
    assert any("a detection is an error" in text for text in error_rates.condition_section(one).text)


def test_mean_faces_are_of_found_and_missed_and_of_right_and_wrong():
    made = error_rates.face_groups(observed(by=("glasses",)))
    found = {(one.measure, one.group): (np.flatnonzero(one.right).tolist(), np.flatnonzero(one.wrong).tolist()) for one in made}  # fmt: skip
    assert found == {
        ("detection", ""): ([0, 1, 3, 4, 5, 6], [2]),
        ("detection", "off"): ([0, 1, 3], [2]),
        ("detection", "on"): ([4, 5, 6], []),
        ("attribute given detection", ""): ([0, 3, 6], [1, 4, 5]),
        ("attribute given detection", "off"): ([0, 3], [1]),
        ("attribute given detection", "on"): ([6], [4, 5]),
    }
