"""The sections of a report on performance variation, from a recognition benchmark (`recognition.json`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from transect.jobs.export.markdown import bullets, plain_text, table, to_state
from transect.reports.document import rounded

_RATES: Final = {"fnmr": "false non-match rate (FNMR)", "fmr": "false match rate (FMR)"}
_NOT: Final = "not estimable"
_PEOPLE: Final = (
    "how membership of a group was determined (said by the people, observed or measured), by whom and when",
    "why these groups are the ones that matter where the system is used",
)


def sections(numbers: Mapping[str, Any]) -> list[str]:
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


def _evaluated(numbers: Mapping[str, Any]) -> list[str]:
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


def _groups(numbers: Mapping[str, Any]) -> list[str]:
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


def _rates(numbers: Mapping[str, Any], rate: str) -> list[str]:
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
            _points(row["estimate"]),
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


def _scores(numbers: Mapping[str, Any]) -> list[str]:
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


def _aggregates(numbers: Mapping[str, Any]) -> list[str]:
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
            _number(row["gini"]),
            row["reason"] or "–",
        ]
        for name, sample in numbers["samples"].items()
        for row in sample["differentials"]
    ]
    head = ("Pictures used", "Rate", "Threshold", "Ratio to the geometric mean (95 %)", "Largest", "Gini", "Remark")
    return ["## 6. Aggregate measures of equitability", *table(head, rows, "None was estimated.")]


def _uncertainty(numbers: Mapping[str, Any]) -> list[str]:
    said = "Intervals have 95 % and are computed over people, not over comparisons. Works cited:"
    return ["## 7. Uncertainty", "", said, *bullets(numbers["sources"]), *map(plain_text, numbers["notes"]), ""]


def _each_group(numbers: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, sample in numbers["samples"].items():
        for group in sample["groups"]:
            yield name, group


def _number(value: float | None) -> str:
    return _NOT if value is None else rounded(value, "plain")


def _share(value: float | None) -> str:
    return _NOT if value is None else rounded(value, "percent", 2) + " %"


def _points(value: float | None) -> str:
    return _NOT if value is None else rounded(value, "points", 2)


def _ends(low: float | None, high: float | None, style: Any) -> str:
    """Both ends as text, each on its own where the other is missing."""
    if low is None and high is None:
        return "no interval"
    ends = [_NOT if end is None else rounded(end, style, 2) for end in (low, high)]
    return " to ".join(ends)
