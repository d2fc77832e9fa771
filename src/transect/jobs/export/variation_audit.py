"""The sections of a report on performance variation, from an audit of a detector or a recognizer (`results.json`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from transect.errors import BadInput
from transect.jobs.export.markdown import bullets, plain_text, table, to_state
from transect.jobs.export.words import (
    SHARES,
    cell,
    effect_cells,
    effect_headings,
    level,
    outcome,
    rate_numbers,
    target_rows,
    tasks,
    tests,
)
from transect.reports.wording import ATTRIBUTE_NOTE
from transect.runs.wording import spaced

_TASKS: Final = ("detection", "embedding")
_NEGATIVE, _POSITIVE, _SCORES = ("miss", "non_match"), ("false_alarm",), ("distance", "score")


def sections(results: Mapping[str, Any], run: Path) -> list[str]:
    """The lines of sections 1 to 7. Raises BadInput where no target detects or recognizes faces."""
    found = set(tasks(results).values())
    if found.isdisjoint(_TASKS):
        raise BadInput(
            f"{run}: expected a folder of transect recognition, or an audit of a detector or a recognizer, got an "
            f"audit of {', '.join(sorted(found))}; export another run"
        )
    return [
        *_evaluated(results),
        *_groups(results),
        "## 3. False negative differential performance",
        "",
        "A detector's misses are failures to acquire a face; a recognizer's non-matches are false non-matches after an "
        f"edit of the same person. {SHARES}",
        *_outcomes(results, _NEGATIVE),
        "## 4. False positive differential performance",
        *_outcomes(results, _POSITIVE),
        "## 5. Comparison score differential",
        *_outcomes(results, _SCORES),
        "## 6. Aggregate measures of equitability",
        "",
        "An audit computes none: it estimates each difference, as above. `transect recognition` computes them.",
        "",
        *_uncertainty(results),
    ]


def _evaluated(results: Mapping[str, Any]) -> list[str]:
    world = results["world"]
    return [
        "## 1. What was evaluated",
        "",
        "A technology evaluation of an algorithm, on images made or chosen for the test: "
        f"{plain_text(world['name'])}. {plain_text(world['statement'])}",
        *table(("Model", "Task", "Study", "Settings"), target_rows(results), "The run has no target."),
        *to_state("version and supplier of the model", "the threshold in operation, if it is another"),
    ]


def _groups(results: Mapping[str, Any]) -> list[str]:
    rows = [
        [
            study["name"],
            spaced(entry["name"]),
            entry["meaning"],
            ", ".join(entry["labels"]),
            entry["source"] or "–",
            f"{study['subjects']:,}",
            f"{study['images']:,}",
        ]
        for study in results["studies"]
        for entry in study["attributes"]
    ]
    experimental = all(study["basis"] == "experimental" for study in results["studies"])
    how = (
        "The run set each attribute: the same subjects are in every group, so that a difference is an effect of it."
        if experimental
        else "Attributes were observed: groups are of different people, and their differences are associations."
    )
    head = ("Study", "Attribute", "Meaning", "Groups (levels)", "Source", "Subjects", "Images")
    return [
        "## 2. Groups",
        "",
        how,
        "",
        ATTRIBUTE_NOTE,
        *table(head, rows, "No attribute was varied."),
        *to_state("which of these groups matter where the system is used, and which are missing"),
    ]


def _outcomes(results: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """Rates at single levels, and the effects, of outcomes of detectors and recognizers."""
    known = tasks(results)

    def wanted(row: Mapping[str, Any]) -> bool:
        return row["outcome"] in names and known[row["study"], row["target"]] in _TASKS

    rates = [
        [
            cell(row, results),
            row["target"],
            outcome(row, results),
            *rate_numbers(row),
            f"{row['n_subjects']:,}",
            f"{row['n_images']:,}",
            ", ".join(f"{reason}: {n:,}" for reason, n in row["excluded"].items()) or "–",
        ]
        for row in results["rates"]
        if wanted(row) and row["order"] <= 1
    ]
    effects = [effect_cells(row, results) for row in results["effects"] if wanted(row)]
    head = ("Group", "Model", "Outcome", "Rate or mean", f"{level(results)} interval", "Subjects", "Images", "Left out")
    return [
        *table(head, rates, "The run has no such outcome."),
        *table(effect_headings(results), effects, "No difference was estimated."),
    ]


def _uncertainty(results: Mapping[str, Any]) -> list[str]:
    methods = dict.fromkeys(row["method"] for row in results["rates"])
    methods |= dict.fromkeys(row["interval_method"] for row in results["effects"])
    said = [f"Intervals have {level(results)}: {', '.join(filter(None, methods))}.", tests(results)]
    return ["## 7. Uncertainty", *bullets([*said, *results["limits"]])]
