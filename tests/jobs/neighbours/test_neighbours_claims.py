"""What the page of nearest images says is shared rests on differences of more than three standard errors."""

from dataclasses import replace

import numpy as np
import pytest

import transect
from transect.effects.identity_pairs import Preserved
from transect.jobs.match_neighbours import DistanceErrors, answers

NAN = float("nan")


@pytest.fixture(scope="module")
def made():
    x = {name: np.arange(6.0)[:, None] * factor for name, factor in (("one", 1), ("two", 2))}
    return transect.neighbours(x, {"age": np.arange(6.0)}, k=1)


def said(made, *errors):
    """The answer for errors and standard errors of each distance, the last those of images at random."""
    names = [*("one", "two")[: len(errors) - 1], "images at random"]
    rows = [
        DistanceErrors(name, 0, (Preserved("age", *error, "mean absolute error", 100, 1),))
        for name, error in zip(names, errors, strict=True)
    ]
    (sentence,) = answers(replace(made.numbers, distances=tuple(rows)))
    return sentence.striptags()


def test_a_distance_is_called_the_best_where_it_is_clear_of_the_other(made):
    """Two errors of 1 have a difference of error 1.41: 4 is not more than three of these, 5 is."""
    near = said(made, (6, 1), (10, 1), (40, 1))
    assert near == (
        "age: nearest images share it; inconclusive by which distance most. Mean difference: 6.0 ± 1.0 by one, "
        "10.0 ± 1.0 by two, 40.0 ± 1.0 for images at random."
    )
    apart = said(made, (11, 1), (6, 1), (40, 1))
    assert apart == (
        "age: by two, more than by the others, nearest images share it. Mean difference: 6.0 ± 1.0 by two, 40.0 ± 1.0 "
        "for images at random."
    )


def test_what_is_near_chance_is_neither_shared_nor_not_shared(made):
    """Against 10 ± 1: 7 and 13 are within three errors of 1.41, 5 and 15 are not."""
    for error in (7, 13):
        assert said(made, (error, 1), (10, 1)).startswith("age: inconclusive whether nearest images share it. Mean")
    assert said(made, (5, 1), (10, 1)).startswith("age: nearest images share it. Mean difference: 5.0 ± 1.0 by one, ")
    less = said(made, (15, 1), (10, 1))
    assert less.startswith("age: nearest images share it less often than images at random. Mean difference: 15.0")


def test_nothing_is_told_where_chance_is_not_known(made):
    assert said(made, (6, 1), (40, NAN)).startswith(
        "age: inconclusive whether nearest images share it. Mean difference: 6"
    )
    assert said(made, (NAN, NAN), (40, NAN)) == "age: not estimable by any distance."


def test_forty_attributes_are_rows_of_a_table_with_a_column_for_each_distance():
    x = {name: np.arange(6.0)[:, None] * factor for name, factor in (("one", 1), ("two", 2))}
    result = transect.neighbours(x, {f"a{k:02d}": (np.arange(6.0) + k) % 2 for k in range(40)}, k=1)
    headings, rows = result.rows()
    assert headings[:3] == ["attribute", "one", "two"]
    assert [row[0].partition(":")[0] for row in rows] == [f"a{k:02d}" for k in range(40)]
    assert {len(row) for row in rows} == {len(headings)}
