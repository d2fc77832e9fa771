"""The last parts of the page of an audit: where the images come from, methods, exclusions and the specification."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final
from urllib.parse import quote

from markupsafe import Markup

from transect.reports.blocks import Block, Bullets, Facts, Folded, Heading, Paragraph, Part, Secondary, TextTable
from transect.reports.columns import Column, Table
from transect.reports.document import Document, Entry, pointer
from transect.reports.drawing.svg import joined, tag
from transect.reports.effect_parts import column, counts
from transect.reports.entries import FigureEntry, OutsideEntry, ReadingEntry
from transect.reports.results import StudyEntry, TargetEntry
from transect.reports.verdicts import people_repeat
from transect.reports.wording import correction, correction_name, listed, settings_of
from transect.runs.spec import GeneratorDescription
from transect.runs.wording import spaced

_OF_ADDRESSES: Final = ":/?#[]@!$&'()*+,;=%-._~"


def closing_parts(document: Document, *, reduced: bool) -> tuple[Part, ...]:
    """The last parts, folded. reduced: whether pictures are smaller than targets saw them."""
    photographs = document.results.world.photographs or computed_on_photographs(document)
    world = "Photographs" if photographs else "World"
    exclusions = list(_exclusions(document, reduced))
    return (
        Part("world", world, list(_world(document)), folded=True),
        Part("methods", "Methods", list(_methods(document)), folded=True),
        Part("exclusions", "Exclusions", exclusions, folded=True),
        Part("specification", "Specification", [Secondary(list(_specification(document)))], folded=True),
    )


def computed_on_photographs(document: Document) -> bool:
    """Whether every experiment of the report computes its edits on photographs, so that nothing is rendered."""
    made = [GeneratorDescription(each.spec["generator"]) for each in document.results.studies]
    made = [each for each in made if not each.of_photographs]
    return bool(made) and all(each.computes_on_photographs for each in made)


_FIGURES: Final = {
    "r2": Markup("it explains {} of the variance"),
    "auc": Markup("it separates levels with an area under the ROC curve of {}"),
}
_MEANS_LITTLE: Final = "The effect of an attribute means little where the images do not show the attribute. {}:"
_PRINTED: Final = "Printed, never fitted to: no constant of the renderer follows a model’s answers."
_OUTSIDE: Final = (
    "What models that were not trained on this world read: the highest level against the lowest, and the answer over "
    "the range"
)


def _world(document: Document) -> Iterator[Block]:
    world, edited = document.results.world, computed_on_photographs(document)
    if world.photographs or edited:
        yield Paragraph(document.text("/world/statement"))
    else:
        yield Paragraph(_light(document))
        yield Paragraph(_people(document))
    readings = [Entry(document, pointer("world", "readings", k), row) for k, row in enumerate(world.readings)]
    if readings:
        how = "This is how the level of each was checked" if edited else (
            "This is how well a network trained on other images of the same world reads each attribute"
        )  # fmt: skip
        yield Paragraph(_MEANS_LITTLE.format(how))
        yield Bullets(_by_reason(readings) if edited else [_read(row) for row in readings], "")
    if outside := [row for reading in readings for row in _outside(reading)]:
        headings = (
            "Attribute",
            "Model",
            "Faces",
            "Area under the ROC curve",
            "Correlation",
            "Slope per unit",
            "Subjects",
        )
        yield TextTable("Read by models from outside", headings, outside, _OUTSIDE, (3, 4, 5, 6))
        yield Paragraph(_PRINTED, "fine")
    if only := [spaced(row.row.attribute) for row in readings if row.row.value is not None and not row.row.outside]:
        yield Paragraph(f"Read only by a network trained on this world: {', '.join(only)}.")


def _by_reason(readings: Sequence[Entry[ReadingEntry]]) -> list[Markup]:
    """One sentence for each attribute that was read, and one for all that were not read for one reason."""
    about: dict[str, list[Entry[ReadingEntry]]] = {}
    for row in readings:
        about.setdefault("" if row.row.value is not None else row.row.reason, []).append(row)
    read = [_read(row) for row in about.pop("", [])]
    unread = [
        Markup("{}: {}").format(listed([spaced(row.row.attribute) for row in each]), each[0].text("reason"))
        for each in about.values()
    ]
    return [*read, *unread]


def _light(document: Document) -> Markup:
    found = document.results.world.photometry
    if found is None:
        return Markup("Lighting compared with photographs: not measured.")
    light = Entry(document, "/world/photometry", found)
    return Markup(
        "Lighting compared with photographs ({} subjects; luminances of parts of the face, by fifth of cheek "
        "luminance): {} of {} medians lie between the photographs\u2019 quartiles, {} outside the range of nine in ten "
        "photographs show; the smallest share of faces within the latter is {}; the smallest fifth has {} faces."
    ).format(
        *(light.count(key) for key in ("subjects", "medians_inside", "medians", "medians_outside")),
        light.number("share_inside"),
        light.count("fewest_of_a_fifth"),
    )


def _people(document: Document) -> Markup:
    found = document.results.world.identity
    if found is None or found.value is None:
        return Markup("How well its people can be distinguished: not measured.")
    people = Entry(document, "/world/identity", found)
    return Markup(
        "Pairs of images of one person, all but the identity redrawn, are distinguished from pairs of two people "
        "with an area under the ROC curve of {} (interval {} to {}; {} people)."
    ).format(*(people.number(key) for key in ("value", "low", "high")), people.count("n"))


def _outside(reading: Entry[ReadingEntry]) -> Iterator[list[str]]:
    """A line of rendered faces for each model, and one of photographs where it saw some."""
    for j, model in enumerate(reading.row.outside):
        row = Entry(reading.document, f"{reading.place}/outside/{j}", model)
        name = spaced(reading.row.attribute)
        images = Markup("rendered, {} pixels").format(row.count("image_size"))
        yield [name, row.text("reader"), images, *_figures(row, "", model.unit.removesuffix("s"))]
        if model.photographs:
            images = Markup("{}, {}").format(row.text("photographs"), row.text("label"))
            yield [name, row.text("reader"), images, *_figures(row, "photographs_", "")]


def _figures(row: Entry[OutsideEntry], prefix: str, unit: str) -> list[Markup]:
    """Area under the curve, correlation, slope, and of how many."""
    shown = []
    for key in ("auc", "correlation", "slope"):
        found: FigureEntry | None = getattr(row.row, prefix + key)
        if found is None or found.value is None:
            shown.append(Markup('<span class="none">not estimable</span>'))
            continue
        figure = Entry(row.document, f"{row.place}/{prefix}{key}", found)
        ends = [figure.number(end, none="–") for end in ("low", "high")]
        per = f" per {unit}" if key == "slope" and unit else ""
        shown.append(Markup('{}{} <span class="range">{} to {}</span>').format(figure.number("value"), per, *ends))
    return [*shown, row.count(f"{prefix}auc/n")]


def _read(row: Entry[ReadingEntry]) -> Markup:
    name, found = spaced(row.row.attribute), row.row
    if found.value is None or found.figure is None:
        return Markup("{}: {}").format(name, row.text("reason"))
    verdict = Markup(", <strong>below the required {}</strong>").format(row.number("gate"))
    return Markup("{}: {} (interval {} to {}; {} images; seen {}){}.").format(
        name,
        _FIGURES[found.figure].format(row.number("value")),
        row.number("low"),
        row.number("high"),
        row.count("n"),
        row.text("visibility"),
        verdict if found.met is False else "",
    )


_UNIT: Final = "The unit is the subject: intervals and tests treat all images of one subject as one cluster.{} {}"
_PAIRED: Final = " Contrasts in an experiment compare images of the same subject."
_SHOWN: Final = "Proportions are shown as per cent, their differences as percentage points."
_TESTS: Final = (
    "A p value of a contrast tests whether the changes balance: for yes or no, whether as many subjects change one way "
    "as the other; for scores, whether the subjects' differences are symmetric around zero. A large p value does not "
    "show that nobody changes. "
)
_INDEPENDENT: Final = "In a population a p value tests whether outcome and attribute are independent. "
_CORRECTED: Final = (
    "P values are corrected for the number of tests, intervals are not, so that an effect whose interval excludes "
    "zero may not be significant. Conversely, a test may find that something changes for someone although the "
    "interval of the mean change includes zero: such a difference is not called significant. A slope over three "
    "evenly spaced levels repeats the test of its contrast, and an outcome that mirrors another (an error where the "
    "answer is no) repeats the tests of that one: both count once. P values, corrected or not, and these intervals "
    "hold for a number of subjects that was fixed in advance."
)
_LOOKED: Final = (
    " If you look at the results, extend the audit and look again, read the always-valid intervals on the page of all "
    "numbers."
)
_NEVER: Final = " Associations in a population have no always-valid interval."
_REPEATED: Final = (
    "Each photograph counts once; intervals and tests treat the photographs of one person as one cluster."
)


def _methods(document: Document) -> Iterator[Block]:
    results = document.results
    bases = {study.basis for study in results.studies}
    set_, observed = "experimental" in bases, "observational" in bases
    yield Paragraph(_UNIT.format(_PAIRED if set_ else "", _SHOWN))
    tests = (_TESTS if set_ else "") + (_INDEPENDENT if observed else "") + _CORRECTED
    yield Paragraph(tests + (_LOOKED if set_ else "") + (_NEVER if observed else ""))
    repeated = [("People on several photographs", _REPEATED)] if any(map(people_repeat, results.studies)) else []
    items = [*_used(document), _correction(document), *repeated, _images(document)]
    yield Facts(items, methods=True)
    yield Secondary([
        *(Facts([each], methods=True) for each in _families(document)),
        *(block for each in _targets(document) for block in _settings(document, each)),
    ])  # fmt: skip
    if results.citations:
        yield Heading("Works cited")
        yield Bullets([_cited(document, place) for place in range(len(results.citations))])


def _used(document: Document) -> Iterator[tuple[str, Markup]]:
    """The distinct methods in use, in order of first use."""
    columns = {
        "Intervals of effects": ("effects", "interval_method"),
        "Tests": ("effects", "test_method"),
        "Intervals of rates": ("rates", "method"),
    }
    for name, (table, key) in columns.items():
        first: dict[str, str] = {}
        for index, row in enumerate(getattr(document.results, table)):
            if text := getattr(row, key):
                first.setdefault(text, pointer(table, index, key))
        if first:
            yield name, Markup("; ").join(map(document.text, first.values()))


def _correction(document: Document) -> tuple[str, Markup]:
    results = document.results
    crossed = ", effects and interactions" if results.interactions else ""
    everywhere = " of all studies" if len(results.studies) > 1 else ""
    said = Markup("{} method over {}{}{} together, significance level {}").format(
        correction(document), document.counted("/family/size", "test"), crossed, everywhere,
        document.number("/family/alpha"),
    )  # fmt: skip
    return "Correction for multiple tests", said


def _families(document: Document) -> Iterator[tuple[Markup, Markup]]:
    for row in document.entries("families"):
        method = correction_name(row.row.method) or row.text("method")
        said = Markup("{}, {} significant after the {} correction\n").format(
            row.counted("size", "test"), row.count("significant"), method
        )
        members = joined(tag("li", text) for text in document.texts(f"{row.place}/members"))
        yield Markup("Family of tests: {}").format(row.text("name")), said + tag("ul", members, class_="fine")


def _images(document: Document) -> tuple[str, Markup]:
    world, name = document.results.world, document.text("/world/name")
    if world.photographs or computed_on_photographs(document):
        return "Photographs", Markup('{}, as described under <a href="#world">Photographs</a>').format(name)
    gain = Markup("; the camera's meter asks for at most {} stops of gain (a subject's metering error comes on top)")
    said = Markup("{}; photometry {}{}. {}").format(
        name,
        "validated" if world.photometry_validated else "not yet validated",
        gain.format(document.number("/world/maximum_gain_stops")) if world.maximum_gain_stops else "",
        document.text("/world/statement"),
    )
    return "World", said


def _targets(document: Document) -> list[Entry[TargetEntry]]:
    return [
        Entry(document, f"/studies/{number}/targets/{place}", target)
        for number, study in enumerate(document.results.studies)
        for place, target in enumerate(study.targets)
    ]


def _study_name(target: Entry[TargetEntry]) -> Markup:
    return target.document.text(f"{target.place.partition('/targets/')[0]}/name")


def _settings(document: Document, target: Entry[TargetEntry]) -> Iterator[Block]:
    several = Markup(' <span class="fine">in {}</span>').format(_study_name(target))
    yield Heading(target.text("name") + (several if len(document.results.studies) > 1 else ""))
    rule = (
        Markup("")
        if target.row.found_rule is None
        else Markup(" Counts as found: {}.").format(target.text("found_rule"))
    )
    yield Paragraph(Markup("Task: {}.{}").format(target.text("task"), rule))
    rows = [
        (words, tag("code", value, data_source=target.place + place))
        for words, value, place in settings_of(target.row.description, "/description")
    ]
    yield TextTable("Settings", ("Setting", "Value"), rows)


def _cited(document: Document, place: int) -> Markup:
    text, url = document.text(pointer("citations", place, "text")), document.results.citations[place].url
    if not url.startswith(("https://", "http://")):
        return text
    return tag("a", text, href=quote(url, safe=_OF_ADDRESSES), rel="noreferrer")


def _exclusions(document: Document, reduced: bool) -> Iterator[Block]:
    columns: list[Column[Entry[TargetEntry]]] = [
        Column("Study", _study_name),
        column("Target", "name"),
        counts("Images sent", "n_images"),
        counts("Failed", "n_failed"),
        Column("Reasons", lambda row: row.tally("failure_reasons")),
    ]
    title = "Images without a valid answer"
    yield Table(title, _targets(document), columns, title)
    if document.results.family.not_estimable:
        yield Heading("Not estimable")
        without = [row for row in document.entries("effects") if row.row.estimate is None]
        said = Markup("{}, {} of {}: {}")
        yield Bullets([said.format(*map(row.text, ("name", "outcome", "target", "reason"))) for row in without], "")
    shown = Markup("The tables of effects count the excluded images by reason. This page shows {} of {}, {} of {} on "
                   "which a target failed or was wrong.{}")  # fmt: skip
    yield Paragraph(shown.format(
        document.number("/gallery/strips_shown", "count"), document.counted("/gallery/strips_total", "transect"),
        document.number("/gallery/failures_shown", "count"), document.counted("/gallery/failures_total", "image"),
        " Pictures are reduced in size; targets saw them in full size." if reduced else "",
    ))  # fmt: skip


def _specification(document: Document) -> Iterator[Block]:
    yield Paragraph(
        Markup(
            "The specification that reproduces each run, with its hash. Every number on this page is in <code>"
            "results.json</code>, in the same folder."
        )
    )
    for study in document.entries("studies"):
        yield _spec(study)
    version, schema = document.text("/transect_version"), document.number("/schema_version")
    yield Paragraph(Markup("Transect {}, results schema {}").format(version, schema), "fine")


def _spec(study: Entry[StudyEntry]) -> Folded:
    digest = tag("code", study.row.spec_hash, data_source=f"{study.place}/spec_hash")
    head = Markup("{}: seed {}, {}").format(study.text("name"), study.number("seed", "name"), digest)
    text, source = json.dumps(study.row.spec, ensure_ascii=False, indent=2), f"{study.place}/spec"
    label = f"Specification of {study.row.name}"
    return Folded(head, [tag("pre", text, role="region", tabindex=0, aria_label=label, data_source=source)])
