"""Two pages for a provider's technical documentation: what was examined for bias, how, and what came of it.

The sections follow what Regulation (EU) 2024/1689 lists in Article 10(2)(f) and (g), Article 15 and Annex IV(2). The
text takes no position on whether a system conforms to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from transect.effects.outcomes import OF_TRUTH
from transect.reports.entries import VerdictEntry
from transect.reports.exports.result_texts import (
    SHARES,
    attribute_rows,
    bullets,
    cell,
    document,
    level,
    meanings,
    plain_text,
    rate_cells,
    table,
    target_rows,
    tests,
    texts_of_models,
    to_state,
)
from transect.reports.results import RateEntry, Results
from transect.reports.wording import ATTRIBUTE_NOTE
from transect.runs.wording import spaced

MOST_FINDINGS: Final = 8
MOST_ROWS: Final = 24
"""Findings and rates that are listed, so that the file stays at two pages; the tables of `--to csv` have all."""
_ABOUT: Final = (
    "For the documentation of a provider. The sections follow Article 10(2)(f) and (g), Article 15 and Annex IV(2) of "
    "Regulation (EU) 2024/1689. It states what one examination found and takes no position on conformity. Fill in the "
    "lines that begin with **To state**."
)
_KINDS: Final = {
    "no difference": "no difference larger than the margin",
    "cannot tell": "inconclusive",
    "not judged": "not judged",
    "not estimable": "not estimable",
}
"""Verdicts that are counted."""


def text(results: Results, model: str, day: str = "") -> str:
    """The file on one model. results: of it alone. day: of the run."""
    title = ", ".join(filter(None, [plain_text(results.title), f"examined on {day}" if day else ""]))
    return document([
        f"# Examination of bias: {plain_text(model)}",
        "",
        title,
        "",
        _ABOUT,
        "",
        "## 1. Purpose",
        *to_state(
            "the system, its version and provider, and its intended purpose",
            "the persons and groups on whom it is used, and where",
            "which differences between groups would do harm, and why",
        ),
        plain_text(results.question),
        *table(("Model as examined", "Task", "Study"), target_rows(results), "The run has no target."),
        *_data(results),
        *_method(results),
        *_results(results),
        "## 5. What was not examined",
        *bullets([*results.limits, ATTRIBUTE_NOTE, *_without(results)]),
        *to_state("groups, conditions and uses that matter and are not in section 2"),
        "## 6. Measures",
        *to_state(
            "what is done to detect, prevent and mitigate the differences of section 4",
            "who examined this, when, and when it is examined again",
        ),
    ])  # fmt: skip


def _data(results: Results) -> list[str]:
    head = ("Study", "Attribute", "Meaning", "Groups (levels)", "Source", "Subjects", "Images")
    populations = dict.fromkeys(study.population for study in results.studies if study.population)
    said = f"Population: {', '.join(map(plain_text, populations))}." if populations else ""
    return [
        "## 2. Data",
        "",
        f"{plain_text(results.world.name)}: {plain_text(results.world.statement)} {said}",
        *table(head, attribute_rows(results, "subjects", "images"), "No attribute was varied."),
        *to_state("how far these images represent those on which the system is used"),
    ]


def _method(results: Results) -> list[str]:
    experimental = [study.basis == "experimental" for study in results.studies]
    set_ = "Attributes were set on the same subjects: a difference between groups is an effect of the attribute."
    observed = "Attributes were observed: groups consist of different people, and a difference is an association."
    versions = ", ".join(f"{study.name} {study.spec_hash}" for study in results.studies)
    return [
        "## 3. Method",
        *bullets(
            [
                *[said for said, used in ((set_, any(experimental)), (observed, not all(experimental))) if used],
                *meanings(_rates(results)[:MOST_ROWS], results),
                f"Intervals have {level(results)} and treat the images of one subject as one unit. {tests(results)}",
                f"Transect {results.transect_version}; specification of each study: {versions}.",
            ]
        ),
    ]


def _rates(results: Results) -> list[RateEntry]:
    """The rates over all images and by one attribute, errors first, outcome by outcome."""
    rows = [row for row in results.rates if row.order <= 1]
    order = list(dict.fromkeys(row.outcome for row in rows))
    return sorted(rows, key=lambda row: (row.outcome not in OF_TRUTH, order.index(row.outcome), row.order))


def _results(results: Results) -> list[str]:
    rows = _rates(results)
    cells = [[cell(row, results), *rate_cells(row, results)] for row in rows[:MOST_ROWS]]
    heads = ("Group", "Model", "Outcome", "Rate or mean", f"{level(results)} interval", "Images")
    more = [f"{len(rows) - MOST_ROWS:,} further rates are in the tables of the run.", ""] if rows[MOST_ROWS:] else []
    return [
        "## 4. Results",
        *bullets(list(_verdicts(results.verdicts))),
        SHARES,
        *table(heads, cells, "No rate was estimated."),
        *more,
        *to_state("the level of accuracy that is declared, and the figure above that supports it"),
    ]


def _verdicts(rows: Sequence[VerdictEntry]) -> Iterator[str]:
    """Each comparison with its numbers or its reason, differences that were found first, and how many are left out."""
    ordered = sorted(rows, key=lambda row: row.verdict != "found")
    for row in ordered[:MOST_FINDINGS]:
        about = f"{spaced(row.attribute)}, {row.outcome} of {row.target}"
        yield row.text or f"{about}: {row.verdict}: {row.reason}."
    counts = Counter(row.verdict for row in ordered[MOST_FINDINGS:])
    if counts:
        kinds = ", ".join(f"{n} {_KINDS.get(kind, kind)}" for kind, n in counts.items())
        yield f"Further comparisons, in the report of the run: {kinds}."


def _without(results: Results) -> Iterator[str]:
    """Images without an answer, and effects without an estimate."""
    for study in results.studies:
        for target in study.targets:
            if target.n_failed:
                counts = f"{target.n_failed:,} of {target.n_images:,} images"
                yield f"{target.name} gave no valid answer on {counts} of {study.name}."
    if lost := sum(row.estimate is None for row in results.effects):
        yield f"{lost} effects could not be estimated; the tables of the run say why."


def files(results: Results, model: str, day: str = "") -> dict[str, str]:
    """A text for each model: technical-file.md, or technical-file-MODEL.md where there are several."""
    return texts_of_models(results, model, "technical-file", partial(text, day=day))
