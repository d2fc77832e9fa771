"""Filters, orders, effects of subjects and pairs: by hand, and against a slow reading row by row."""

import itertools

import numpy as np
import pytest
from viewed_run import NAN, make_viewed

from transect.jobs.view.index import read_folder
from transect.jobs.view.replies import transect_reply
from transect.jobs.view.selection import Sides, Wanted, difference, pair, select, sort_key, subject_effects
from transect.records import Design

# Cells of a subject: smile 0 glasses off, 0 on, 1 off, 1 on. The truth is smile > .5; yes from .5 on.
ONE = [0.1, 0.2, 0.9, 0.8, 0.6, NAN, 0.7, 0.4, 0.3, 0.3, 0.2, 0.1]
OTHER = [0.1, 0.9, 0.9, 0.1, 0.6, 0.6, 0.7, 0.4, 0.3, 0.3, NAN, 0.9]


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    return read_folder(make_viewed(tmp_path_factory.mktemp("run") / "run", {"one": ONE, "other": OTHER}))


def rows_of(reply):
    return [image["row"] for image in reply["images"]]


def rows(index, **wanted):
    return select(index, Wanted(target="one", **wanted)).tolist()


def test_filters_by_hand(index):
    assert rows(index) == list(range(12))
    assert rows(index, levels={"smile": (1.0,)}) == [2, 3, 6, 7, 10, 11]
    assert rows(index, levels={"smile": (1.0,), "glasses": (0.0,)}) == [2, 6, 10]
    assert rows(index, levels={"smile": (0.0, 1.0)}) == list(range(12))
    assert rows(index, ranges={"smile": (0.5, NAN)}) == [2, 3, 6, 7, 10, 11]
    assert rows(index, answers=("yes",)) == [2, 3, 4, 6]
    assert rows(index, answers=("none",)) == [5]
    assert rows(index, verdicts=("wrong",)) == [4, 7, 10, 11]  # yes without a smile; no at three smiles
    assert rows(index, verdicts=("right",)) == [0, 1, 2, 3, 6, 8, 9]
    assert rows(index, verdicts=("right", "wrong"), answers=("no",)) == [0, 1, 7, 8, 9, 10, 11]
    assert rows(index, subject=1) == [4, 5, 6, 7]
    assert rows(index, verdicts=("unknown",)) == []


def test_orders_by_hand(index):
    assert rows(index, sort="score") == [0, 11, 1, 10, 8, 9, 7, 4, 6, 3, 2, 5], "no score comes last"
    assert rows(index, sort="score", descending=True) == [2, 3, 6, 4, 7, 8, 9, 1, 10, 0, 11, 5]
    assert rows(index, descending=True)[:3] == [11, 10, 9]
    # subject 0: (.9 - .1 + .8 - .2) / 2 = .7; 1: .7 - .6 = .1, on has no partner; 2: (-.1 - .2) / 2 = -.15
    effect = sort_key(index, Wanted(target="one", sort="effect:smile"))
    np.testing.assert_allclose(effect, np.repeat([0.7, 0.1, -0.15], 4))
    assert rows(index, sort="effect:smile") == [8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3]
    # They differ about rows 1, 3 and 11; one of them has no answer to 5 and 10.
    disagree = sort_key(index, Wanted(target="one", sort="disagreement"))
    assert np.flatnonzero(disagree == 0.5).tolist() == [1, 3, 11]
    assert np.flatnonzero(np.isnan(disagree)).tolist() == [5, 10]
    assert rows(index, sort="disagreement", descending=True)[:3] == [1, 3, 11]


def by_reading(index, wanted):
    """The same rows, looked at one after another."""
    said = index.answers[wanted.target]
    found = []
    for row in range(len(index)):
        answer, right, answered = said.answer[row], said.right[row], said.reasons[row] == ""
        kinds = {"yes": answer == 1, "no": answer == 0, "none": not answered}
        verdicts = {"right": right == 1, "wrong": right == 0, "unknown": answered and np.isnan(right)}
        tests = [
            *(index.values[name][row] in values for name, values in wanted.levels.items()),
            *(low <= index.values[name][row] <= high for name, (low, high) in wanted.ranges.items()),
            not wanted.answers or any(kinds[each] for each in wanted.answers),
            not wanted.verdicts or any(verdicts[each] for each in wanted.verdicts),
        ]
        if all(tests):
            found.append(row)
    return found


def test_filters_are_those_of_a_slow_reading(index):
    levels = ({}, {"smile": (0.0,)}, {"smile": (1.0,), "glasses": (1.0,)})
    answers = ((), ("yes",), ("no", "none"))
    verdicts = ((), ("wrong",), ("right", "unknown"))
    counts = set()
    for values, said, verdict, name in itertools.product(levels, answers, verdicts, ("one", "other")):
        wanted = Wanted(levels=values, target=name, answers=said, verdicts=verdict, ranges={"glasses": (-1.0, 1.0)})
        assert select(index, wanted).tolist() == by_reading(index, wanted)
        counts.add(len(select(index, wanted)))
    assert len(counts) > 5, "the filters differ"


def effects_by_loops(values, design, attribute):
    """For each subject: every pair of cells that differ in the attribute alone, its ends, one after another."""
    low, high = min(design.levels[attribute]), max(design.levels[attribute])
    found = []
    for subject in range(design.subjects):
        said = {tuple(cell.items()): values[subject * design.n_cells + n] for n, cell in enumerate(design.cells())}
        differences = []
        for cell, value in said.items():
            if dict(cell)[attribute] == high:
                differences.append(value - said[tuple({**dict(cell), attribute: low}.items())])
        known = [each for each in differences if not np.isnan(each)]
        found.append(np.mean(known) if known else NAN)
    return found


@pytest.mark.parametrize("attribute", ["a", "b"])
def test_effects_of_subjects_are_those_of_loops(attribute):
    design = Design({"a": (1.0, 0.0), "b": (0.0, 5.0, 2.0), "c": (3.0, 4.0)}, subjects=40)
    random = np.random.default_rng(1)
    values = np.where(random.random(design.n_images) < 0.4, NAN, random.normal(size=design.n_images))
    expected = effects_by_loops(values, design, attribute)
    assert np.isnan(expected).any()
    np.testing.assert_allclose(subject_effects(values, design, attribute), expected)


def test_an_attribute_without_order_has_the_largest_difference_of_level_means():
    design = Design({"hat": (0.0, 1.0, 2.0), "glasses": (0.0, 1.0)}, subjects=2)
    first = [0.1, 0.3, 0.8, 0.6, 0.2, 0.4]  # means .2, .7, .3
    second = [0.1, NAN, 0.8, 0.6, 0.4, 0.9]  # glasses on lacks a hat: off alone counts, .1, .8, .4
    found = subject_effects(np.array(first + second), design, "hat", ordered=False)
    np.testing.assert_allclose(found, [0.5, 0.7])
    assert np.isnan(subject_effects(np.full(6, NAN), Design(design.levels, 1), "hat", ordered=False)).all()


def test_levels_side_by_side(index):
    found = pair(index, Sides("smile", 0.0, 1.0), Wanted(target="one"))
    assert list(zip(found.left.tolist(), found.right.tolist(), strict=True)) == [
        (0, 2), (1, 3), (4, 6), (5, 7), (8, 10), (9, 11),
    ]  # fmt: skip
    np.testing.assert_allclose(difference(index, found), [0.8, 0.6, 0.1, NAN, -0.1, -0.2])
    by_size = pair(index, Sides("smile", 0.0, 1.0), Wanted(target="one", sort="score", descending=True))
    assert by_size.left.tolist() == [0, 1, 4, 8, 9, 5]
    filtered = pair(index, Sides("glasses", 1.0, 0.0), Wanted(target="one", levels={"smile": (1.0,)}))
    assert list(zip(filtered.left.tolist(), filtered.right.tolist(), strict=True)) == [(3, 2), (7, 6), (11, 10)]
    models = pair(index, Sides("smile", 0.0, 0.0, "other"), Wanted(target="one", sort="score"))
    assert models.targets == ("one", "other")
    assert models.left.tolist() == [0, 4, 8, 9, 1, 5], "the same image on both sides: two targets"
    np.testing.assert_allclose(difference(index, models), [0, 0, 0, 0, 0.7, NAN])


def test_runs_side_by_side_by_subject_and_setting(tmp_path):
    """The second run lists the levels in another order, and has a subject fewer."""
    make_viewed(tmp_path / "a", {"one": ONE})
    turned = {"glasses": (1.0, 0.0), "smile": (0.0, 1.0)}
    make_viewed(tmp_path / "b", {"two": OTHER[:8]}, levels=turned, subjects=2)
    index = read_folder(tmp_path)
    found = pair(index, Sides("run", "a", "b"), Wanted(target="one"))
    # of `a` cells are (smile, glasses) 00 01 10 11; of `b` (glasses, smile) 10 11 00 01
    assert found.right.tolist() == [12 + n for n in (2, 0, 3, 1, 6, 4, 7, 5)]
    assert found.left.tolist() == list(range(8))
    assert found.alone == 4
    assert found.targets == ("one", "two"), "each run's own"
    expected = np.array(OTHER)[[2, 0, 3, 1, 6, 4, 7, 5]] - ONE[:8]
    np.testing.assert_allclose(difference(index, found), expected)
    assert pair(index, Sides("run", "b", "a"), Wanted(target="one")).alone == 0


def test_photographs_stand_side_by_side_by_id_and_a_person_has_several(tmp_path):
    people = [7, 8, 7, 9]
    ids = {0: "x.jpg", 1: "y.jpg", 2: "z.jpg", 3: "w.jpg"}
    other = {0: "w.jpg", 1: "new.jpg", 2: "x.jpg", 3: "z.jpg"}
    for name, names in (("a", ids), ("b", other)):
        make_viewed(tmp_path / name, {"one": [0.1, 0.9, 0.2, 0.8]}, levels={}, subjects=4, people=people, ids=names)
    index = read_folder(tmp_path)
    found = pair(index, Sides("run", "a", "b"), Wanted(target="one"))
    assert list(zip(found.left.tolist(), found.right.tolist(), strict=True)) == [(0, 6), (2, 7), (3, 4)]
    assert found.alone == 1
    assert select(index, Wanted(target="one", runs=("a",), subject=7)).tolist() == [0, 2]
    person = transect_reply(index, "b", 7)
    assert (person["axes"], rows_of(person), person["before"], person["after"]) == ([], [4, 6], None, "8")


def test_a_transect_has_its_axes_and_neighbours(index):
    found = transect_reply(index, "run", 1)
    assert [tuple(axis.values()) for axis in found["axes"]] == [("smile", ["0", "1"]), ("glasses", ["off", "on"])]
    assert (rows_of(found), found["before"], found["after"]) == ([4, 5, 6, 7], "0", "2")
