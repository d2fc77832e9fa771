"""The test bed of matching: its truth is planted exactly, and its people are confounded."""

import re
import runpy

import numpy as np
import pytest
from places import ROOT

from transect.jobs.verify import faces_world, matched
from transect.jobs.verify.faces_world import COVARIATES, EFFECT, FACES, rates


@pytest.fixture(scope="module")
def people():
    return faces_world._people()


def test_setting_the_hair_moves_nothing_else_and_the_rate_by_the_effect(people):
    _, both = people
    for name in COVARIATES:
        np.testing.assert_array_equal(both[name][:, 0], both[name][:, 1])
    short, long = (rates({name: column[:, k] for name, column in both.items()}, 1.0) for k in (0, 1))
    np.testing.assert_allclose(long - short, EFFECT)
    assert 0 < short.min() < long.max() < 1  # a rate of every person, on or off


def test_hair_goes_with_what_makes_errors(people):
    """Most of the people with long hair have feminine faces, on which the model errs more without any effect."""
    observed, _ = people
    long = observed["hair_length"] >= 0.5
    off = rates(observed, 0.0)
    assert 0.06 < off[long].mean() - off[~long].mean() < 0.14
    assert np.corrcoef(observed["hair_length"], observed["face_shape"])[0, 1] < -0.4


def test_pairs_within_a_caliper_are_nearer_the_truth_than_any_pairs():
    tables = FACES[0].tables(5, 1.0)
    near, every = matched.propensity_pairs(tables), matched.every_pair(tables)
    assert abs(near.estimate.mean() - EFFECT) < 0.06 < every.estimate.mean() - EFFECT


def test_one_worlds_section_is_replaced_and_the_rest_of_the_page_stays():
    page = (ROOT / "docs" / "research" / "proving-ground.md").read_text()
    with_world = runpy.run_path(str(ROOT / "docs" / "proving_ground.py"))["with_world"]
    section = re.search(r"### rater bias\n.*?(?=\n\n### )", page, re.S)[0]
    assert with_world(page, "rater bias", section + "\n") == page
    changed = with_world(page, "rater bias", "### rater bias\n\nOther.\n")
    assert changed == page.replace(section, "### rater bias\n\nOther.")
    added = with_world(page, "a new world", "### a new world\n\nText.\n")
    assert added.replace("### a new world\n\nText.\n\n", "") == page
