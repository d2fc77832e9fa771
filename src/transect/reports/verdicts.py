"""What the audit concludes, in words: effects, verdicts, and interactions that are findings.

A sentence is Markup whose numbers are printed by the document.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar, final

from markupsafe import Markup, escape

from transect.reports.answer_picture import Judged, valued
from transect.reports.columns import decimals_for
from transect.reports.document import Document, Entry, Style, breakable
from transect.reports.drawing.estimates import Mark
from transect.reports.entries import (
    MARKS,
    ComparedEntry,
    EffectEntry,
    FoundInteraction,
    OfOutcome,
    OfTarget,
    VerdictEntry,
    kind_of,
)
from transect.reports.results import Results, StudyEntry, names_of, read
from transect.reports.wording import effect_style, level, listed, outcome_words, rate_style, short_name, with_unit
from transect.runs.spec import GeneratorDescription
from transect.runs.wording import counted, spaced

Effect = Entry[EffectEntry]
Verdict = Entry[VerdictEntry]
Crossed = Entry[ComparedEntry]
Worded = TypeVar("Worded", VerdictEntry, FoundInteraction)
_OPENING: Final = ("found", "not judged", "cannot tell", "no difference", "check", "not estimable")
MOST_SENTENCES: Final = 3
UNADJUSTED: Final = "not adjusted for other attributes"
"""Which estimate a verdict on observed images rests on."""


def finding(document: Document, index: int) -> Markup:
    """A difference that was found, in words: who changes, by how much, and how sure that is."""
    effect = document.entry("effects", index)
    about = Markup("the ") + measured(document, effect, effect.row.unit)
    return _difference(document, effect, about) + _few_subjects(document, effect)


def judged(document: Document) -> list[Judged]:
    """Every verdict on an effect as a row of the picture, in the order of the page, but what is not judged last."""
    never = unchanging(document.results)
    rows: list[Verdict] = [row for row in document.entries("verdicts") if whose(row.row) not in never]
    rows.sort(key=lambda row: row.row.verdict == "not judged")
    return [_row(document, row, effect) for row in rows if (effect := _effect(document, row)) is not None]


def _row(document: Document, verdict: Verdict, effect: Effect) -> Judged:
    row, style = effect.row, effect_style(effect.row.unit)
    change = _from_to(document, effect)
    ends = Markup("no interval")
    if row.low is not None and row.high is not None:
        ends = _ends(effect, style, decimals_for(row.low, row.high), signed=True)
    return Judged(
        verdict=kind_of(verdict.row.verdict, check=verdict.row.check),
        about=spaced(row.attribute).capitalize(),
        detail=Markup("{}, {}{}").format(
            change, measured(document, verdict, _unit(document, verdict)), _at_both_levels(document, effect)
        ),
        value=valued(_size(effect, signed=True), ends),
        mark=Mark(x=0.0, value=row.estimate, low=row.low, high=row.high, place=f"{effect.place}/estimate"),
        unit=row.unit,
        margin=verdict.row.margin,
    )


def _at_both_levels(document: Document, effect: Effect) -> Markup:
    """The rates at the two levels that are compared; nothing where one is not known."""
    row = effect.row
    at = {
        rate.cell[row.attribute]: document.entry("rates", place)
        for place, rate in enumerate(document.results.rates)
        if (whose(rate), list(rate.cell), rate.unit) == (whose(row), [row.attribute], "proportion")
        if rate.rate is not None
    }
    if row.origin not in at or row.to not in at:
        return Markup()
    decimals = decimals_for(row.low, row.high)
    ends = (at[end].number("rate", "percent", decimals) for end in (row.origin, row.to))
    return Markup(": {} to {}\u00a0%").format(*ends)


def opening(document: Document, sentences: Told) -> list[Markup]:
    """The answer in at most three sentences: what was found, what cannot be judged, what is open, what is none."""
    kinds = {group.kind: group.sentences for group in groups(document, sentences)[::-1]}
    kept = [kinds.get(kind, ())[: 2 if kind == "found" else 1] for kind in _OPENING]
    return [text for texts in kept for text in texts][:MOST_SENTENCES]


def noun(study: StudyEntry) -> tuple[str, str]:
    """What the subjects of a study are called, one and several: people where photographs repeat them."""
    generator = GeneratorDescription(study.spec["generator"])
    if generator.of_photographs or generator.edits_photographs:
        repeat = people_repeat(study) or (generator.of_photographs and study.subjects < study.images)
        return ("person", "people") if repeat else ("photograph", "photographs")
    return "subject", "subjects"


def titled(study: StudyEntry) -> tuple[str, str]:
    """What subjects are called in a title: those of FaceWorld are rendered people."""
    generator = GeneratorDescription(study.spec["generator"])
    return ("rendered person", "rendered people") if generator.name == "faceworld" else noun(study)


def subjects_words(study: StudyEntry) -> str:
    """How many subjects of which kind a study has: "100 rendered people", "30 photographs of 12 people"."""
    people = counted(study.subjects, *titled(study))
    if GeneratorDescription(study.spec["generator"]).of_photographs:
        return counted(study.images, "photograph")
    if people_repeat(study):
        return f"{counted(study.spec['design']['subjects'], 'photograph')} of {people}"
    return people


def people_repeat(study: StudyEntry) -> bool:
    """Whether several photographs, each a subject of the design, show one person."""
    design = study.spec.get("design", {})
    return study.basis == "experimental" and isinstance(design, dict) and study.subjects < design.get("subjects", 0)


def _study(document: Document, row: Entry[OfTarget]) -> Entry[StudyEntry]:
    return document.entry("studies", document.study(row.row.study))


def _few_subjects(document: Document, effect: Effect) -> Markup:
    """On how many subjects an effect rests, where exclusions left fewer than took part."""
    study = _study(document, effect)
    if effect.row.n_subjects >= study.row.subjects:
        return Markup()
    of = study.counted("subjects", *noun(study.row))
    return Markup(" Based on {} of {}.").format(effect.count("n_subjects"), of)


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


def measured(document: Document, row: Entry[OfOutcome], unit: str) -> Markup:
    """The outcome of an entry in words, with its target where the report has several."""
    study, name = _study(document, row).row, row.row.target
    task = next((target.task for target in study.targets if target.name == name), "")
    words = escape(outcome_words(row.row.outcome, unit, task)) + _world(document, row)
    if len({called for each in document.results.studies for called in names_of(each)}) == 1:
        return words
    return Markup('{} of <span title="{}">{}</span>').format(words, name, breakable(short_name(name)))


def _world(document: Document, row: Entry[OfTarget]) -> Markup:
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
    return Markup("{}{}").format(size, _points(style, size) or ("" if unit in ("score", "") else f" {unit}"))


def _points(style: Style, size: Markup) -> str:
    """The unit of a printed number: "1 point", "−1 point", "14 points"."""
    one = size.striptags().lstrip("+−") == "1"
    return "" if style != "points" else " point" if one else " points"


def _ends(row: Entry[object], style: Style, decimals: int, *, negated: bool = False, signed: bool = False) -> Markup:
    names = ("high", "low") if negated else ("low", "high")
    low, high = (row.number(end, style, decimals, negated=negated, signed=signed) for end in names)
    return Markup("{} to {}").format(low, high)


def _interval(document: Document, effect: Effect, *, negated: bool = False) -> Markup:
    row = effect.row
    if row.low is None or row.high is None:
        return Markup("no interval can be given")
    shown = _ends(effect, effect_style(row.unit), decimals_for(row.low, row.high), negated=negated)
    return Markup("{} % interval {}").format(document.level("/family/confidence"), shown)


_HEADINGS: Final = {
    "found": "Differences found",
    "not judged": "Not judged",
    "cannot tell": "Inconclusive",
    "no difference": "No difference larger than the margin",
    "not estimable": "Not estimable",
    "check": "Checks that the target works",
}


@final
@dataclass(frozen=True, slots=True)
class Group:
    """Verdicts of one kind under one heading. mark: a sign of its own shape, so that color is never needed."""

    kind: str
    mark: str
    heading: str
    sentences: tuple[Markup, ...]


@final
@dataclass(frozen=True, slots=True)
class Told:
    """All verdicts of some results in words, and the interactions that were found."""

    verdicts: tuple[Markup, ...]
    interactions: tuple[Markup, ...]


def told(document: Document) -> Told:
    """Every verdict and every found interaction, each put into words once."""
    results = document.results
    verdicts = tuple(sentence(document, index) for index in range(len(results.verdicts)))
    found = range(len(results.found_interactions))
    return Told(verdicts, tuple(interaction_sentence(document, index) for index in found))


def groups(document: Document, sentences: Told) -> tuple[Group, ...]:
    """All verdicts by kind: differences and interactions found, what is open, no difference, checks."""
    rows: dict[str, list[Markup]] = {kind: [] for kind in MARKS}
    never, constant = unchanging(document.results), []
    for place, words in enumerate(sentences.verdicts):
        entry: Verdict = document.entry("verdicts", place)
        if whose(entry.row) in never:
            constant.append(_constant(document, entry, never[whose(entry.row)]))
        elif entry.row.verdict != "not judged":
            rows[kind_of(entry.row.verdict, check=entry.row.check)].append(words)
    rows["not judged"] = _not_judged(document)
    rows["found"] = _in_turn(rows["found"], sentences.interactions)
    found = [Group(kind, mark, _HEADINGS[kind], tuple(rows[kind])) for kind, mark in MARKS.items() if rows[kind]]
    if constant:
        same = tuple(dict.fromkeys(constant))
        found.append(Group("not estimable", MARKS["not estimable"], "The same for every image", same))
    return tuple(found)


def lines(results: Mapping[str, object]) -> list[str]:
    """Every verdict in words, after the mark of its kind, in the order of the page."""
    document = Document(read(results))
    grouped = groups(document, told(document))
    return [f"{group.mark} {sentence.striptags()}" for group in grouped for sentence in group.sentences]


Whose = tuple[str, str, str]
"""Study, target and outcome."""


def whose(row: OfOutcome) -> Whose:
    """What outcome of which target a row is about."""
    return row.study, row.target, row.outcome


def unchanging(results: Results) -> dict[Whose, int]:
    """Outcomes without a verdict to list, since they never or always occurred: the index of each one's overall rate."""
    rates = {whose(rate): place for place, rate in enumerate(results.rates) if not rate.order and rate.rate in (0, 1)}
    shares = {whose(effect) for effect in results.effects if effect.unit.partition(" per ")[0] == "proportion"}
    judged = {whose(row) for row in results.verdicts if row.verdict not in ("cannot tell", "not estimable")}
    return {key: place for key, place in rates.items() if key in shares - judged}


def _constant(document: Document, verdict: Verdict, place: int) -> Markup:
    rate = document.entry("rates", place)
    said = Markup("The {} is {} % of {}.")
    return said.format(
        measured(document, verdict, "proportion"), rate.number("rate", "percent", 0), rate.counted("n_images", "image")
    )


def _not_judged(document: Document) -> list[Markup]:
    """A sentence for each reason for which a target cannot be judged, with all outcomes that this is about."""
    about: dict[tuple[str, str, str], list[Verdict]] = {}
    rows: list[Verdict] = document.entries("verdicts")
    for each in rows:
        if each.row.verdict == "not judged":
            about.setdefault((each.row.study, each.row.target, each.row.reason), []).append(each)
    return [_doubted(document, each) for each in about.values()]


def _doubted(document: Document, doubted: Sequence[Verdict]) -> Markup:
    """That some outcomes of one target are not judged by some attributes, for one reason."""
    by: dict[Markup, dict[str, None]] = {}
    for each in doubted:
        by.setdefault(measured(document, each, _unit(document, each)), {})[spaced(each.row.attribute)] = None
    said = [Markup("the {} by {}").format(words, listed(list(names))) for words, names in by.items()]
    return Markup("Not judged: {}, because {}.").format(listed(said), doubted[0].text("reason"))


def _in_turn(singles: Sequence[Markup], pairs: Sequence[Markup]) -> list[Markup]:
    """Effects and interactions, which rank alike, in turn, so that a cut keeps the first of both."""
    both = [sentence for two in zip(singles, pairs, strict=False) for sentence in two]
    return [*both, *singles[len(pairs) :], *pairs[len(singles) :]]


def _effect(document: Document, verdict: Verdict) -> Effect | None:
    return None if verdict.row.effect is None else document.entry("effects", verdict.row.effect)


def _unit(document: Document, verdict: Verdict) -> str:
    effect = _effect(document, verdict)
    return "" if effect is None else effect.row.unit.partition(" per ")[0]


def sentence(document: Document, index: int) -> Markup:
    """One verdict in words."""
    verdict: Verdict = document.entry("verdicts", index)
    effect = _effect(document, verdict)
    if effect is None:
        text = Markup("<b>{}</b>: the difference in {} is not estimable ({}).")
        about = measured(document, verdict, "")
        return text.format(spaced(verdict.row.attribute), about, verdict.text("reason"))
    match verdict.row.verdict:
        case "found":
            untested = " The interval is for this run's match threshold only."
            found = finding(document, verdict.row.effect or 0)
            return found + (untested if effect.row.p is None else "") + _within(document, verdict)
        case "no difference" | "cannot tell":
            return _unshown(document, verdict, effect)
        case _:
            return _doubted(document, [verdict])


def _within(document: Document, verdict: Verdict) -> Markup:
    """That a difference that was found is smaller than the margin."""
    row = verdict.row
    if row.margin is None or row.low is None or row.high is None:
        return Markup()
    if not (-row.margin < row.low and row.high < row.margin):
        return Markup()
    return Markup(" It is smaller than the margin of {}.").format(_margin(document, verdict))


def _margin(document: Document, verdict: Verdict) -> Markup:
    style, margin = effect_style(_unit(document, verdict)), verdict.row.margin
    whole = margin is not None and abs(100 * margin - round(100 * margin)) < 1e-9
    size = verdict.number("margin", style, 0 if whole else 1)
    return Markup("{}{}").format(size, _points(style, size))


def _subject(document: Document, verdict: Verdict) -> Markup:
    """Attribute and outcome, as the opening of a row."""
    words = measured(document, verdict, _unit(document, verdict))
    return Markup("<b>{}</b>, {}").format(spaced(verdict.row.attribute).capitalize(), words)


def _unshown(document: Document, verdict: Verdict, effect: Effect) -> Markup:
    """That a difference is none, or what it takes to tell, with its size and interval."""
    row, none = effect.row, verdict.row.verdict == "no difference"
    change = Markup("{} {}").format(_size(effect, signed=True), _from_to(document, effect))
    if row.low is None:
        why = effect.text("reason") if row.reason else Markup("no interval")
        return Markup("{}: {}, without an interval ({}).").format(_subject(document, verdict), change, why)
    associated = "" if row.basis == "experimental" else f", an association, {UNADJUSTED}"
    opening = Markup("no difference larger than {}; ").format(_margin(document, verdict)) if none else ""
    text = Markup("{}: {}{}{} ({}).{}")
    interval = _interval(document, effect) + _adjusted(document, effect)
    closing = "" if none else _needs(document, verdict, effect)
    return text.format(_subject(document, verdict), opening, change, associated, interval, closing)


def _adjusted(document: Document, effect: Effect) -> Markup:
    """That a difference whose interval excludes zero is not found once all comparisons are corrected for."""
    row = effect.row
    if row.low is None or row.high is None or row.low <= 0 <= row.high or row.p_adjusted is None:
        return Markup()
    if row.p_adjusted <= document.results.family.alpha:
        return Markup("; corrected for selection, it includes 0")
    tests, p = document.counted("/family/size", "test"), effect.number("p_adjusted", "p")
    return Markup("; not significant after correction for {}, p {}").format(tests, p)


def _needs(document: Document, verdict: Verdict, effect: Effect) -> Markup:
    """With how many subjects it is inconclusive, and how many would do."""
    row = verdict.row
    had = effect.counted("n_subjects", *noun(_study(document, verdict).row))
    if row.margin is None:
        needed = Markup("state the smallest difference that matters (--margin {}=…)").format(row.outcome)
    elif row.subjects_needed is None:
        needed = Markup("how many would do is not known")
    else:
        ruled = Markup("{} would rule out {}").format(verdict.count("subjects_needed"), _margin(document, verdict))
        few = row.subjects_to_confirm is not None and row.subjects_to_confirm <= row.subjects_needed / 2
        confirm = Markup("{} would confirm this effect, ").format(verdict.count("subjects_to_confirm")) if few else ""
        needed = Markup("about {}{}").format(confirm, ruled)
    return Markup(" Inconclusive with {}: {}.").format(had, needed)


def _from_to(document: Document, effect: Effect) -> Markup:
    row = effect.row
    unit = with_unit(document, document.study(row.study), row.attribute)
    if row.kind == "slope" or row.origin is None or row.to is None:
        return Markup("per unit{}").format(unit)
    template = Markup("from {} to {}{}") if row.basis == "experimental" else Markup("at {1} compared with {0}{2}")
    return template.format(*_levels(document, effect), unit)


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
    ends = [(scene, end) for scene in (0, 1) for end in (0, 1)]
    gaps = {(scene, end): value[_corner(scene, end, 1)] - value[_corner(scene, end, 0)] for scene, end in ends}
    scene, first = max(gaps, key=lambda key: abs(gaps[key]))
    return scene, first, (1, 0) if gaps[scene, first] > 0 else (0, 1)


def _corner(scene: int, end: int, other: int) -> tuple[int, int]:
    """The corner where the attribute that sets the scene is at `end` and the other attribute at `other`."""
    return (end, other) if scene == 0 else (other, end)


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
    size = crossed.number("estimate", style, decimals, negated=negated)
    size += _points(style, size)
    if crossed.row.low is None or crossed.row.high is None:
        return size
    interval = _ends(crossed, style, decimals, negated=negated)
    return Markup("{} ({} % interval {})").format(size, document.level("/family/confidence"), interval)


def with_texts(results: Results, sentences: Told) -> Results:
    """The results with every verdict and every found interaction in words."""
    return results.model_copy(
        update={
            "verdicts": _with_text(results.verdicts, sentences.verdicts),
            "found_interactions": _with_text(results.found_interactions, sentences.interactions),
        }
    )


def _with_text(entries: Sequence[Worded], texts: Iterable[Markup]) -> list[Worded]:
    return [each.model_copy(update={"text": text.striptags()}) for each, text in zip(entries, texts, strict=True)]
