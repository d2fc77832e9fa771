"""An effect in words: who changes, by how much, and how sure that is."""

from __future__ import annotations

from markupsafe import Markup, escape

from transect.reports.document import Document, Style, breakable, decimals_for, pointer, rounded
from transect.reports.entries import EffectEntry
from transect.reports.results import StudyEntry, names_of, significant
from transect.reports.wording import effect_style, level, outcome_words, short_name, with_unit
from transect.runs.spec import GeneratorDescription
from transect.runs.wording import spaced


def finding(document: Document, index: int) -> Markup:
    """A difference that was found, in words: who changes, by how much, and how sure that is."""
    effect = document.results.effects[index]
    study, entry = next(
        (number, entry) for number, entry in enumerate(document.results.studies) if entry.name == effect.study
    )
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
    number = document.results.studies.index(study)
    return Markup(" It rests on {} of {}.").format(
        document.number(pointer("effects", index, "n_subjects"), "count"),
        document.counted(pointer("studies", number, "subjects"), *noun(study)),
    )


def _difference(document: Document, study: int, index: int, subject: Markup) -> Markup:
    effect = document.results.effects[index]
    falls = effect.estimate is not None and effect.estimate < 0
    caused = Markup("{change} {verb} {subject} by <strong>{size}</strong> ({interval}).")
    associated = Markup("{change} {subject} is {verb} by <strong>{size}</strong> ({interval}): an association.")
    experimental = effect.basis == "experimental"
    verbs = ("raises", "lowers") if experimental else ("higher", "lower")
    return (caused if experimental else associated).format(
        change=change(document, study, effect, index),
        verb=verbs[falls],
        subject=subject,
        size=size_words(document, index, negated=falls),
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
    place = pointer("studies", document.results.studies.index(study))
    return Markup(" in {}").format(document.text(f"{place}/name"))


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
    """The interval of an effect: of a picked one that of its selection, and the estimate drawn towards 0."""
    effect = document.results.effects[index]
    if effect.low is None or effect.high is None:
        return Markup("no interval can be given")
    style, decimals = effect_style(effect.unit), decimals_for(effect.low, effect.high)
    place, level = _picked_at(document, index)
    ends = ("high", "low") if negated else ("low", "high")
    low, high = (document.number(f"{place}/{end}", style, decimals, negated=negated) for end in ends)
    interval = Markup("{} % interval {} to {}").format(level, low, high)
    interval += _unsure(document, place, effect)
    likely = _likely(document, place, style, decimals, negated=negated)
    return Markup("{}; {} when corrected for selection").format(interval, likely) if likely else interval


def _unsure(document: Document, place: str, effect: EffectEntry) -> str:
    """That a significant effect can have any size near zero, where its interval holds zero."""
    holds_zero = document.value(f"{place}/low") <= 0 <= document.value(f"{place}/high")
    sure = significant(effect, document.results.family.alpha)
    return "; its size is uncertain" if holds_zero and sure else ""


def _picked_at(document: Document, index: int) -> tuple[str, Markup]:
    """Where the interval of an effect stands, and its level: that of the selection where the effect was picked."""
    selection = document.results.selection
    for place, picked in enumerate(selection.effects):
        if picked.effect == index and picked.low is not None and len(selection.effects) < selection.of:
            return pointer("selection", "effects", place), document.level("/selection/confidence")
    return pointer("effects", index), document.level("/family/confidence")


def _likely(document: Document, place: str, style: Style, decimals: int, *, negated: bool) -> Markup:
    """The estimate drawn towards 0, where that can be seen; nothing for an effect that was not picked."""
    drawn = document.value(f"{place}/shrunken") if place.startswith("/selection") else None
    if drawn is None:
        return Markup()
    measured = document.value(pointer("effects", document.value(f"{place}/effect"), "estimate"))
    if rounded(measured, style, decimals) == rounded(drawn, style, decimals):
        return Markup()
    return document.number(f"{place}/shrunken", style, decimals, negated=negated)
