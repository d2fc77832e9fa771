"""Effects in images that nobody set: each attribute of a population or of photographs, the others held equal.

Binary attributes: AIPW, the second level against the first. Continuous and ordinal ones: the slope of least squares.
Both are causal only where nothing unlisted moves the attribute and the outcome.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
from jaxtyping import Float

from transect.analysis import finished_run
from transect.analysis.finished_run import Run
from transect.analysis.replicated.records import WorldEffect
from transect.analysis.sections.answers import covariates
from transect.analysis.target_outcomes import TargetOutcomes
from transect.effects.doubly_robust import aipw
from transect.effects.linear import ols
from transect.effects.multiplicity import holm
from transect.effects.outcomes import Outcome
from transect.effects.samples import Labels
from transect.records import Attribute, Effect
from transect.runs.spec import TargetEntry

ALONE: Final = "no other attribute is known, so that nothing can be adjusted for"
NAMED: Final = "{}: its levels have no order and are more than two, so that it has no adjusted effect here"


def adjusted_effects(place: Path, digests: Mapping[str, str]) -> tuple[tuple[WorldEffect, ...], tuple[str, ...]]:
    """The adjusted effects of a run of observed images, p corrected over all of them (Holm), and what has none."""
    run = finished_run.read(place)
    known = {**run.attributes, **run.held}
    columns = {name: run.true[name] for name in known if name in run.true}
    if len(columns) < 2:
        return (), (ALONE,)
    unordered = [name for name in run.attributes if known[name].nominal]
    notes = tuple(NAMED.format(name) for name in unordered)
    compared = [name for name in run.attributes if name in columns and name not in unordered]
    found = [
        effect
        for target in run.spec.targets
        for effect in _of_target(run, target, digests.get(target.name, ""), columns, compared)
    ]
    corrected = holm(np.array([effect.p_adjusted for effect in found], dtype=np.float64)).tolist() if found else []
    return tuple(replace(effect, p_adjusted=p) for effect, p in zip(found, corrected, strict=True)), notes


def _of_target(
    run: Run, target: TargetEntry, digest: str, columns: Mapping[str, Float[np.ndarray, " _"]], compared: list[str]
) -> Iterator[WorldEffect]:
    outcomes, truth = TargetOutcomes(run, target), run.truth(target)
    known = {**run.attributes, **run.held}
    for name in run.outcomes(target):
        if name == "distance":
            continue
        outcome = outcomes.outcome(name)
        labels = Labels(target.name, name, outcome.unit)
        for attribute in compared:
            if truth is not None and truth.attribute == attribute:
                continue  # the right answer changes with it
            others = covariates(known, {key: column for key, column in columns.items() if key != attribute})
            if others:
                effect = _adjusted(run, outcome, known[attribute], columns[attribute], others, labels)
                yield _effect(effect, known[attribute], digest, outcome.unit, "" if truth is None else truth.text)


def _adjusted(
    run: Run,
    outcome: Outcome,
    attribute: Attribute,
    column: Float[np.ndarray, " n"],
    others: Mapping[str, Float[np.ndarray, " _"]],
    labels: Labels,
) -> Effect:
    own = {attribute.name: column}
    if attribute.kind == "binary":
        return aipw(outcome.values, own, others, clusters=run.people, labels=labels, seed=run.design.seed)
    return ols(outcome.values, {**own, **others}, clusters=run.people, labels=labels)[0]


def _effect(effect: Effect, attribute: Attribute, digest: str, unit: str, truth: str) -> WorldEffect:
    binary = attribute.kind == "binary"
    return WorldEffect(
        world=0,
        target=effect.target,
        digest=digest,
        attribute=attribute.name,
        kind=attribute.kind,
        attribute_unit=attribute.unit,
        outcome=effect.outcome,
        unit=unit,
        truth=truth,
        slope=not binary,
        origin=0.0 if binary else math.nan,
        to=1.0 if binary else math.nan,
        labels=(attribute.label(0.0), attribute.label(1.0)) if binary else ("", ""),
        estimate=effect.estimate,
        low=effect.low,
        high=effect.high,
        p_adjusted=effect.p,
        n_subjects=effect.n_subjects,
        reason=effect.reason,
    )
