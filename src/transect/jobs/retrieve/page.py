"""The page of a retrieval: `retrieve.html`, and its numbers in `retrieve.json`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from markupsafe import Markup

from transect.jobs.retrieve.run import SURE, QuerySkew, RetrieveNumbers, headings, headline, largest, with_interval
from transect.reports import builder
from transect.reports.blocks import (
    Answer,
    Block,
    Bullets,
    DotPlot,
    Heading,
    Page,
    Paragraph,
    Part,
    Row,
    TextTable,
    summary,
)
from transect.reports.builder import probability
from transect.reports.drawing import svg
from transect.reports.drawing.svg import Interval, Tick
from transect.runs.wording import spaced

if TYPE_CHECKING:
    from transect.jobs.retrieve.run import RetrieveResult

MOST: Final = 6
"""Sentences on the first screen; the table has all."""
_READ: Final = (
    "Each subject is shown equally often at every level, so that a search which looks at nothing but the person finds "
    "every level equally often. A share above that is of the images that the attribute alone moved up. MaxSkew@K is "
    "the logarithm of the largest share over the equal one, NDKL sums such differences over the whole ranking, 0 where "
    "there are none; both are above 0 by chance too, and stand beside what chance gives."
)
_LIMITS: Final = (
    "Nobody on these images has the occupation or the trait that a query names: there is no right answer, and a "
    "difference says what this model puts near the words, not what people are like. It holds for these wordings and "
    "these images. Attributes are appearances as onlookers see them."
)


def write(result: RetrieveResult, folder: Path) -> Path:
    """Write the page and its numbers; returns the page's path. Makes the folder where it is missing."""
    return builder.write(page_of(result.numbers), folder / "retrieve.html", result.to_json())


def page_of(numbers: RetrieveNumbers) -> Page:
    """What the page shows."""
    remarks = [Paragraph(text, "note") for text in (_LIMITS, *_notes(numbers))]
    attributes = dict.fromkeys((one.study, one.attribute) for one in numbers.queries)
    several = len({study for study, _ in attributes}) > 1
    parts = [summary(Answer((headline(numbers) + ".", *_sentences(numbers)), (_READ,)), *remarks)]
    for place, (study, attribute) in enumerate(attributes):
        mine = [one for one in numbers.queries if (one.study, one.attribute) == (study, attribute)]
        title = f"{spaced(attribute)}, {study}" if several else spaced(attribute)
        parts.append(Part(f"attribute-{place}", title, tuple(_attribute(mine, place))))
    parts.append(Part("table", "All rankings", (TextTable("Rankings", *headings(numbers)),)))
    parts.append(Part("sources", "Sources", (Bullets(numbers.sources),)))
    return Page(f"Retrieval by words: {numbers.model}", tuple(parts), question="Whose images does a search find first?")


def _sentences(numbers: RetrieveNumbers) -> Iterator[Markup]:
    """The rankings that are unequal by more than chance, the least probable first."""
    sure = sorted((one for one in numbers.queries if one.p_adjusted < SURE), key=lambda one: one.p_adjusted)
    for one in sure[:MOST]:
        found = next(((top, shown) for top in one.skew.first if (shown := largest(one, top))), None)
        if found is not None:
            top, (level, share) = found
            yield Markup("<b>{}</b>: {} % of the first {} images show {} {}, by equal shares {:.3g} %.").format(
                one.query, with_interval(share, 100), top.k, spaced(one.attribute), level, 100 / len(one.levels)
            )
    if len(sure) > MOST:
        yield Markup("{} more in the table.").format(len(sure) - MOST)


def _notes(numbers: RetrieveNumbers) -> Iterator[str]:
    yield from numbers.notes
    if numbers.pruned:
        yield f"{numbers.pruned:,} images, and all others of their subjects, are left out by a rule of the run."


def _attribute(queries: list[QuerySkew], place: int) -> Iterator[Block]:
    for number, top in enumerate(queries[0].skew.first):
        yield Heading(f"Among the first {top.k}")
        if top.reason:
            yield Paragraph(top.reason, "note")
            continue
        yield _shares(queries, number, f"{place}-{number}")
        yield TextTable(f"The first {top.k}", *_table(queries, number))


def _shares(queries: list[QuerySkew], number: int, name: str) -> DotPlot:
    """A row per query and level, the share with its interval."""
    ticks = [Tick(at, f"{at:g}", at / 100) for at in (0.0, 25.0, 50.0, 75.0, 100.0)]
    grid = [(tick.at, tick.value) for tick in ticks]
    rows = []
    for row, one in enumerate(queries):
        for level, share in zip(one.levels, one.skew.first[number].shares, strict=True):
            ends = [100 * end if math.isfinite(end) else None for end in (share.low, share.high)]
            marks = [] if math.isnan(share.estimate) else [Interval(100 * share.estimate, ends[0], ends[1])]
            words = f"{one.query}: {level}"
            track = svg.track(f"share-{name}-{row}-{level}", words, "", grid, marks)
            rows.append(Row(words, track, with_interval(share, 100)))
    caption = f"Share of each level, %; equal shares are {100 / len(queries[0].levels):.3g} %"
    return DotPlot(caption, ticks, rows, "%")


def _table(queries: list[QuerySkew], number: int) -> tuple[list[str], list[list[str]]]:
    shown = ["query", *queries[0].levels, "MaxSkew", "by chance", "p", "tied"]
    rows = []
    for one in queries:
        top = one.skew.first[number]
        shares = [f"{with_interval(share, 100)} %" for share in top.shares]
        chance = f"{top.max_skew_by_chance:.3g}"
        skews = [with_interval(top.max_skew), chance, probability(top.max_skew_p)]
        rows.append([one.query, *shares, *skews, str(top.tied)])
    return shown, rows
