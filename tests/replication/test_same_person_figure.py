"""The figure of Table 1 of Singh et al. 2021: dots where the shares are, and the page's rows from the released file."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from examples.replications import same_person_figure as document
from places import ROOT

from transect.effects.identity_pairs import SameRow

DATA = ROOT.parent / "shared" / "data" / "identity_annotations.parquet"
SVG = "{http://www.w3.org/2000/svg}"


def test_dots_and_intervals_are_at_the_shares():
    """0 % is at 150 and 100 % at 820, so that a half is at 485 and its interval of .4 to .6 from 418 to 552."""
    rows = [SameRow("all", "all", "fake", 0.5, 0.4, 0.6, 10, 0), SameRow("all", "all", "real", 1.0, 0.9, 1.0, 9, 1)]
    nobody = SameRow("familiarity", "well", "fake", float("nan"), float("nan"), float("nan"), 0, 3)
    root = ElementTree.fromstring(document.figure([*rows, nobody]))
    legend = 3
    dots = [(float(one.get("cx")), one.get("fill")) for one in root.iter(f"{SVG}circle")][legend:]
    assert dots == [(485, "#c2571a"), (820, "#1f6f8b")], "nothing is drawn where nobody answered"
    drawn = [one for one in root.iter(f"{SVG}line") if one.get("stroke-width") == "2"]
    assert [(float(one.get("x1")), float(one.get("x2"))) for one in drawn] == [(418, 552), (753, 820)]


@pytest.mark.skipif(not DATA.exists(), reason="needs the published annotations, which are not ours to ship")
def test_page_and_figure_show_the_released_answers():
    page = (ROOT / "docs" / "research" / "replication-singh2021.md").read_text()
    for row in document.cells(DATA):
        if row[1] != "dup" or row[0] == "all":
            assert f"| {' | '.join(row)} |" in page
    assert document.figure(document.rows_of(DATA)) == document.IMAGE.read_text()
