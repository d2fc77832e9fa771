"""Every block of a page becomes valid HTML, escaped, with a name for those who do not see it."""

import json

from markupsafe import Markup
from report_reader import classes, parse, text_of

from transect.reports import builder
from transect.reports.blocks import (
    Answer,
    Bullets,
    DotPlot,
    Facts,
    Folded,
    Heading,
    Page,
    Paragraph,
    Part,
    Picture,
    Plot,
    Plots,
    Row,
    TextTable,
    summary,
)
from transect.reports.drawing import svg

TABLE = TextTable("Rates <1>", ("group", "rate"), [("a & b", "0.5"), ("", "")], Markup("<b>Rates</b>"), (1,))
DRAWING = svg.track("t", "A title", "", [(0, 0.0)], [svg.Interval(50)])
BLOCKS = (
    Paragraph("A <sentence>.", "note"),
    Heading("Below"),
    Facts([("images", "5")]),
    Facts([("Seed", "1")], methods=True),
    Bullets(["one", "two"]),
    TABLE,
    DotPlot("Dots", [svg.Tick(0, "0", 0.0)], [Row("a", DRAWING, "0.5", strong=True)], "unit"),
    Plot("Alone", DRAWING),
    Plots([Plot("Left", DRAWING, "x")]),
    Picture(b"\x89PNG", "A picture"),
    Folded("More", (TABLE,)),
)
PAGE = Page(
    "Title & more",
    (summary(Answer(("Yes.",), ("Remark.",))), Part("all", "Everything", BLOCKS, "All", [("below", "Below")])),
    question="Why <not>?",
    footer="The end.",
)


def test_every_block_is_valid_and_escaped():
    text = builder.build(PAGE)
    tree = parse(text)
    assert "<sentence>" not in text
    assert "Why <not>?" in text_of(tree.find("body"))
    assert [a.get("href") for a in tree.iter("a") if not a.get("download")][1:] == ["#summary", "#all", "#below"]
    assert {"answer", "facts", "methods", "works", "findings", "forest", "panels", "sheet"} <= {
        css for element in tree.iter() for css in classes(element)
    }


def test_a_page_is_written_with_its_numbers_and_the_same_bytes(tmp_path):
    path = builder.write(PAGE, tmp_path / "new" / "page.html", {"rate": float("nan")})
    first = path.read_bytes()
    assert json.loads(path.with_suffix(".json").read_text()) == {"rate": None}
    assert builder.write(PAGE, path).read_bytes() == first
