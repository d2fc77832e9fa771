"""Effects on the page of an audit: dot plots of contrasts by attribute, and the tables of effects.

A dot plot is Cleveland's, with intervals; a filled mark stays significant after adjustment, a hollow one does not, and
a row without an estimate says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from markupsafe import Markup

from transect.reports.blocks import Block, DotPlot, Folded, Heading, Paragraph, Row, Secondary, Subsection
from transect.reports.columns import Column, Table
from transect.reports.document import Document, Entry, finite
from transect.reports.drawing import estimates, svg
from transect.reports.drawing.estimates import Mark
from transect.reports.drawing.svg import Scale, covering
from transect.reports.entries import ComparedEntry, EffectEntry, EstimatedEntry
from transect.reports.results import significant
from transect.reports.wording import effect_style, level, outcome_meaning, outcome_words, task_of, unit_words, with_unit
from transect.runs.wording import spaced

Effect = Entry[EffectEntry]
_ALWAYS: Final = Markup(
    "The {} % intervals above hold if the number of subjects was chosen before anyone saw a result. Always-valid "
    "intervals hold whenever you stop or extend; they are wider. A study with the same seed and more subjects begins "
    "with these subjects."
)
_KEY: Final = Markup(
    "{} filled: significant after correction {} hollow: not significant. Bars are {} % intervals, not adjusted for the "
    "number of tests."
)
_KEY_MARK: Final = Markup(
    '<svg width="34" height="14" aria-hidden="true"><line class="whisker{0}" x1="1" x2="33" y1="7" y2="7"/>'
    '<circle class="dot{0}" cx="17" cy="7" r="5.5"/></svg>'
)


def _interval(row: Entry[EstimatedEntry]) -> Markup:
    return row.interval(effect_style(row.row.unit))


def _p(row: Entry[object]) -> Markup:
    return row.number("p", "p", none="–")


def _adjusted(row: Entry[EstimatedEntry]) -> Markup:
    same = Markup(' <span class="fine">same test as {}</span>')
    return row.number("p_adjusted", "p", none="–") + (
        same.format(row.text("same_test_as")) if row.row.same_test_as else ""
    )


def column(heading: str, key: str) -> Column[Entry[object]]:
    """A text as it stands in the document."""
    return Column(heading, lambda row: row.text(key))


def counts(heading: str, key: str) -> Column[Entry[object]]:
    """A count as it stands in the document."""
    return Column(heading, lambda row: row.count(key), "figure")


ESTIMATE: Final[Column[Entry[EstimatedEntry]]] = Column(
    "Estimate", lambda row: row.estimate(effect_style(row.row.unit)), "figure"
)
P: Final = (Column("p", _p, "figure"), Column("Adjusted p", _adjusted, "figure"))
UNIT: Final[Column[Entry[EstimatedEntry]]] = Column("Unit", lambda row: unit_words(row.row.unit))
EXCLUDED: Final[Column[Entry[object]]] = Column("Excluded images", lambda row: row.tally("excluded"))
OUTCOME, TARGET = column("Outcome", "outcome"), column("Target", "target")
SUBJECTS, IMAGES = counts("Subjects", "n_subjects"), counts("Images", "n_images")


def percent_level(document: Document) -> Markup:
    """The level of the page's intervals, in per cent."""
    return document.number("/family/confidence", "percent", 0)


def interval_column(level: Markup) -> Column[Entry[EstimatedEntry]]:
    """The intervals of effects."""
    return Column(Markup("{} % interval").format(level), _interval, "figure")


def effects_table(document: Document, rows: Sequence[Effect], title: str, *, units: bool = False) -> Table[Effect]:
    """Every number of some effects."""
    method: Column[Effect] = Column("Interval by", lambda row: row.text("interval_method") or "–")
    interval, unit = interval_column(percent_level(document)), [UNIT] if units else []
    shown: list[Column[Effect]] = [column("Effect", "name"), TARGET, ESTIMATE, interval, *unit, *P, SUBJECTS, IMAGES]
    return Table(title, rows, [*shown, EXCLUDED, method], title)


def compared_table(
    rows: Sequence[Entry[ComparedEntry]], title: str, *more: Column[Entry[ComparedEntry]]
) -> Table[Entry[ComparedEntry]]:
    """Interactions or negative controls. more: columns before the counts."""
    interval = interval_column(rows[0].level("spec/confidence"))
    first: list[Column[Entry[ComparedEntry]]] = [column("Comparison", "name"), OUTCOME, TARGET, ESTIMATE, interval]
    return Table(title, rows, [*first, *P, *more, SUBJECTS, IMAGES], title)


def _always(row: Effect) -> Markup:
    if row.row.always_low is None:
        return Markup('<span class="none">no interval:</span> {}').format(row.text("always_reason"))
    return row.interval(effect_style(row.row.unit), "always_")


def _always_table(rows: Sequence[Effect]) -> Table[Effect]:
    """The fixed-sample and the always-valid interval of every effect of a study."""
    columns: list[Column[Effect]] = [
        column("Effect", "name"),
        TARGET,
        OUTCOME,
        ESTIMATE,
        Column("Fixed sample", _interval, "figure"),
        Column("Always valid", _always, "figure"),
        UNIT,
        column("Always valid by", "always_method"),
    ]
    return Table("Always-valid intervals", rows, columns, "Always-valid intervals")


def effects_subsection(document: Document, study: int) -> Subsection | None:
    """The dot plots of a study, one per outcome and unit; None without a contrast."""
    entry = document.results.studies[study]
    rows, experimental = document.entries("effects", entry.name), entry.basis == "experimental"
    contrasts: dict[tuple[str, str], list[Effect]] = {}
    for row in rows:
        if row.row.kind == "contrast":
            contrasts.setdefault((row.row.outcome, row.row.unit), []).append(row)
    if not contrasts:
        return None
    level, name = percent_level(document), f"study-{study}"
    key = _KEY.format(_KEY_MARK.format(""), _KEY_MARK.format(" open"), level)
    blocks: list[Block] = [Paragraph(key, "key")]
    ordered = sorted(contrasts.items(), key=lambda item: entry.outcomes.index(item[0][0]))
    for place, ((outcome, unit), members) in enumerate(ordered):
        words = outcome_words(outcome, unit, task_of(entry.targets))
        title = f"{'Effects on' if experimental else 'Differences in'} the {words}"
        table = effects_table(document, members, f"{title}, {unit_words(unit)}")
        shown: list[Block] = [_forest(document, study, members, words, f"{name}-f{place}", table), Secondary([table])]
        whole = [Folded(title, shown)] if place else shown
        blocks += whole if outcome in first_outcomes(document, study) else [Secondary(whole)]
    if experimental:
        always: list[Block] = [Paragraph(_ALWAYS.format(level)), _always_table(rows)]
        blocks.append(Secondary([Folded("Intervals for a study that is stopped or extended early", always)]))
    return Subsection(f"{name}-effects", "Effects" if experimental else "Associations", blocks, "Effects")


MOST_OUTCOMES: Final = 3
"""Outcomes of a study on the page of findings: those with a significant effect first, then in the study's order."""


def first_outcomes(document: Document, study: int) -> list[str]:
    """The outcomes on the page of findings; the others stand on that of all numbers."""
    entry, alpha = document.results.studies[study], document.results.family.alpha
    rows = [row for row in document.results.effects if row.study == entry.name]
    found = {row.outcome for row in rows if significant(row, alpha)}
    kept = [outcome for outcome in entry.outcomes if any(row.outcome == outcome for row in rows)]
    return sorted(kept, key=lambda outcome: outcome not in found)[:MOST_OUTCOMES]


def _forest(
    document: Document, study: int, members: Sequence[Effect], words: str, name: str, numbers: Table[Effect]
) -> DotPlot:
    """All contrasts of one outcome in one unit."""
    entry, unit = document.results.studies[study], members[0].row.unit
    experimental, task = entry.basis == "experimental", task_of(entry.targets)
    scale = covering(finite([end for row in members for end in (row.row.estimate, row.row.low, row.row.high)]))
    meaning = outcome_meaning(members[0].row.outcome, task)
    head = Markup("<strong>{} the {}</strong>, {}").format(
        "Change of" if experimental else "Difference in", words, unit_words(unit)
    )
    caption = head + (Markup(' <span class="fine">({})</span>').format(meaning) if meaning else "")
    ticks = svg.ticks_across(scale, effect_style(unit) == "points")
    return DotPlot(caption, ticks, list(_rows(document, study, members, words, name, scale)), numbers=numbers)


def _rows(
    document: Document, study: int, members: Sequence[Effect], words: str, name: str, scale: Scale
) -> Iterator[Row | Heading]:
    """By attribute in the order of the study, then by level; the targets of one comparison stand together."""
    order = [attribute.name for attribute in document.results.studies[study].attributes]
    comparisons: dict[tuple[int, float, float, str], list[Effect]] = {}
    for each in members:
        key = order.index(each.row.attribute), each.row.origin or 0.0, each.row.to or 0.0, each.row.name
        comparisons.setdefault(key, []).append(each)
    several = len({each.row.target for each in members}) > 1
    for number, (_, rows) in enumerate(sorted(comparisons.items())):
        attribute = spaced(rows[0].row.attribute)
        unit = with_unit(document, study, rows[0].row.attribute)
        change = Markup('<span class="change">{}{}</span>').format(_comparison(document, study, rows[0]), unit)
        if several:
            yield Heading(Markup("{} {}").format(attribute, change), 4)
        for place, row in enumerate(rows):
            label = row.text("target") if several else Markup("<b>{}</b> {}").format(attribute, change)
            yield _row(document, row, label, f"{name}-{number}-{place}", (attribute, words), scale)


def _row(document: Document, row: Effect, label: Markup, name: str, about: tuple[str, str], scale: Scale) -> Row:
    effect, style = row.row, effect_style(row.row.unit)
    stays = significant(effect, document.results.family.alpha)
    title = "Effect of {} on the {}" if effect.basis == "experimental" else "Association of {} with the {}"
    mark = Mark(x=0.0, value=effect.estimate, low=effect.low, high=effect.high)
    ticks = svg.ticks_across(scale, style == "points")
    told = estimates.told(mark, _verdict(effect, stays))
    drawing = estimates.row(name, title.format(*about), told, [(mark, None, stays)], scale, ticks)
    if effect.estimate is None:
        value = Markup('<span class="none">not estimable:</span> {}').format(row.text("reason"))
        return Row(label, drawing, value)
    return Row(label, drawing, numbers_of(row), stays)


def numbers_of(row: Effect) -> Markup:
    """Estimate, interval and adjusted p of an effect in one line."""
    style, p = effect_style(row.row.unit), row.row.p_adjusted
    test = Markup("no test") if p is None else Markup("adjusted p&nbsp;{}").format(row.number("p_adjusted", "p"))
    return Markup('<span class="estimate">{}</span> <span class="range">({})</span> <span class="p">{}</span>').format(
        row.number("estimate", style, signed=True), row.interval(style), test
    )


def _verdict(effect: EffectEntry, stays: bool) -> str:
    if effect.low is None or effect.high is None:
        return "; it has no interval"
    crosses = "includes" if effect.low <= 0 <= effect.high else "excludes"
    return f", the interval {crosses} zero; it {'stays' if stays else 'is not'} significant after adjustment"


def _comparison(document: Document, study: int, row: Effect) -> Markup:
    """What is compared: "1 to 10" where we set it, "high vs low" where we did not, else the effect's own name."""
    effect = row.row
    if effect.origin is None or effect.to is None:
        return row.text("name")
    origin = level(document, study, effect.attribute, effect.origin, f"{row.place}/from")
    to = level(document, study, effect.attribute, effect.to, f"{row.place}/to")
    if effect.basis == "experimental":
        return Markup("{} to {}").format(origin, to)
    return Markup("{} vs {}").format(to, origin)
