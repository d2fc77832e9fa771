"""One page from results and pictures: `report.html` needs no network, no script and no other file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from transect.reports import album, builder
from transect.reports.blocks import Block, Page
from transect.reports.closing_parts import closing_parts
from transect.reports.document import Document
from transect.reports.entries import JsonObject
from transect.reports.records import Gallery, Section
from transect.reports.results import Results, complete, read
from transect.reports.section_parts import section_parts
from transect.reports.study_parts import StudyPage, study_part
from transect.reports.summary import about, cautions, summary_part
from transect.reports.verdicts import Told, told, with_texts
from transect.runs.folder import begun, write_json

LARGEST_PAGE = 5_000_000
"""Bytes; images are left out, and counted, until the page is smaller."""

_IMAGE_BUDGETS = (3_200_000, 1_600_000, 600_000, 0)


def build(results: Mapping[str, object], gallery: Gallery) -> str:
    """The whole report as one HTML text: with the tables that `write` puts on a page of all numbers.

    results: as `results.schema.json` describes it (NaN may stand for null). gallery: the images that may be shown.

    Raises BadInput, with the place, when the results do not fit the schema.
    """
    return builder.build(_fit(read(results), gallery).page)


def write(results: Mapping[str, object], gallery: Gallery, folder: Path) -> Path:
    """Write `report.html`, `report-numbers.html` and `results.json` into a folder; returns the path of the first.

    Each page is under 5 MB.

    The same input gives the same bytes, but for the day of the run, which a log has. Raises BadInput as `build` does,
    RunFolderError when the folder cannot be written.
    """
    publish(results, gallery, folder)
    return folder / "report.html"


def publish(results: Mapping[str, object], gallery: Gallery, folder: Path) -> JsonObject:
    """As `write`; returns what `results.json` holds."""
    fitted = _fit(read(results), gallery, begun(folder))
    write_json(folder / "results.json", fitted.document.tree, indent=1)
    builder.store(folder, "report", fitted.files)
    return fitted.document.tree


class _Fitted(NamedTuple):
    """The completed results, the page, and its files by their names."""

    document: Document
    page: Page
    files: dict[str, str]


def _fit(results: Results, gallery: Gallery, day: str = "") -> _Fitted:
    """The page with as many images as keep its files under the limit."""
    sentences = told(Document(results))
    results = with_texts(results, sentences)
    for budget in _IMAGE_BUDGETS:
        shown = album.choose(gallery, budget)
        document = Document(complete(results, gallery, shown))
        page = page_of(document, shown, sentences, day)
        fitted = _Fitted(document, page, builder.pages(page, "report"))
        if all(len(text.encode()) < LARGEST_PAGE for text in fitted.files.values()):
            break
    return fitted


def page_of(document: Document, shown: Gallery, sentences: Told, day: str = "") -> Page:
    """What the page of an audit shows: its answer, each study, each section, and how it was made. day: of the run."""
    results = document.results
    pictures = {number: _pictures(document, shown, section) for number, section in enumerate(results.sections)}
    parts = (
        summary_part(document, shown, sentences),
        *(study_part(StudyPage(document, study, shown)) for study in range(len(results.studies))),
        *section_parts(document, results.sections, pictures),
        *closing_parts(document, reduced=album.any_reduced(shown)),
    )
    cautious = [about(document), *cautions(document)]
    return builder.dated(Page(results.title, parts, document.text("/title"), cautions=cautious), day)


def _pictures(document: Document, shown: Gallery, section: Section) -> Sequence[Block]:
    """The pictures of a section: pairs around a flip, or mean faces of right and wrong answers."""
    if section.key == "sensitivity":
        return album.flips(document, shown, section.target)
    if section.key == "errors":
        return album.mean_faces(document, shown, section.study, section.target)
    return ()
