"""What is known of the world that the images come from, in sentences: its light, its people, what can be read in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

from markupsafe import Markup

from transect.generators.faceworld.exposure import PARENTS
from transect.reports.document import Document, pointer
from transect.reports.results import StudyEntry
from transect.reports.wording import listed
from transect.reports.world_entries import ReadingEntry
from transect.runs.spec import GeneratorDescription
from transect.runs.wording import spaced

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
    return World(_light(document), _people(document), sentences, outside, _only(readings))


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


def _only(readings: Sequence[ReadingEntry]) -> Markup:
    """The attributes that only the world's own network read."""
    names = [spaced(row.attribute) for row in readings if row.value is not None and not row.outside]
    return Markup(", ").join(names)


def _outside(document: Document, index: int, row: ReadingEntry) -> Iterator[OutsideLine]:
    """A line of rendered faces for each model, and one of photographs where it saw some."""
    for j, reader in enumerate(row.outside):
        at = pointer("world", "readings", index, "outside", j)
        said, name = document.text(f"{at}/reader"), spaced(row.attribute)
        unit = reader.unit.removesuffix("s")
        rendered = Markup("rendered, {} pixels").format(document.number(f"{at}/image_size", "count"))
        yield OutsideLine(name, said, rendered, _places(f"{at}/"), unit)
        if reader.photographs:
            images = Markup("{}, {}").format(document.text(f"{at}/photographs"), document.text(f"{at}/label"))
            yield OutsideLine(name, said, images, _places(f"{at}/photographs_"), "")


def _places(start: str) -> tuple[str, str, str]:
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
