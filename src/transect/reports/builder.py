"""The one builder of pages: from the frozen record to one HTML text without scripts, network or other files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import assert_never

from markupsafe import Markup

from transect.reports.blocks import (
    Answer,
    Block,
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
)
from transect.reports.drawing.svg import joined, tag, ticks
from transect.reports.environment import data_address, render
from transect.reports.saving import savable
from transect.runs.folder import write_atomically, write_json

_EMPTY = Markup(" ")


def write(page: Page, path: Path, numbers: object = None) -> Path:
    """Write the page, and its numbers as JSON under the same name beside it; returns the path of the page.

    The folder is made where it is missing; the same page gives the same bytes. numbers: a record, None for no JSON.

    Raises RunFolderError when the folder cannot be written.
    """
    if numbers is not None:
        write_json(path.with_suffix(".json"), numbers, indent=1)
    write_atomically(path, build(page))
    return path


def build(page: Page) -> str:
    """The page as one HTML text."""
    contents = joined(_entry(part) for part in page.parts)
    question = tag("p", page.question, class_="question") if page.question else Markup()
    header = tag("header", tag("h1", page.heading or page.title) + drawn(page.cautions) + question)
    footer = tag("footer", tag("p", page.footer, class_="fine")) if page.footer else Markup()
    main = joined([header, *(_part(part) for part in page.parts), footer])
    return render("base", title=page.title, style=page.style, contents=contents, main=main)


def _entry(part: Part) -> Markup:
    within = joined(tag("li", tag("a", words, href=f"#{name}")) for name, words in part.within)
    below = tag("ul", within) if part.within else Markup()
    return tag("li", tag("a", part.contents or part.title, href=f"#{part.name}") + below)


def _part(part: Part) -> Markup:
    heading = tag("h2", part.title, id=f"{part.name}-heading")
    css = "study" if part.study else "summary" if part.name == "summary" else None
    whole = heading + drawn(part.blocks)
    if part.folded:
        whole = tag("details", tag("summary", heading) + drawn(part.blocks), class_="part")
    return tag("section", whole, id=part.name, class_=css, aria_labelledby=f"{part.name}-heading")


def drawn(blocks: Iterable[Block]) -> Markup:
    """Blocks as HTML, one below the other."""
    return joined(_block(block) for block in blocks)


def _block(block: Block) -> Markup:
    match block:
        case Markup():
            return block
        case Paragraph():
            return tag("p", block.text, class_=block.style or None)
        case Heading():
            return tag(f"h{block.level}", block.text)
        case Facts():
            return _facts(block)
        case Bullets():
            return tag("ul", joined(tag("li", item) for item in block.items), class_=block.style)
        case TextTable():
            return _table(block)
        case DotPlot():
            return savable(_dots(block), block.numbers)
        case Plot():
            return savable(_plot(block), block.numbers)
        case Plots():
            plots = joined(_plot(plot, "panel") for plot in block.plots)
            return savable(block.key + tag("div", plots, class_=block.style), block.numbers)
        case _:
            return _enclosing(block)


def _enclosing(block: Answer | Picture | Folded) -> Markup:
    match block:
        case Answer():
            texts = [Paragraph(text) for text in block.sentences]
            return tag("div", drawn([*texts, *(Paragraph(text, "fine") for text in block.remarks)]), class_="answer")
        case Picture():
            image = tag("img", src=data_address(block.png), alt=block.caption)
            return tag("figure", image + tag("figcaption", block.caption), class_="sheet")
        case Folded():
            inner = tag("summary", block.summary) + drawn(block.blocks)
            return tag("details", inner, class_="more" if block.long else None)
        case _:
            assert_never(block)


def _facts(block: Facts) -> Markup:
    pairs = [tag("dt", name) + tag("dd", value) for name, value in block.items]
    if block.methods:
        return tag("dl", joined(pairs), class_="methods")
    return tag("dl", joined(tag("div", pair) for pair in pairs), class_="facts")


def _table(block: TextTable) -> Markup:
    aligned = ["n" if place in block.numbers else None for place in range(len(block.headings))]
    head = [tag("th", text, scope="col", class_=css) for text, css in zip(block.headings, aligned, strict=True)]
    rows = []
    for row in block.rows:
        cells = [
            tag("th", text, scope="row", class_=css) if place == block.names else tag("td", text, class_=css)
            for place, (text, css) in enumerate(zip(row, aligned, strict=True))
        ]
        rows.append(tag("tr", Markup("").join(cells)))
    caption = tag("caption", block.caption) if block.caption else Markup()
    body = tag("thead", tag("tr", Markup("").join(head))) + tag("tbody", joined(rows))
    table = tag("table", caption + body, class_="findings")
    return tag("div", table, class_="scroll", role="region", tabindex=0, aria_label=_plain(block.title))


def _plain(text: str) -> str:
    """The words of a text without its markup."""
    return text.striptags() if isinstance(text, Markup) else text


def _dots(block: DotPlot) -> Markup:
    ends = tag("span", class_="label"), tag("span", block.unit, class_="value fine")
    axis = tag("div", ends[0] + ticks(block.ticks) + ends[1], class_="effect axis", aria_hidden="true")
    caption = tag("figcaption", block.caption) if block.caption else Markup()
    return tag(
        "figure",
        joined([caption, axis if block.ticks else Markup(), *map(_row, block.rows)]),
        class_=f"forest {block.style}".strip(),
    )


def _row(row: Row) -> Markup:
    label, value = tag("p", row.label, class_="label"), tag("p", row.value, class_="value")
    return tag("div", label + row.drawing + value, class_="effect sure" if row.strong else "effect")


def _plot(plot: Plot, css: str | None = None) -> Markup:
    across = tag("p", plot.across, class_="fine across") if plot.across else Markup()
    return tag("figure", tag("figcaption", plot.caption) + plot.drawing + across, class_=css)
