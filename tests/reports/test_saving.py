"""What a page offers to save: figures that stand alone, and their numbers, unrounded; nothing of a hostile page gets in."""

import base64
import csv
import io
import xml.etree.ElementTree as ET

import pytest
from browsers import CHROMIUM, FLAGS
from markupsafe import Markup
from report_factory import make_gallery, make_results

from transect.errors import BadInput
from transect.reports import builder, write
from transect.reports.blocks import DotPlot, Page, Part, Plot, Row, TextTable
from transect.reports.drawing import svg
from transect.reports.saving import WIDTH, savable, saved_figures

SVG = "{http://www.w3.org/2000/svg}"
TRACK = svg.track("t", "A title", "", [(0, 0.0), (50, 1.0)], [svg.Interval(50, 40, 60)])
NUMBER = Markup(
    '<data value="0.123456">0.12</data> <span class="range"><data value="0.1">0.10</data> to <data value="0.2">0.20</data></span>'
)
DOTS = DotPlot(Markup("<strong>Rates</strong>, %"), [svg.Tick(0, "0", 0.0)], [Row("a & b", TRACK, NUMBER)])


def page(*blocks):
    return builder.build(Page("A page", (Part("all", "All", blocks),)))


def table_of(text):
    return list(csv.reader(io.StringIO(text)))


def test_a_dot_plot_is_saved_with_unrounded_numbers():
    (saved,) = saved_figures(page(DOTS))
    assert saved.name == "rates"
    assert table_of(saved.csv) == [["row", "value", "value low", "value high"], ["a & b", "0.123456", "0.1", "0.2"]]
    tree = ET.fromstring(saved.svg)
    assert [one.text for one in tree.iter(f"{SVG}text")][:2] == ["Rates", "%"]
    (dot,) = tree.iter(f"{SVG}circle")
    (whisker,) = [line for line in tree.iter(f"{SVG}line") if line.get("class") == "whisker"]
    first, last = float(whisker.get("x1")), float(whisker.get("x2"))
    assert float(dot.get("cx")) == pytest.approx((first + last) / 2), "per cent became pixels"
    assert last - first > 10


def test_numbers_that_are_given_are_those_of_the_file():
    numbers = TextTable("Some numbers", ("name", "rate"), [("<b>", "0.5"), (Markup("<i>c</i>"), "-1"), ("=2+2", "1")])
    drawing = svg.plot("p", "Plot", "", svg.course("0,0 100,100", height=100), up=[svg.Tick(0, "1", 1.0)], height=80)
    (saved,) = saved_figures(page(Plot("A plot", drawing, "calls", numbers)))
    assert saved.name == "some-numbers"
    assert table_of(saved.csv) == [["name", "rate"], ["<b>", "0.5"], ["c", "-1"], ["'=2+2", "1"]]
    points = ET.fromstring(saved.svg).find(f".//{SVG}polyline").get("points").split()
    assert points[0] == "0,0"
    assert float(points[1].split(",")[0]) > 100, "a stretched box became pixels"
    assert points[1].endswith(",80")


def test_every_figure_of_a_report_stands_alone_with_numbers(tmp_path):
    text = write(make_results(), make_gallery(), tmp_path).read_text()
    saved = saved_figures(text)
    assert len(saved) > 5
    for one in saved:
        tree = ET.fromstring(one.svg)
        assert len(table_of(one.csv)) > 1, one.name
        assert tree.get("width") == str(WIDTH)
        lengths = [value for node in tree.iter() for key, value in node.attrib.items() if key != "style"]
        assert not [value for value in lengths if value.endswith("%")]
        assert "var(" not in one.svg
    effects = {row[2] for one in saved for row in table_of(one.csv)}
    assert str(make_results()["effects"][0]["estimate"]) in effects


@pytest.mark.parametrize(
    "evil",
    [
        '<script>alert(1)</script>',
        '<rect onclick="alert(1)"/>',
        '<rect fill="url(http://a)"/>',
        '<style>rect { fill: url(http://a) }</style>',
        '<image href="http://a"/>',
        '<text xlink:href="http://a" xmlns:xlink="http://www.w3.org/1999/xlink"/>',
        '<foreignObject/>',
        '<text>&x;</text>',
        '<?xml-stylesheet href="http://a"?>',
        '<style>@import "http://a"</style>',
        '<style>rect { fill: URL(http://a) }</style>',
        '<style>rect { fill: \\75rl(http://a) }</style>',
    ],
)  # fmt: skip
def test_a_hostile_page_gets_nothing_into_a_file(evil):
    picture = f'<svg xmlns="http://www.w3.org/2000/svg"><rect/>{evil}</svg>'
    encoded = base64.b64encode(picture.encode()).decode()
    with pytest.raises(BadInput, match="expected a Transect figure, got a different picture"):
        saved_figures(f'<a download="../../x.svg" href="data:image/svg+xml;base64,{encoded}">x</a>')
    declared = base64.b64encode(b'<!DOCTYPE svg [<!ENTITY x "x">]><svg/>').decode()
    with pytest.raises(BadInput, match="a different picture"):
        saved_figures(f'<a download="x.svg" href="data:image/svg+xml;base64,{declared}">x</a>')


def test_the_name_of_a_file_is_a_word():
    saved = str(savable(TRACK, Plot("../../<x>", TRACK))).replace('download="x.svg"', 'download="../../X y.svg"')
    assert [one.name for one in saved_figures(saved)] == ["x-y"]


def test_a_formula_is_text_in_a_spreadsheet():
    numbers = TextTable("t", ["-a", "@b"], [["-1.5", "-a"], ["+cmd", "\n=1"]])
    (saved,) = saved_figures(savable(TRACK, Plot("x", TRACK, numbers=numbers)))
    assert saved.csv == "'-a,'@b\n-1.5,'-a\n'+cmd,'=1\n"


@pytest.mark.browser
@pytest.mark.skipif(not CHROMIUM.exists(), reason="needs Debian's chromium: apt-get install chromium")
def test_a_browser_saves_the_files_under_the_policy_of_the_page(tmp_path):
    from playwright.sync_api import sync_playwright

    path = tmp_path / "page.html"
    path.write_text(page(DOTS))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        view = browser.new_page()
        view.goto(path.as_uri())
        found = {}
        for words in ("figure (SVG)", "numbers (CSV)"):
            with view.expect_download() as waiting:
                view.click(f"text={words}")
            found[waiting.value.suggested_filename] = waiting.value.path().read_text()
        browser.close()
    (saved,) = saved_figures(path.read_text())
    assert found == {"rates.svg": saved.svg, "rates.csv": saved.csv}
