"""Forms of columns: what each shows of a value, and what of it is saved as data."""

import math

import pytest
from markupsafe import Markup

from transect.records import Estimate
from transect.reports.blocks import Plot
from transect.reports.columns import Column, Table, shown
from transect.reports.saving import savable, saved_figures

DRAWING = Markup('<svg role="img"><title>x</title></svg>')
NONE = Estimate(reason="too few")
OPEN = Estimate(2.0, reason="one seed")


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [
        (-0.04, "tenths", "0.0"),
        (-7.25, "tenths", "−7.2"),
        (math.nan, "tenths", "unknown"),
        (Estimate(62.15, 57.0, 100.0), "tenths interval", "62.1 (57.0 to 100.0)"),
        (Estimate(3.0, -1.25, 0.0), "points interval", "+3.0 (−1.2 to 0.0)"),
        (Estimate(3.0, -1.25, 0.04), "points interval", "+3.00 (−1.25 to +0.04)"),
        (0.0004, "percent", "0.04"),
        (0.0, "percent", "0.0"),
        (Estimate(0.5, 0.25, 0.75), "percent interval", "50.0 (25.0 to 75.0)"),
        (NONE, "points interval", "too few"),
        (OPEN, "tenths interval", "2.0 (one seed)"),
        (None, "points interval", ""),
    ],
)
def test_a_form_shows_a_value(value, form, text):
    assert shown(value, form) == text


def test_the_numbers_of_a_figure_are_saved_as_they_are():
    """A rounding on the page is none in the file, and what is missing is an empty field."""
    records = [("a", Estimate(1.23456, 1.0, 2.0)), ("=b", NONE), ("c", None)]
    columns = [Column("Name", lambda row: row[0]), Column("Δ", lambda row: row[1], "points interval", "delta")]
    table = Table("Falls", records, columns)
    (figure,) = saved_figures(savable(DRAWING, Plot("x", DRAWING, numbers=table)))
    assert figure.name == "falls"
    assert figure.csv.splitlines() == ["name,delta,delta_low,delta_high", "a,1.23456,1.0,2.0", "'=b,,,", "c,,,"]
