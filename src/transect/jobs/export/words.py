"""Numbers of an audit in the words that a paper and a model card share."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from transect.reports.document import rounded
from transect.reports.wording import correction_name, effect_style, outcome_words, rate_style, unit_words
from transect.runs.wording import spaced

SHARES: Final = "Shares are in per cent."
"""What a reader of `rate_numbers` must know."""
_MINUS: Final = re.compile(r"(?<!\S)-(?=[\d.])")


def tasks(results: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    """The task of each target, by study and name."""
    return {(s["name"], t["name"]): t["task"] for s in results["studies"] for t in s["targets"]}


def target_rows(results: Mapping[str, Any]) -> list[list[str]]:
    """A row of texts for each target of each study: name, task, study, and the settings that it was asked with."""
    return [
        [t["name"], t["task"], s["name"], json.dumps(t["description"], ensure_ascii=False, sort_keys=True)]
        for s in results["studies"]
        for t in s["targets"]
    ]


def outcome(row: Mapping[str, Any], results: Mapping[str, Any]) -> str:
    """What was counted, as "miss rate"."""
    task = tasks(results).get((row["study"], row["target"]), "")  # none of a question about two images
    return outcome_words(row["outcome"], row["unit"].partition(" per ")[0], task)


def level(results: Mapping[str, Any]) -> str:
    """The level of the intervals, as "95 %"."""
    return f"{100 * results['family'].get('confidence', 0.95):.3g} %"


def effect_headings(results: Mapping[str, Any]) -> list[str]:
    """Headings of `effect_cells`."""
    return ["Change", "Model", "Outcome", "Effect", f"{level(results)} interval", "Unit", "p (adjusted)", "Subjects"]


def effect_cells(row: Mapping[str, Any], results: Mapping[str, Any]) -> list[str]:
    """An effect as a row of texts."""
    estimate, ends, p = effect_numbers(row)
    named = [effect_name(row), row["target"], outcome(row, results)]
    return [*named, estimate, ends, unit_words(row["unit"]), p, f"{row['n_subjects']:,}"]


def tests(results: Mapping[str, Any]) -> str:
    """How p was adjusted, and over how many tests."""
    family = results["family"]
    apart = ", those of each study by themselves" if family.get("by_study") else ""
    return f"p is adjusted by {correction_name(family['method'])} over {family['size']:,} tests{apart}."


def effect_name(row: Mapping[str, Any]) -> str:
    """What changed: an attribute and its levels."""
    return spaced(row["name"])


def effect_numbers(row: Mapping[str, Any]) -> tuple[str, str, str]:
    """Estimate, interval and adjusted p as texts with a true minus; a reason or a dash where there is none."""
    style = effect_style(row["unit"])
    if row["estimate"] is None:
        return "not estimable", row["reason"], "–"
    plus = "+" if row["estimate"] > 0 else ""
    ends = "no interval"
    if row["low"] is not None:
        ends = f"{rounded(row['low'], style)} to {rounded(row['high'], style)}"
    p = "–" if row["p_adjusted"] is None else rounded(row["p_adjusted"], "p")
    return plus + rounded(row["estimate"], style), ends, p


def rate_numbers(row: Mapping[str, Any]) -> tuple[str, str]:
    """A rate and its interval as texts; shares in per cent."""
    style = rate_style(row["unit"])
    if row["rate"] is None:
        return "not estimable", "–"
    ends = "no interval"
    if row["low"] is not None:
        ends = f"{rounded(row['low'], style)} to {rounded(row['high'], style)}"
    return rounded(row["rate"], style), ends


def cell(row: Mapping[str, Any], results: Mapping[str, Any]) -> str:
    """The levels that a rate is at, as people read them: "glasses on", "light level −4"; "all images" for none."""
    attributes = next(study["attributes"] for study in results["studies"] if study["name"] == row["study"])
    labels = {each["name"]: dict(zip(each["levels"], each["labels"], strict=True)) for each in attributes}
    levels = [f"{spaced(name)} {_level(value, labels.get(name, {}))}" for name, value in row["cell"].items()]
    return ", ".join(levels) or "all images"


def _level(value: float, labels: Mapping[float, str]) -> str:
    """The label of a level, with a true minus before numbers."""
    return _MINUS.sub("−", labels.get(value, f"{value:g}"))
