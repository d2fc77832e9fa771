"""The one builder of pages: from the frozen record to HTML without scripts, network or other files.

What is secondary stands on a second page, STEM-numbers.html, to which the first one links.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Final, assert_never, final

from markupsafe import Markup, escape

from transect import __version__
from transect.reports.blocks import (
    Answer,
    Axis,
    Block,
    Bullets,
    DotPlot,
    Dots,
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
    Secondary,
    Subsection,
    TextTable,
    summary,
)
from transect.reports.columns import AnyTable, Table, shown
from transect.reports.document import breakable
from transect.reports.drawing import svg
from transect.reports.drawing.svg import Interval, Tick, joined, tag, ticks
from transect.reports.saving import savable
from transect.runs import working_folders
from transect.runs.folder import today, write_atomically, write_json


def data_address(image: bytes | None) -> str:
    """A PNG or JPEG as a data address; "" without one."""
    if not image:
        return ""
    kind = "png" if image.startswith(b"\x89PNG") else "jpeg"
    return f"data:image/{kind};base64,{base64.b64encode(image).decode('ascii')}"


@cache
def _frame() -> Template:
    """The text of every page around its title, contents and parts, with the style sheet."""
    folder = files("transect.reports").joinpath("templates")
    base, style = (folder.joinpath(name).read_text(encoding="utf-8") for name in ("base.html", "style.css"))
    return Template(Template(base).safe_substitute(css=style.replace("$", "$$"), version=__version__))


def dated(page: Page, day: str) -> Page:
    """The page with the day in its title; as it is without one."""
    if not day:
        return page
    heading = Markup("{}, {}").format(page.heading or page.title, tag("time", day))
    return replace(page, title=f"{page.title}, {day}", heading=heading)


def write(page: Page, path: Path, numbers: object = None) -> Path:
    """Write the page, with today in its title and its numbers (None: without) as JSON beside it; returns its path."""
    if numbers is not None:
        write_json(path.with_suffix(".json"), numbers, indent=1)
    store(path.parent, path.stem, pages(dated(page, today()), path.stem))
    return path


def store(folder: Path, stem: str, files: Mapping[str, str]) -> None:
    """Write the files of a page; an earlier page of all numbers goes where there is none now."""
    for name, text in files.items():
        write_atomically(folder / name, text)
    if f"{stem}{NUMBERS}" not in files:
        working_folders.discard(folder / f"{stem}{NUMBERS}")


NUMBERS: Final = "-numbers.html"
"""The end of the name of the page of all numbers."""


def pages(page: Page, stem: str) -> dict[str, str]:
    """The HTML of the page and, where something is secondary, of that of all numbers, by the names of their files."""
    first, second = list[Part](), list[Part]()
    elsewhere = list[Markup]()
    for part in page.parts:
        kept, moved = _halves(part.blocks)
        link = Markup('<a href="{}{}#{}">{}</a>').format(stem, NUMBERS, part.name, part.title)
        if moved:
            second.append(replace(part, blocks=moved, folded=False))
            elsewhere += [] if kept else [link]
            kept += [Paragraph(Markup("All numbers: {}").format(link), "fine")] if kept else []
        first += [replace(part, blocks=kept)] if kept else []
    if not second:
        return {f"{stem}.html": build(page)}
    if elsewhere:
        first.append(Part("numbers", "All numbers", [Bullets(elsewhere, "")], folded=True))
    heading = Markup("All numbers: {}").format(page.heading or page.title)
    back = Markup('The findings are on <a href="{0}">{0}</a>.').format(f"{stem}.html")
    numbers = Page(f"All numbers: {page.title}", second, heading, cautions=[Paragraph(back)], style=page.style)
    return {f"{stem}.html": build(replace(page, parts=first)), f"{stem}{NUMBERS}": build(numbers)}


@final
@dataclass(frozen=True, slots=True)
class Framed:
    """Blocks of a page as a notebook shows them. html: a frame that needs no network and runs no script."""

    html: str = field(repr=False)

    def _repr_html_(self) -> str:
        return self.html


def framed(blocks: Sequence[Block]) -> Framed:
    """The picture of an answer as an HTML frame; empty without blocks."""
    if not blocks:
        return Framed("")
    alone = Markup(".contents, .skip, .save, main > header { display: none; } .page { padding: 0; display: block; }")
    page = build(Page("The answer", [summary(Answer((), blocks=blocks))], style=alone))
    height = 170 + 72 * sum(len(block.rows) for block in blocks if isinstance(block, DotPlot))
    return Framed(
        str(tag("iframe", "The answer.", srcdoc=page, sandbox="", style=f"width:100%;border:0;height:{height}px"))
    )


def _halves(blocks: Iterable[Block]) -> tuple[list[Block], list[Block]]:
    """Blocks of the page, and those of the page of all numbers."""
    first, second = list[Block](), list[Block]()
    for block in blocks:
        if isinstance(block, Secondary):
            second += block.blocks
        elif isinstance(block, Subsection | Folded):
            kept, moved = _halves(block.blocks)
            first += [replace(block, blocks=kept)] if kept else []
            second += [replace(block, blocks=moved)] if moved else []
        else:
            first.append(block)
    return first, second


def build(page: Page) -> str:
    """One page as one HTML text, with what is secondary in its place."""
    contents = joined(_entry(part) for part in page.parts)
    question = tag("p", page.question, class_="question") if page.question else Markup()
    header = tag("header", tag("h1", page.heading or page.title) + drawn(page.cautions) + question)
    footer = tag("footer", tag("p", page.footer, class_="fine")) if page.footer else Markup()
    main = joined([header, *(_part(part) for part in page.parts), footer])
    texts = {"title": escape(page.title), "style": escape(page.style), "contents": contents, "main": main}
    return _frame().substitute(texts)


def _entry(part: Part) -> Markup:
    within = joined(tag("li", _link(name, words)) for name, words in part.places)
    below = tag("ul", within) if within else Markup()
    return tag("li", _link(part.name, part.contents or part.title) + below)


def _link(name: str, words: str) -> Markup:
    return tag("a", words if isinstance(words, Markup) else breakable(words), href=f"#{name}")


def _part(part: Part) -> Markup:
    heading = tag("h2", part.title, id=f"{part.name}-heading")
    css = "study" if part.study else "summary" if part.name == "summary" else None
    name: str | None = part.name
    whole = heading + drawn(part.blocks)
    if part.folded:  # a browser opens what holds the place of a link, so that the place is within
        place, name = tag("span", "", id=name, class_="place"), None
        whole = tag("details", tag("summary", heading) + place + drawn(part.blocks), class_="part")
    return tag("section", whole, id=name, class_=css, aria_labelledby=f"{part.name}-heading")


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
            return tag("ul", joined(tag("li", item) for item in block.items), class_=block.style or None)
        case TextTable() | Table():
            return _table(block)
        case DotPlot() | Dots():
            plot = block if isinstance(block, DotPlot) else _dot_plot(block)
            return savable(_dots(plot), plot)
        case Plot():
            return savable(_plot(block), block)
        case Plots():
            return savable(_plots(block), block)
        case _:
            return _enclosing(block)


def _enclosing(block: Answer | Picture | Folded | Subsection | Secondary) -> Markup:
    match block:
        case Secondary():
            return drawn(block.blocks)
        case Answer():
            texts = [*map(Paragraph, block.sentences), *(Paragraph(text, "fine") for text in block.remarks)]
            look = tag("div", drawn(block.blocks), class_="answer look") if block.blocks else Markup()
            return look + tag("div", drawn(texts), class_="answer")
        case Subsection():
            heading = tag("h3", block.title, id=f"{block.name}-heading")
            inner = heading + drawn(block.blocks)
            return tag("section", inner, id=block.name, aria_labelledby=f"{block.name}-heading")
        case Picture():
            image = tag("img", src=data_address(block.png), alt=block.caption)
            return tag("figure", image + tag("figcaption", block.caption), class_="sheet")
        case Folded():
            inner = tag("summary", block.summary) + drawn(block.blocks)
            return tag("details", inner)
        case _:
            assert_never(block)


def _facts(block: Facts) -> Markup:
    pairs = [tag("dt", name) + tag("dd", value) for name, value in block.items]
    if block.methods:
        return tag("dl", joined(pairs), class_="methods")
    return tag("dl", joined(tag("div", pair) for pair in pairs), class_="facts")


def _table(block: TextTable | AnyTable) -> Markup:
    if isinstance(block, Table):
        block = TextTable(block.title, *block.texts(), block.caption, block.numbers, block.names)
    aligned = ["n" if place in block.numbers else None for place in range(len(block.headings))]
    head = [tag("th", text, scope="col", class_=css) for text, css in zip(block.headings, aligned, strict=True)]
    rows = []
    for line, row in enumerate(block.rows):
        shades = block.shades[line] if block.shades else [None] * len(row)
        cells = [
            tag("th", text, scope="row", class_=css) if place == block.names else _cell(text, css, shade)
            for place, (text, css, shade) in enumerate(zip(row, aligned, shades, strict=True))
        ]
        rows.append(tag("tr", Markup("").join(cells)))
    caption = tag("caption", block.caption) if block.caption else Markup()
    body = tag("thead", tag("tr", Markup("").join(head))) + tag("tbody", joined(rows))
    table = tag("table", caption + body, class_="findings")
    words = block.title.striptags() if isinstance(block.title, Markup) else block.title
    return tag("div", table, class_="scroll", role="region", tabindex=0, aria_label=words)


def _cell(text: str, css: str | None, shade: float | None) -> Markup:
    if shade is None:
        return tag("td", text, class_=css)
    return tag(
        "td", text, class_="n heat below" if shade < 0 else "n heat", style=f"--shade:{round(abs(shade) / 2, 3)}"
    )


def _dots(block: DotPlot) -> Markup:
    axis = [Axis(block.ticks, block.unit)] if block.ticks else []
    caption = tag("figcaption", block.caption) if block.caption else Markup()
    rows = joined([caption, block.key, *map(_row, [*axis, *block.rows])])
    return tag("figure", rows, class_=f"forest {block.style}".strip())


def _dot_plot(block: Dots[object]) -> DotPlot:
    scale = [Tick(at, f"{at:g}", at / 100) for at in (0.0, 25.0, 50.0, 75.0, 100.0)]
    grid, rows = [(tick.at, tick.value) for tick in scale], []
    for number, record in enumerate(block.records):
        words, found = block.label(record), block.value(record)
        low, high = (100 * end if math.isfinite(end) else None for end in (found.low, found.high))
        marks = [] if math.isnan(found.estimate) else [Interval(100 * found.estimate, low, high)]
        drawing = svg.track(f"{block.name}-{number}", words, "", grid, marks)
        rows.append(Row(words, drawing, shown(found, "percent interval")))
    return DotPlot(block.caption, scale, rows, "%")


def _row(row: Row | Heading | Axis) -> Markup:
    match row:
        case Heading():
            return tag("h4", row.text, class_="group")
        case Axis():
            ends = tag("span", "", class_="label"), tag("span", row.unit, class_="value fine")
            return tag("div", ends[0] + ticks(row.ticks) + ends[1], class_="effect axis", aria_hidden="true")
        case _:
            label, value = tag("p", row.label, class_="label"), tag("p", row.value, class_="value")
            return tag("div", label + row.drawing + value, class_="effect sure" if row.strong else "effect")


def _plot(plot: Plot, css: str | None = None) -> Markup:
    across = tag("p", plot.across, class_="fine across") if plot.across else Markup()
    return tag("figure", tag("figcaption", plot.caption) + plot.key + plot.drawing + across + plot.below, class_=css)


def _plots(block: Plots) -> Markup:
    plots = block.key + tag("div", joined(_plot(plot, plot.style) for plot in block.plots), class_=block.style)
    return tag("figure", tag("figcaption", block.caption) + plots, class_="forest") if block.caption else plots
