"""How attributes were set along fitted directions: how well they read labels, whose labels, and what may leak."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from jaxtyping import Float

from transect.analysis.sections.answers import BALAKRISHNAN, table, words
from transect.analysis.sections.associations import matrix_table
from transect.analysis.sections.places import placed
from transect.controls.directions import LEAK
from transect.effects.sensitivity import SOURCE as DENTON
from transect.reports.records import Figure, Panel, Point, Section, Series, Table, Unit
from transect.runs.spec import RunSpec

KEY: Final = "directions"
_DEPENDENT: Final = 1e6
"""Condition number of cosines, which are rounded to six decimals, from which on one direction depends on the others."""

_TEXT: Final = (
    "This is a learned generator. Each attribute was set along a direction of its latent space that was fitted "
    "to labels, adjusted so that the other fitted attributes keep their values. Intended values are values "
    "along those directions: a label's unit for continuous attributes, the signed distance from the hyperplane "
    "for binary ones (yes above 0). An image may show something else, and attributes that were not fitted may "
    "change as well."
)
_PHOTOGRAPHS: Final = (
    "Subjects are inverted photographs: their images are what the generator renders from the inverted codes, "
    "not the photographs themselves. Limits of edits are set by subjects sampled from the generator."
)
_QUALITY: Final = (
    "Quality is measured on held-out labels: balanced accuracy (one half means no skill) or R² (zero means no skill). "
    "Seen between: where those labels show little and much of an attribute."
)
_APART: Final = (
    "The angle between two directions shows how well they are separated: at 90 degrees, a step along one leaves the "
    "other unchanged. Setting an attribute moves along an adjusted direction that leaves the others alone; the angles "
    "between these moves are given too."
)


def limits(spec: RunSpec) -> list[str]:
    """What a report says before its findings where attributes were set along fitted directions; nothing elsewhere."""
    fitted = spec.generator.directions
    if not fitted:
        return []
    sentences = [
        "Intended values are values along directions fitted to labels; what images show is for raters to judge."
    ]
    if photographs := spec.generator.photographs:
        sentences.append(
            f"Subjects are {photographs['count']:,} inverted photographs; {photographs['failed']:,} more could "
            "not be inverted and are left out."
        )
    return [*sentences, *[f"{text[0].upper()}{text[1:]}." for text in _leaks(fitted)]]


@placed(300, "spec", page="numbers")
def section(spec: RunSpec) -> list[Section]:
    """The section of a study's spec; none where attributes were not set along fitted directions."""
    fitted = spec.generator.directions
    if not fitted:
        return []
    rows, photographs = fitted["attributes"], spec.generator.photographs
    apart = [_APART] if len(fitted.get("cosines", [])) > 1 else []
    return [
        Section(
            key=KEY,
            title="Directions of attributes",
            text=[_TEXT, *[_PHOTOGRAPHS] * bool(photographs), _QUALITY, *apart],
            warnings=[f"{text}." for text in _leaks(fitted)],
            figures=_figures([row for row in rows if row["quality"] is not None]),
            tables=[_table(rows), *angles(fitted), _origin(fitted, photographs)],
            sources=[BALAKRISHNAN, DENTON],
        )
    ]


def _leaks(fitted: Mapping[str, Any]) -> list[str]:
    """One sentence for each model whose answers were the labels, with the attributes that it labelled."""
    led: dict[str, list[str]] = {}
    for row in fitted["attributes"]:
        if row["of_a_model"]:
            led.setdefault(str(row["origin"].get("labels")), []).append(words(row["name"]))
    return [f"labels of {', '.join(names)} are a model's ({model}): {LEAK}" for model, names in led.items()]


def _table(rows: Sequence[Mapping[str, Any]]) -> Table:
    heads = [("attribute", "text"), ("labels from", "text"), ("fitted by", "text"), ("balanced on", "text")]
    heads += [("labels", "count"), ("held out", "count"), ("quality", "number"), ("measure", "text")]
    heads += [("lowest", "number"), ("highest", "number"), ("seen from", "number"), ("seen to", "number")]
    cells: list[list[object]] = []
    for row in rows:
        origin = row["origin"]
        balanced = ", ".join(words(name) for name in origin.get("balanced_on", ())) or "nothing"
        made = [words(row["name"]), str(origin.get("labels", "")), str(origin.get("method", "")), balanced]
        fields = ("labels", "held_out", "quality", "quality_measure", "low", "high", "shown_low", "shown_high")
        cells.append([*made, *(row[field] for field in fields)])
    return table("Directions", heads, cells)


def _between_moves(cosines: Float[np.ndarray, "k k"]) -> Float[np.ndarray, "k k"]:
    """Cosines between moves that keep the other attributes; NaN where one direction depends on the others."""
    if np.linalg.cond(cosines) > _DEPENDENT:
        return np.full_like(cosines, np.nan)
    dual = np.linalg.inv(cosines)  # the Gram matrix of the dual directions is the inverse of that of the normals
    return np.asarray(np.clip(dual / np.sqrt(np.outer(dual.diagonal(), dual.diagonal())), -1.0, 1.0))


def angles(fitted: Mapping[str, Any]) -> list[Table]:
    """The cosine of every two directions as a matrix, and their angles; none of a single one."""
    cosines = np.array(fitted.get("cosines", []))
    if len(cosines) < 2:
        return []
    names = tuple(row["name"] for row in fitted["attributes"])
    moved = _between_moves(cosines)
    degrees = [np.degrees(np.arccos(each)).round(2) for each in (cosines, moved)]
    heads = [("attributes", "text"), ("angle between directions, degrees", "number"), ("cosine", "number")]
    heads += [("angle between moves, degrees", "number")]
    rows = [
        [f"{words(names[i])} and {words(names[j])}", degrees[0][i, j], cosines[i, j], degrees[1][i, j]]
        for i, j in itertools.combinations(range(len(names)), 2)
    ]
    return [matrix_table("Cosines between directions", names, cosines), table("Angles between directions", heads, rows)]


def _origin(fitted: Mapping[str, Any], photographs: Mapping[str, Any]) -> Table:
    origin = fitted["origin"]
    rows = [
        ["latent space", str(fitted["space"])],
        ["fitted on generator", str(origin.get("generator", {}).get("name", "not said"))],
        ["labels from", str(origin.get("source", "not said"))],
        ["file, SHA-256", str(fitted["sha256"]) or "not from a file"],
        ["true values known", "yes, by the world's causal model" if fitted.get("truth_known") else "no"],
    ]
    if photographs:
        rows += [
            ["inverted photographs", f"{photographs['count']:,}, in space {photographs['space']}"],
            ["inversions that failed, left out", f"{photographs['failed']:,}"],
            ["file of inversions, SHA-256", str(photographs["sha256"])],
        ]
    return table("Origin of the directions", [("what", "text"), ("is", "text")], rows)


def _figures(rows: Sequence[Mapping[str, Any]]) -> list[Figure]:
    """Held-out quality by attribute, a panel per measure; none where no quality is known."""
    panels = []
    for measure in dict.fromkeys(row["quality_measure"] for row in rows):
        points = [
            Point(label=words(row["name"]), value=row["quality"], n=row["held_out"])
            for row in rows
            if row["quality_measure"] == measure
        ]
        unit: Unit = "proportion" if measure == "balanced accuracy" else "number"
        name = measure.replace("R2", "R²")
        series = [Series(name="", points=points)]
        panels.append(Panel(heading=name, y_words=f"held-out {name}", unit=unit, series=series))
    caption = "(the numbers are held-out labels)"
    title = "How well do directions predict held-out labels?"
    return [Figure(kind="bars", title=title, caption=caption, same_axis=False, panels=panels)] if panels else []
