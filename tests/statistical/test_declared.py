"""The table of simulations is complete, and its small sizes are worth running."""

import pytest
from declared import ROWS


def test_every_row_is_declared_once():
    assert len({row.test for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row.small and (row.covers or row.rejects)], ids=lambda row: row.test
)
def test_the_small_size_finds_a_broken_estimator(row):
    assert row.power >= 0.8
