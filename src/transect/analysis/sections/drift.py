"""Effects beside the same effects adjusted for what drifted, in the section on edits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, Int

from transect.analysis.finished_run import Run
from transect.analysis.sections.answers import table, words
from transect.analysis.target_outcomes import TargetOutcomes
from transect.effects.analysis import NO_PAIR
from transect.effects.contrasts import by_level, known_mean, level_differences
from transect.effects.drift import SOURCES, DriftAdjusted, drift_adjusted
from transect.effects.samples import Labels
from transect.records import Attribute, Effect
from transect.reports.records import Table
from transect.reports.wording import short_name
from transect.runs.spec import TargetEntry

SHOWN: Final = 40
PREFIX: Final = "reading."
TITLE: Final = "Effects, as they are and at equal readings of what was not set"
TEXT: Final = (
    "The raw effect of an edit is that of all it moved; estimate and interval are those of the table of effects. "
    "Where readings are missing it is that of the images that were read, without an interval. The adjusted effect "
    "compares images of a subject at equal readings of the attributes that were not set (least squares within "
    "subjects). Its interval is made in another way: Student's t on errors clustered by subject (by person where "
    "several photographs show one), bias-reduced where few subjects tell. It assumes straight lines, and that nothing "
    "drifted unread. Noise in the readings hides a part of the drift, so that the truth may lie beyond the adjusted "
    "effect."
)
__all__ = ["SOURCES", "adjusted_table"]


def adjusted_table(run: Run, edits: pa.Table, rows: Int[np.ndarray, " n"], effects: Sequence[Effect]) -> Table | None:
    """A row for each target, outcome and varied attribute; None where nothing else is read, or rows do not fit."""
    readings = readings_of(edits, rows, run.design.levels)
    if not readings or edits["subject"].to_numpy()[rows].tolist() != run.images["subject"].to_pylist():
        return None
    subjects = run.images["subject"].to_numpy().astype(np.int64)
    of_levels = (each for each in effects if each.kind == "contrast")
    contrasts = {(each.target, each.outcome, each.attribute, each.origin, each.to): each for each in of_levels}
    lines: list[list[object]] = []
    for target in run.spec.targets:
        outcomes = TargetOutcomes(run, target)
        for name in run.outcomes(target):
            counted = outcomes.outcome(name)
            labels = Labels(target.name, name, counted.unit, "experimental")
            for attribute in run.design.levels:
                levels, ends = _levels(run, attribute), run.design.levels[attribute]
                reported = contrasts.get((target.name, name, attribute, ends[0], ends[-1]))
                if reported is None:
                    continue  # one level
                found = drift_adjusted(counted.values, levels, readings, subjects, people=run.people, labels=labels)
                read = np.isfinite(np.stack(list(readings.values()))).all(axis=0)
                raw = _raw(run, reported, counted.values, read)
                lines.append(_line(run.attributes[attribute], ends, target, name, raw, found))
    heads = [("target", "text"), ("outcome", "text"), ("effect", "text")]
    for way in ("raw", "adjusted"):
        heads += [(way, "number"), (f"{way}: low", "number"), (f"{way}: high", "number")]
    heads += [("adjusted for", "text"), ("images", "count"), ("note", "text")]
    more = f": {SHOWN} of {len(lines)}" if len(lines) > SHOWN else ""
    return table(f"{TITLE}{more}", heads, lines[:SHOWN])


def readings_of(
    edits: pa.Table, rows: Int[np.ndarray, " n"], varied: Mapping[str, Sequence[float]]
) -> dict[str, Float[np.ndarray, " n"]]:
    """Readings of attributes that were not set and that vary."""
    names = [name.removeprefix(PREFIX) for name in edits.column_names if name.startswith(PREFIX)]
    readings = {name: edits[f"{PREFIX}{name}"].to_numpy()[rows] for name in names if name not in varied}
    return {name: column for name, column in readings.items() if np.nanstd(column) > 0}


@final
@dataclass(frozen=True, slots=True)
class _Raw:
    """The raw effect: the report's with its interval, or of the images that were read without one; a note on it."""

    estimate: float
    low: float = math.nan
    high: float = math.nan
    note: str = ""


def _raw(run: Run, reported: Effect, values: Float[np.ndarray, " n"], read: Bool[np.ndarray, " n"]) -> _Raw:
    answered = np.isfinite(values)
    if read[answered].all():
        return _Raw(reported.estimate, reported.low, reported.high, reported.reason)
    of_read = np.where(read, values, np.nan).reshape(run.design.subjects, *run.design.shape)
    grid = by_level(of_read, list(run.design.levels).index(reported.attribute))
    estimate = known_mean(level_differences(grid[:, 0], grid[:, -1]))
    some = f"raw: of the {int((read & answered).sum()):,} of {int(answered.sum()):,} images with every reading"
    return _Raw(estimate, note=NO_PAIR if math.isnan(estimate) else some)


def _levels(run: Run, attribute: str) -> dict[str, Float[np.ndarray, " n"]]:
    """Indicators of every level but the first of each varied attribute; that of the attribute's last level first."""
    ordered = {attribute: run.design.levels[attribute], **run.design.levels}
    columns: dict[str, Float[np.ndarray, " n"]] = {}
    for name, levels in ordered.items():
        values = run.images[f"intended.{name}"].to_numpy()
        for level in reversed(levels[1:]):
            columns[f"{name} {level:g}"] = _is(values, level)
    return columns


def _is(values: Float[np.ndarray, " n"], level: float) -> Float[np.ndarray, " n"]:
    same: Bool[np.ndarray, " n"] = np.isclose(values, level)
    return same.astype(np.float64)


def _line(
    attribute: Attribute,
    levels: Sequence[float],
    target: TargetEntry,
    outcome: str,
    raw: _Raw,
    found: DriftAdjusted,
) -> list[object]:
    adjusted = found.adjusted
    between = f"{words(attribute.name)}: {attribute.label(levels[0])} to {attribute.label(levels[-1])}"
    cells = [raw.estimate, raw.low, raw.high, adjusted.estimate, adjusted.low, adjusted.high]
    adjusted_for = ", ".join(words(name) for name in found.readings) or "nothing: too few subjects"
    reasons = dict.fromkeys(reason for reason in (raw.note, adjusted.reason) if reason)
    row = [short_name(target.name), words(outcome), between, *cells, adjusted_for, found.raw.n_images]
    return [*row, "; ".join(reasons)]
