"""The parts of a page about `records.Section`s: their texts, figures and tables, each number with its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from markupsafe import Markup

from transect.reports.blocks import (
    NOTHING,
    Axis,
    Block,
    DotPlot,
    Heading,
    Paragraph,
    Part,
    Plot,
    Plots,
    Row,
    Secondary,
    Subsection,
    TextTable,
)
from transect.reports.document import PER_CENT, Entry, Printer, Style, finite
from transect.reports.drawing import estimates, svg
from transect.reports.drawing.estimates import Line, Mark
from transect.reports.drawing.svg import SERIES, Scale, Tick, covering, tag
from transect.reports.records import Figure, Panel, Point, Section, Table

_STYLES: Final[dict[str, Style]] = {
    "proportion": "percent",
    "points": "points",
    "number": "plain",
    "count": "count",
    "p": "p",
}
_UNITS: Final = {"percent": ", %", "points": ", percentage points"}
MOST_ROWS: Final = 12
MOST_TABLES: Final = 2
"""Rows and tables of a section without a figure on the page of findings; the others stand on that of all numbers."""
Pictures = dict[int, Sequence[Block]]
"""What stands between the figures and the tables of a section, by its number."""


def section_parts(doc: Printer, sections: Sequence[Section], pictures: Pictures | None = None) -> tuple[Part, ...]:
    """A part per section of the document, or per group of sections that stand together under one heading."""
    numbered = list(enumerate(sections))
    said = _first(sections)
    parts = []
    for _, found in groupby(numbered, key=lambda pair: pair[1].group or pair[0]):
        group = list(found)
        blocks: dict[int, Sequence[Block]] = {}
        for number, one in group:
            made = list(_blocks(doc, number, one, said, (pictures or {}).get(number, ())))
            blocks[number] = [Secondary(made)] if one.page == "numbers" else made
        shown: Sequence[Block]
        (number, first), at = group[0], f"/sections/{group[0][0]}"
        if first.group:
            within = [Subsection(f"section-{k}", doc.text(f"/sections/{k}/title"), blocks[k]) for k, _ in group]
            name, title, contents, shown = f"group-{number}", doc.text(f"{at}/group"), first.group, within
        else:
            name, title, contents = f"section-{number}", doc.text(f"{at}/title"), first.title
            shown = blocks[number]
        parts.append(Part(name, title, shown, contents, study=True, folded=True))
    return tuple(parts)


def _first(sections: Sequence[Section]) -> dict[tuple[str, str], int]:
    """The first section of each page that says a paragraph, by its number: others refer to it."""
    first: dict[tuple[str, str], int] = {}
    for number, section in enumerate(sections):
        for text in section.text:
            first.setdefault((section.page, text), number)
    return first


def _texts(doc: Printer, number: int, section: Section, first: dict[tuple[str, str], int]) -> Iterator[Block]:
    """The paragraphs of a section that none before it says, and where the others stand."""
    places = [first[section.page, text] for text in section.text]
    for text, place in zip(doc.texts(f"/sections/{number}/text"), places, strict=True):
        if place == number:
            yield Paragraph(text)
    for place in dict.fromkeys(place for place in places if place != number):
        title = doc.text(f"/sections/{place}/title")
        yield Paragraph(Markup('How to read it: see <a href="#section-{}">{}</a>.').format(place, title), "fine")


def _blocks(
    doc: Printer, number: int, section: Section, first: dict[tuple[str, str], int], pictures: Sequence[Block]
) -> Iterator[Block]:
    at = f"/sections/{number}"
    yield from (Paragraph(text, "notice") for text in doc.texts(f"{at}/warnings"))
    yield from _texts(doc, number, section, first)
    for place, figure in enumerate(section.figures):
        shown = _figure(doc, f"{at}/figures/{place}", figure, f"section-{number}-f{place}")
        yield from [Secondary(list(shown))] if figure.folded else shown
    yield from pictures
    for place, table in enumerate(section.tables):
        made = _table(doc, f"{at}/tables/{place}", table)
        long = len(table.rows) > MOST_ROWS and not table.shaded
        secondary = section.figures or long or place >= MOST_TABLES
        yield Secondary([made]) if secondary else made


def _table(doc: Printer, at: str, table: Table) -> TextTable:
    rows = [[_cell(doc, f"{at}/rows/{k}/{j}", table, j, value) for j, value in enumerate(row)]
            for k, row in enumerate(table.rows)]  # fmt: skip
    numbers = [place for place, unit in enumerate(table.units) if unit in _STYLES]
    shades = [
        [value if table.shaded and isinstance(value, int | float) else None for value in row] for row in table.rows
    ]
    titles = doc.texts(f"{at}/columns")
    return TextTable(table.title, titles, rows, doc.text(f"{at}/title"), numbers, -1, shades)


def _cell(doc: Printer, at: str, table: Table, column: int, value: object) -> Markup:
    if value is None:
        return Markup('<span class="none" data-source="{}">–</span>').format(at)
    if isinstance(value, str):
        return doc.text(at)
    style = _STYLES.get(table.units[column], "plain")
    return doc.number(at, style) + (PER_CENT if style == "percent" else "")


def _value(point: Entry[Point], style: Style) -> Markup:
    return point.estimate(style, "value", signed=style == "points")


def _ends(point: Entry[Point], style: Style) -> Markup:
    row = point.row
    if row.low is None and row.value is not None and row.reason:
        return Markup('<span class="none">{}</span>').format(point.text("reason"))
    return point.interval(style)


def _points(panel: Panel) -> list[Point]:
    return [point for series in panel.series for point in series.points]


def _figure(doc: Printer, at: str, figure: Figure, name: str) -> Iterator[Block]:
    """The figure under its title, with its values as a table."""
    caption = Markup("<strong>{}</strong>").format(doc.text(f"{at}/title"))
    if figure.caption:
        caption += Markup(' <span class="fine">{}</span>').format(doc.text(f"{at}/caption"))
    names = list(dict.fromkeys(series.name for panel in figure.panels for series in panel.series))
    shared = _scale([point for panel in figure.panels for point in _points(panel)])
    scales = [shared if figure.same_axis else _scale(_points(panel)) for panel in figure.panels]
    key, numbers = _key(doc, at, figure, names), figure_numbers(figure)
    if figure.kind == "rows":
        rows = [
            each
            for k, (panel, scale) in enumerate(zip(figure.panels, scales, strict=True))
            for each in _rows(doc, f"{at}/panels/{k}", panel, scale, f"{name}-{k}", len(figure.panels) > 1)
        ]
        yield DotPlot(caption, (), rows, numbers=numbers, key=key)
    else:
        plots = [
            _plot(doc, f"{at}/panels/{k}", figure, panel, names, scale, f"{name}-{k}")
            for k, (panel, scale) in enumerate(zip(figure.panels, scales, strict=True))
        ]
        style = "panels two" if len(figure.panels) == 4 else "panels"
        yield Plots(plots, style, numbers, key, caption)
    if figure.folded:
        yield Paragraph(f"The values are in results.json, at {at}.", "fine")
    else:
        yield Secondary([_values(doc, at, figure)])


def _scale(points: Sequence[Point]) -> Scale:
    return covering(finite([bound for point in points for bound in (point.value, point.low, point.high)]))


def _key(doc: Printer, at: str, figure: Figure, names: Sequence[str]) -> Markup:
    """The key of a figure of several series."""
    if len(names) < 2:
        return NOTHING
    first: dict[str, str] = {}
    for k, panel in enumerate(figure.panels):
        for j, series in enumerate(panel.series):
            first.setdefault(series.name, f"{at}/panels/{k}/series/{j}/name")
    return svg.legend([(doc.text(first[name]), number % SERIES) for number, name in enumerate(names) if name])


def _labels(at: str, panel: Panel) -> dict[str, str]:
    """Each label and the place of its text, in order of first use."""
    labels: dict[str, str] = {}
    for j, series in enumerate(panel.series):
        for k, point in enumerate(series.points):
            labels.setdefault(point.label, f"{at}/series/{j}/points/{k}/label")
    return labels


def _rows(doc: Printer, at: str, panel: Panel, scale: Scale, name: str, headed: bool) -> Iterator[Row | Heading | Axis]:
    """Dots by label, a row of the page each, with a mark and numbers for each series."""
    if headed:
        yield Heading(doc.text(f"{at}/heading"), 4)
    ticks = svg.ticks_across(scale, panel.unit != "number", signed=panel.unit != "proportion")
    yield Axis(ticks)
    title, style = f"{panel.y_words.capitalize()} and its bars", _STYLES[panel.unit]
    for number, (label, place) in enumerate(_labels(at, panel).items()):
        found = [
            (Entry(doc, f"{at}/series/{j}/points/{k}", point), j)
            for j, series in enumerate(panel.series)
            for k, point in enumerate(series.points)
            if point.label == label
        ]
        marks = [
            (Mark(x=j, value=each.row.value, low=each.row.low, high=each.row.high), j % SERIES, True)
            for each, j in found
        ]
        shown = Markup('{} <span class="range">({})</span>')
        values = (shown.format(_value(each, style), _ends(each, style)) for each, _ in found)
        lines = [tag("span", value, class_="line") for value in values]
        drawing = estimates.row(f"{name}-{number}", title, "", marks, scale, ticks, len(panel.series))
        yield Row(doc.text(place), drawing, Markup("").join(lines))


def _plot(doc: Printer, at: str, figure: Figure, panel: Panel, names: Sequence[str], scale: Scale, name: str) -> Plot:
    style = _STYLES[panel.unit]
    labels = _labels(at, panel) if figure.kind in ("bars", "violins") else {}
    ends = [point.x for point in _points(panel) if point.x is not None]
    low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
    room = 100 / max(len(labels), 1)

    def mark(point: Point) -> Mark | None:
        if not labels and point.x is None:
            return None
        x = room * (list(labels).index(point.label) + 0.5) if labels else svg.along(point.x or 0.0, low, high)
        n = point.n or 1
        return Mark(x=x, value=point.value, low=point.low, high=point.high, n=n, counts=point.counts)

    lines = [
        Line(series.name, names.index(series.name) % SERIES,
             [one for point in series.points if (one := mark(point))], dots=series.drawn == "marks")
        for series in panel.series
    ]  # fmt: skip
    told = [text for line in lines for text in line.told(line.name or panel.y_words, "from left to right")]
    described = "; ".join(told) or "No value could be estimated at two places."
    if figure.kind == "violins":
        first, last = (panel.edges[0], panel.edges[-1]) if panel.edges else (0.0, 1.0)
        scale = Scale(first, last if last > first else first + 1.0, ())
        described = "Shapes show how many images lie where."
    drawn = estimates.Panel(
        kind="curves" if figure.kind == "rows" else figure.kind,
        title=panel.y_words.capitalize() + (f" by {panel.x_words}" if panel.x_words else ""),
        description=described, lines=lines, scale=scale, hundredfold=panel.unit != "number",
        across=[] if labels else [Tick(svg.along(t, low, high), text, t) for t, text in estimates.within(low, high)],
        labels=[doc.text(place) for place in labels.values()], edges=panel.edges,
    )  # fmt: skip
    fine = Markup('<span class="fine">{}{}</span>').format(doc.text(f"{at}/y_words"), _UNITS.get(style, ""))
    heading = Markup("<strong>{}</strong> {}").format(doc.text(f"{at}/heading"), fine)
    across = doc.text(f"{at}/x_words") if panel.x_words else ""
    return Plot(heading, estimates.panel(name, drawn), across)


def _values(doc: Printer, at: str, figure: Figure) -> TextTable:
    """Every point of a figure, each number with its place."""
    rows = []
    for k, panel in enumerate(figure.panels):
        style, head = _STYLES[panel.unit], doc.text(f"{at}/panels/{k}/heading")
        for j, series in enumerate(panel.series):
            place = f"{at}/panels/{k}/series/{j}"
            for i, point in enumerate(series.points):
                row = Entry(doc, f"{place}/points/{i}", point)
                label = row.text("label") if point.x is None else row.number("x")
                n = "" if point.n is None else row.count("n")
                rows.append([head, doc.text(f"{place}/name"), label, _value(row, style), _ends(row, style), n])
    ends = "Quartiles" if figure.kind == "violins" else "Interval"
    headings, title = ("Panel", "Series", "At", "Value", ends, "Number"), doc.text(f"{at}/title")
    return TextTable("Values of the figure", headings, rows, title, (3, 4, 5), 2)


_POINT: Final = ("value", "low", "high", "n", "reason")


def figure_numbers(figure: Figure) -> TextTable:
    """Every point of a section's figure: its place, value, interval and number of images or subjects."""
    rows = [
        (panel.heading, series.name, as_text(point.label or point.x), *(as_text(getattr(point, key)) for key in _POINT))
        for panel in figure.panels
        for series in panel.series
        for point in series.points
    ]
    return TextTable(figure.title, ("panel", "series", "at", *_POINT), rows)


def as_text(value: object) -> str:
    """A cell of saved numbers: empty for null, the levels of a cell as name=level."""
    if isinstance(value, dict):
        return "; ".join(f"{name}={level}" for name, level in value.items())
    return "" if value is None else str(value)
