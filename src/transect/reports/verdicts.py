"""What the audit concludes, in words: effects, verdicts, and interactions that are findings.

A sentence is Markup whose numbers are printed by the document.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar, final

from markupsafe import Markup, escape

from transect.reports.document import Document, Entry, Style, breakable, decimals_for, rounded
from transect.reports.entries import (
    MARKS,
    ON_FIRST_SCREEN,
    ComparedEntry,
    EffectEntry,
    FoundInteraction,
    VerdictEntry,
    doubted,
    kind_of,
)
from transect.reports.results import PickedEntry, Results, StudyEntry, names_of
from transect.reports.wording import effect_style, level, listed, outcome_words, rate_style, short_name, with_unit
from transect.runs.spec import GeneratorDescription
from transect.runs.wording import spaced

Effect = Entry[EffectEntry]
Judged = Entry[VerdictEntry]
Crossed = Entry[ComparedEntry]
Worded = TypeVar("Worded", VerdictEntry, FoundInteraction)
UNADJUSTED: Final = "not adjusted for other attributes"
"""Which estimate a verdict on observed images rests on."""


def finding(document: Document, index: int) -> Markup:
    """A difference that was found, in words: who changes, by how much, and how sure that is."""
    effect = document.entry("effects", index)
    about = Markup("the ") + measured(document, effect, effect.row.unit)
    return _difference(document, effect, about) + _few_subjects(document, effect)


def noun(study: StudyEntry) -> tuple[str, str]:
    """What the subjects of a study are called, one and several: people where photographs repeat them."""
    if study.basis != "experimental" or not GeneratorDescription(study.spec["generator"]).edits_photographs:
        return "subject", "subjects"
    return ("person", "people") if people_repeat(study) else ("photograph", "photographs")


def people_repeat(study: StudyEntry) -> bool:
    """Whether several photographs, each a subject of the design, show one person."""
    design = study.spec.get("design", {})
    return study.basis == "experimental" and isinstance(design, dict) and study.subjects < design.get("subjects", 0)


def _study(document: Document, row: Entry[Any]) -> Entry[StudyEntry]:
    return document.entry("studies", document.study(row.row.study))


def _few_subjects(document: Document, effect: Effect) -> Markup:
    """On how many subjects an effect rests, where exclusions left fewer than took part."""
    study = _study(document, effect)
    if effect.row.n_subjects >= study.row.subjects:
        return Markup()
    of = study.counted("subjects", *noun(study.row))
    return Markup(" It rests on {} of {}.").format(effect.count("n_subjects"), of)


def _difference(document: Document, effect: Effect, subject: Markup) -> Markup:
    falls, experimental = (effect.row.estimate or 0.0) < 0, effect.row.basis == "experimental"
    caused = Markup("{change} {verb} {subject} by <strong>{size}</strong> ({interval}).")
    associated = Markup(
        "{change} {subject} is {verb} by <strong>{size}</strong> ({interval}): an association, {unadjusted}."
    )
    verbs = ("raises", "lowers") if experimental else ("higher", "lower")
    return (caused if experimental else associated).format(
        change=_change(document, effect),
        verb=verbs[falls],
        subject=subject,
        size=_size(effect, negated=falls),
        unadjusted=UNADJUSTED,
        interval=_interval(document, effect, negated=falls),
    )


def _levels(document: Document, effect: Effect) -> tuple[Markup, Markup]:
    """The two levels that are compared."""
    study, row = document.study(effect.row.study), effect.row
    ends = ((row.origin, "from"), (row.to, "to"))
    origin, to = (level(document, study, row.attribute, value, f"{effect.place}/{key}") for value, key in ends)
    return origin, to


def _change(document: Document, effect: Effect) -> Markup:
    """What is changed, or differs where we did not set it, as the opening of a sentence."""
    row, experimental = effect.row, effect.row.basis == "experimental"
    words, unit = spaced(row.attribute), with_unit(document, document.study(row.study), row.attribute)
    if row.kind == "slope":
        opening = Markup("Each further unit of {}{}") if experimental else Markup("Per further unit of {}{},")
        return opening.format(words, unit)
    if row.origin is None or row.to is None:
        return effect.text("name") if experimental else Markup("{}:").format(effect.text("name"))
    origin, to = _levels(document, effect)
    if not experimental:
        return Markup("Where {} is {} instead of {}{},").format(words, to, origin, unit)
    return Markup("Going from {} {} to {}{}").format(words, origin, to, unit)


def measured(document: Document, row: Entry[Any], unit: str) -> Markup:
    """The outcome of an entry in words, with its target where the report has several."""
    study, name = _study(document, row).row, row.row.target
    task = next((target.task for target in study.targets if target.name == name), "")
    words = escape(outcome_words(row.row.outcome, unit, task)) + _world(document, row)
    if len({called for each in document.results.studies for called in names_of(each)}) == 1:
        return words
    return Markup('{} of <span title="{}">{}</span>').format(words, name, breakable(short_name(name)))


def _world(document: Document, row: Entry[Any]) -> Markup:
    """In which world, where the report has experiments in several."""
    experiments = [each for each in document.results.studies if each.basis == "experimental"]
    if len({each.spec["generator"].get("name") for each in experiments}) < 2:
        return Markup()
    return Markup(" in {}").format(_study(document, row).text("name"))


def _size(effect: Effect, *, negated: bool = False, signed: bool = False) -> Markup:
    """The estimate of an effect with its unit."""
    style, decimals = effect_style(effect.row.unit), decimals_for(effect.row.low, effect.row.high)
    size, unit = effect.number("estimate", style, decimals, negated=negated, signed=signed), effect.row.unit
    unit = unit.split(" per ")[0]
    return Markup("{}{}").format(size, _points(style) or ("" if unit in ("score", "") else f" {unit}"))


def _points(style: Style) -> str:
    return " points" if style == "points" else ""


def _ends(row: Entry[Any], style: Style, decimals: int, *, negated: bool) -> Markup:
    names = ("high", "low") if negated else ("low", "high")
    low, high = (row.number(end, style, decimals, negated=negated) for end in names)
    return Markup("{} to {}").format(low, high)


def _interval(document: Document, effect: Effect, *, negated: bool = False) -> Markup:
    """The interval of an effect; of a picked one also what its selection leaves: a wider one, a smaller estimate."""
    row = effect.row
    if row.low is None or row.high is None:
        return Markup("no interval can be given")
    style, decimals = effect_style(row.unit), decimals_for(row.low, row.high)
    shown = _ends(effect, style, decimals, negated=negated)
    interval = Markup("{} % interval {}").format(document.level("/family/confidence"), shown)
    picked = _picked(document, effect)
    if picked is None:
        return interval
    ends, words = _ends(picked, style, decimals, negated=negated), Markup("")
    drawn = picked.row.shrunken
    if drawn is not None and rounded(row.estimate or 0.0, style, decimals) != rounded(drawn, style, decimals):
        words = Markup(", likely {}").format(picked.number("shrunken", style, decimals, negated=negated))
    corrected = Markup("{}; corrected for selection, {} %: {}{}")
    return corrected.format(interval, document.level("/selection/confidence"), ends, words)


def _picked(document: Document, effect: Effect) -> Entry[PickedEntry] | None:
    """The interval that allows for the selection of an effect; None where it was not picked of more."""
    selection = document.results.selection
    rows = [Entry(document, f"/selection/effects/{k}", row) for k, row in enumerate(selection.effects)]
    own = (each for each in rows if effect.place == f"/effects/{each.row.effect}" and each.row.low is not None)
    return next(own, None) if len(rows) < selection.of else None


_HEADINGS: Final = {
    "found": "Differences found",
    "not judged": "Not judged",
    "cannot tell": "Cannot tell",
    "no difference": "No difference larger than",
    "not estimable": "Not estimable",
    "check": "Checks that the target works",
}


@final
@dataclass(frozen=True, slots=True)
class Group:
    """Verdicts of one kind under one heading. mark: a sign of its own shape, so that color is never needed."""

    kind: str
    mark: str
    heading: Markup
    sentences: tuple[Markup, ...]


@final
@dataclass(frozen=True, slots=True)
class Sentence:
    """A verdict in words: alone, and under the heading of its kind, which may state the margin."""

    alone: Markup
    listed: Markup


@final
@dataclass(frozen=True, slots=True)
class Told:
    """All verdicts of some results in words, and the interactions that were found."""

    verdicts: tuple[Sentence, ...]
    interactions: tuple[Markup, ...]


def told(document: Document) -> Told:
    """Every verdict and every found interaction, each put into words once."""
    results = document.results
    verdicts = tuple(sentence(document, index) for index in range(len(results.verdicts)))
    found = range(len(results.found_interactions))
    return Told(verdicts, tuple(interaction_sentence(document, index) for index in found))


def groups(document: Document, sentences: Told) -> tuple[Group, ...]:
    """All verdicts by kind: differences and interactions found, what cannot be told, no difference, checks."""
    rows: dict[str, list[Markup]] = {kind: [] for kind in MARKS}
    for entry, words in zip(document.results.verdicts, sentences.verdicts, strict=True):
        if entry.verdict != "not judged":
            rows[_kind(entry)].append(words.listed)
    rows["not judged"] = _not_judged(document)
    rows["found"] = _in_turn(rows["found"], sentences.interactions)
    return tuple(
        Group(kind, mark, _heading(document, kind, _HEADINGS[kind]), tuple(rows[kind]))
        for kind, mark in MARKS.items()
        if rows[kind]
    )


def _kind(entry: VerdictEntry) -> str:
    return kind_of(entry.verdict, check=entry.check)


def _not_judged(document: Document) -> list[Markup]:
    """A sentence for each target whose answers cannot be judged, with all attributes that this is about."""
    rows = ((row.verdict, row.target, row.reason, row.attribute) for row in document.results.verdicts)
    return [
        _doubted(document.entry("verdicts", min(places.values())), listed([spaced(name) for name in places]))
        for places in doubted(rows).values()
    ]


def _doubted(verdict: Judged, attributes: Markup) -> Markup:
    said = Markup("Nothing is concluded about {} for <b>{}</b>: {}.")
    return said.format(attributes, short_name(verdict.row.target), verdict.text("reason"))


def _in_turn(singles: Sequence[Markup], pairs: Sequence[Markup]) -> list[Markup]:
    """Effects and interactions, which rank alike, in turn, so that a cut keeps the first of both."""
    both = [sentence for two in zip(singles, pairs, strict=False) for sentence in two]
    return [*both, *singles[len(pairs) :], *pairs[len(singles) :]]


def _heading(document: Document, kind: str, words: str) -> Markup:
    """The heading of a kind of verdicts, with the margin where all of them have the same one."""
    margin = _common_margin(document, kind) if kind in ("cannot tell", "no difference") else Markup()
    if kind == "cannot tell":
        return Markup("Too few subjects to tell {} from none").format(margin) if margin else escape(words)
    return Markup("{} {}").format(words, margin or "the margin") if kind == "no difference" else escape(words)


def cut(all_groups: Sequence[Group], most: int = ON_FIRST_SCREEN) -> tuple[tuple[Group, ...], tuple[Group, ...]]:
    """The groups with their first `most` sentences in all, and the groups of what is left."""
    shown, rest, room = [], [], most
    for group in all_groups:
        first, others = group.sentences[:room], group.sentences[room:]
        room -= len(first)
        shown += [Group(group.kind, group.mark, group.heading, first)] if first else []
        rest += [Group(group.kind, group.mark, group.heading, others)] if others else []
    return tuple(shown), tuple(rest)


def _common_margin(document: Document, verdict: str) -> Markup:
    """The margin of all verdicts of a kind, where they have the same one of rates; else nothing."""
    rows: list[Judged] = [row for row in document.entries("verdicts") if _kind(row.row) == verdict]
    if {_unit(document, row) for row in rows} != {"proportion"}:
        return Markup()
    margins = {row.row.margin for row in rows}
    return Markup() if len(margins) != 1 or None in margins else _margin(document, rows[0])


def _effect(document: Document, verdict: Judged) -> Effect | None:
    """The effect that a verdict rests on."""
    return None if verdict.row.effect is None else document.entry("effects", verdict.row.effect)


def _unit(document: Document, verdict: Judged) -> str:
    effect = _effect(document, verdict)
    return "" if effect is None else effect.row.unit.partition(" per ")[0]


def sentence(document: Document, index: int) -> Sentence:
    """One verdict in words."""
    verdict: Judged = document.entry("verdicts", index)
    effect = _effect(document, verdict)
    if effect is not None and verdict.row.verdict == "no difference":
        return _none(document, verdict, effect)
    if effect is not None and verdict.row.verdict == "cannot tell":
        return _unclear(document, verdict, effect)
    words = _alike(document, verdict, effect)
    return Sentence(words, words)


def _alike(document: Document, verdict: Judged, effect: Effect | None) -> Markup:
    """A verdict whose words are the same alone and under a heading."""
    attribute = spaced(verdict.row.attribute)
    if effect is None:
        text = Markup("<b>{}</b>: the difference in {} is not estimable ({}).")
        return text.format(attribute, measured(document, verdict, ""), verdict.text("reason"))
    if verdict.row.verdict != "found":
        return _doubted(verdict, escape(attribute))
    untested = " The interval is for this run's threshold of a match, and not for another."
    found = finding(document, verdict.row.effect or 0)
    return found + (untested if effect.row.p is None else "") + _within(document, verdict)


def _within(document: Document, verdict: Judged) -> Markup:
    """That a difference that was found is smaller than the margin."""
    row = verdict.row
    if row.margin is None or row.low is None or row.high is None:
        return Markup()
    if not (-row.margin < row.low and row.high < row.margin):
        return Markup()
    return Markup(" It is smaller than the margin of {}.").format(_margin(document, verdict))


def _margin(document: Document, verdict: Judged) -> Markup:
    style, margin = effect_style(_unit(document, verdict)), verdict.row.margin
    whole = margin is not None and abs(100 * margin - round(100 * margin)) < 1e-9
    return Markup("{}{}").format(verdict.number("margin", style, 0 if whole else 1), _points(style))


def _subject(document: Document, verdict: Judged) -> Markup:
    """Attribute and outcome, as the opening of a row."""
    words = measured(document, verdict, _unit(document, verdict))
    return Markup("<b>{}</b>, {}").format(spaced(verdict.row.attribute).capitalize(), words)


def _none(document: Document, verdict: Judged, effect: Effect) -> Sentence:
    style = effect_style(_unit(document, verdict))
    decimals = decimals_for(verdict.row.low, verdict.row.high)
    ends = (verdict.number(end, style, decimals, signed=True) for end in ("low", "high"))
    compared = "differences" if effect.row.basis == "experimental" else f"{UNADJUSTED}, groups differ by"
    span = Markup("{} {} to {}{} (90 % intervals)").format(compared, *ends, _points(style))
    subject = _subject(document, verdict)
    alone = Markup("{}: no difference larger than {}; {}.").format(subject, _margin(document, verdict), span)
    return Sentence(alone, Markup("{}: {}.").format(subject, span))


def _unclear(document: Document, verdict: Judged, effect: Effect) -> Sentence:
    row, subject = effect.row, _subject(document, verdict)
    change = Markup("{} {}").format(_size(effect, signed=True), _from_to(document, effect))
    if row.low is None:
        why = effect.text("reason") if row.reason else Markup("no interval")
        words = Markup("{}: {}, without an interval ({}).").format(subject, change, why)
        return Sentence(words, words)
    associated = "" if row.basis == "experimental" else f", an association, {UNADJUSTED}"
    interval = _interval(document, effect) + _adjusted(document, effect)
    opening = Markup("{}: {}{} ({})").format(subject, change, associated, interval)
    alone, under = (Markup("{}; {}.").format(opening, needs) for needs in _needs(document, verdict, effect))
    return Sentence(alone, under)


def _adjusted(document: Document, effect: Effect) -> Markup:
    """That a difference whose interval alone excludes zero is not shown once all comparisons are corrected for."""
    row = effect.row
    if row.low is None or row.high is None or row.low <= 0 <= row.high or row.p_adjusted is None:
        return Markup()
    tests, p = document.counted("/family/size", "test"), effect.number("p_adjusted", "p")
    return Markup(" for it alone; not shown among {}, adjusted p {}").format(tests, p)


def _from_to(document: Document, effect: Effect) -> Markup:
    row = effect.row
    unit = with_unit(document, document.study(row.study), row.attribute)
    if row.kind == "slope" or row.origin is None or row.to is None:
        return Markup("per unit{}").format(unit)
    template = Markup("from {} to {}{}") if row.basis == "experimental" else Markup("with {1} against {0}{2}")
    return template.format(*_levels(document, effect), unit)


def _needs(document: Document, verdict: Judged, effect: Effect) -> tuple[Markup, Markup]:
    """What it takes to tell, alone and under a heading that may state the margin."""
    row, words = verdict.row, noun(_study(document, verdict).row)
    if row.margin is None:
        return (Markup("state the smallest difference that matters (--margin {}=…)").format(row.outcome),) * 2
    if row.subjects_needed is None:
        return (Markup("how many subjects could tell is not known"),) * 2
    had, margin = effect.count("n_subjects"), _margin(document, verdict)
    if row.subjects_to_confirm is not None and row.subjects_to_confirm <= row.subjects_needed / 2:
        confirming = Markup("needs {} to confirm a difference this large, had {}; {} to tell {} from none").format(
            verdict.counted("subjects_to_confirm", *words), had, verdict.count("subjects_needed"), margin
        )
        return confirming, confirming
    needed = Markup("needs {}, had {}").format(verdict.counted("subjects_needed", *words), had)
    alone = Markup("{}, to tell {} from none").format(needed, margin)
    return alone, needed if _common_margin(document, "cannot tell") else alone


def interaction_sentence(document: Document, index: int) -> Markup:
    """One interaction in words: the rates at the ends of one attribute, at either end of the other."""
    found: Entry[FoundInteraction] = document.entry("found_interactions", index)
    crossed: Crossed = document.entry("interactions", found.row.interaction)
    row, study = crossed.row, document.study(crossed.row.study)
    words = measured(document, crossed, row.unit)
    cells = _corners(document.results, row) if row.order == 2 else {}
    names = Markup(" × ").join(spaced(name) for name in row.attributes).capitalize()
    if not cells:
        text = Markup("<b>{}</b>, {}: together they differ by {} from the sum of their parts.")
        return text.format(names, words, _amount(document, found, crossed))
    scene, end, order = _widest(document, cells)
    sides = [_side(document, study, row, cells, (scene, which), order) for which in (end, 1 - end)]
    where = level(document, study, row.attributes[scene], _end(row, scene, end), "")
    text = Markup("<b>{}</b>, {}: {}; {}. The gap with {} {} is larger by {}.")
    amount = _amount(document, found, crossed, negated=(row.estimate or 0.0) < 0)
    return text.format(names, words, *sides, spaced(row.attributes[scene]), where, amount)


def _corners(results: Results, row: ComparedEntry) -> dict[tuple[int, int], int]:
    """Indices of the rates at the four corners, by end of either attribute; empty where one has none."""
    wanted = {
        (first, second): {row.attributes[0]: _end(row, 0, first), row.attributes[1]: _end(row, 1, second)}
        for first in (0, 1)
        for second in (0, 1)
    }
    found: dict[tuple[int, int], int] = {}
    for place, rate in enumerate(results.rates):
        if (rate.study, rate.target, rate.outcome) == (row.study, row.target, row.outcome) and rate.order == 2:
            found |= {corner: place for corner, cell in wanted.items() if rate.cell == cell and rate.rate is not None}
    return found if len(found) == 4 else {}


def _end(row: ComparedEntry, attribute: int, end: int) -> float:
    return (row.origins, row.to)[end][attribute]


def _widest(document: Document, cells: dict[tuple[int, int], int]) -> tuple[int, int, tuple[int, int]]:
    """Where the gap is largest: the attribute that sets the scene, its end, and the other's ends, higher rate first."""
    value = {corner: document.results.rates[place].rate or 0.0 for corner, place in cells.items()}
    gaps = {(scene, end): _gap(value, scene, end) for scene in (0, 1) for end in (0, 1)}
    scene, first = max(gaps, key=lambda key: abs(gaps[key]))
    return scene, first, (1, 0) if gaps[scene, first] > 0 else (0, 1)


def _corner(scene: int, end: int, other: int) -> tuple[int, int]:
    """The corner where the attribute that sets the scene is at `end` and the other attribute at `other`."""
    return (end, other) if scene == 0 else (other, end)


def _gap(value: dict[tuple[int, int], float], scene: int, end: int) -> float:
    return value[_corner(scene, end, 1)] - value[_corner(scene, end, 0)]


def _side(
    document: Document,
    study: int,
    row: ComparedEntry,
    cells: dict[tuple[int, int], int],
    at: tuple[int, int],
    order: tuple[int, int],
) -> Markup:
    scene, end = at
    other, style = 1 - scene, rate_style(row.unit)
    sign = " %" if style == "percent" else ""
    rates = [document.entry("rates", cells[_corner(scene, end, side)]).number("rate", style) for side in order]
    names = [level(document, study, row.attributes[other], _end(row, other, side), "") for side in order]
    return Markup("with {} {}, {}{} at {} {} against {}{} at {}").format(
        spaced(row.attributes[scene]),
        level(document, study, row.attributes[scene], _end(row, scene, end), ""),
        rates[0], sign, spaced(row.attributes[other]), names[0], rates[1], sign, names[1],
    )  # fmt: skip


def _amount(document: Document, found: Entry[FoundInteraction], crossed: Crossed, *, negated: bool = False) -> Markup:
    style, decimals = effect_style(crossed.row.unit), decimals_for(found.row.low, found.row.high)
    size = crossed.number("estimate", style, decimals, negated=negated) + _points(style)
    if found.row.low is None or found.row.high is None:
        return size
    own, corrected = (_ends(each, style, decimals, negated=negated) for each in (crossed, found))
    wider = Markup("; corrected for selection, {} %: {}").format(found.level("confidence"), corrected)
    text, p = Markup("{} (adjusted p {}; {} % interval {}{})"), crossed.number("p_adjusted", "p")
    return text.format(size, p, document.level("/family/confidence"), own, wider if own != corrected else "")


def with_texts(results: Results, sentences: Told) -> Results:
    """The results with every verdict and every found interaction in words."""
    texts = (words.alone for words in sentences.verdicts)
    return results.model_copy(
        update={
            "verdicts": _with_text(results.verdicts, texts),
            "found_interactions": _with_text(results.found_interactions, sentences.interactions),
        }
    )


def _with_text(entries: Sequence[Worded], texts: Iterable[Markup]) -> list[Worded]:
    return [each.model_copy(update={"text": text.striptags()}) for each, text in zip(entries, texts, strict=True)]
