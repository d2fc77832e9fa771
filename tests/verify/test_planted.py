import numpy as np
import pytest

from transect.verify.planted import WORLDS

BY_NAME = {world.name: world for world in WORLDS}


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_a_table_depends_on_its_seed_alone(world):
    few, many = world.tables(2, 0.0), world.tables(4, 0.0)
    for key in few:
        np.testing.assert_array_equal(few[key], many[key][:2])
        assert (
            not np.array_equal(many[key][2], many[key][3]) or key.endswith("_set") or key in ("intended", "attribute")
        )


def mean_difference(tables, key="pairs"):
    y = tables[key].astype(float)
    return (y[..., 1] - y[..., 0]).mean()


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("direct effect", "pairs"),
        ("confounded population", "pairs"),
        ("hidden attribute", "pairs"),
        ("near-separated", "pairs"),
    ],
)
def test_the_planted_effect_is_there_with_the_effect_on_and_not_off(name, key):
    """400 tables of 200 subjects: standard error of a mean difference at most sqrt(.5 / 80,000) = .0025."""
    world = BY_NAME[name]
    assert mean_difference(world.tables(400, 1.0), key) == pytest.approx(world.truths["effect"], abs=0.008)
    assert mean_difference(world.tables(400, 0.0), key) == pytest.approx(0.0, abs=0.008)


def test_the_truths_of_the_worlds_by_brute_force():
    square = BY_NAME["interaction"].tables(300, 1.0)["square"].mean(axis=(0, 1))
    assert square[1, 1] - square[1, 0] - square[0, 1] + square[0, 0] == pytest.approx(0.2, abs=0.01)
    assert (square[1] - square[0]).mean() == pytest.approx(0.1, abs=0.01)
    cells = BY_NAME["another population"].tables(300, 1.0)["square"].mean(axis=(0, 1))
    impact = (0.2 * cells[1, 0] + 0.3 * cells[1, 1]) / 0.5 - (0.4 * cells[0, 0] + 0.1 * cells[0, 1]) / 0.5
    assert impact == pytest.approx(BY_NAME["another population"].truths["impact"], abs=0.01)
    people = BY_NAME["rater bias"].tables(100, 1.0)["people"].mean(axis=(0, 2))
    assert people[1] - people[0] == pytest.approx(0.4, abs=0.02)
    clustered = BY_NAME["heavy clustering"].tables(300, 1.0)
    assert clustered["images"][:, 40:].mean() - clustered["images"][:, :40].mean() == pytest.approx(0.2, abs=0.015)
    assert mean_difference(clustered, "cells") == pytest.approx(0.1, abs=0.01)
