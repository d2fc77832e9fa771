"""Rounding, pointers, and the elements that carry a number."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_factory import make_results

from transect.reports.document import Document, breakable, follow, pointer, rounded
from transect.reports.results import read


@pytest.mark.parametrize(
    ("value", "style", "text"),
    [
        (0.31249, "points", "31.2"),
        (-0.0004, "points", "0.0"),  # no minus before zero
        (0.0, "plain", "0"),
        (-0.5, "plain", "−0.5"),
        (0.0009999, "p", "< 0.001"),
        (0.001, "p", "0.001"),
        (1.0, "p", "1.000"),
        (1234567, "count", "1,234,567"),
        (30064771077, "name", "30064771077"),
        (0.00001234, "plain", "1.23e−05"),
        (4500.0, "plain", "4,500"),
    ],
)
def test_rounded(value, style, text):
    assert rounded(value, style) == text


@given(st.floats(-1, 1), st.integers(0, 3))
def test_points_are_within_half_a_digit(value, decimals):
    shown = float(rounded(value, "points", decimals).replace("−", "-"))
    assert abs(shown - 100 * value) <= 0.5 * 10**-decimals + 1e-9


@given(st.lists(st.text(), min_size=1))
def test_a_pointer_leads_back(keys):
    document = value = object()
    for key in reversed(keys):
        document = {key: document}
    assert follow(document, pointer(*keys)) is value


def test_number_carries_its_place_and_its_value():
    results = make_results()
    results["effects"][0]["estimate"] = -0.3149
    document = Document(read(results))
    made = document.number("/effects/0/estimate", "points")
    assert made == '<data value="-0.3149" data-source="/effects/0/estimate">−31.5</data>'
    turned = document.number("/effects/0/estimate", "points", 0, negated=True)
    assert turned == '<data value="-0.3149" data-source="/effects/0/estimate" data-shown="negated">31</data>'
    results["effects"][0]["estimate"] = 0.3149
    assert ">+31.5<" in Document(read(results)).number("/effects/0/estimate", "points", signed=True)


@given(st.text())
def test_breakable_changes_no_word(text):
    assert breakable(text).replace("<wbr>", "").unescape() == text
