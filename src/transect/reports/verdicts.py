"""What the audit concludes, in words: effects, verdicts, and interactions that are findings.

A sentence is Markup whose numbers are printed by the document.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar, final

from markupsafe import Markup, escape

from transect.reports.document import Document, Style, breakable, decimals_for, pointer, rounded
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
from transect.reports.results import Results, StudyEntry, names_of
from transect.reports.wording import effect_style, level, listed, outcome_words, rate_style, short_name, with_unit
from transect.runs.spec import GeneratorDescription
from transect.runs.wording import spaced

Worded = TypeVar("Worded", VerdictEntry, FoundInteraction)
UNADJUSTED: Final = "not adjusted for other attributes"
"""Which estimate a verdict on observed images rests on."""


def finding(document: Document, index: int) -> Markup:
    """A difference that was found, in words: who changes, by how much, and how sure that is."""
    effect = document.results.effects[index]
    study = document.study(effect.study)
    entry = document.results.studies[study]
    subject = Markup("the ") + measured(document, entry, effect.outcome, effect.unit, pointer("effects", index))
    return _difference(document, study, index, subject) + _few_subjects(document, entry, effect, index)


def noun(study: StudyEntry) -> tuple[str, str]:
    """What the subjects of a study are called, one and several: people where photographs repeat them."""
    if study.basis != "experimental" or not GeneratorDescription(study.spec["generator"]).edits_photographs:
        return "subject", "subjects"
    return ("person", "people") if people_repeat(study) else ("photograph", "photographs")


def people_repeat(study: StudyEntry) -> bool:
    """Whether several photographs, each a subject of the design, show one person."""
    design = study.spec.get("design", {})
    return study.basis == "experimental" and isinstance(design, dict) and study.subjects < design.get("subjects", 0)


def _few_subjects(document: Document, study: StudyEntry, effect: EffectEntry, index: int) -> Markup:
    """On how many subjects an effect rests, where exclusions left fewer than took part."""
    if effect.n_subjects >= study.subjects:
        return Markup()
    return Markup(" It rests on {} of {}.").format(
        document.number(pointer("effects", index, "n_subjects"), "count"),
        document.counted(pointer("studies", document.study(study.name), "subjects"), *noun(study)),
    )


def _difference(document: Document, study: int, index: int, subject: Markup) -> Markup:
    effect = document.results.effects[index]
    falls = effect.estimate is not None and effect.estimate < 0
    caused = Markup("{change} {verb} {subject} by <strong>{size}</strong> ({interval}).")
    associated = Markup(
        "{change} {subject} is {verb} by <strong>{size}</strong> ({interval}): an association, {unadjusted}."
    )
    experimental = effect.basis == "experimental"
    verbs = ("raises", "lowers") if experimental else ("higher", "lower")
    return (caused if experimental else associated).format(
        change=change(document, study, effect, index),
        verb=verbs[falls],
        subject=subject,
        size=size_words(document, index, negated=falls),
        unadjusted=UNADJUSTED,
        interval=interval_words(document, index, negated=falls),
    )


def change(document: Document, study: int, effect: EffectEntry, index: int) -> Markup:
    """What is changed, or differs where we did not set it, as the opening of a sentence."""
    place = pointer("effects", index)
    words, unit = spaced(effect.attribute), with_unit(document, study, effect.attribute)
    experimental = effect.basis == "experimental"
    if effect.kind == "slope":
        opening = Markup("Each further unit of {}{}") if experimental else Markup("Per further unit of {}{},")
        return opening.format(words, unit)
    if effect.origin is None or effect.to is None:
        name = document.text(f"{place}/name")
        return name if experimental else Markup("{}:").format(name)
    origin = level(document, study, effect.attribute, effect.origin, f"{place}/from")
    to = level(document, study, effect.attribute, effect.to, f"{place}/to")
    if not experimental:
        return Markup("Where {} is {} instead of {}{},").format(words, to, origin, unit)
    return Markup("Going from {} {} to {}{}").format(words, origin, to, unit)


def measured(document: Document, study: StudyEntry, outcome: str, unit: str, row: str) -> Markup:
    """The outcome in words, with the target where the report has several. row: the place of what names the target."""
    name = document.value(f"{row}/target")
    task = next((target.task for target in study.targets if target.name == name), "")
    words = escape(outcome_words(outcome, unit, task)) + _world(document, study)
    if len({called for each in document.results.studies for called in names_of(each)}) == 1:
        return words
    return Markup('{} of <span title="{}">{}</span>').format(words, name, breakable(short_name(str(name))))


def _world(document: Document, study: StudyEntry) -> Markup:
    """In which world, where the report has experiments in several."""
    experiments = [each for each in document.results.studies if each.basis == "experimental"]
    if len({each.spec["generator"].get("name") for each in experiments}) < 2:
        return Markup()
    return Markup(" in {}").format(document.text(pointer("studies", document.study(study.name), "name")))


def size_words(document: Document, index: int, *, negated: bool = False, signed: bool = False) -> Markup:
    """The estimate of an effect with its unit."""
    effect = document.results.effects[index]
    style = effect_style(effect.unit)
    decimals = decimals_for(effect.low, effect.high)
    size = document.number(pointer("effects", index, "estimate"), style, decimals, negated=negated, signed=signed)
    unit = effect.unit.split(" per ")[0]
    words = " points" if style == "points" else "" if unit in ("score", "") else f" {unit}"
    return Markup("{}{}").format(size, words)


def interval_words(document: Document, index: int, *, negated: bool = False) -> Markup:
    """The interval of an effect; of a picked one also what its selection leaves: a wider one, a smaller estimate."""
    effect = document.results.effects[index]
    if effect.low is None or effect.high is None:
        return Markup("no interval can be given")
    style, decimals = effect_style(effect.unit), decimals_for(effect.low, effect.high)

    def ends(place: str) -> Markup:
        names = ("high", "low") if negated else ("low", "high")
        low, high = (document.number(f"{place}/{end}", style, decimals, negated=negated) for end in names)
        return Markup("{} to {}").format(low, high)

    interval = Markup("{} % interval {}").format(document.level("/family/confidence"), ends(pointer("effects", index)))
    place = _picked_at(document, index)
    if not place:
        return interval
    likely = _likely(document, place, style, decimals, negated=negated)
    words = Markup(", likely {}").format(likely) if likely else ""
    corrected = Markup("{}; corrected for selection, {} %: {}{}")
    return corrected.format(interval, document.level("/selection/confidence"), ends(place), words)


def _picked_at(document: Document, index: int) -> str:
    """Where the interval that allows for the selection of an effect stands; "" where it was not picked of more."""
    selection = document.results.selection
    picked = len(selection.effects) < selection.of
    at = (place for place, row in enumerate(selection.effects) if row.effect == index and row.low is not None)
    return next((pointer("selection", "effects", place) for place in at if picked), "")


def _likely(document: Document, place: str, style: Style, decimals: int, *, negated: bool) -> Markup:
    """The estimate of a picked effect drawn towards 0, where that can be seen."""
    drawn = document.value(f"{place}/shrunken")
    measured = document.value(pointer("effects", document.value(f"{place}/effect"), "estimate"))
    if drawn is None or rounded(measured, style, decimals) == rounded(drawn, style, decimals):
        return Markup()
    return document.number(f"{place}/shrunken", style, decimals, negated=negated)


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
        _doubted(document, listed([spaced(name) for name in places]), min(places.values()))
        for places in doubted(rows).values()
    ]


def _doubted(document: Document, attributes: Markup, index: int) -> Markup:
    place = pointer("verdicts", index)
    target = short_name(document.results.verdicts[index].target)
    reason = document.text(f"{place}/reason")
    return Markup("Nothing is concluded about {} for <b>{}</b>: {}.").format(attributes, target, reason)


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
    results = document.results
    places = [i for i, entry in enumerate(results.verdicts) if _kind(entry) == verdict]
    units = {_unit(results, results.verdicts[i]) for i in places}
    margins = {results.verdicts[i].margin for i in places}
    if units != {"proportion"} or len(margins) != 1 or None in margins:
        return Markup()
    return _margin(document, places[0])


def _unit(results: Results, entry: VerdictEntry) -> str:
    return "" if entry.effect is None else results.effects[entry.effect].unit.partition(" per ")[0]


def sentence(document: Document, index: int) -> Sentence:
    """One verdict in words."""
    entry = document.results.verdicts[index]
    if entry.effect is not None and entry.verdict == "no difference":
        return _none(document, index, entry.effect)
    if entry.effect is not None and entry.verdict == "cannot tell":
        return _unclear(document, index, entry.effect)
    words = _alike(document, index)
    return Sentence(words, words)


def _alike(document: Document, index: int) -> Markup:
    """A verdict whose words are the same alone and under a heading."""
    entry = document.results.verdicts[index]
    if entry.effect is None:
        text = Markup("<b>{}</b>: the difference in {} is not estimable ({}).")
        words = measured(document, _study(document, entry), entry.outcome, "", pointer("verdicts", index))
        return text.format(spaced(entry.attribute), words, document.text(pointer("verdicts", index, "reason")))
    if entry.verdict == "found":
        return finding(document, entry.effect) + _at_threshold(document, entry.effect) + _within(document, index)
    return _doubted(document, escape(spaced(entry.attribute)), index)


def _at_threshold(document: Document, effect: int) -> Markup:
    """Of an outcome without a test, which is a non-match: that the interval says nothing of other thresholds."""
    if document.results.effects[effect].p is not None:
        return Markup()
    return Markup(" The interval is for this run's threshold of a match, and not for another.")


def _within(document: Document, index: int) -> Markup:
    """That a difference that was found is smaller than the margin."""
    entry = document.results.verdicts[index]
    if entry.margin is None or entry.low is None or entry.high is None:
        return Markup()
    if not (-entry.margin < entry.low and entry.high < entry.margin):
        return Markup()
    return Markup(" It is smaller than the margin of {}.").format(_margin(document, index))


def _margin(document: Document, index: int) -> Markup:
    entry = document.results.verdicts[index]
    unit = _unit(document.results, entry)
    style = effect_style(unit)
    whole = entry.margin is not None and abs(100 * entry.margin - round(100 * entry.margin)) < 1e-9
    number = document.number(pointer("verdicts", index, "margin"), style, 0 if whole else 1)
    return Markup("{}{}").format(number, " points" if style == "points" else "")


def _subject(document: Document, index: int) -> Markup:
    """Attribute and outcome, as the opening of a row."""
    entry = document.results.verdicts[index]
    unit, place = _unit(document.results, entry), pointer("verdicts", index)
    words = measured(document, _study(document, entry), entry.outcome, unit, place)
    return Markup("<b>{}</b>, {}").format(spaced(entry.attribute).capitalize(), words)


def _none(document: Document, index: int, effect: int) -> Sentence:
    entry = document.results.verdicts[index]
    style, decimals = effect_style(_unit(document.results, entry)), decimals_for(entry.low, entry.high)
    ends = (document.number(pointer("verdicts", index, end), style, decimals, signed=True) for end in ("low", "high"))
    compared = (
        "differences" if document.results.effects[effect].basis == "experimental" else f"{UNADJUSTED}, groups differ by"
    )
    span = Markup("{} {} to {}{} (90 % intervals)").format(compared, *ends, " points" if style == "points" else "")
    subject = _subject(document, index)
    alone = Markup("{}: no difference larger than {}; {}.").format(subject, _margin(document, index), span)
    return Sentence(alone, Markup("{}: {}.").format(subject, span))


def _unclear(document: Document, index: int, effect: int) -> Sentence:
    row = document.results.effects[effect]
    if row.low is None:
        why = document.text(pointer("effects", effect, "reason")) if row.reason else Markup("no interval")
        change = Markup("{} {}").format(size_words(document, effect, signed=True), _from_to(document, row, effect))
        words = Markup("{}: {}, without an interval ({}).").format(_subject(document, index), change, why)
        return Sentence(words, words)
    open_ = Markup("{}: {} {}{} ({}{})").format(
        _subject(document, index),
        size_words(document, effect, signed=True),
        _from_to(document, row, effect),
        "" if row.basis == "experimental" else f", an association, {UNADJUSTED}",
        interval_words(document, effect),
        _adjusted(document, row, effect),
    )
    alone, listed = (Markup("{}; {}.").format(open_, needs) for needs in _needs(document, index))
    return Sentence(alone, listed)


def _adjusted(document: Document, row: EffectEntry, effect: int) -> Markup:
    """That a difference whose interval alone excludes zero is not shown once all comparisons are corrected for."""
    if row.low is None or row.high is None or row.low <= 0 <= row.high or row.p_adjusted is None:
        return Markup()
    return Markup(" for it alone; not shown among {}, adjusted p {}").format(
        document.counted("/family/size", "test"), document.number(pointer("effects", effect, "p_adjusted"), "p")
    )


def _from_to(document: Document, row: EffectEntry, effect: int) -> Markup:
    study = document.study(row.study)
    if row.kind == "slope" or row.origin is None or row.to is None:
        return Markup("per unit{}").format(with_unit(document, study, row.attribute))
    place = pointer("effects", effect)
    ends = [
        level(document, study, row.attribute, value, f"{place}/{key}")
        for value, key in ((row.origin, "from"), (row.to, "to"))
    ]
    template = Markup("from {} to {}{}") if row.basis == "experimental" else Markup("with {1} against {0}{2}")
    return template.format(*ends, with_unit(document, study, row.attribute))


def _needs(document: Document, index: int) -> tuple[Markup, Markup]:
    """What it takes to tell, alone and under a heading that may state the margin."""
    entry = document.results.verdicts[index]
    if entry.margin is None:
        return (Markup("state the smallest difference that matters (--margin {}=…)").format(entry.outcome),) * 2
    if entry.subjects_needed is None:
        return (Markup("how many subjects could tell is not known"),) * 2
    had = document.number(pointer("effects", entry.effect or 0, "n_subjects"), "count")
    if entry.subjects_to_confirm is not None and entry.subjects_to_confirm <= entry.subjects_needed / 2:
        confirming = Markup("needs {} to confirm a difference this large, had {}; {} to tell {} from none").format(
            document.counted(pointer("verdicts", index, "subjects_to_confirm"), *noun(_study(document, entry))),
            had,
            document.number(pointer("verdicts", index, "subjects_needed"), "count"),
            _margin(document, index),
        )
        return confirming, confirming
    needed = Markup("needs {}, had {}").format(
        document.counted(pointer("verdicts", index, "subjects_needed"), *noun(_study(document, entry))), had
    )
    alone = Markup("{}, to tell {} from none").format(needed, _margin(document, index))
    return alone, needed if _common_margin(document, "cannot tell") else alone


def _study(document: Document, row: VerdictEntry | ComparedEntry) -> StudyEntry:
    return document.results.studies[document.study(row.study)]


def interaction_sentence(document: Document, index: int) -> Markup:
    """One interaction in words: the rates at the ends of one attribute, at either end of the other."""
    found = document.results.found_interactions[index]
    row = document.results.interactions[found.interaction]
    study = document.study(row.study)
    place = pointer("interactions", found.interaction)
    words = measured(document, document.results.studies[study], row.outcome, row.unit, place)
    cells = _corners(document.results, row) if row.order == 2 else {}
    names = Markup(" × ").join(spaced(name) for name in row.attributes).capitalize()
    if not cells:
        text = Markup("<b>{}</b>, {}: together they differ by {} from the sum of their parts.")
        return text.format(names, words, _amount(document, index, found, row))
    scene, end, order = _widest(document, cells)
    sides = [_side(document, study, row, cells, (scene, which), order) for which in (end, 1 - end)]
    where = level(document, study, row.attributes[scene], _end(row, scene, end), "")
    text = Markup("<b>{}</b>, {}: {}; {}. The gap with {} {} is larger by {}.")
    amount = _amount(document, index, found, row, negated=(row.estimate or 0.0) < 0)
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
    places = [pointer("rates", cells[_corner(scene, end, side)], "rate") for side in order]
    names = [level(document, study, row.attributes[other], _end(row, other, side), "") for side in order]
    return Markup("with {} {}, {}{} at {} {} against {}{} at {}").format(
        spaced(row.attributes[scene]),
        level(document, study, row.attributes[scene], _end(row, scene, end), ""),
        document.number(places[0], style), sign, spaced(row.attributes[other]), names[0],
        document.number(places[1], style), sign, names[1],
    )  # fmt: skip


def _amount(
    document: Document, index: int, found: FoundInteraction, row: ComparedEntry, *, negated: bool = False
) -> Markup:
    style = effect_style(row.unit)
    place, decimals = pointer("found_interactions", index), decimals_for(found.low, found.high)
    size = document.number(pointer("interactions", found.interaction, "estimate"), style, decimals, negated=negated)
    points = " points" if style == "points" else ""
    if found.low is None or found.high is None:
        return Markup("{}{}").format(size, points)
    ends = ("high", "low") if negated else ("low", "high")
    own, corrected = (
        [document.number(f"{at}/{end}", style, decimals, negated=negated) for end in ends]
        for at in (pointer("interactions", found.interaction), place)
    )
    p = document.number(pointer("interactions", found.interaction, "p_adjusted"), "p")
    text = Markup("{}{} (adjusted p {}; {} % interval {} to {}{})")
    level = document.level(f"{place}/confidence")
    wider = Markup("; corrected for selection, {} %: {} to {}").format(level, *corrected) if own != corrected else ""
    return text.format(size, points, p, document.level("/family/confidence"), *own, wider)


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
