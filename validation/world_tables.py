"""The figures of the world as tables of text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from validation.light_by_attribute import WANTED
from validation.text import Table

_TABLES: Final = (
    (
        "Luminance of faces, rendered and in photographs",
        "photometry",
        ("fifth", "statistic", "rendered_p50", "p25", "p75", "inside", "share_inside"),
    ),
    (
        "Sharpness of pictures, rendered and in photographs: p05, p25, p50, p75, p95",
        "sharpness",
        ("population", "pixels", "n", "rendered", "photographs", "inside", "share_inside"),
    ),
    ("Share found", "targets", ("target", "by", "group", "n", "share", "low", "high", "reason")),
    (
        "Read back from held-out pictures",
        "attributes",
        ("attribute", "role", "figure", "value", "low", "high", "n", "gate", "met", "reason", "visibility"),
    ),
)
_OUTSIDE: Final = ("attribute", "reader", "of", "AUC", "correlation", "slope", "mean answers", "subjects", "unanswered")


def tables_of(figures: Mapping[str, Any]) -> Iterator[Table]:
    """Title, headings and rows of every part that was measured."""
    title = f"FaceWorld, renderer version {figures['renderer_version']}, {figures['image_size']} pixels"
    yield title, ("part", "figure"), list(_overview(figures))
    for title, part, names in _TABLES:
        if rows := figures.get(part):
            yield title, names, [[cell(row[name]) for name in names] for row in rows]
    if figures.get("targets"):
        names = ("target", "group", "n", "share")
        rows = [[cell(row[name]) for name in names] for row in figures["photographs"]]
        yield "The same in photographs (UTKFace, adults)", names, rows
    if figures.get("by_attribute"):
        names = ("label", "attribute", "coefficients", "within")
        yield "Light by attribute: coefficients within two standard errors", names, list(_by_label(figures))
        names = ("label", "measure", "rendered", "photographs", "standard errors apart")
        yield "Light by attribute: coefficients that differ", names, list(_differing(figures))
    if figures.get("readers"):
        rows = [row for reading in figures["readers"] for row in _outside(reading)]
        yield "Read by models from outside (printed, never fitted to)", _OUTSIDE, rows


def _overview(figures: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if rows := figures.get("photometry"):
        yield "medians between the photographs' quartiles", f"{figures['medians_inside']} of {len(rows)}"
        yield "medians beyond their 5 to 95 %", str(len(figures["medians_outside"]))
        yield "smallest share of faces within their 5 to 95 %", cell(figures["share_inside"])
        yield "faces per fifth", cell(figures["faces_per_fifth"])
        yield "median cheek luminance of the darkest tones", cell(figures["darkest_cheek"])
        yield "photometry passes", cell(figures["photometry_passes"])
    if rows := figures.get("by_attribute"):
        known = [row["within"] for row in rows if row["within"] is not None]
        share = f"{sum(known)} of {len(known)} ({cell(figures['share_within'])}), wanted {WANTED}"
        yield "coefficients by attribute within two standard errors", share
    if rows := [row for row in figures.get("attributes", ()) if row["gate"] is not None]:
        yield "attributes read back at their gate", f"{sum(bool(row['met']) for row in rows)} of {len(rows)}"
    if people := figures.get("identity"):
        yield "people distinguished (AUC)", f"{cell(people)}, gate {people['gate']}: {cell(people['met'])}"
        yield "the same people in other pose and light (AUC)", cell(people["same_person"])
        for name, figure in (people["recognition"] or {}).items():
            yield f"dlib's recognition network, {name.replace('_', ' ')} (AUC)", cell(figure)
    for figure in figures.get("null_auc", ()):
        yield "groups that do not differ (AUC)", cell(figure)
    if control := figures.get("control_auc"):
        yield f"groups that differ in {control['attribute']} (AUC)", cell(control)
    for region, error in figures.get("landmarks", {}).get("regions", {}).items():
        yield f"dlib's landmarks, {region}: mean error", f"{100 * error['mean']:.1f} % of the eyes' distance"


def _by_label(figures: Mapping[str, Any]) -> Iterator[list[str]]:
    for label in dict.fromkeys(row["label"] for row in figures["by_attribute"]):
        rows = [row for row in figures["by_attribute"] if row["label"] == label]
        known = [row["within"] for row in rows if row["within"] is not None]
        yield [label, rows[0]["attributes"], str(len(known)), str(sum(known))]


def _differing(figures: Mapping[str, Any]) -> Iterator[list[str]]:
    for row in figures["by_attribute"]:
        if row["within"] is False:
            apart = (row["rendered"] - row["photographs"]) / math.hypot(row["rendered_error"], row["photographs_error"])
            shown = [f"{row[name]:+.3f} ± {row[f'{name}_error']:.3f}" for name in ("rendered", "photographs")]
            yield [row["label"], row["statistic"], *shown, f"{apart:+.1f}"]


def _outside(row: Mapping[str, Any]) -> Iterator[list[str]]:
    """A line of rendered faces, and one of photographs where they were given."""
    seen = row["photographs"]
    for of, found in (("FaceWorld", row), *([(f"{seen['name']}, {seen['label']}", seen)] if seen else [])):
        figures = [cell(found[name]) for name in ("auc", "correlation", "slope")]
        levels = "; ".join(f"{level['level']}: {cell(level['value'])}" for level in found["levels"])
        counts = [str(found[name]) for name in ("subjects", "unanswered")]
        yield [row["attribute"], row["reader"], of, *figures, levels, *counts]


def cell(value: Any) -> str:
    """A value as text; a figure with its interval.

    >>> cell({"value": 0.5, "low": 0.41, "high": 0.6}), cell(None), cell(True)
    ('0.500 (0.410 to 0.600)', '', 'yes')
    """
    if isinstance(value, Mapping):
        known = value["value"] is not None
        return f"{cell(value['value'])} ({cell(value['low'])} to {cell(value['high'])})" if known else "not estimable"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(cell, value))
    return "" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)
