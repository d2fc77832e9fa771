"""Do the marks lie where the numbers say? Positions are read off the page and held against its axes."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from report_factory import HOG, make_results
from report_reader import SVG, at, classes, parse, text_of

from transect.reports import Gallery, build
from transect.reports.drawing.maps import DEEPEST
from transect.reports.drawing.svg import covering

values = st.lists(st.floats(-1e3, 1e3).filter(lambda v: v == 0 or abs(v) > 1e-9), max_size=8)


@given(values)
def test_a_scale_covers_zero_and_everything_with_few_round_steps(numbers):
    scale = covering(numbers)
    tolerance = 1e-6 * (scale.high - scale.low)
    assert scale.low - tolerance <= min([0.0, *numbers])
    assert scale.high + tolerance >= max([0.0, *numbers])
    assert 2 <= len(scale.ticks) <= 6
    steps = np.diff(scale.ticks)
    assert_allclose(steps, steps[0], rtol=1e-6)
    # the axis wastes less than two steps
    if any(numbers):
        assert scale.high - scale.low <= max([0.0, *numbers]) - min([0.0, *numbers]) + 2.001 * steps[0]


def percent(text):
    return float(text.removesuffix("%"))


def axis_of(ticks, side):
    """Slope and offset of an axis, from the labels that the reader sees and where they stand."""
    places = [float(re.search(rf"{side}:([-\d.]+)", tick.get("style"))[1]) for tick in ticks]
    labels = [float(text_of(tick).replace("−", "-")) for tick in ticks]
    return np.polyfit(labels, places, 1)


@pytest.fixture(scope="module")
def results():
    return make_results()


@pytest.fixture(scope="module")
def tree(results):
    return parse(build(results, Gallery()))


def test_the_marks_of_the_effect_plot(tree, results):
    seen = 0
    for figure in (element for element in tree.iter("figure") if classes(element)[:1] == ["forest"]):
        if "picture" in classes(figure):
            continue
        axis = next(element for element in figure.iter("div") if "axis" in classes(element))
        slope, offset = axis_of([tick for tick in axis.iter("span") if "tick" in classes(tick)], "left")
        for row in (element for element in figure.iter("div") if "effect" in classes(element)):
            places = [e.get("data-source") for e in row.iter("data") if e.get("data-source").endswith("/estimate")]
            if not places:
                continue
            effect = at(results, places[0].removesuffix("/estimate"))
            scale = 100 if effect["unit"] == "proportion" else 1
            circle = next(row.iter(f"{SVG}circle"))
            assert_allclose(percent(circle.get("cx")), slope * scale * effect["estimate"] + offset, atol=0.1)
            whisker = next(line for line in row.iter(f"{SVG}line") if "whisker" in classes(line))
            assert_allclose(percent(whisker.get("x1")), slope * scale * effect["low"] + offset, atol=0.1)
            assert_allclose(percent(whisker.get("x2")), slope * scale * effect["high"] + offset, atol=0.1)
            stays = effect["p_adjusted"] <= 0.05
            assert ("open" in classes(circle)) == (not stays)
            assert ("sure" in classes(row)) == stays
            seen += 1
    # contrasts: three attributes for each of cascade miss, dlib miss, cascade score; two for the smile cascade
    assert seen == 11


def test_the_marks_of_the_picture_of_the_answer(tree, results):
    seen = 0
    for figure in (element for element in tree.iter("figure") if "picture" in classes(element)):
        slope, offset = axis_of([tick for tick in figure.iter("span") if "tick" in classes(tick)], "left")
        for row in (element for element in figure.iter("div") if "effect" in classes(element)):
            places = [e.get("data-source") for e in row.iter("data") if e.get("data-source").endswith("/estimate")]
            for place in places:
                effect = at(results, place.removesuffix("/estimate"))
                scale = 100 if effect["unit"] == "proportion" else 1
                mark = next(each for each in row.iter(f"{SVG}svg") if "%" in each.get("x", ""))
                bar = next(line for line in row.iter(f"{SVG}line") if "bar" in classes(line))
                drawn = [percent(text) for text in (mark.get("x"), bar.get("x1"), bar.get("x2"))]
                wanted = [slope * scale * effect[end] + offset for end in ("estimate", "low", "high")]
                assert_allclose(drawn, wanted, atol=0.1)
                seen += 1
    assert seen == sum(row["effect"] is not None for row in results["verdicts"])


def test_the_marks_of_the_curves(tree, results):
    seen = 0
    for figure in (element for element in tree.iter("figure") if "panel" in classes(element)):
        ticks = [tick for tick in figure.iter("span") if tick.get("data-tick") is not None]
        slope, offset = axis_of(ticks, "top")
        for mark in (element for element in figure.iter(f"{SVG}svg") if element.get("data-place")):
            rate = at(results, mark.get("data-place"))
            scale = 100 if rate["unit"] == "proportion" else 1
            assert_allclose(float(mark.get("y")), slope * scale * rate["rate"] + offset, atol=0.1)
            seen += 1
    # levels: 5 + 3 + 2 for each of three pairs of target and outcome, 3 + 2 for the smile cascade
    assert seen == 3 * 10 + 5


def test_a_rate_without_estimate_is_no_point(results):
    changed = make_results()
    place = next(
        i for i, row in enumerate(changed["rates"]) if row["cell"] == {"skin_tone": 10.0} and row["target"] == HOG
    )
    changed["rates"][place] |= dict.fromkeys(("rate", "low", "high"), float("nan"))
    page = parse(build(changed, Gallery()))
    panel = next(element for element in page.iter("figure") if "panel" in classes(element))
    lines = [element for element in panel.iter(f"{SVG}g") if "series" in classes(element)]
    marks = [[mark for mark in line.iter(f"{SVG}svg") if mark.get("data-place")] for line in lines]
    assert [len(line) for line in marks] == [5, 4]
    told = [element for element in page.iter("span") if element.get("data-source") == f"/rates/{place}/rate"]
    assert {text_of(element) for element in told} == {"not estimable"}


def test_shades_follow_the_rates(tree, results):
    """On one scale for each target and outcome: those with the same number of tables."""
    seen = 0
    for sheet in (element for element in tree.iter("div") if "matrices" in classes(element)):
        cells = [cell for cell in sheet.iter("td") if "heat" in classes(cell)]
        rates = np.array([float(cell.find("b/data").get("value")) for cell in cells])
        shades = np.array([float(cell.get("style").removeprefix("--shade:")) for cell in cells])
        assert np.all(np.diff(shades[np.argsort(rates)]) >= 0)
        assert shades.min() >= 0
        assert shades.max() == pytest.approx(DEEPEST, abs=1e-3)
        seen += 1
    assert seen == 4


def test_each_cell_stands_in_its_row_and_column(tree, results):
    """Read every intersection table as a reader does, by its headers, and find the same rate."""
    known = {}
    for row in results["rates"]:
        cell = frozenset((name.replace("_", " "), f"{value:g}") for name, value in row["cell"].items())
        known.setdefault(cell, []).append(row["rate"])
    seen = 0
    for table in (element for element in tree.iter("table") if "matrix" in classes(element)):
        names = text_of(table.find("caption")).split("  ")[0].split(" × ")
        names[-1] = re.split(r" \d", names[-1])[0]
        columns = [header_value(header) for header in table.findall("thead/tr")[1]]
        pending = []
        for line in table.find("tbody"):
            headers = [header_value(header) for header in line.findall("th")]
            pending = headers if len(headers) == len(names) - 1 else [pending[0], *headers]
            for column, cell in zip(columns, line.findall("td"), strict=True):
                key = frozenset(zip(names, [*pending, column], strict=True))
                value = float(cell.find("b/data").get("value"))
                assert value in known[key], key
                seen += 1
    # order 2: 5·3 + 5·2 + 3·2 = 31 cells, order 3: 30 cells, three tables of them; the smile cascade has 3·2
    assert seen == 3 * 61 + 6


def header_value(header):
    number = header.find("data")
    text = text_of(header)
    return f"{float(number.get('value')):g}" if number is not None else {"off": "0", "on": "1"}[text]
