"""One page from results and pictures: `report.html` needs no network, no script and no other file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, final

from markupsafe import Markup

from transect.reports import album, builder
from transect.reports.blocks import Page, Paragraph, Part
from transect.reports.builder import fragment
from transect.reports.document import Document, Printer, pointer
from transect.reports.drawing import svg
from transect.reports.drawing.forest import Forest, forests
from transect.reports.drawing.intersections import Sheet, sheets
from transect.reports.drawing.levels import Crossing, Panel, crossings, panels
from transect.reports.drawing.sections import SectionView, sections
from transect.reports.entries import JsonObject
from transect.reports.records import Gallery
from transect.reports.results import Results, StudyEntry, complete, read
from transect.reports.summary import Further, computed_on_photographs, describe_world, further, summarize, what_responds
from transect.reports.verdicts import people_repeat, with_texts
from transect.reports.wording import correction, outcome_meaning, task_of
from transect.runs.folder import write_atomically, write_json

LARGEST_PAGE = 5_000_000
"""Bytes; images are left out, and counted, until the page is smaller."""

_IMAGE_BUDGETS = (3_200_000, 1_600_000, 600_000, 0)


@final
@dataclass(frozen=True)
class StudyView:
    """What the page shows of one study."""

    index: int
    place: str
    entry: StudyEntry
    forests: tuple[Forest, ...]
    curves: tuple[tuple[str, str, tuple[Panel, ...]], ...]
    overall: tuple[int, ...]
    sheets: tuple[Sheet, ...]
    sheets_cut: bool
    strips: tuple[album.Row, ...]
    failures: tuple[album.Picture, ...]
    spec: str
    crossings: tuple[Crossing, ...]
    further: Further
    responds: str

    @property
    def experimental(self) -> bool:
        """Whether the attributes were set, so that effects are causal."""
        return self.entry.basis == "experimental"

    @property
    def people_repeat(self) -> bool:
        """Whether several photographs, each a subject of the design, show one person."""
        return people_repeat(self.entry)


def build(results: Mapping[str, Any], gallery: Gallery) -> str:
    """The whole report as one HTML text under 5 MB.

    results: as `results.schema.json` describes it (NaN may stand for null). gallery: the images that may be shown.

    Raises BadInput, with the place, when the results do not fit the schema.
    """
    return _fit(read(results), gallery)[1]


def write(results: Mapping[str, Any], gallery: Gallery, folder: Path) -> Path:
    """Write `report.html` and `results.json` into a folder and return the path of the page.

    The same input gives the same bytes. Raises BadInput as `build` does, RunFolderError when the folder cannot be
    written.
    """
    publish(results, gallery, folder)
    return folder / "report.html"


def publish(results: Mapping[str, Any], gallery: Gallery, folder: Path) -> JsonObject:
    """As `write`; returns what `results.json` holds."""
    document, page = _fit(read(results), gallery)
    write_json(folder / "results.json", document.tree, indent=1)
    write_atomically(folder / "report.html", page)
    return document.tree


def _fit(results: Results, gallery: Gallery) -> tuple[Document, str]:
    """The completed results and the page, with as many images as keep it under the limit."""
    for budget in _IMAGE_BUDGETS:
        shown = album.choose(gallery, budget)
        document = Document(with_texts(complete(results, gallery, shown)))
        page = _render(document, shown)
        if len(page.encode()) < LARGEST_PAGE:
            break
    return document, page


def _render(document: Document, shown: Gallery) -> str:
    results = document.results
    studies = [_study(document, index, shown) for index in range(len(results.studies))]
    summary = summarize(document)
    content: dict[str, object] = {"doc": document, "results": results, "studies": studies, "summary": summary}
    content |= {
        "world": describe_world(document),
        "edited": computed_on_photographs(document),
        "flips": album.flip_rows(document, shown),
        "faces": album.mean_faces(shown),
        "correction": correction(document),
        "methods": _methods(document),
        "reduced": album.any_reduced(shown),
        "strip": _strongest(document, shown),
    }
    cautions = [Paragraph(summary.notice, "notice")] if summary.notice else []
    alarms = [svg.tag("p", alarm, class_="notice alarm", role="alert") for alarm in summary.alarms]
    listed = svg.joined(svg.tag("li", text) for text in summary.warnings)
    warnings = [svg.tag("div", Markup("<strong>Check first.</strong>") + svg.tag("ul", listed), class_="notice")]
    warnings = warnings if summary.warnings else []
    page = Page(
        results.title,
        (
            Part("summary", "Summary", (fragment("summary", **content),)),
            *(_study_part(document, view, content) for view in studies),
            *section_parts(document, sections(results.sections), content),
            _world(document, content),
            _folded("methods", "Methods", fragment("methods", **content), "Methods"),
            _folded("exclusions", "Exclusions and failures", fragment("exclusions", **content), "Exclusions"),
            _folded("specification", "Full specification", fragment("specification", **content), "Specification"),
        ),
        document.text("/title"),
        cautions=(*cautions, *alarms, *warnings),
    )
    return builder.build(page)


def _world(document: Document, content: Mapping[str, object]) -> Part:
    """Where the images come from."""
    photographs = document.results.world.photographs or bool(content["edited"])
    title = "The photographs" if photographs else "The world that generated these images"
    return _folded("world", title, fragment("world", **content), "Photographs" if photographs else "World")


def _folded(name: str, title: str, text: Markup, contents: str) -> Part:
    return Part(name, title, (text,), contents, folded=True)


def _strongest(document: Document, shown: Gallery) -> album.Row | None:
    """Images along the attribute of the first difference that was found, or of the first interaction; None without."""
    results = document.results
    found = [row for row in results.verdicts if row.verdict == "found" and not row.check]
    crossed = [results.interactions[row.interaction] for row in results.found_interactions]
    chosen = [(row.study, row.target, row.attribute) for row in found]
    chosen += [(row.study, row.target, name) for row in crossed for name in row.attributes]
    strips = (album.strip_along(document, shown, whose) for whose in chosen)
    return next((strip for strip in strips if strip is not None), None)


def section_parts(doc: Printer, views: Iterable[SectionView], content: Mapping[str, object]) -> tuple[Part, ...]:
    """A part per section, or per group of sections that stand together under one heading."""
    groups = [list(found) for _, found in groupby(views, key=lambda view: view.entry.group or view.place)]
    return tuple((_grouped if group[0].entry.group else _alone)(doc, group, content) for group in groups)


def _alone(doc: Printer, group: Sequence[SectionView], content: Mapping[str, object]) -> Part:
    (view,) = group
    title, text = doc.text(f"{view.place}/title"), _section(doc, view, content)
    return Part(f"section-{view.index}", title, (text,), view.entry.title, study=True, folded=True)


def _grouped(doc: Printer, group: Sequence[SectionView], content: Mapping[str, object]) -> Part:
    """Sections under the heading that they share, each under its own."""
    first, blocks = group[0], []
    for view in group:
        heading = svg.tag("h3", doc.text(f"{view.place}/title"))
        blocks.append(svg.tag("section", heading + _section(doc, view, content), id=f"section-{view.index}"))
    title = doc.text(f"{first.place}/group")
    return Part(f"group-{first.index}", title, blocks, first.entry.group, study=True, folded=True)


def _section(doc: Printer, view: SectionView, content: Mapping[str, object]) -> Markup:
    return fragment("section", **{**content, "doc": doc, "section": view})


def _study_part(document: Document, view: StudyView, content: Mapping[str, object]) -> Part:
    name, further = f"study-{view.index}", view.further
    places = {
        "effects": ("Effects", view.forests),
        "levels": ("Rates by level", view.curves),
        "intersections": ("Intersections", view.sheets),
        "interactions": ("Interactions", further.interactions),
        "projection": ("In a population", further.projections),
        "control": ("Negative control", further.controls),
        "plan": ("Power", further.plans),
        "strips": ("Examples", view.strips),
        "failures": ("Failures", view.failures),
    }
    within = [(f"{name}-{place}", words) for place, (words, shown) in places.items() if shown]
    title, contents = Markup("Findings"), "Findings"
    if len(document.results.studies) > 1:
        title = Markup("Study: {}").format(document.text(f"{view.place}/name"))
        contents = view.entry.name
    return Part(name, title, (fragment("study", **content, study=view),), contents, within, study=True, folded=True)


def _study(document: Document, index: int, shown: Gallery) -> StudyView:
    entry = document.results.studies[index]
    tables, cut = sheets(document, index)
    return StudyView(
        index=index,
        place=pointer("studies", index),
        entry=entry,
        forests=forests(document, index),
        curves=_curves(document, index),
        overall=tuple(
            position
            for position, rate in enumerate(document.results.rates)
            if rate.study == entry.name and rate.order == 0
        ),
        sheets=tables,
        sheets_cut=cut,
        strips=album.strip_rows(document, index, shown),
        failures=album.failure_pictures(document, index, shown),
        spec=json.dumps(entry.spec, ensure_ascii=False, indent=2),
        crossings=crossings(document, index),
        further=further(document, index),
        responds=what_responds(entry),
    )


def _curves(document: Document, study: int) -> tuple[tuple[str, str, tuple[Panel, ...]], ...]:
    """Per outcome that has rates by level: its words, its meaning and its panels."""
    entry = document.results.studies[study]
    task = task_of(entry.targets)
    drawn = ((outcome, panels(document, study, outcome)) for outcome in entry.outcomes)
    return tuple((shown[0].words, outcome_meaning(outcome, task), shown) for outcome, shown in drawn if shown)


def _methods(document: Document) -> dict[str, list[str]]:
    """The places of the distinct methods in use, in order of first use."""
    columns = {
        "Intervals of effects": ("effects", "interval_method"),
        "Tests": ("effects", "test_method"),
        "Intervals of rates": ("rates", "method"),
    }
    methods: dict[str, list[str]] = {}
    for name, (table, key) in columns.items():
        first: dict[str, str] = {}
        for index, row in enumerate(getattr(document.results, table)):
            if text := getattr(row, key):
                first.setdefault(text, pointer(table, index, key))
        methods[name] = list(first.values())
    return methods
