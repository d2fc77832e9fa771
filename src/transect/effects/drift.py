"""What would an attribute's effect be without what drifted with it? Adjusted for readings of what was not set.

An edit along a direction of a learned generator moves other attributes too, and the raw effect is that of all of them.
Within each subject the outcome is regressed on what was set and on the readings of what was not. The adjusted effect
is the one at equal readings. It holds if the outcome is linear in them, if what was not read did not drift, and if
nothing else changes a reading and the answer of the same image at once.

Readings are noisy, and noise hides a part of the drift: the adjusted effect then lies between the raw one and the
truth. Where two readers with unrelated errors read the pictures, one is the instrument for the other (two-stage least
squares), which undoes that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int

from transect.effects import regression
from transect.effects.instruments import SOURCE as INSTRUMENTS
from transect.effects.instruments import first_stage, part, two_stage
from transect.effects.linear import OLS_SOURCE, ols
from transect.effects.samples import Labels, complete
from transect.errors import BadInput
from transect.records import Effect

PER_SUBJECTS: Final = 5
"""Subjects, of several images of a person people, for each reading; with fewer, those that drifted most are taken."""
LEAST_F: Final = 30.0
"""First-stage F of every reading below which the second reader's instrument is too weak for an interval."""
SOURCES: Final = (OLS_SOURCE, INSTRUMENTS)


@final
@dataclass(frozen=True, slots=True)
class DriftAdjusted:
    """One attribute's effect three ways, on the same images.

    raw: as it is. adjusted: at equal readings. instrumented: the same with a second reader's readings as instruments;
    None where a second reader reads none of them. readings: what was adjusted for; left_out: what drifted less than
    these, where there are too few subjects for all.
    """

    raw: Effect
    adjusted: Effect
    instrumented: Effect | None
    readings: tuple[str, ...]
    left_out: tuple[str, ...] = ()


def drift_adjusted(
    y: Float[np.ndarray, " n"],
    treatment: Mapping[str, Float[np.ndarray, " n"]],
    readings: Mapping[str, Float[np.ndarray, " n"]],
    subjects: Int[np.ndarray, " n"],
    *,
    people: Int[np.ndarray, " n"] | None = None,
    second: Mapping[str, Float[np.ndarray, " n"]] | None = None,
    labels: Labels | None = None,
    confidence: float = 0.95,
) -> DriftAdjusted:
    """The effect of the first column of `treatment`, raw and at equal readings of what was not set."""
    if not treatment:
        raise BadInput("treatment: expected what was set, got no column; give one for each level but the first")
    if second is not None and not set(second) <= set(readings):
        raise BadInput("second: expected attributes that the first reader reads, got others; drop these")
    noisy = {f"{name}, second reader": column for name, column in (second or {}).items()}
    whole = complete(y, {**treatment, **readings, **noisy}, clusters=subjects if people is None else people)
    codes = np.unique(np.asarray(subjects)[whole.rows], return_inverse=True)[1]
    columns = _within(np.column_stack([whole.y, whole.x]), codes, int(codes.max(initial=-1)) + 1)
    outcome, known = columns[:, 0], dict(zip(whole.names, columns[:, 1:].T, strict=True))
    spreads = dict(zip(whole.names, whole.x.std(axis=0), strict=True)) if len(whole) else {}
    drifts = {name: _drift(known[name], known[next(iter(treatment))], spreads.get(name, 0.0)) for name in readings}
    chosen, left = _chosen(drifts, whole.n_groups)
    named, levels = labels or Labels(basis="experimental"), {name: known[name] for name in treatment}
    raw = _first(outcome, levels, whole.groups, named, confidence)
    adjusted = _first(outcome, {**levels, **{name: known[name] for name in chosen}}, whole.groups, named, confidence)
    instrumented = None
    twice = [name for name in chosen if name in (second or {})]
    if twice:
        instruments = {name: known[f"{name}, second reader"] for name in twice}
        endogenous = {name: known[name] for name in twice}
        instrumented = _instrumented(outcome, levels, endogenous, instruments, whole.groups, named, confidence)
    return DriftAdjusted(raw, adjusted, instrumented, chosen, left)


def _within(values: Float[np.ndarray, "n k"], groups: Int[np.ndarray, " n"], count: int) -> Float[np.ndarray, "n k"]:
    """Deviations from the mean of each subject."""
    sizes = np.maximum(np.bincount(groups, minlength=count), 1)
    return np.asarray(values - (regression.group_sums(values, groups, count) / sizes[:, None])[groups])


def _drift(reading: Float[np.ndarray, " n"], level: Float[np.ndarray, " n"], spread: float) -> float:
    """How far a reading moves with what was set, in standard deviations over all images. Outcomes do not count."""
    length = float(level @ level)
    return abs(float(reading @ level)) / length / spread if length > 0 and spread > 0 else 0.0


def _chosen(drifts: Mapping[str, float], subjects: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The readings that drifted most, as many as there are subjects for; and those left out."""
    order = sorted(drifts, key=lambda name: -drifts[name])
    most = subjects // PER_SUBJECTS
    return tuple(order[:most]), tuple(order[most:])


def _first(
    outcome: Float[np.ndarray, " n"],
    columns: Mapping[str, Float[np.ndarray, " n"]],
    groups: Int[np.ndarray, " n"],
    labels: Labels,
    confidence: float,
) -> Effect:
    return ols(outcome, columns, clusters=groups, labels=labels, confidence=confidence)[0]


def _instrumented(
    outcome: Float[np.ndarray, " n"],
    levels: Mapping[str, Float[np.ndarray, " n"]],
    endogenous: Mapping[str, Float[np.ndarray, " n"]],
    instruments: Mapping[str, Float[np.ndarray, " n"]],
    groups: Int[np.ndarray, " n"],
    labels: Labels,
    confidence: float,
) -> Effect:
    parted = part(outcome, endogenous, instruments, levels, groups)
    fit, reasons = two_stage(parted)
    place, treated = len(parted.names) + 1, next(iter(levels))
    strengths = first_stage(parted) if np.isfinite(fit.coefficients).any() else np.full(len(parted.names), np.nan)
    reason = next((text for text in reasons if text), "")
    weak = min(strengths, default=np.nan)
    if not reason and not weak >= LEAST_F:
        reason = f"the second reader hardly follows the first (first-stage F {weak:.1f}, {LEAST_F:g} is needed)"
    coefficient = regression.Coefficient(
        treated, float(fit.coefficients[place]), float(fit.covariance[place, place]), reason
    )
    return regression.coefficient_effect(
        coefficient,
        parted.sample,
        labels,
        method="two-stage least squares",
        unit=labels.unit,
        sources=(INSTRUMENTS,),
        confidence=confidence,
        details={"first_stage_f": strengths.tolist(), "endogenous": list(parted.names)},
    )
