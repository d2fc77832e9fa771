"""The part of a page about one study: what was set and shown, then its subsections in their declared order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, final

from markupsafe import Markup

from transect.generators.faceworld.reflectance import PARENTS
from transect.reports import album, effect_parts
from transect.reports.blocks import Block, Facts, Paragraph, Part, Secondary, Subsection
from transect.reports.columns import Column, Table
from transect.reports.document import Document, Entry, Style
from transect.reports.drawing.svg import joined, tag
from transect.reports.entries import ComparedEntry, PlanEntry, ProjectedEntry, ProjectionEntry
from transect.reports.rate_parts import StudyRates, intersections_subsection, levels_subsection, overall_table
from transect.reports.records import Gallery
from transect.reports.results import AttributeEntry, StudyEntry
from transect.reports.wording import effect_style, level, outcome_words, with_unit
from transect.runs.spec import GeneratorDescription
from transect.runs.wording import spaced

FIRST_FAILURES: Final = 12
"""Images of failures on the page of findings; the others stand on that of all numbers."""
MOST_ROWS: Final = 60
"""Interactions printed on the page, the surest first; the rest stands in results.json alone, and the page says so."""


@final
@dataclass(frozen=True)
class StudyPage:
    """One study of a page: the document, its number, and the pictures that are shown."""

    document: Document
    study: int
    shown: Gallery

    @property
    def entry(self) -> StudyEntry:
        """The study."""
        return self.document.results.studies[self.study]

    @property
    def place(self) -> Entry[StudyEntry]:
        """The study and where it stands."""
        return self.document.entry("studies", self.study)

    def rows(self, table: str) -> list[Entry[Any]]:
        """The entries of a list of the results that are about it."""
        return self.document.entries(table, self.entry.name)

    def within(self, name: str, title: str, blocks: list[Block], contents: str) -> Subsection | None:
        """A subsection of it; None without a block."""
        return Subsection(f"study-{self.study}-{name}", title, blocks, contents) if blocks else None

    def numbers(self, name: str, title: str, blocks: list[Block], contents: str) -> Secondary | None:
        """A subsection of it on the page of all numbers; None without a block."""
        return Secondary([found]) if (found := self.within(name, title, blocks, contents)) else None


def study_part(page: StudyPage) -> Part:
    """The part about one study."""
    title, contents = Markup("Findings"), "Findings"
    if len(page.document.results.studies) > 1:
        title, contents = Markup("Study: {}").format(page.place.text("name")), page.entry.name
    first: list[Block] = [Paragraph(_basis(page.entry)), _facts(page), _attributes(page)]
    blocks = [*first, *(block for made in SUBSECTIONS if (block := made(page)) is not None)]
    return Part(f"study-{page.study}", title, blocks, contents, study=True, folded=True)


_HELD: Final = Markup(
    "They are <strong>direct</strong> effects: {} kept each subject's own value; all else stays the same."
)


def _basis(entry: StudyEntry) -> Markup:
    """What effects of a study are: caused, directly or in total, or associations."""
    if entry.basis != "experimental":
        return Markup(
            "The attributes were observed as they occur in the population, not set. Differences are <strong>"
            "associations</strong>: something else that correlates with an attribute may cause them."
        )
    caused = Markup("The attributes were set by experiment, so differences are <strong>caused</strong> by them. {}")
    if entry.hold:
        return caused.format(_HELD.format(", ".join(map(spaced, entry.hold))))
    if entry.spec.get("generator", {}).get("directions"):
        return caused.format(
            "They are effects of moves along directions fitted in a learned generator: other fitted attributes keep "
            "their values, and attributes that were not fitted may change as well."
        )
    return caused.format(Markup("They are <strong>total</strong> effects: {}.").format(what_responds(entry)))


def what_differs(entry: StudyEntry, attribute: str) -> str:
    """What differs between images of a subject at two levels of an attribute, with what follows from it."""
    name = spaced(attribute)
    if entry.basis != "experimental":
        return f"These images show several subjects: they differ in {name} and in whatever goes along with it."
    generator = GeneratorDescription(entry.spec["generator"])
    kept = f" ({' and '.join(map(spaced, entry.hold))} held)" if entry.hold else ""
    if generator.directions:
        return f"These images differ in {name}{kept}, and in what was not fitted and moves along."
    if generator.computes_on_photographs or generator.maximum_gain == 0 or attribute not in PARENTS:
        return f"These images differ in {name}{kept} and in what follows from it in the world's causal model."
    if "exposure" in entry.hold:
        return f"These images differ in {name}; the camera's exposure is held."
    return f"These images differ in {name}, and the camera re-exposed: --hold exposure switches that off."


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


def _facts(page: StudyPage) -> Facts:
    place, entry = page.place, page.entry
    population = [("Population", place.text("population"))] if entry.population else []
    return Facts([
        ("Subjects", place.count("subjects")),
        ("Images", place.count("images")),
        *population,
        ("Truth", "none stated" if entry.truth is None else place.text("truth")),
        ("Attributes held", ", ".join(map(spaced, entry.hold)) or "none"),
    ])  # fmt: skip


def _attributes(page: StudyPage) -> Table[Entry[AttributeEntry]]:
    document = page.document

    def levels(row: Entry[AttributeEntry]) -> Markup:
        name, values = row.row.name, row.row.levels
        shown = Markup(", ").join(level(document, page.study, name, value, "") for value in values)
        return shown + with_unit(document, page.study, name)

    rows = [Entry(document, f"{page.place.place}/attributes/{k}", each) for k, each in enumerate(page.entry.attributes)]
    columns: list[Column[Entry[AttributeEntry]]] = [
        Column("Attribute", lambda row: spaced(row.row.name)),
        effect_parts.column("Meaning", "meaning"),
        Column("Levels", levels),
        effect_parts.column("Source", "source"),
    ]
    caption = "Attributes varied" if page.entry.basis == "experimental" else "Attributes compared"
    return Table("Attributes", rows, columns, caption)


_MOST_RATES: Final = 10
"""Outcomes whose rate over all images is on the first page."""


def _overall(page: StudyPage) -> Block | None:
    table = overall_table(StudyRates(page.document, page.study))
    return Secondary([table]) if table and len(table.records) > _MOST_RATES else table


def _intersections(page: StudyPage) -> Secondary | None:
    """Their tables, and that there would be too many of several attributes at once."""
    found = intersections_subsection(StudyRates(page.document, page.study))
    return Secondary([each for each in (found, _left_out(page)) if each])


def _left_out(page: StudyPage) -> Paragraph | None:
    if not page.entry.cells_left_out:
        return None
    said = Markup(
        "Rates by two or three attributes at once are left out where there would be too many: {} per outcome. Compare "
        "by fewer attributes (<code>--compare</code>) to see them."
    )
    return Paragraph(said.format(page.place.counted("cells_left_out", "cell")), "fine")


_CUT: Final = (
    "The most significant are shown; results.json has all. Effects that are picked look surer than they are, so the "
    "intervals are wider: on average at most one in twenty of those shown misses."
)


def _interactions(page: StudyPage) -> Secondary | None:
    rows: list[Entry[ComparedEntry]] = sorted(page.rows("interactions"), key=lambda each: _uncertainty(each.row))
    title = "Differences of differences: how much one effect changes with another attribute (rates: percentage points)"
    blocks: list[Block] = [effect_parts.compared_table(rows[:MOST_ROWS], title)] if rows else []
    blocks += [Paragraph(_CUT, "fine")] if len(rows) > MOST_ROWS else []
    return page.numbers("interactions", "Interactions of attributes", blocks, "Interactions")


def _uncertainty(row: ComparedEntry) -> tuple[float, float]:
    adjusted = 2.0 if row.p_adjusted is None else row.p_adjusted
    return adjusted, -abs(row.estimate or 0.0)


_PROJECTED: Final = Markup(
    "The rates of this experiment, weighted by how common each level is in a population. <strong>Impact</strong> "
    "compares groups as observed, with everything that differs between them; <strong>treatment</strong> changes the "
    "attribute alone, for everybody. The shares are taken as known, so intervals cover only the sampling of subjects."
)


def _projections(page: StudyPage) -> Subsection | None:
    blocks = [block for row in page.rows("projections") for block in _projection(page, row)]
    return page.within(
        "projection", "In a population", [Paragraph(_PROJECTED), *blocks] if blocks else [], "In a population"
    )


def _projection(page: StudyPage, projection: Entry[ProjectionEntry]) -> Iterator[Block]:
    """All quantities of one target and outcome in one population."""
    entry = projection.row
    proportion = entry.unit == "proportion"

    def style(row: ProjectedEntry) -> Style:
        if row.quantity == "ratio of rates" or not proportion:
            return "plain"
        return "percent" if row.origin is None else "points"

    def signed(row: ProjectedEntry) -> bool:
        return row.origin is not None and row.quantity != "ratio of rates"

    rows = [Entry(page.document, f"{projection.place}/rows/{k}", each) for k, each in enumerate(entry.rows)]
    interval = effect_parts.interval_column(effect_parts.percent_level(page.document)).heading
    columns: list[Column[Entry[ProjectedEntry]]] = [
        Column("Quantity", lambda row: row.row.quantity),
        Column("Of whom", lambda row: _who(page, row)),
        Column("Estimate", lambda row: row.estimate(style(row.row), signed=signed(row.row)), "figure"),
        Column(interval, lambda row: row.interval(style(row.row), signed=signed(row.row)), "figure"),
        effect_parts.IMAGES,
    ]
    source = Markup(' <span class="fine">{}</span>').format(projection.text("source")) if entry.source else ""
    words = outcome_words(entry.outcome, entry.unit)
    caption = Markup("{}: {} of {}{}").format(projection.text("population"), words, projection.text("target"), source)
    yield Table("Projection", rows, columns, caption)
    independent = "The shares were given attribute by attribute, as if independent. " if entry.independent else ""
    equal = f"Taken at equal shares of their levels: {', '.join(map(spaced, entry.equal))}." if entry.equal else ""
    yield Paragraph(independent + equal, "fine")


def _who(page: StudyPage, row: Entry[ProjectedEntry]) -> Markup:
    """Whom a quantity is about: the whole population, a group, or two groups."""
    attribute, document = row.row.attribute, page.document
    if not attribute:
        return Markup("the whole population")
    upper = level(document, page.study, attribute, row.row.to, f"{row.place}/to")
    if row.row.origin is None:
        return Markup("{}: {}").format(spaced(attribute), upper)
    lower = level(document, page.study, attribute, row.row.origin, f"{row.place}/from")
    return Markup("{}: {} instead of {}").format(spaced(attribute), upper, lower)


_CONTROL: Final = (
    "A repeat of the study with an attribute that cannot matter, on some of the subjects. An effect here would mean "
    "that the target reacts to something irrelevant, or that images differ in more than was set."
)
_DETECTABLE: Final = (
    "Detectable: the smallest effect that this control finds in four of five repeats, after correction for multiple "
    "tests. A control without an effect does not exclude smaller ones."
)


def _controls(page: StudyPage) -> Secondary | None:
    rows: list[Entry[ComparedEntry]] = page.rows("negative_controls")
    if not rows:
        return None
    detectable: Column[Entry[ComparedEntry]] = Column(
        "Detectable", lambda row: row.number("detectable", effect_style(row.row.unit), none="none"), "figure"
    )
    table = effect_parts.compared_table(rows, "Effects of an attribute that cannot matter", detectable)
    blocks: list[Block] = [Paragraph(_CONTROL), table, Paragraph(_DETECTABLE, "fine")]
    return page.numbers("control", "Negative control", blocks, "Negative control")


def _plans(page: StudyPage) -> Secondary | None:
    rows: list[Entry[PlanEntry]] = page.rows("plans")
    if not rows:
        return None
    columns: list[Column[Entry[PlanEntry]]] = [
        effect_parts.column("Contrast", "name"),
        effect_parts.OUTCOME,
        effect_parts.TARGET,
        effect_parts.SUBJECTS,
        Column("Detectable difference", _detectable, "figure"),
        Column("Subjects needed", lambda row: row.number("subjects_needed", "count", none="–"), "figure"),
    ]
    power = rows[0].number("power", "percent", 0)
    caption = Markup("With a power of {} %, after correction for multiple tests").format(power)
    said = Markup(
        "The smallest differences that this study could detect, and the subjects needed for a difference of {} points."
    )
    needed = rows[0].number("target_difference", "percent", 0, none="a stated size")
    blocks: list[Block] = [Paragraph(said.format(needed)), Table("Plan", rows, columns, caption)]
    return page.numbers("plan", "Power", blocks, "Power")


def _detectable(row: Entry[PlanEntry]) -> Markup:
    return row.number("detectable_difference", effect_style(row.row.unit), none="none")


def _strips(page: StudyPage) -> Subsection | None:
    strips = album.strips(page.document, page.study, page.shown)
    own = [strip for strip in page.shown.strips if strip.examples[0].study == page.entry.name]
    key = album.box_key([example for strip in own for example in strip.examples])
    said = Paragraph(Markup("One subject, one change at a time, with the answers of the target.{}").format(key))
    blocks: list[Block] = [said, joined(strips)] if strips else []
    return page.within("strips", "Examples", blocks, "Examples")


def _failures(page: StudyPage) -> Subsection | None:
    shots, document = album.failures(page.document, page.study, page.shown), page.document
    if not shots:
        return None
    key = album.box_key(each for each in page.shown.failures if each.study == page.entry.name)
    verb = "is" if document.results.gallery.failures_shown == 1 else "are"
    everywhere = " in all studies" if len(document.results.studies) > 1 else ""
    said = Markup("Images on which a target was wrong, or gave no valid answer: {} of {} {} shown{}.{}").format(
        document.number("/gallery/failures_shown", "count"),
        document.counted("/gallery/failures_total", "such image"),
        verb,
        everywhere,
        key,
    )
    blocks: list[Block] = [Paragraph(said), tag("div", joined(shots[:FIRST_FAILURES]), class_="shots")]
    if more := shots[FIRST_FAILURES:]:
        blocks.append(Secondary([tag("div", joined(more), class_="shots")]))
    return page.within("failures", "Failures", blocks, "Failures")


SUBSECTIONS: Final[tuple[Callable[[StudyPage], Block | None], ...]] = (
    _overall,
    lambda page: effect_parts.effects_subsection(page.document, page.study),
    lambda page: levels_subsection(StudyRates(page.document, page.study)),
    _intersections,
    _interactions,
    _projections,
    _controls,
    _plans,
    _strips,
    _failures,
)
"""What is shown of a study, in the order of the page; what there is nothing for is None."""
