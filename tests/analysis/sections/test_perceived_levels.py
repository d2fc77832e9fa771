"""Perceived levels in no order: each is a share of its own, and each that is set is set instead of the first."""

import numpy as np
from small_answers import HAIR, answers, checked, rows, settings

from transect.analysis.sections import adjustment, ratings
from transect.records import Design

NAN = np.nan
STYLES = Design({"hair": (0.0, 1.0, 2.0)}, subjects=4)
"""Bald, bun, long."""


def matrix(one):
    made = checked(ratings.perceived_section(one))
    return made, {(row["manipulated"], row["perceived"]): row for row in rows(made, "Perception sensitivity")}


def test_each_level_is_set_instead_of_the_first_and_seen_as_a_share():
    """Bald is seen as bald; bun as bun by half and as long by the other half; long as long, which also looks younger."""
    seen = np.array([[0, 1, 2]] * 4 + [[0, 2, 2]] * 4, dtype=float)
    age = np.array([[40, 40, 30]] * 8, dtype=float)
    eight = Design({"hair": (0.0, 1.0, 2.0)}, subjects=8)
    one = answers(eight, scores=np.full(24, 0.5), perceived={"hair": seen.reshape(-1), "age": age.reshape(-1)})
    made, found = matrix(one)
    bun, long = "hair: bun instead of bald", "hair: long instead of bald"
    assert {key: row["mean change"] for key, row in found.items()} == {
        (bun, "hair: bald"): -1.0, (bun, "hair: bun"): 0.5, (bun, "hair: long"): 0.5, (bun, "age"): 0.0,
        (long, "hair: bald"): -1.0, (long, "hair: bun"): 0.0, (long, "hair: long"): 1.0, (long, "age"): -10.0,
    }  # fmt: skip
    assert found[bun, "hair: bun"]["low"] < 0.5 < found[bun, "hair: bun"]["high"]
    assert made["warnings"] == []
    # numbering the levels otherwise changes no share
    renamed = {0: 2, 1: 0, 2: 1}
    turned = np.vectorize(renamed.get)(seen).astype(float)
    hair = type(HAIR)("hair", "categorical", "hair style", levels=("bun", "long", "bald"))
    other = answers(
        Design({"hair": (2.0, 0.0, 1.0)}, subjects=8),
        scores=np.full(24, 0.5), perceived={"hair": turned.reshape(-1)}, attributes={"hair": hair},
    )  # fmt: skip
    again = matrix(other)[1]
    assert {key: row["mean change"] for key, row in again.items()} == {
        key: row["mean change"] for key, row in found.items() if key[1] != "age"
    }


def test_ratings_between_levels_are_counted_and_left_out():
    seen = np.array([[0, 1, 2], [0, 1.5, 2], [0, 1, 2], [0, NAN, 2]], dtype=float)
    made, found = matrix(answers(STYLES, scores=np.full(12, 0.5), perceived={"hair": seen.reshape(-1)}))
    assert len(made["warnings"]) == 1
    row = found["hair: bun instead of bald", "hair: bun"]
    assert (row["mean change"], row["subjects"], row["not rated at both ends"]) == (1.0, 2, 2)


def test_levels_of_an_attribute_that_was_not_varied_are_no_numbers_either():
    """Glasses are set; raters also say which hair they see, which the study's own attributes do not list."""
    design = Design({"glasses": (0.0, 1.0)}, subjects=4)
    seen = {"hair": np.array([0, 2] * 4, dtype=float), "glasses": settings(design)["glasses"]}
    one = answers(design, answers=[0, 1] * 4, truth=[0, 0] * 4, perceived=seen, others={"hair": HAIR})
    _, found = matrix(one)
    assert {key[1]: row["mean change"] for key, row in found.items()} == {
        "hair: bald": -1.0, "hair: long": 1.0, "glasses": 1.0,
    }  # fmt: skip
    levels = [row["level"] for row in rows(checked(adjustment.section(one)), "Coefficients")]
    assert {"hair: bald", "hair: long"} <= set(levels)
