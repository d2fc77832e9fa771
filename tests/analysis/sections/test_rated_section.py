"""What was rated, and how contrasts move with each step of the rules, on effects that are made up."""

import numpy as np
import pytest
from small_answers import checked, rows

from transect.analysis.sections import ratings
from transect.annotation.agreement.image_validation import Rule, prune
from transect.records import Effect

NAN = np.nan
SEEN = {
    "fakeness": np.array([0.1, 0.9, NAN, 0.8]),
    "age": np.array([0.1, 0.1, 0.5, 0.6]),
    "hair": np.array([0.0, 1, 2, 2]),
}
GIVEN = {ratings.BY_IMAGE: SEEN}
RULES = [Rule("fakeness", 0.75), Rule("age", high=0.4, high_open=True)]


def effect(estimate, n, unit="proportion", name="glasses: off to on", kind="contrast", reason=""):
    low, high = (estimate - 0.1, estimate + 0.1) if not reason else (NAN, NAN)
    return Effect(
        estimate, low, high, reason, name=name, attribute="glasses", target="mine", outcome="error", unit=unit,
        n_subjects=n, n_images=2 * n, kind=kind,
    )  # fmt: skip


def test_ratings_alone():
    made = checked(ratings.rated_section("experiment", GIVEN, ["a line"], {"hair"}))
    assert (made["title"], made["warnings"], made["figures"]) == ("Ratings of experiment", ["a line"], [])
    fake, age, hair = rows(made, "Ratings")
    assert (fake["images rated"], fake["not rated"], fake["mean"], fake["least"], fake["most"]) == (
        3, 1, pytest.approx(0.6), 0.1, 0.9,
    )  # fmt: skip
    assert (age["mean"], age["note"]) == (pytest.approx(0.325), "")
    assert (hair["mean"], hair["note"]) == (None, "levels in no order")


def test_both_kinds_are_told_apart():
    """Of two images people rated one; every image has a value from elsewhere."""
    kinds = {ratings.BY_IMAGE: {"age": np.array([30.0, 50.0])}, ratings.OF_PEOPLE: {"age": np.array([NAN, 40.0])}}
    by_image, people = rows(checked(ratings.rated_section("experiment", kinds, [])), "Ratings")
    assert (by_image["given as"], by_image["images rated"], by_image["mean"]) == ("a value per image", 2, 40)
    assert (people["given as"], people["images rated"], people["mean"]) == ("people's single answers", 1, 40)


def test_each_step_is_counted_and_each_contrast_drawn_after_it():
    """Images 1 and 3 are fake, 0 and 1 young: two, then one more are left out; image 2 has no fakeness and stays."""
    stages = [
        [effect(0.30, 4), effect(0.05, 4, name="age: slope", kind="slope"), effect(0.2, 4, unit="score", name="other")],
        [effect(0.10, 2), effect(0.06, 2, name="age: slope", kind="slope"), effect(0.2, 2, unit="score", name="other")],
        [effect(NAN, 1, reason="one subject"), effect(0.07, 1, name="age: slope", kind="slope"), effect(0.3, 1, unit="score", name="other")],
    ]  # fmt: skip
    made = checked(ratings.rated_section("experiment", GIVEN, [], (), prune(SEEN, RULES), stages))
    every, fake, young = rows(made, "Images left out")
    assert every["images left"] == 4
    assert [(row["images that match"], row["not rated"], row["left out at this step"], row["images left"]) for row in (fake, young)] == [
        (2, 1, 2, 2), (2, 0, 1, 1),
    ]  # fmt: skip
    rates, scores = made["figures"]  # a figure per unit; slopes are in the table alone
    (panel,) = rates["panels"]
    assert (panel["heading"], panel["unit"]) == ("glasses: off to on, error of mine", "points")
    points = panel["series"][0]["points"]
    assert [one["label"] for one in points] == ["all images", "without fakeness >= 0.75", "without age < 0.4"]
    assert [one["value"] for one in points] == [0.3, 0.1, None]
    assert (points[2]["reason"], points[0]["low"]) == ("one subject", pytest.approx(0.2))
    assert [panel["unit"] for panel in scores["panels"]] == ["number"]
    table = rows(made, "Every effect after each step")
    assert len(table) == 9
    assert [row["estimate, points"] for row in table[:3]] == [0.3, 0.1, None]
    assert [row["estimate"] for row in table[6:]] == [0.2, 0.2, 0.3]
    assert table[2]["note"] == "one subject"
