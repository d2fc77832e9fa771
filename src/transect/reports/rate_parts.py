"""Rates on the page of an audit: over all images, along the levels of one attribute, and where several meet.

The scatter of pairs of groups is Balakrishnan et al. 2020, Fig. 14: each dot compares two groups that differ by one
attribute alone. The shade of a cell repeats what its number says: from none at the lowest end of the outcome's range
to the deepest at its highest rate, on one scale per target and outcome.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, final

from markupsafe import Markup

from transect.reports.blocks import Block, Folded, Heading, Paragraph, Plot, Plots, Secondary, Subsection, TextTable
from transect.reports.columns import AnyTable, Column, Table
from transect.reports.document import Document, Entry, finite
from transect.reports.drawing import estimates, svg
from transect.reports.drawing.estimates import Line, Mark
from transect.reports.drawing.maps import DEEPEST
from transect.reports.drawing.svg import Scale, Tick, covering, joined, tag, tick_text
from transect.reports.effect_parts import (
    EXCLUDED,
    IMAGES,
    SUBJECTS,
    TARGET,
    Effect,
    effects_table,
    first_outcomes,
    numbers_of,
    percent_level,
)
from transect.reports.results import AttributeEntry, RateEntry, StudyEntry, TargetEntry
from transect.reports.section_parts import as_text
from transect.reports.wording import (
    headed,
    level,
    measured,
    outcome_words,
    rate_style,
    task_of,
    unit_words,
)
from transect.runs.wording import spaced

Rate = Entry[RateEntry]
_Key = tuple[str, str, frozenset[tuple[str, float]]]
SERIES: Final = 4
"""Targets that one panel can tell apart; more go to further panels."""
_DODGE: Final = 7
_MOST_LABELS: Final = 6
_MOST_NAMES: Final = 4


@final
@dataclass(frozen=True)
class StudyRates:
    """The rates of one study, found by their cells, and how its levels are called."""

    document: Document
    study: int

    @cached_property
    def rates(self) -> list[Rate]:
        """All of them, in the order of the results."""
        return self.document.entries("rates", self.entry.name)

    @property
    def entry(self) -> StudyEntry:
        """The study."""
        return self.document.results.studies[self.study]

    @cached_property
    def _places(self) -> Mapping[_Key, Rate]:
        return {(each.row.target, each.row.outcome, frozenset(each.row.cell.items())): each for each in self.rates}

    @cached_property
    def _by_outcome(self) -> Mapping[str, list[Rate]]:
        """Found once: a population has thousands of tables and hundreds of thousands of rates."""
        found: dict[str, list[Rate]] = {}
        for each in self.rates:
            found.setdefault(each.row.outcome, []).append(each)
        return found

    def of(self, outcome: str, target: str = "") -> list[Rate]:
        """The rates of an outcome, of all targets or of one."""
        return [each for each in self._by_outcome.get(outcome, []) if target in ("", each.row.target)]

    def find(self, target: str, outcome: str, cell: Mapping[str, float]) -> Rate | None:
        """The rate of a cell; None where the results have none."""
        return self._places.get((target, outcome, frozenset(cell.items())))

    def along(
        self, target: str, outcome: str, attribute: AttributeEntry, others: Mapping[str, float]
    ) -> list[Rate | None]:
        """The rates along the levels of an attribute, the others at one level each."""
        return [self.find(target, outcome, {**others, attribute.name: value}) for value in attribute.levels]

    def level(self, attribute: AttributeEntry, value: float) -> Markup:
        """A level as people read it."""
        return level(self.document, self.study, attribute.name, value, "")

    def headed(self, attribute: AttributeEntry) -> Markup:
        """An attribute with its unit."""
        return headed(self.document, self.study, attribute.name)

    def called(self, target: TargetEntry) -> Markup:
        """The name of a target."""
        return self.document.text(f"/studies/{self.study}/targets/{self.entry.targets.index(target)}/name")


def _rate(row: Rate) -> Markup:
    return row.estimate(rate_style(row.row.unit), "rate", signed=False)


def _rate_interval(row: Rate) -> Markup:
    return row.interval(rate_style(row.row.unit))


def overall_table(known: StudyRates) -> Table[Rate] | None:
    """The rate of each target and outcome over all images; None without one."""
    rows = [each for each in known.rates if each.row.order == 0]
    tasks = {target.name: target.task for target in known.entry.targets}
    columns: list[Column[Rate]] = [
        TARGET,
        Column("Outcome", lambda row: outcome_words(row.row.outcome, row.row.unit, tasks[row.row.target])),
        Column("Rate or mean", _rate, "figure"),
        Column(_interval_heading(known.document), _rate_interval, "figure"),
        IMAGES,
    ]
    return Table("Over all images", rows, columns, "Over all images") if rows else None


def _interval_heading(document: Document) -> Markup:
    return Markup("{} % interval").format(percent_level(document))


def levels_subsection(known: StudyRates) -> Subsection | None:
    """The rates by level of each outcome, a panel per attribute; None without one."""
    document, entry, name = known.document, known.entry, f"study-{known.study}"
    experimental = entry.basis == "experimental"
    each = "averages over the levels of the other attributes" if experimental else "is the rate among the images at "
    said = Markup("Each point {}; bars are {} % intervals of each level alone.").format(
        each if experimental else f"{each}that level", percent_level(document)
    )
    blocks: list[Block] = []
    first = first_outcomes(document, known.study)
    for place, outcome in enumerate(entry.outcomes):
        if (found := _outcome(known, outcome, name, place)) is not None:
            words, shown = found
            whole = [Folded(f"{words.capitalize()} by level", shown)] if blocks else shown
            blocks += whole if outcome in first else [Secondary(whole)]
    if not blocks:
        return None
    return Subsection(f"{name}-levels", "Rates by level", [Paragraph(said), *blocks], "Rates by level")


def _outcome(known: StudyRates, outcome: str, name: str, number: int) -> tuple[str, list[Block]] | None:
    """The panels of one outcome, one per attribute (and per group of four targets), on one axis, and its tables."""
    single = [each.row for each in known.of(outcome) if each.row.order == 1]
    scale = covering(finite([end for rate in single for end in (rate.rate, rate.low, rate.high)]))
    targets = [target.name for target in known.entry.targets]
    batches = [targets[start : start + SERIES] for start in range(0, len(targets), SERIES)]
    slopes = [row for row in known.document.entries("effects", known.entry.name)
              if (row.row.kind, row.row.outcome) == ("slope", outcome)]  # fmt: skip
    panels: list[Plot] = []
    numbers: list[tuple[AttributeEntry, Rate]] = []
    for attribute in known.entry.attributes:
        for batch in batches:
            found = {target: rates for target in batch if any(rates := known.along(target, outcome, attribute, {}))}
            if found:
                own = [row for row in slopes if row.row.attribute == attribute.name and row.row.target in batch]
                at = f"{name}-d{number}-{len(panels)}"
                panels.append(_levels_panel(known, attribute, found, batch, scale, own, at))
                numbers += [(attribute, rate) for k in range(len(attribute.levels))
                            for rates in found.values() if (rate := rates[k])]  # fmt: skip
    if not panels:
        return None
    words = outcome_words(outcome, numbers[0][1].row.unit, task_of(known.entry.targets))
    table = _levels_table(known, numbers, f"{words.capitalize()} by level")
    names = [target for target in targets if any(rate.row.target == target for _, rate in numbers)]
    shared = 1 < len(names) <= SERIES
    key = _legend(known, names, targets) if shared else Markup()
    plots = [replace(plot, key=Markup()) for plot in panels] if len(names) <= SERIES else panels
    tables: list[Block] = [table]
    if slopes:
        tables.append(effects_table(known.document, slopes, f"Slopes of the {words}", units=True))
    return words, [Plots(plots, numbers=table, key=key), Secondary(tables)]


def _legend(known: StudyRates, names: Sequence[str], batch: Sequence[str]) -> Markup:
    called = {target.name: known.called(target) for target in known.entry.targets}
    return svg.legend([(called[name], batch.index(name) % SERIES) for name in names])


def _levels_panel(
    known: StudyRates,
    attribute: AttributeEntry,
    found: Mapping[str, Sequence[Rate | None]],
    batch: Sequence[str],
    scale: Scale,
    slopes: Sequence[Effect],
    name: str,
) -> Plot:
    lines = [
        _line(attribute, rates, target, batch.index(target), _DODGE * (place - (len(found) - 1) / 2))
        for place, (target, rates) in enumerate(found.items())
    ]
    unit = next(rate.row.unit for rates in found.values() for rate in rates if rate)
    outcome = next(rate.row.outcome for rates in found.values() for rate in rates if rate)
    words = outcome_words(outcome, unit, task_of(each for each in known.entry.targets if each.name in batch))
    below = _slopes(slopes) if slopes else Markup()
    where = "from the first level to the last"
    plot = _plot(known, (attribute, spaced(attribute.name)), words, lines, scale, unit, where, name)
    wide = not measured(attribute) and len(attribute.levels) > _MOST_NAMES
    key = _legend(known, list(found), batch)
    return replace(plot, key=key, below=below, style="panel wide" if wide else "panel")


def _slopes(rows: Sequence[Effect]) -> Markup:
    """The slopes along an attribute, by target where there are several."""
    items = []
    for row in rows:
        named = tag("span", row.text("target"), class_="target") + " " if len(rows) > 1 else Markup()
        told = Markup("not estimable, {}").format(row.text("reason")) if row.row.estimate is None else numbers_of(row)
        items.append(tag("li", named + told))
    head = tag("p", f"Slope, {unit_words(rows[0].row.unit)}:", class_="fine")
    return head + tag("ul", joined(items), class_="slopes")


def _line(attribute: AttributeEntry, rates: Sequence[Rate | None], name: str, number: int, shift: float) -> Line:
    """The rates along the levels of an attribute as marks."""
    marks = [
        Mark(x=_place_of(attribute, value), value=rate.row.rate, low=rate.row.low, high=rate.row.high, place=rate.place)
        for value, rate in zip(attribute.levels, rates, strict=True)
        if rate
    ]
    return Line(name, number, marks, shift)


def _place_of(attribute: AttributeEntry, value: float) -> float:
    """Per cent from the left: in proportion to a number, with a margin for the marks; named levels share the width."""
    if not measured(attribute):
        return round(100 * (attribute.levels.index(value) + 0.5) / len(attribute.levels), 3)
    return svg.along(value, min(attribute.levels), max(attribute.levels))


def _plot(
    known: StudyRates, along: tuple[AttributeEntry, str], words: str, lines: Sequence[Line], scale: Scale, unit: str,
    where: str, name: str, more: Markup | str = "",
) -> Plot:  # fmt: skip
    """Lines along an attribute. where: between which ends they rise or fall; more: words after the unit."""
    attribute, called = along
    told = [text for line in lines for text in _told(line, len(attribute.levels), where)]
    every = -(-len(attribute.levels) // _MOST_LABELS) if measured(attribute) else 1
    labels = [(value, known.level(attribute, value)) for value in attribute.levels[::every]]
    style = rate_style(unit)
    drawn = estimates.Panel(
        kind="levels",
        title=f"{words.capitalize()} by {called}",
        description="; ".join(told) or "No rate could be estimated at both ends.",
        lines=lines,
        scale=scale,
        hundredfold=style == "percent",
        ordered=attribute.kind in ("continuous", "ordinal"),
        across=[Tick(_place_of(attribute, value), text) for value, text in labels] if measured(attribute) else [],
        labels=[] if measured(attribute) else [text for _, text in labels],
    )
    sign = ", %" if style == "percent" else ""
    caption = Markup('<strong>{}</strong> <span class="fine">{}{}{}</span>')
    return Plot(caption.format(known.headed(attribute), words, sign, more), estimates.panel(name, drawn))


def _told(line: Line, levels: int, where: str) -> list[str]:
    """What a line does between the ends, where both are known."""
    ends = line.marks[0].value, line.marks[-1].value
    return line.told(line.name, where) if len(line.marks) == levels and None not in ends else []


def _levels_table(known: StudyRates, numbers: Sequence[tuple[AttributeEntry, Rate]], title: str) -> AnyTable:
    columns: list[Column[tuple[AttributeEntry, Rate]]] = [
        Column("Attribute", lambda pair: spaced(pair[0].name)),
        Column("Level", lambda pair: known.level(pair[0], pair[1].row.cell[pair[0].name])),
    ]
    interval = _interval_heading(known.document)
    of_rate: list[Column[Rate]] = [TARGET, Column("Rate", _rate, "figure"), Column(interval, _rate_interval, "figure")]
    of_rate += [SUBJECTS, IMAGES, EXCLUDED]
    return Table(title, numbers, [*columns, *map(_of_pair, of_rate)], title, 1)


def _of_pair(column: Column[Rate]) -> Column[tuple[AttributeEntry, Rate]]:
    return Column(column.heading, lambda pair: column.of(pair[1]), column.form)


SIDE: Final = 220
"""Pixels of a side of the scatter's square."""
MOST_LEVELS: Final = 4
"""Levels that one crossed panel can tell apart."""
MOST_PANELS: Final = 12
MOST_LABELS: Final = 8
_CROSSED_DODGE: Final = 5
_SHORT: Final = 14
_LINE: Final = 12
_WORDS: Final = 60
_PAIRS: Final = (
    "Each dot compares two groups that differ by one attribute alone. On the line it makes no difference; above it, "
    "the last level has the higher rate."
)


@final
@dataclass(frozen=True)
class Dot:
    """A pair of groups: their rates, position, ends of the intervals (pixels), and what they share."""

    rates: tuple[Rate, Rate]
    x: float
    y: float
    across: tuple[float, float] | None
    along: tuple[float, float] | None
    label: str
    labelled: bool = True


def crossings(known: StudyRates) -> Iterator[Folded]:
    """The figures of each target and outcome of a study that sets at least two attributes; none for a population."""
    entry, number = known.entry, itertools.count()
    if entry.basis != "experimental" or len(entry.attributes) < 2:
        return
    for outcome, target in itertools.product(entry.outcomes, entry.targets):
        rates = [each for each in known.of(outcome, target.name) if each.row.order >= 1]
        words = outcome_words(outcome, rates[0].row.unit if rates else "proportion", target.task)
        name = f"study-{known.study}-x{next(number)}"
        blocks = [*_scatters(known, target.name, outcome, words, name),
                  *_crossed_curves(known, target.name, outcome, words, rates, name)]  # fmt: skip
        if blocks:
            head = Markup("Groups side by side, and one attribute along another: {} of {}")
            yield Folded(head.format(words, known.called(target)), blocks)


def _crossed_curves(
    known: StudyRates, target: str, outcome: str, words: str, rates: Sequence[Rate], name: str
) -> Iterator[Block]:
    """Curves along one attribute, one at each level of another."""
    shown = [each.row for each in rates if each.row.order <= 2]
    scale = covering(finite([end for rate in shown for end in (rate.rate, rate.low, rate.high)]))
    pairs = [
        (along, by)
        for along, by in itertools.permutations(known.entry.attributes, 2)
        if measured(along) and len(by.levels) <= MOST_LEVELS
    ]
    plots, used = [], []
    for place, (along, by) in enumerate(pairs[:MOST_PANELS]):
        found = {k: known.along(target, outcome, along, {by.name: value}) for k, value in enumerate(by.levels)}
        found = {k: row for k, row in found.items() if any(row)}
        if found:
            used += [rate for row in found.values() for rate in row if rate and rate.row.rate is not None]
            plots.append(_crossed(known, along, by, found, words, scale, f"{name}-c{place}"))
    if plots:
        yield Plots(plots, numbers=_saved(used, f"Rates of {words}"))
    if plots and len(pairs) > MOST_PANELS:
        yield Paragraph("Further pairs are in results.json.", "fine")


def _crossed(
    known: StudyRates, along: AttributeEntry, by: AttributeEntry, found: Mapping[int, Sequence[Rate | None]],
    words: str, scale: Scale, name: str,
) -> Plot:  # fmt: skip
    lines = [
        _line(along, row, f"{spaced(by.name)} {by.labels[k]}", k, _CROSSED_DODGE * (k - (len(by.levels) - 1) / 2))
        for k, row in found.items()
    ]
    unit = next(rate.row.unit for row in found.values() for rate in row if rate)
    more = Markup(", at each level of {}").format(known.headed(by))
    called, where = f"{spaced(along.name)} and {spaced(by.name)}", f"along {spaced(along.name)}"
    plot = _plot(known, (along, called), words, lines, scale, unit, where, name, more)
    key = svg.legend([(known.level(by, by.levels[k]), k) for k in found], "div")
    return replace(plot, key=key, style="crossed")


def _scatters(known: StudyRates, target: str, outcome: str, words: str, name: str) -> Iterator[Block]:
    """One per attribute: its first level against its last, in cells as fine as the results have them."""
    order = min(3, len(known.entry.attributes))
    rates = [each for each in known.of(outcome, target) if each.row.order == order]
    if not rates or any(each.row.unit != "proportion" for each in rates):
        return
    scale = covering(finite([each.row.rate for each in rates]))
    plots, used = [], []
    for place, attribute in enumerate(known.entry.attributes):
        dots = list(_dots(known, rates, attribute, scale))
        if dots:
            used += [rate for dot in dots for rate in dot.rates]
            plots.append(_scatter(known, attribute, dots, words, scale, f"{name}-s{place}"))
    if plots:
        yield Paragraph(_PAIRS)
        yield Plots(plots, numbers=_saved(used, f"Rates of {words}, pairs of groups"))


def _scatter(
    known: StudyRates, attribute: AttributeEntry, dots: Sequence[Dot], words: str, scale: Scale, name: str
) -> Plot:
    """The square of a scatter, its dots above their intervals."""
    first, last = (known.level(attribute, attribute.levels[end]) for end in (0, -1))
    above = sum(dot.y < SIDE - dot.x - 1e-6 for dot in dots)
    ticks = [Tick(round(SIDE * scale.fraction(at), 2), tick_text(scale, at, True), at) for at in scale.ticks]
    shown = _apart(dots) if len(dots) <= MOST_LABELS else [replace(dot, labelled=False) for dot in dots]
    marks = joined([*map(_cross, shown), *map(_mark, shown)])
    drawing = svg.square(name, "Equal-error scatter", _balance(above, len(dots)), marks, SIDE, ticks)
    caption = Markup('<strong>{}</strong> <span class="fine">{}, %: {} (up) against {} (across)</span>')
    return Plot(caption.format(known.headed(attribute), words, last, first), drawing, style="crossed")


def _dots(known: StudyRates, rates: Sequence[Rate], attribute: AttributeEntry, scale: Scale) -> Iterator[Dot]:
    """A dot for each two groups, at the first level and the last, whose rates are known."""
    attributes = {each.name: each for each in known.entry.attributes}
    for rate in rates:
        if rate.row.cell.get(attribute.name) != attribute.levels[0]:
            continue
        others = {name: value for name, value in rate.row.cell.items() if name != attribute.name}
        last = known.find(rate.row.target, rate.row.outcome, {**others, attribute.name: attribute.levels[-1]})
        if last is None or rate.row.rate is None or last.row.rate is None:
            continue
        labels = [attributes[name].labels[attributes[name].levels.index(value)] for name, value in others.items()]
        across, along = (_ends(scale, each.row) for each in (rate, last))
        yield Dot(
            rates=(rate, last),
            x=_within(scale, rate.row.rate),
            y=round(SIDE - _within(scale, last.row.rate), 2),
            across=across,
            along=None if along is None else (SIDE - along[0], SIDE - along[1]),
            label=", ".join(label if len(label) <= _SHORT else f"{label[:_SHORT]}…" for label in labels),
        )


def _ends(scale: Scale, rate: RateEntry) -> tuple[float, float] | None:
    return None if rate.low is None or rate.high is None else (_within(scale, rate.low), _within(scale, rate.high))


def _within(scale: Scale, value: float) -> float:
    """Pixels from the low end, cut off at the ends of the axis."""
    return round(SIDE * min(max(scale.fraction(value), 0.0), 1.0), 2)


def _cross(dot: Dot) -> Markup:
    lines = Markup()
    if dot.across:
        lines += tag("line", class_="cross", x1=dot.across[0], x2=dot.across[1], y1=dot.y, y2=dot.y)
    if dot.along:
        lines += tag("line", class_="cross", y1=dot.along[0], y2=dot.along[1], x1=dot.x, x2=dot.x)
    return lines


def _mark(dot: Dot) -> Markup:
    place = f"{dot.rates[1].place}/rate"
    circle = tag("circle", tag("title", dot.label), class_="dot", cx=dot.x, cy=dot.y, r=4, data_place=place)
    if not dot.labelled:
        return circle
    x, anchor = (dot.x - 7, "end") if dot.x > SIDE / 2 else (dot.x + 7, "start")
    return circle + tag("text", dot.label, class_="dot-label", x=x, y=dot.y - 6, text_anchor=anchor)


def _apart(dots: Sequence[Dot]) -> list[Dot]:
    """The dots, without the labels that would stand on another's; all have theirs as a tooltip."""
    placed: list[Dot] = []
    for dot in dots:
        near = any(abs(dot.y - k.y) < _LINE and abs(dot.x - k.x) < _WORDS for k in placed if k.labelled)
        placed.append(replace(dot, labelled=not near))
    return placed


def _balance(above: int, dots: int) -> str:
    share = "All" if above == dots else "No" if above == 0 else "Most" if 2 * above > dots else "A half or fewer"
    return f"{share} groups have a higher rate at the last level than at the first."


_SAVED: Final = ("study", "target", "outcome", "cell", "rate", "low", "high", "unit", "n_subjects", "n_images")


def _saved(rates: Iterable[Rate], title: str) -> TextTable:
    """The rates behind a drawing, each once, in the order of results.json."""
    places = {int(rate.place.rsplit("/", 1)[1]): rate.row for rate in rates}
    rows = [[as_text(getattr(places[k], key)) for key in _SAVED] for k in sorted(places)]
    return TextTable(title, _SAVED, rows)


MOST_CELLS: Final = 2400
"""Cells printed on one page; the rest stands in results.json alone, and the page says so."""
_INTERSECTIONS: Final = Markup(
    "Rates where two or three attributes meet, with {} % intervals. Deeper shading means a higher value, on one scale "
    "per target and outcome. The tables show every cell in the order of the levels: none is picked for its rate."
)


def intersections_subsection(known: StudyRates) -> Subsection | None:
    """The tables of each target and outcome where attributes meet, and the figures of pairs; None without a table."""
    blocks: list[Block] = [Paragraph(_INTERSECTIONS.format(percent_level(known.document)))]
    room, cut = MOST_CELLS // len(known.document.results.studies), False
    for outcome, target in itertools.product(known.entry.outcomes, known.entry.targets):
        tables, size, left = _tables(known, target.name, outcome, room)
        room, cut = room - size, cut or left
        if not tables:
            continue
        unit = next((each.row.unit for each in known.of(outcome)), "proportion")
        words, name = outcome_words(outcome, unit, target.task), known.called(target)
        head = Markup('{} <span class="fine">{}</span>').format(words.capitalize(), name)
        blocks += [Heading(head, 4), tag("div", joined(tables), class_="matrices")]
    if len(blocks) == 1:
        return None
    blocks += crossings(known)
    if cut:
        blocks.append(Paragraph("Some tables are too large for this page; results.json has every cell.", "fine"))
    return Subsection(f"study-{known.study}-intersections", "Intersections", blocks, "Intersections")


_Lines = list[list[Rate | None]]


def _tables(known: StudyRates, target: str, outcome: str, room: int) -> tuple[list[Markup], int, bool]:
    """The tables of one target and outcome, how many cells they have, and whether some had to be left out."""
    rates = known.of(outcome, target)
    values = finite([each.row.rate for each in rates])
    proportion = bool(rates) and rates[0].row.unit == "proportion"
    ends = 0.0 if proportion else min(values, default=0.0), max(values, default=1.0)
    tables: list[Markup] = []
    size, cut = 0, False
    for members in _combinations(known.entry):
        lines = _cells(known, members, target, outcome)
        cells = sum(map(len, lines))
        if not any(rate for line in lines for rate in line):
            continue
        if cells > room - size:
            cut = True
            continue
        tables.append(_matrix(known, members, lines, ends, outcome))
        size += cells
    return tables, size, cut


def _combinations(study: StudyEntry) -> Iterator[tuple[AttributeEntry, ...]]:
    """Pairs, then triples; in each the attribute with the fewest levels comes last and forms the columns."""
    for order in (2, 3):
        for members in itertools.combinations(study.attributes, order):
            columns = min(reversed(members), key=lambda attribute: len(attribute.levels))
            yield (*(attribute for attribute in members if attribute is not columns), columns)


def _cells(known: StudyRates, members: Sequence[AttributeEntry], target: str, outcome: str) -> _Lines:
    """Each cell's rate, line by line; None where the results have no such cell."""
    *rows, columns = members
    names = [attribute.name for attribute in rows]
    return [
        known.along(target, outcome, columns, dict(zip(names, row, strict=True)))
        for row in itertools.product(*(attribute.levels for attribute in rows))
    ]


def _title(members: Sequence[AttributeEntry]) -> str:
    return " × ".join(spaced(attribute.name) for attribute in members)


def _matrix(
    known: StudyRates, members: Sequence[AttributeEntry], lines: _Lines, ends: tuple[float, float], outcome: str
) -> Markup:
    """The table of cells that were found; ends: the lowest and the highest rate of the shading."""
    *rows, columns = members
    found = [rate for line in lines for rate in line if rate]
    alike = len({rate.row.n_subjects for rate in found}) == 1
    fine = tag("span", found[0].counted("n_subjects", "subject") + " in each cell", class_="fine")
    caption = tag("caption", _title(members) + (" " + fine if alike else ""))
    corners = [tag("th", known.headed(each), scope="col", rowspan=2, class_="corner") for each in rows]
    across = tag("th", known.headed(columns), scope="colgroup", colspan=len(columns.levels))
    heads = [tag("th", known.level(columns, value), scope="col") for value in columns.levels]
    head = tag("thead", tag("tr", joined([*corners, across])) + tag("tr", joined(heads)))
    body = []
    for number, line in enumerate(lines):
        headers = _headers(known, rows, number)
        cells = [_shaded(rate, ends, alike) for rate in line]
        begins = "begins" if len(headers) > 1 and number else None
        body.append(tag("tr", joined([*headers, *cells]), class_=begins))
    table = tag("table", caption + head + tag("tbody", joined(body)), class_="findings matrix")
    label = f"{outcome_words(outcome, found[0].row.unit).capitalize()}: {_title(members)}"
    return tag("div", table, class_="scroll", role="region", tabindex=0, aria_label=label)


def _headers(known: StudyRates, rows: Sequence[AttributeEntry], number: int) -> list[Markup]:
    """The headers that begin in this row: the outer one only where its span begins."""
    inner, span = rows[-1], len(rows[-1].levels)
    headers = [tag("th", known.level(inner, inner.levels[number % span]), scope="row")]
    if len(rows) > 1 and number % span == 0:
        outer = known.level(rows[0], rows[0].levels[number // span])
        headers.insert(0, tag("th", outer, scope="rowgroup" if span > 1 else "row", rowspan=span))
    return headers


def _shaded(rate: Rate | None, ends: tuple[float, float], alike: bool) -> Markup:
    if rate is None:
        return tag("td", "no images", class_="void")
    bottom, top = ends
    known = rate.row.rate is not None and top > bottom
    shade = round(DEEPEST * ((rate.row.rate or 0.0) - bottom) / (top - bottom), 3) if known else 0.0
    small = [] if alike else [Markup("n {}").format(rate.count("n_subjects"))]
    small += [rate.tally("excluded")] if any(rate.row.excluded.values()) else []
    parts = [tag("b", _rate(rate)), tag("span", _rate_interval(rate), class_="range")]
    parts += [tag("span", text, class_="size") for text in small]
    return tag("td", Markup(" ").join(parts), class_="heat", style=f"--shade:{shade}")
