"""What does the audit say, in plain words? The opening of the report, and what stands beside effects and rates:
interactions, shares, projections, controls, plans, and what is known of the world.

A sentence is Markup whose numbers are printed by the document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

from markupsafe import Markup

from transect.effects.outcomes import OF_TRUTH
from transect.generators.faceworld.reflectance import PARENTS
from transect.reports import verdicts
from transect.reports.document import Document, pointer
from transect.reports.entries import ComparedEntry, ProjectionEntry, ReadingEntry
from transect.reports.results import StudyEntry, significant
from transect.reports.verdicts import noun, people_repeat
from transect.reports.wording import correction, effect_style, level, listed, outcome_words
from transect.runs.spec import GeneratorDescription
from transect.runs.wording import spaced

MOST_ROWS = 60
"""Interactions printed on the page, the surest first; the rest stands in results.json alone, and the page says so."""


@final
@dataclass(frozen=True)
class ProjectedRow:
    """One quantity in words, and where it stands."""

    place: str
    quantity: str
    subject: Markup
    style: str
    signed: bool


@final
@dataclass(frozen=True)
class Projection:
    """All quantities of one target and outcome in one population."""

    place: str
    words: str
    equal: tuple[str, ...]
    rows: tuple[ProjectedRow, ...]


@final
@dataclass(frozen=True)
class Further:
    """Places in results.json of what else a study's page shows; empty where there is nothing."""

    interactions: tuple[str, ...]
    interactions_cut: bool
    projections: tuple[Projection, ...]
    controls: tuple[str, ...]
    plans: tuple[str, ...]


def further(document: Document, study: int) -> Further:
    """Everything beside effects and rates of one study."""
    results, name = document.results, document.results.studies[study].name
    crossed = [i for i, row in enumerate(results.interactions) if row.study == name]
    crossed.sort(key=lambda i: _uncertainty(results.interactions[i]))
    return Further(
        interactions=tuple(pointer("interactions", i) for i in crossed[:MOST_ROWS]),
        interactions_cut=len(crossed) > MOST_ROWS,
        projections=tuple(
            _projection(document, study, i, row) for i, row in enumerate(results.projections) if row.study == name
        ),
        controls=tuple(
            pointer("negative_controls", i) for i, row in enumerate(results.negative_controls) if row.study == name
        ),
        plans=tuple(pointer("plans", i) for i, row in enumerate(results.plans) if row.study == name),
    )


def alarms(document: Document) -> tuple[Markup, ...]:
    """A loud sentence for each negative control that shows an effect after adjustment."""
    alpha = document.results.family.alpha
    sentences = []
    for index, row in enumerate(document.results.negative_controls):
        if row.p_adjusted is None or row.p_adjusted > alpha:
            continue
        place = pointer("negative_controls", index)
        study = document.results.studies[document.study(row.study)]
        task = next(target.task for target in study.targets if target.name == row.target)
        sentences.append(
            Markup(
                "<strong>A negative control shows an effect.</strong> {}, which says nothing about a face, changes "
                "the {} of {} by {} (interval {} to {}): the target reacts to something irrelevant, or the images "
                "differ in more than was set. Interpret every effect on this page with caution."
            ).format(
                spaced(row.attributes[0]).capitalize(),
                outcome_words(row.outcome, row.unit, task),
                document.text(f"{place}/target"),
                _amount(document, place, row),
                *(document.number(f"{place}/{end}", effect_style(row.unit), none="none") for end in ("low", "high")),
            )
        )
    return tuple(sentences)


def _amount(document: Document, place: str, row: ComparedEntry) -> Markup:
    style = effect_style(row.unit)
    number = document.number(f"{place}/estimate", style, signed=True)
    return Markup("{}{}").format(number, " points" if style == "points" else "")


def _uncertainty(row: ComparedEntry) -> tuple[float, float]:
    adjusted = 2.0 if row.p_adjusted is None else row.p_adjusted
    return adjusted, -abs(row.estimate or 0.0)


def _projection(document: Document, study: int, index: int, row: ProjectionEntry) -> Projection:
    place = pointer("projections", index)
    hundredfold = row.unit == "proportion"
    rows = []
    for position, each in enumerate(row.rows):
        compared = each.origin is not None
        ratio = each.quantity == "ratio of rates"
        style = "plain" if ratio or not hundredfold else "points" if compared else "percent"
        rows.append(
            ProjectedRow(
                f"{place}/rows/{position}",
                each.quantity,
                _who(document, study, f"{place}/rows/{position}", each.attribute, each.origin, each.to),
                style,
                compared and not ratio,
            )
        )
    return Projection(place, outcome_words(row.outcome, row.unit), tuple(map(spaced, row.equal)), tuple(rows))


def _who(document: Document, study: int, place: str, attribute: str, origin: float | None, to: float | None) -> Markup:
    """Whom a quantity is about: the whole population, a group, or two groups."""
    if not attribute:
        return Markup("the whole population")
    upper = level(document, study, attribute, to, f"{place}/to")
    if origin is None:
        return Markup("{}: {}").format(spaced(attribute), upper)
    lower = level(document, study, attribute, origin, f"{place}/from")
    return Markup("{}: {} instead of {}").format(spaced(attribute), upper, lower)


_FIGURES = {
    "r2": Markup("it explains a share of {} of the variance"),
    "auc": Markup("it separates levels with an area under the ROC curve of {}"),
}


@final
@dataclass(frozen=True)
class World:
    """Light, people, and one sentence per attribute of any study.

    outside: name of the attribute, place of the reader, place of its figures' prefix, and whose faces it read, for each
    line of the table. only: the attributes that no model from outside read, "" where there is none.
    """

    light: Markup
    people: Markup
    readings: tuple[Markup, ...]
    outside: tuple[OutsideLine, ...]
    only: Markup


@final
@dataclass(frozen=True)
class OutsideLine:
    """One line of the table of models from outside. images: whose faces it read; figures: the places of three."""

    attribute: str
    reader: Markup
    images: Markup
    figures: tuple[str, str, str]
    unit: str


def describe_world(document: Document) -> World:
    """The sentences of the section on the world; what was not measured says so."""
    readings = document.results.world.readings
    sentences = tuple(_read(document, i, row) for i, row in enumerate(readings))
    outside = tuple(line for i, row in enumerate(readings) for line in _outside(document, i, row))
    if computed_on_photographs(document):
        sentences = _by_reason(document, readings)
    only = [spaced(row.attribute) for row in readings if row.value is not None and not row.outside]
    return World(_light(document), _people(document), sentences, outside, Markup(", ").join(only))


def computed_on_photographs(document: Document) -> bool:
    """Whether every experiment of the report computes its edits on photographs, so that nothing is rendered."""
    made = [GeneratorDescription(each.spec["generator"]) for each in document.results.studies]
    made = [each for each in made if not each.of_photographs]
    return bool(made) and all(each.computes_on_photographs for each in made)


def what_responds(entry: StudyEntry) -> str:
    """What total effects of a study hold besides what was set, in words: a camera's exposure only where it responds."""
    generator, varied = GeneratorDescription(entry.spec["generator"]), {each.name: each for each in entry.attributes}
    if generator.computes_on_photographs:
        metering = varied.get("metering")
        if "skin_tone" not in varied:
            return "nothing responds to what is set on a photograph, and all else stays the same"
        if metering is None or not any(metering.levels):
            return "the camera's exposure is held, and all else stays the same"
        return "where it meters, the camera's exposure responds to the skin that is set; all else stays the same"
    metered = generator.maximum_gain > 0 and not varied.keys().isdisjoint(PARENTS)
    camera = ", as the camera's exposure does to the light and skin it meters" if metered else ""
    return f"what depends on an attribute in the world's causal model responds{camera}; all else stays the same"


def _by_reason(document: Document, readings: Sequence[ReadingEntry]) -> tuple[Markup, ...]:
    """One sentence for all attributes that were not read for one reason, and one for each that was read."""
    about: dict[str, list[int]] = {}
    for index, row in enumerate(readings):
        about.setdefault("" if row.value is not None else row.reason, []).append(index)
    read = [_read(document, index, readings[index]) for index in about.pop("", [])]
    unread = [
        Markup("{}: {}").format(
            listed([spaced(readings[index].attribute) for index in each]),
            document.text(f"{pointer('world', 'readings', each[0])}/reason"),
        )
        for each in about.values()
    ]
    return (*read, *unread)


def _light(document: Document) -> Markup:
    if document.results.world.photometry is None:
        return Markup("Lighting compared with photographs: not measured.")
    at = "/world/photometry"
    return Markup(
        "Lighting compared with photographs ({} subjects; luminances of parts of the face, by fifth of cheek "
        "luminance): {} of {} medians lie between the photographs\u2019 quartiles, {} beyond what nine in ten "
        "photographs show; the smallest share of faces within the latter is {}; the smallest fifth has {} faces."
    ).format(
        document.number(f"{at}/subjects", "count"),
        document.number(f"{at}/medians_inside", "count"),
        document.number(f"{at}/medians", "count"),
        document.number(f"{at}/medians_outside", "count"),
        document.number(f"{at}/share_inside"),
        document.number(f"{at}/fewest_of_a_fifth", "count"),
    )


def _people(document: Document) -> Markup:
    if document.results.world.identity is None or document.results.world.identity.value is None:
        return Markup("How well its people can be distinguished: not measured.")
    at = "/world/identity"
    numbers = [document.number(f"{at}/{name}") for name in ("value", "low", "high")]
    return Markup(
        "Pairs of images of one person, all but the identity redrawn, are distinguished from pairs of two people "
        "with an area under the ROC curve of {} (interval {} to {}; {} people)."
    ).format(*numbers, document.number(f"{at}/n", "count"))


def _outside(document: Document, index: int, row: ReadingEntry) -> Iterator[OutsideLine]:
    """A line of rendered faces for each model, and one of photographs where it saw some."""
    for j, reader in enumerate(row.outside):
        at = pointer("world", "readings", index, "outside", j)
        said, name = document.text(f"{at}/reader"), spaced(row.attribute)
        unit = reader.unit.removesuffix("s")
        rendered = Markup("rendered, {} pixels").format(document.number(f"{at}/image_size", "count"))
        yield OutsideLine(name, said, rendered, _world_places(f"{at}/"), unit)
        if reader.photographs:
            images = Markup("{}, {}").format(document.text(f"{at}/photographs"), document.text(f"{at}/label"))
            yield OutsideLine(name, said, images, _world_places(f"{at}/photographs_"), "")


def _world_places(start: str) -> tuple[str, str, str]:
    return f"{start}auc", f"{start}correlation", f"{start}slope"


def _read(document: Document, index: int, row: ReadingEntry) -> Markup:
    at, name = pointer("world", "readings", index), spaced(row.attribute)
    if row.value is None or row.figure is None:
        return Markup("{}: {}").format(name, document.text(f"{at}/reason"))
    value, low, high = (document.number(f"{at}/{key}") for key in ("value", "low", "high"))
    verdict = Markup(", <strong>below the required {}</strong>").format(document.number(f"{at}/gate"))
    return Markup("{}: {} (interval {} to {}; {} images; seen {}){}.").format(
        name,
        _FIGURES[row.figure].format(value),
        low,
        high,
        document.number(f"{at}/n", "count"),
        document.text(f"{at}/visibility"),
        verdict if row.met is False else "",
    )


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
    shown, rest = verdicts.cut(verdicts.groups(document))
    return Summary(
        notice=notice(document),
        alarms=alarms(document),
        warnings=tuple(map(document.text, document.places("/warnings"))),
        replicated=tuple(map(document.text, document.places("/replicated"))),
        questions=tuple(question(document, study) for study in range(len(document.results.studies))),
        groups=shown,
        rest=rest,
        tested=family_words(document),
        limits=tuple(map(document.text, document.places("/limits"))),
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
    """What was done about the choice of the differences that are listed."""
    selection = document.results.selection
    if not selection.effects or len(selection.effects) >= selection.of:
        return Markup()
    return Markup(
        " The differences listed were selected of {} because they are significant, and effects so selected look larger "
        "than they are. So each also has a wider interval (of these on average at most one in twenty misses), and its "
        "likely value, the estimate shrunk towards zero."
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
