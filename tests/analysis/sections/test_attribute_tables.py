"""Error rates by attribute (Denton et al. 2019, Table 1), correlations (Fig. 3) and angles, on numbers by hand."""

from dataclasses import replace

import numpy as np
import pytest
from hyperplane_cells import dual_directions
from small_answers import answers, checked, rows

from transect.analysis.sections import associations, directions, error_rates
from transect.controls.directions import Direction, Hyperplanes
from transect.controls.learned import FittedDirections
from transect.designs import population_design
from transect.effects.intervals import wilson
from transect.reports.records import Section

NAN = np.nan


def observed(n, **more):
    return answers(population_design("small", images=n, seed=0), **more)


def eight():
    """Eight people: the answers, the truths, and whether they wear glasses; the last answer failed."""
    return observed(
        8,
        answers=[1, 1, 0, 0, 1, 0, 1, NAN],
        truth=[1, 1, 1, 0, 0, 0, 1, 1],
        values={"glasses": [0, 0, 0, 0, 1, 1, 1, 1], "smile": [1, 1, 1, 0, 0, 0, 1, 1]},
        truth_attribute="smile",
    )


def test_each_level_of_each_attribute_is_a_row_of_one_table():
    every, off, on = rows(checked(error_rates.attribute_section(eight())), "Accuracy")
    # 7 valid answers, 5 right; of 3 people without a smile 1 is a false positive, of 4 with one 1 a false negative
    assert (every["images of"], every["accuracy"], every["FPR"], every["FNR"]) == (
        "all",
        *map(pytest.approx, (5 / 7, 1 / 3, 1 / 4)),
    )
    assert [every["accuracy: low"], every["accuracy: high"]] == pytest.approx(list(map(float, wilson(5, 7))))
    assert [every["FPR: low"], every["FPR: high"]] == pytest.approx(list(map(float, wilson(1, 3))))
    assert (every["accuracy: images"], every["FPR: images"], every["FNR: images"], every["not counted"]) == (7, 3, 4, 1)
    assert (off["images of"], off["accuracy"], off["FPR"], off["FNR"]) == (
        "glasses: off",
        0.75,
        0.0,
        pytest.approx(1 / 3),
    )
    assert (on["images of"], on["accuracy"], on["FPR"], on["FNR"]) == ("glasses: on", pytest.approx(2 / 3), 0.5, 0.0)
    assert (on["subjects"], on["not counted"], off["not counted"]) == (3, 1, 0)


def test_images_of_one_person_count_as_one_for_the_interval():
    """Ten images of each of two people, who agree with themselves: the interval is far wider than that of 20 people."""
    values = {"glasses": [0] * 10 + [1] * 10, "smile": [1] * 20}
    given = {"answers": [1] * 10 + [0] * 10, "truth": [1] * 20, "values": values, "truth_attribute": "smile"}
    apart = rows(error_rates.attribute_section(observed(20, **given)), "Accuracy")[0]
    people = rows(error_rates.attribute_section(observed(20, subjects=[0] * 10 + [1] * 10, **given)), "Accuracy")[0]
    assert (people["subjects"], apart["subjects"]) == (2, 20)
    assert people["accuracy: high"] - people["accuracy: low"] > 1.5 * (apart["accuracy: high"] - apart["accuracy: low"])


def test_the_matrix_of_correlations_is_whole_and_symmetric():
    """Against numpy's own; one attribute that does not vary is named, not dropped in silence."""
    rng = np.random.default_rng(1)
    base = rng.normal(size=60)
    values = {
        "age": 50 + 5 * base,
        "skin_tone": 5 + base + rng.normal(size=60),
        "glasses": np.zeros(60),
        "smile": base > 0,
    }
    made = checked(associations.correlation_section(observed(60, values=values)))
    (table,) = made["tables"]
    assert [row[0] for row in table["rows"]] == ["1 age", "2 skin tone", "3 smile"]
    expected = np.corrcoef([values["age"], values["skin_tone"], values["smile"]])
    np.testing.assert_allclose([row[1:] for row in table["rows"]], expected, atol=1e-9)
    values["age"][9:] = NAN  # nine images have one
    made = checked(associations.correlation_section(observed(60, values=values)))
    first, *others = made["tables"][0]["rows"]
    assert first[1:] == [None] * 3
    assert [row[1] for row in others] == [None] * 2
    assert others[0][3] == pytest.approx(expected[1, 2])
    assert associations.correlation_section(observed(4, values={"age": [20, 30, 40, 50], "hair": [0, 1, 2, 0]})) is None


FACTS = {"kind": "binary", "offset": 0.0, "slope": NAN, "mean": 0.0, "low": -1.0, "high": 1.0, "quality": 0.9}
FACTS |= {"quality_measure": "balanced accuracy", "labels": 100, "held_out": 20, "origin": {"labels": "people"}}


def test_angles_between_directions_and_between_moves():
    """Three directions by hand: x, y, and one between x and z, 60 degrees from x. Moves are compared with the dual's."""
    normals = np.array([[1, 0, 0], [0, 1, 0], [0.5, 0, 0.75**0.5]])
    names = ("young", "beard", "makeup")
    fitted = FittedDirections(tuple(Direction(n, normal=v, **FACTS) for n, v in zip(names, normals, strict=True)), "z")
    made = Section(key="angles", title="", tables=directions.angles(fitted.describe()))
    matrix, pairs = rows(made, "Cosines between"), rows(made, "Angles between")
    assert [row["3"] for row in matrix] == [0.5, 0.0, 1.0]
    degrees = {row["attributes"]: row["angle between directions, degrees"] for row in pairs}
    assert degrees == {"young and beard": 90.0, "young and makeup": 60.0, "beard and makeup": 90.0}
    dual = dual_directions(Hyperplanes.of(names, normals, np.zeros(3)))
    moves = {row["attributes"]: row["angle between moves, degrees"] for row in pairs}
    assert moves["young and makeup"] == pytest.approx(np.degrees(np.arccos(dual[0] @ dual[2])), abs=0.01) == 120.0
    alone = replace(fitted, directions=fitted.directions[:1])
    assert directions.angles(alone.describe()) == []
