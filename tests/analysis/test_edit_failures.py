"""Failures of edits against loops: shares by level and group, and bounds over every answer that failed edits could have."""

import itertools

import numpy as np
import pytest

from transect.analysis.sections import edits
from transect.analysis.sections.answers import Answers
from transect.records import Attribute, Design, Task

GLASSES = Attribute("glasses", "categorical", "painted", levels=("as it is", "without", "with"))


def made(seed, subjects=5, people=None, task=Task.BINARY):
    """Random answers, failures and a label of photographs at three levels; nothing fails as it is."""
    rng = np.random.default_rng(seed)
    n = subjects * 3
    design = Design(levels={"glasses": (0.0, 1.0, 2.0)}, subjects=subjects, seed=0, population="")
    who = np.repeat(np.arange(subjects) if people is None else np.asarray(people), 3)
    answers = rng.integers(0, 2, n).astype(float)
    failed = rng.random(n) < 0.4
    failed[::3] = False
    failed[1] = True
    label = np.repeat(rng.integers(0, 2, subjects), 3).astype(float)
    label[:6] = [0, 0, 0, 1, 1, 1]
    nothing = np.full(n, np.nan)
    numbers = answers if task is Task.BINARY else rng.normal(size=n)
    given = Answers(
        study="audit", target="model", task=task, design=design, attributes={"glasses": GLASSES}, subjects=who,
        cells=np.tile(np.arange(3), subjects), scores=numbers, answers=answers, truth=nothing, errors=nothing,
        threshold=0.5, truth_attribute="", values={},
    )  # fmt: skip
    groups = edits.groups_of({"label": label}, {"label": ["no", "yes"]})
    return given, failed, label, groups


def section_of(given, failed, groups):
    about = ("audit", given.design, given.attributes, failed, given.subjects, groups)
    return edits.edit_failures_section(*about, [given])


@pytest.mark.parametrize("seed", range(2))
def test_bounds_are_the_smallest_and_largest_mean_over_all_possible_answers(seed):
    given, failed, label, groups = made(seed)
    rows = {(row[0], row[1]): row for row in section_of(given, failed, groups).tables[1].rows}
    grid, lost = given.answers.reshape(-1, 3), failed.reshape(-1, 3)
    sorts = {"all": np.ones(5, bool), "label: no": label[::3] == 0, "label: yes": label[::3] == 1}
    for level, name in ((1, "without"), (2, "with")):
        for group, inside in sorts.items():
            gaps = [row for row in np.flatnonzero(inside) if lost[row, level]]
            key = (f"glasses: as it is to {name}", group)
            if not gaps:
                assert key not in rows
                continue
            means = []
            for filled in itertools.product((0.0, 1.0), repeat=len(gaps)):
                second = grid[:, level].copy()
                second[gaps] = filled
                means.append(np.mean((second - grid[:, 0])[inside]))
            row = rows[key]
            assert row[2:4] == [0, len(gaps) / inside.sum()]
            assert row[4] == pytest.approx(np.mean((grid[:, level] - grid[:, 0])[inside]))
            assert row[6:8] == pytest.approx([min(means), max(means)])
            passing = [grid[at, level] - grid[at, 0] for at in np.flatnonzero(inside) if at not in gaps]
            assert row[5] == (pytest.approx(np.mean(passing)) if passing else None)
            assert row[8:] == [None, None, "fewer than 10 subjects: no interval"]


def test_shares_count_images_and_their_intervals_people():
    """Two photographs of each of five people: the same shares as of ten, in wider intervals."""
    alone, failed, _, groups = made(3, subjects=10)
    pairs = np.arange(10) // 2
    failed = np.repeat(np.repeat([True, False, False, True, False], 2), 3) & (np.tile(np.arange(3), 10) == 2)
    one, two = (
        section_of(made(3, subjects=10, people=people)[0], failed, groups).tables[0].rows[2] for people in (None, pairs)
    )
    assert one[:5] == two[:5] == ["glasses: with", "level", 10, 4, 0.4]
    assert two[5] < one[5] < 0.4 < one[6] < two[6]
    assert alone.design.subjects == 10


def test_numbers_have_no_worst_case_and_no_failure_no_section():
    given, failed, _, groups = made(1, task=Task.REGRESSION)
    row = section_of(given, failed, groups).tables[1].rows[0]
    assert row[6:] == [None, None, None, None, "an outcome without a range has no worst case"]
    assert section_of(given, np.zeros(15, bool), groups) is None


def test_effects_and_bounds_are_means_over_photographs_where_people_repeat():
    """Person 0 is on four of ten photographs, persons 1 to 6 on one: means weigh photographs, whoever is on them."""
    people = np.array([0, 0, 0, 0, 1, 2, 3, 4, 5, 6])
    alone, failed, _, groups = made(5, subjects=10)
    one, two = (section_of(given, failed, groups).tables[1].rows for given in (alone, made(5, 10, people)[0]))
    assert [row[:8] for row in one] == [row[:8] for row in two]
    assert [row[10] for row in two if row[1] == "all"] == ["fewer than 10 subjects: no interval"] * 2
    assert [row[10] for row in one if row[1] == "all"] == [""] * 2
