"""Pages on A4: no figure is cut by the end of a sheet, and what is folded is open."""

import numpy as np
import pytest
from browsers import CHROMIUM, FLAGS
from paper import printed
from report_factory import make_gallery, make_results

from transect.jobs.match import match
from transect.reports import builder, write
from transect.reports.blocks import DotPlot, Folded, Page, Part, Plot, Plots, Row
from transect.reports.drawing import svg

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.exists(), reason="needs Debian's chromium: apt-get install chromium"),
]


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield opened
        opened.close()


def audited(folder):
    return write(make_results(), make_gallery(), folder)


def matched(folder):
    rng = np.random.default_rng(0)
    hat = (rng.random(160) < 0.5).astype(int)
    features = rng.normal(size=(160, 2)) + hat[:, None]
    table = {"hat": hat, **{f"c{i}": (rng.random(160) < 0.4).astype(int) for i in range(16)}, "error": hat * 0.1}
    return match(features, "hat", table, caliper=1.0, outcomes="error").report(folder)


def many_plots(folder):
    """Thirty plots of each kind below each other, so that every sheet ends within one without a rule."""
    drawing = svg.plot("p", "A plot", "", svg.course("0,0 100,100"), up=(), height=170)
    track = svg.track("t", "A track", "", [(0, 0.0)], [svg.Interval(50, 40, 60)])
    rows = [Row(f"row {number}", track, "0.5") for number in range(9)]
    blocks = [b for n in range(30) for b in (Plot(f"plot {n}", drawing), DotPlot(f"dots {n}", (), rows[: 4 + n % 5]))]
    folded = Folded("more", [Plots([Plot(f"folded {n}", drawing) for n in range(9)])])
    return builder.write(Page("Plots", (Part("all", "All", (*blocks, folded)),)), folder / "plots.html")


@pytest.mark.parametrize("make", [audited, matched, many_plots])
def test_no_figure_is_cut_by_the_end_of_a_sheet(browser, tmp_path, make):
    view = browser.new_page()
    view.goto(make(tmp_path).as_uri())
    found = printed(view)
    assert len(found) > 10
    assert [name for name, sheets in found if len(sheets) != 1] == []
    view.close()


def test_a_figure_that_is_cut_would_be_seen(browser, tmp_path):
    """Without the rule, thirty plots are cut somewhere; and folded plots are printed."""
    path = many_plots(tmp_path)
    path.write_text(path.read_text().replace("break-inside: avoid", "break-inside: auto"))
    view = browser.new_page()
    view.goto(path.as_uri())
    found = printed(view)
    assert [name for name, sheets in found if len(sheets) > 1]
    assert sum("folded" in name and len(sheets) > 0 for name, sheets in found) >= 9
    view.close()
