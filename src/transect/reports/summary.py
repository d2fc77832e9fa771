"""What does the audit say, in plain words? Sentences for a reader who does no statistics.

A sentence is Markup whose numbers are printed by the document.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import final

from markupsafe import Markup

from transect.effects.outcomes import UNTRUE
from transect.reports.document import Document, Style, decimals_for, pointer, rounded
from transect.reports.entries import EffectEntry
from transect.reports.further_views import alarms
from transect.reports.results import StudyEntry, significant
from transect.reports.wording import correction, effect_style, level, listed, outcome_words, with_unit
from transect.runs.wording import spaced


@final
@dataclass(frozen=True)
class Summary:
    """The opening of the report, in the order in which it is read."""

    notice: Markup | None
    alarms: tuple[Markup, ...]
    questions: tuple[Markup, ...]
    findings: tuple[Markup, ...]
    tested: Markup
    limits: tuple[Markup, ...]


def summarize(document: Document) -> Summary:
    """The plain-language summary of a report."""
    results = document.results
    return Summary(
        notice=notice(document),
        alarms=alarms(document),
        questions=tuple(question(document, study) for study in range(len(results.studies))),
        findings=tuple(finding(document, index) for index in results.largest),
        tested=family_words(document),
        limits=tuple(document.text(pointer("limits", index)) for index in range(len(results.limits))),
    )


def notice(document: Document) -> Markup | None:
    """The warning that the world's photometry is not yet validated; None once it is."""
    if document.results.world.photometry_validated:
        return None
    return Markup(
        "<strong>The photometry of this world is not yet validated.</strong> The images come from {}, whose "
        "rendering of skin, light and camera does not yet pass its check against measured photographs: part of "
        "an effect may come from the rendering and not from the target."
    ).format(document.text("/world/name"))


def question(document: Document, study: int) -> Markup:
    """What one study showed to whom."""
    entry = document.results.studies[study]
    place = pointer("studies", study)
    names = [spaced(attribute.name) for attribute in entry.attributes]
    targets = [document.text(f"{place}/targets/{index}/name") for index in range(len(entry.targets))]
    several = len(document.results.studies) > 1
    opening = Markup("Study <strong>{}</strong>: ").format(document.text(f"{place}/name")) if several else Markup()
    if entry.basis == "experimental":
        template = Markup("{}{} of {}, each at every combination of {}, were shown to {}.")
    else:
        template = Markup("{}{} of {}, whose {} are as sampled from the population, were shown to {}.")
    sentence = template.format(
        opening,
        document.counted(f"{place}/images", "image"),
        document.counted(f"{place}/subjects", "rendered subject" if entry.basis == "experimental" else "subject"),
        listed(names) or "nothing",
        listed(targets),
    )
    return sentence + Markup("").join(_failed(document, place, index) for index in range(len(entry.targets)))


def _failed(document: Document, place: str, index: int) -> Markup:
    """How many images a target gave no valid answer on; nothing where it answered all."""
    at = f"{place}/targets/{index}"
    if not document.value(f"{at}/n_failed"):
        return Markup()
    return Markup(" On {} of {} <strong>{} gave no valid answer</strong>.").format(
        document.number(f"{at}/n_failed", "count"),
        document.counted(f"{at}/n_images", "image"),
        document.text(f"{at}/name"),
    )


def finding(document: Document, index: int) -> Markup:
    """One effect in words: who changes, by how much, and how sure that is."""
    effect = document.results.effects[index]
    study, entry = next(
        (number, entry) for number, entry in enumerate(document.results.studies) if entry.name == effect.study
    )
    subject = _measured(document, entry, effect, index)
    rest = _few_subjects(document, entry, effect, index)
    if effect.estimate is None:
        place = pointer("effects", index)
        return Markup("{}: the difference in {} is not estimable ({}).").format(
            document.text(f"{place}/name"), subject, document.text(f"{place}/reason")
        )
    if not significant(effect, document.results.family.alpha):
        return _uncertain(document, study, index, subject) + rest
    return _certain(document, study, index, subject) + rest


def _few_subjects(document: Document, study: StudyEntry, effect: EffectEntry, index: int) -> Markup:
    """On how many subjects an effect rests, where exclusions left fewer than took part."""
    if effect.n_subjects >= study.subjects:
        return Markup()
    number = document.results.studies.index(study)
    return Markup(" It rests on {} of {}.").format(
        document.number(pointer("effects", index, "n_subjects"), "count"),
        document.counted(pointer("studies", number, "subjects"), "subject"),
    )


def _certain(document: Document, study: int, index: int, subject: Markup) -> Markup:
    effect = document.results.effects[index]
    falls = effect.estimate is not None and effect.estimate < 0
    caused = Markup("{change} {verb} {subject} by <strong>{size}</strong> ({interval}).")
    associated = Markup("{change} {subject} is {verb} by <strong>{size}</strong> ({interval}): an association.")
    experimental = effect.basis == "experimental"
    verbs = ("raises", "lowers") if experimental else ("higher", "lower")
    return (caused if experimental else associated).format(
        change=_change(document, study, effect, index),
        verb=verbs[falls],
        subject=subject,
        size=_size(document, index, negated=falls),
        interval=_interval(document, index, negated=falls),
    )


def _uncertain(document: Document, study: int, index: int, subject: Markup) -> Markup:
    effect = document.results.effects[index]
    changes = Markup("{} changes {} by {} ({}), which{} is not statistically different from zero{}.")
    differs = Markup("{} {} differs by {} ({}), which{} is not statistically different from zero{}.")
    return (changes if effect.basis == "experimental" else differs).format(
        _change(document, study, effect, index),
        subject,
        _size(document, index, signed=True),
        _interval(document, index),
        "" if effect.p_adjusted is None else " after correction for multiple tests",
        _p_words(document, index),
    )


def _change(document: Document, study: int, effect: EffectEntry, index: int) -> Markup:
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


def _measured(document: Document, study: StudyEntry, effect: EffectEntry, index: int) -> Markup:
    task = next(target.task for target in study.targets if target.name == effect.target)
    words = outcome_words(effect.outcome, effect.unit, task)
    return Markup("the {} of {}").format(words, document.text(pointer("effects", index, "target")))


def _size(document: Document, index: int, *, negated: bool = False, signed: bool = False) -> Markup:
    effect = document.results.effects[index]
    style = effect_style(effect.unit)
    decimals = decimals_for(effect.low, effect.high)
    size = document.number(pointer("effects", index, "estimate"), style, decimals, negated=negated, signed=signed)
    unit = effect.unit.split(" per ")[0]
    words = " points" if style == "points" else "" if unit in ("score", "") else f" {unit}"
    return Markup("{}{}").format(size, words)


def _interval(document: Document, index: int, *, negated: bool = False) -> Markup:
    effect = document.results.effects[index]
    if effect.low is None or effect.high is None:
        return Markup("no interval can be given")
    style, decimals = effect_style(effect.unit), decimals_for(effect.low, effect.high)
    place, level = _picked_at(document, index)
    ends = ("high", "low") if negated else ("low", "high")
    low, high = (document.number(f"{place}/{end}", style, decimals, negated=negated) for end in ends)
    interval = Markup("{} % interval {} to {}").format(level, low, high)
    likely = _likely(document, place, style, decimals, negated=negated)
    return Markup("likely {}; {}").format(likely, interval) if likely else interval


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


def _p_words(document: Document, index: int) -> Markup:
    if document.results.effects[index].p_adjusted is None:
        return Markup(" (there is no test)")
    return Markup(" (adjusted p {})").format(document.number(pointer("effects", index, "p_adjusted"), "p"))


def family_words(document: Document) -> Markup:
    """How many tests there are, how many are significant, and how many effects are not estimable."""
    family = document.results.family
    verb = "is" if family.significant == 1 else "are"
    opening = Markup(
        "{} of {} {} significant at the {} % level after correction for multiple tests ({} method)."
    ).format(
        document.number("/family/significant", "count"),
        document.counted("/family/size", "test"),
        verb,
        document.number("/family/alpha", "percent", 0),
        correction(document),
    )
    opening += _selected(document) + _unlisted(document)
    if not family.not_estimable:
        return opening
    return Markup("{} Not estimable: {} of the effects, for the reasons under Exclusions.").format(
        opening, document.number("/family/not_estimable", "count")
    )


def _selected(document: Document) -> Markup:
    """What was done about the choice of the largest effects."""
    selection = document.results.selection
    if len(selection.effects) >= selection.of:
        return Markup()
    return Markup(
        " The effects listed were selected as the largest of {}, and effects selected for their size look larger "
        "than they are. So the intervals are wider (on average at most one in twenty of those listed misses), and the "
        "likely value is the estimate shrunk towards zero."
    ).format(document.counted("/selection/of", "comparison"))


def _unlisted(document: Document) -> Markup:
    """That the list of the largest is not all that is significant, and what it leaves out because of the truth."""
    results = document.results
    sure = {index for index, effect in enumerate(results.effects) if significant(effect, results.family.alpha)}
    unlisted = sorted(sure - {*results.largest})
    if not unlisted:
        return Markup()
    about = {
        (study.name, target.name): re.match(r"\w*", target.truth or "")
        for study in results.studies
        for target in study.targets
    }
    by_truth = [
        Markup("{} ({})").format(document.text(f"{place}/name"), document.text(f"{place}/outcome"))
        for place, effect in ((pointer("effects", index), results.effects[index]) for index in unlisted)
        if effect.outcome not in UNTRUE
        and (match := about[effect.study, effect.target])
        and match[0] == effect.attribute
    ]
    complete = Markup(" The list above has the largest of them; the effects of each study are complete.")
    if not by_truth:
        return complete
    return complete + Markup(
        " The list leaves out effects on errors of the attribute that the truth is about, because the right answer "
        "changes with it: {}."
    ).format(listed(by_truth))
