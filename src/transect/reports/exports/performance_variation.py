"""A report in the shape of ISO/IEC 19795-10, of an audit and of a recognition benchmark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from transect.errors import BadInput
from transect.reports.document import Style, rounded
from transect.reports.entries import EffectEntry, JsonObject
from transect.reports.exports.result_texts import (
    SHARES,
    attribute_rows,
    bullets,
    cell,
    document,
    effect_cells,
    effect_headings,
    level,
    outcome,
    plain_text,
    rate_numbers,
    results_of,
    setting_rows,
    table,
    target_rows,
    tasks,
    tests,
    to_state,
)
from transect.reports.results import RateEntry, Results
from transect.reports.wording import ATTRIBUTE_NOTE
from transect.runs.json_records import read_json

_TASKS: Final = ("detection", "embedding")
_NEGATIVE, _POSITIVE, _SCORES = ("miss", "non_match"), ("false_alarm",), ("distance", "score")


def sections_of_audit(results: Results, run: Path) -> list[str]:
    """The lines of sections 1 to 7. Raises BadInput where no target detects or recognizes faces."""
    found = set(tasks(results).values())
    if found.isdisjoint(_TASKS):
        raise BadInput(
            f"{run}: expected a folder of transect recognition, or an audit of a detector or a recognizer, got an "
            f"audit of {', '.join(sorted(found))}; export another run"
        )
    return [
        *_audit_evaluated(results),
        *_audit_groups(results),
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
        *_audit_uncertainty(results),
    ]


def _audit_evaluated(results: Results) -> list[str]:
    world = results.world
    return [
        "## 1. What was evaluated",
        "",
        "A technology evaluation of an algorithm, on images made or chosen for the test: "
        f"{plain_text(world.name)}. {plain_text(world.statement)}",
        *table(("Model", "Task", "Study"), target_rows(results), "The run has no target."),
        *table(("Model", "Setting", "Value"), setting_rows(results), "No setting is known."),
        *to_state("version and supplier of the model", "the threshold in operation, if different"),
    ]


def _audit_groups(results: Results) -> list[str]:
    experimental = all(study.basis == "experimental" for study in results.studies)
    how = (
        "The run set each attribute: the same subjects are in every group, so that a difference is an effect of it."
        if experimental
        else "Attributes were observed: groups consist of different people, and their differences are associations."
    )
    head = ("Study", "Attribute", "Meaning", "Groups (levels)", "Source", "Subjects", "Images")
    return [
        "## 2. Groups",
        "",
        how,
        "",
        ATTRIBUTE_NOTE,
        *table(head, attribute_rows(results, "subjects", "images"), "No attribute was varied."),
        *to_state("which of these groups matter where the system is used, and which are missing"),
    ]


def _outcomes(results: Results, names: Sequence[str]) -> list[str]:
    """Rates at single levels, and the effects, of outcomes of detectors and recognizers."""
    known = tasks(results)

    def wanted(row: EffectEntry | RateEntry) -> bool:
        return row.outcome in names and known[row.study, row.target] in _TASKS

    rates = [
        [
            cell(row, results),
            row.target,
            outcome(row, results),
            *rate_numbers(row),
            f"{row.n_subjects:,}",
            f"{row.n_images:,}",
            ", ".join(f"{reason}: {n:,}" for reason, n in row.excluded.items()) or "–",
        ]
        for row in results.rates
        if wanted(row) and row.order <= 1
    ]
    effects = [effect_cells(row, results) for row in results.effects if wanted(row)]
    head = ("Group", "Model", "Outcome", "Rate or mean", f"{level(results)} interval", "Subjects", "Images", "Left out")
    return [
        *table(head, rates, "The run has no such outcome."),
        *table(effect_headings(results), effects, "No difference was estimated."),
    ]


def _audit_uncertainty(results: Results) -> list[str]:
    methods = dict.fromkeys(row.method for row in results.rates)
    methods |= dict.fromkeys(row.interval_method for row in results.effects)
    said = [f"Intervals have {level(results)}: {', '.join(filter(None, methods))}.", tests(results)]
    return ["## 7. Uncertainty", *bullets([*said, *results.limits])]


_RATES: Final = {"fnmr": "false non-match rate (FNMR)", "fmr": "false match rate (FMR)"}
_NOT: Final = "not estimable"
_PEOPLE: Final = (
    "how membership of a group was determined (said by the people, observed or measured), by whom and when",
    "why these groups are the ones that matter where the system is used",
)


def sections_of_recognition(numbers: JsonObject) -> list[str]:
    """The lines of sections 1 to 7. Raises KeyError or TypeError for numbers of another job."""
    return [
        *_evaluated(numbers),
        *_groups(numbers),
        "## 3. False negative differential performance",
        "",
        "How often two pictures of one person are taken for two people.",
        *_rates(numbers, "fnmr"),
        "## 4. False positive differential performance",
        "",
        "How often pictures of two people of one group are taken for one person.",
        *_rates(numbers, "fmr"),
        *_scores(numbers),
        *_aggregates(numbers),
        *_uncertainty(numbers),
    ]


def _evaluated(numbers: JsonObject) -> list[str]:
    rows = [
        ["Kind of evaluation", "technology evaluation of an algorithm, on stored pictures; one-to-one comparison"],
        ["Recognizer", numbers["embeddings"]],
        ["Comparison score", f"{numbers['metric']} distance: the smaller, the more alike"],
        ["Pictures", f"{numbers['images']:,}"],
        ["Non-mated comparisons", f"{numbers['impostor_comparisons']:,}"],
    ]
    thresholds = [
        [
            _number(row["threshold"]),
            _ends(row["low"], row["high"], "plain"),
            "stated" if row["false_match_rate"] is None else f"a false match rate of {_share(row['false_match_rate'])}",
            _share(row["reached"]),
            row["reason"] or "–",
        ]
        for row in numbers["thresholds"]
    ]
    headings = ("Threshold", "95 % interval", "Set by", "False match rate over all groups", "Remark")
    return [
        "## 1. What was evaluated",
        *table(("What", "Value"), rows, "Nothing is known of the run."),
        "One threshold holds for every group.",
        *table(headings, thresholds, "The run has no threshold, so that no rate is reported."),
        *to_state("version and supplier of the recognizer", "where the pictures come from, and how they were taken"),
    ]


def _groups(numbers: JsonObject) -> list[str]:
    rows = [
        [name, group["group"], *(f"{group[key]:,}" for key in ("identities", "images", "genuine", "impostor"))]
        for name, group in _each_group(numbers)
    ]
    left = [[row["group"] or "–", row["reason"], f"{row['images']:,}"] for row in numbers["left_out"]]
    headings = ("Pictures used", "Group", "People", "Pictures", "Mated comparisons", "Non-mated comparisons")
    return [
        "## 2. Groups",
        "",
        f"Groups are the values of the column {plain_text(numbers['group'])}.",
        *table(headings, rows, "There is no group with pictures."),
        *table(("Group", "Left out because", "Pictures"), left, "No picture was left out."),
        *to_state(*_PEOPLE),
    ]


def _rates(numbers: JsonObject, rate: str) -> list[str]:
    rows = [
        [
            name,
            group["group"],
            _number(row["threshold"]),
            _share(row[rate]),
            _ends(row[f"{rate}_low"], row[f"{rate}_high"], "percent"),
            row["reason"] or "–",
        ]
        for name, group in _each_group(numbers)
        for row in group["rates"]
    ]
    gaps = [
        [
            name,
            f"{row['group']} less {row['other']}",
            _number(row["threshold"]),
            _number(row["estimate"], "points"),
            _ends(row["low"], row["high"], "points"),
            row["reason"] or "–",
        ]
        for name, sample in numbers["samples"].items()
        for row in sample["largest_gaps"]
        if row["rate"] == rate
    ]
    head = ("Pictures used", "Group", "Threshold", _RATES[rate], "95 % interval", "Remark")
    gap = ("Pictures used", "Largest gap", "Threshold", "Percentage points", "95 % interval", "Remark")
    return [*table(head, rows, "No rate was estimated."), *table(gap, gaps, "No gap between groups was estimated.")]


def _scores(numbers: JsonObject) -> list[str]:
    means = [
        [
            name,
            group["group"],
            _number(group["mean_distance"]),
            _ends(group["mean_distance_low"], group["mean_distance_high"], "plain"),
        ]
        for name, group in _each_group(numbers)
    ]
    apart = [
        [
            name,
            f"{row['group']} less {row['other']}",
            _number(row["estimate"]),
            _ends(row["low"], row["high"], "plain"),
            "–" if row["p_adjusted"] is None else rounded(row["p_adjusted"], "p"),
            row["reason"] or "–",
        ]
        for name, sample in numbers["samples"].items()
        for row in sample["differences"]
    ]
    head = ("Pictures used", "Group", "Mean distance of mated comparisons", "95 % interval")
    gap = ("Pictures used", "Groups", "Difference", "95 % interval", "p (Holm)", "Remark")
    return [
        "## 5. Comparison score differential",
        *table(head, means, "No mean distance was estimated."),
        *table(gap, apart, "There is one group, so that nothing is compared."),
        "The run keeps no mean of the distances of non-mated comparisons; its page draws their distribution.",
        "",
    ]


def _aggregates(numbers: JsonObject) -> list[str]:
    rows = [
        [
            name,
            _RATES[row["rate"]],
            _number(row["threshold"]),
            "; ".join(
                f"{one['group']} {_number(one['ratio'])} ({_ends(one['low'], one['high'], 'plain')})"
                for one in row["ratios"]
            )
            or "–",
            _number(row["largest_ratio"]),
            row["reason"] or "–",
        ]
        for name, sample in numbers["samples"].items()
        for row in sample["differentials"]
    ]
    head = ("Pictures used", "Rate", "Threshold", "Ratio to the geometric mean (95 %)", "Largest", "Remark")
    return ["## 6. Aggregate measures of equitability", *table(head, rows, "None was estimated.")]


def _uncertainty(numbers: JsonObject) -> list[str]:
    said = "Intervals are 95 % intervals, computed over people, not over comparisons. Works cited:"
    return ["## 7. Uncertainty", "", said, *bullets(numbers["sources"]), *map(plain_text, numbers["notes"]), ""]


def _each_group(numbers: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    for name, sample in numbers["samples"].items():
        for group in sample["groups"]:
            yield name, group


def _number(value: float | None, style: Style = "plain") -> str:
    return _NOT if value is None else rounded(value, style, 2)


def _share(value: float | None) -> str:
    return _NOT if value is None else rounded(value, "percent", 2) + " %"


def _ends(low: float | None, high: float | None, style: Style) -> str:
    """Both ends as text, each on its own where the other is missing."""
    if low is None and high is None:
        return "no interval"
    return " to ".join(_number(end, style) for end in (low, high))


FILE: Final = "iso-19795-10.md"
_RECOGNITION: Final = "recognition.json"
_HEAD: Final = (
    "# Performance variation across groups",
    "",
    "This report has the shape of ISO/IEC 19795-10:2024. It is not a claim of conformance: the standard asks for more "
    "than one run can show. Every number comes from the run. Fill in the lines that begin with **To state**.",
    "",
)
_OPEN: Final = (
    "failure to enrol, and failure to acquire at your own sensor",
    "response and processing times by group",
    "identification among many people (one-to-many search), if the system does it",
    "presentation attacks, if they matter",
)


def variation(run: Path) -> dict[str, str]:
    """iso-19795-10.md from a folder of `transect recognition`, or from an audit of a detector or a recognizer.

    Raises BadInput for another run, and for numbers of another version.
    """
    missing = [
        "## 8. What this run does not show",
        *bullets(["Performance elsewhere: with other people, sensors, places and thresholds."]),
        *to_state(*_OPEN, "what the differences mean for the people concerned, and what was decided"),
    ]
    return {FILE: document([*_HEAD, *_body(run), *missing])}


def _body(run: Path) -> list[str]:
    if (run / _RECOGNITION).is_file():
        again = "run transect recognition again"
        numbers = read_json(run / _RECOGNITION, "the numbers of a recognition benchmark", again)
        try:
            return sections_of_recognition(numbers)
        except (KeyError, TypeError, IndexError, ValueError, AttributeError):
            raise BadInput(
                f"{run / _RECOGNITION}: expected the numbers of a recognition benchmark, got a different file; {again}"
            ) from None
    return sections_of_audit(results_of(run), run)
