"""What does the audit say, in plain words? Sentences for a reader who does no statistics.

A sentence is Markup whose numbers are printed by the document.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import final

from markupsafe import Markup

from transect.effects.outcomes import OF_TRUTH
from transect.reports import verdicts
from transect.reports.document import Document, pointer
from transect.reports.effect_words import noun, people_repeat
from transect.reports.further_views import alarms
from transect.reports.results import StudyEntry, significant
from transect.reports.wording import correction, listed
from transect.reports.world import computed_on_photographs
from transect.runs.wording import spaced


@final
@dataclass(frozen=True)
class Summary:
    """The opening of the report, in the order in which it is read."""

    notice: Markup | None
    alarms: tuple[Markup, ...]
    warnings: tuple[Markup, ...]
    replicated: tuple[Markup, ...]
    questions: tuple[Markup, ...]
    groups: tuple[verdicts.Group, ...]
    rest: tuple[verdicts.Group, ...]
    tested: Markup
    limits: tuple[Markup, ...]


def summarize(document: Document) -> Summary:
    """The plain-language summary of a report."""
    results = document.results
    shown, rest = verdicts.cut(verdicts.groups(document))
    return Summary(
        notice=notice(document),
        alarms=alarms(document),
        warnings=tuple(document.text(pointer("warnings", index)) for index in range(len(results.warnings))),
        replicated=tuple(document.text(pointer("replicated", index)) for index in range(len(results.replicated))),
        questions=tuple(question(document, study) for study in range(len(results.studies))),
        groups=shown,
        rest=rest,
        tested=family_words(document),
        limits=tuple(document.text(pointer("limits", index)) for index in range(len(results.limits))),
    )


def notice(document: Document) -> Markup | None:
    """The warning that the world's photometry is not yet validated; None once it is."""
    if document.results.world.photometry_validated or computed_on_photographs(document):
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
        template = Markup("{}{} of {}, with {} as sampled from the population, were shown to {}.")
    sentence = template.format(
        opening,
        document.counted(f"{place}/images", "image"),
        _subjects(document, entry, place),
        listed(names) or "nothing",
        listed(targets),
    )
    return sentence + Markup("").join(_failed(document, place, index) for index in range(len(entry.targets)))


def _subjects(document: Document, entry: StudyEntry, place: str) -> Markup:
    rendered = entry.basis == "experimental" and noun(entry)[0] == "subject"
    words = ("rendered subject", "rendered subjects") if rendered else noun(entry)
    of = document.counted(f"{place}/subjects", *words)
    if not people_repeat(entry):
        return of
    return Markup("{} of {}").format(document.counted(f"{place}/spec/design/subjects", "photograph"), of)


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


def family_words(document: Document) -> Markup:
    """How many tests there are, how many are significant, and how many effects are not estimable."""
    family = document.results.family
    verb = "is" if family.significant == 1 else "are"
    opening = Markup(
        "{} of {} {} significant at the {} % level after correction for multiple tests ({} method{})."
    ).format(
        document.number("/family/significant", "count"),
        document.counted("/family/size", "test"),
        verb,
        document.number("/family/alpha", "percent", 0),
        correction(document),
        ", each study by itself" if family.by_study else "",
    )
    opening += _selected(document) + _unlisted(document)
    if not family.not_estimable:
        return opening
    return Markup("{} Not estimable: {} of the effects, for the reasons under Exclusions.").format(
        opening, document.number("/family/not_estimable", "count")
    )


def _selected(document: Document) -> Markup:
    """What was done about the choice of the differences that are listed."""
    selection = document.results.selection
    if not selection.effects or len(selection.effects) >= selection.of:
        return Markup()
    return Markup(
        " The differences listed were selected of {} because they are significant, and effects so selected look larger "
        "than they are. So the intervals are wider (on average at most one in twenty of those listed misses), and the "
        "likely value is the estimate shrunk towards zero."
    ).format(document.counted("/selection/of", "comparison"))


def _unlisted(document: Document) -> Markup:
    """The significant effects that no verdict is about, because the right answer changes with their attribute."""
    results = document.results
    about = {
        (study.name, target.name): re.match(r"\w*", target.truth or "")
        for study in results.studies
        for target in study.targets
    }
    by_truth = [
        Markup("{} ({})").format(document.text(f"{place}/name"), document.text(f"{place}/outcome"))
        for index, effect in enumerate(results.effects)
        for place in (pointer("effects", index),)
        if significant(effect, results.family.alpha)
        and effect.outcome in OF_TRUTH
        and (match := about[effect.study, effect.target])
        and match[0] == effect.attribute
    ]
    if not by_truth:
        return Markup()
    return Markup(
        " There is no verdict on errors by the attribute that the truth is about, because the right answer changes "
        "with it: {}."
    ).format(listed(by_truth))
