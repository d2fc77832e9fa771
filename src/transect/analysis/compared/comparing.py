"""Finished runs compared: corrected p, better or worse, no difference above the margin, cannot tell; pictures."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np

from transect.analysis.compared import measuring
from transect.analysis.compared.conclusions import (
    LISTED,
    CompareNumbers,
    Conclusion,
    DifferingImage,
    Row,
    answers,
    with_texts,
)
from transect.analysis.compared.measuring import CONFIDENCE, Measured, PairedOutcome, measured
from transect.analysis.margins import margin_of, margins_of
from transect.effects import multiplicity
from transect.effects.multiplicity import confidence_of, holm
from transect.effects.paired_models import SOURCES, Quantity, stand
from transect.effects.verdicts import EQUIVALENCE, is_shown, largest, rounded_up, subjects_for, subjects_to_confirm
from transect.runs import working_folders

ALPHA: Final = 0.05
JUDGED: Final = ("rate", "gap")
_ConclusionKey: TypeAlias = tuple[str, str, str, str]
"""Study, model, outcome, attribute."""


def corrected(found: Sequence[Measured]) -> tuple[Row, ...]:
    """The rows with p corrected by Holm's method: over all rates and gaps, and over all details."""
    rows = [each.row for each in found]
    for judged in (True, False):
        chosen = [place for place, row in enumerate(rows) if (row.kind in JUDGED) == judged]
        adjusted = holm(np.array([rows[place].p for place in chosen], dtype=np.float64))
        for place, p in zip(chosen, adjusted.tolist(), strict=True):
            rows[place] = replace(rows[place], p_adjusted=p)
    return tuple(rows)


def conclude(found: Sequence[Measured], rows: Sequence[Row], margins: Mapping[str, float]) -> tuple[Conclusion, ...]:
    """A conclusion on the rate, and on the gap of each attribute, of every model and outcome; found: of the rows."""
    groups: dict[_ConclusionKey, list[int]] = {}
    for place, row in enumerate(rows):
        if row.kind in JUDGED:
            groups.setdefault((row.study, row.model, row.outcome, row.attribute), []).append(place)
    family = sum(math.isfinite(rows[place].p) for places in groups.values() for place in places)
    shown = {place for place, row in enumerate(rows) if is_shown(row.p_adjusted, row.low, row.high, ALPHA)}
    while True:
        made = [_concluded(places, found, rows, margins, family, shown) for places in groups.values()]
        level = _level(made, rows)
        listed = tuple(_listed(conclusion, found, level) for conclusion in made)
        lost = {each.row for each in listed if each.verdict in LISTED and each.low <= 0 <= each.high} & shown
        if not lost:
            return listed
        shown -= lost


def _level(made: Sequence[Conclusion], rows: Sequence[Row]) -> float:
    """Of the intervals of the differences that are listed, which were picked of all rates and gaps."""
    listed = sum(conclusion.verdict in LISTED for conclusion in made)
    candidates = sum(row.kind in JUDGED and math.isfinite(row.estimate) for row in rows)
    return confidence_of(listed, candidates) if listed else CONFIDENCE


def _listed(conclusion: Conclusion, found: Sequence[Measured], level: float) -> Conclusion:
    if conclusion.verdict not in LISTED:
        return conclusion
    low, high = found[conclusion.row].quantity.interval(level)
    return replace(conclusion, low=low, high=high, confidence=level)


def _concluded(
    places: Sequence[int],
    found: Sequence[Measured],
    rows: Sequence[Row],
    margins: Mapping[str, float],
    family: int,
    shown: Collection[int],
) -> Conclusion:
    # The largest significant difference, else the largest.
    size = [abs(row.estimate) if math.isfinite(row.estimate) else -1.0 for row in rows]
    lead = min(places, key=lambda place: (place not in shown, -size[place]))
    row, measured = rows[lead], found[lead]
    margin = margin_of(margins, row.outcome, row.unit)
    ends = [other.cautious(EQUIVALENCE) for other in measured.others] or [(math.nan, math.nan)]
    least, most = float(np.min([low for low, _ in ends])), float(np.max([high for _, high in ends]))
    directed = measured.smaller_is_better
    signs = {rows[place].estimate > 0 for place in places if place in shown}
    smaller_is_better = directed and len(signs) < 2  # better at one level and worse at another: differs
    verdict = stand(row.estimate, lead in shown, least, most, margin, smaller_is_better=smaller_is_better)
    needed, confirming = None, None
    if verdict == "cannot tell":
        needed, confirming = _needed(measured.others, margin, family), _confirming(row, margin, family)
    levels = row.name if len(places) > 1 else ""
    return Conclusion(
        row.study, row.model, row.reference, row.outcome, row.attribute, verdict, lead, levels, row.low, row.high,
        CONFIDENCE, least, most, margin, bool(most < margin) if directed else None, needed,
        subjects_to_confirm=confirming,
    )  # fmt: skip


def _confirming(row: Row, margin: float, family: int) -> int | None:
    """Subjects for a difference as large as the one measured, beyond the margin; None where as many took part."""
    if not abs(row.estimate) > margin:
        return None
    size, n = abs(row.estimate), row.n_subjects
    found = subjects_to_confirm(size, n, row.low, row.high, confidence=CONFIDENCE, family=family)
    return None if found is None or found <= n else rounded_up(found)


def _needed(others: Sequence[Quantity], margin: float, family: int) -> int | None:
    """Subjects for the pair of levels that needs the most."""
    return largest([
        subjects_for(
            margin, other.n_subjects, *other.interval(CONFIDENCE), spread=other.spread, averaged=other.averaged,
            family=family,
        )
        for other in others
    ])  # fmt: skip


def compare_runs(folders: Sequence[Path], targets: Sequence[str], stated: Sequence[str]) -> CompareNumbers:
    """Compare the models of finished runs, each with its reference, on the images that both answered."""
    asked = measuring.asked_models(measuring.images_of(folders), targets)
    asked_names = {entry.name for model in asked for _, entry in model.studies}
    about_one = [name for name in targets if name not in asked_names]
    models = measuring.models_of(folders, about_one) if about_one or not targets else ()
    pairs, notes = measuring.paired_outcomes(models) if models else ([], [])
    preferences, alone = measuring.compared_preferences(asked)
    outcomes = {pair.outcome for pair in pairs} | {each.row.outcome for each in preferences}
    known = margins_of(stated, outcomes, folders[0])
    names = [*(model.name for model in models), *(each.name for each in asked)]
    numbers = _numbers(folders, names, pairs, preferences, known, [*notes, *alone])
    return replace(numbers, pictures=_pictures(pairs, numbers.images))


def _numbers(
    folders: Sequence[Path],
    models: Sequence[str],
    pairs: Sequence[PairedOutcome],
    preferences: Sequence[Measured],
    known: Mapping[str, float],
    notes: Sequence[str],
) -> CompareNumbers:
    found = [*(each for pair in pairs for each in measured(pair)), *preferences]
    rows = _with_studies(corrected(found))
    conclusions = with_texts(conclude(found, rows, known), rows)
    differing = tuple(map(measuring.disagreement, pairs))
    shown = measuring.shown_outcomes(pairs)
    return CompareNumbers(
        folders=tuple(map(working_folders.name_of, folders)),
        models=tuple(models),
        margins=dict(known),
        confidence=CONFIDENCE,
        answer=answers(conclusions, rows, differing),
        conclusions=conclusions,
        rows=rows,
        disagreements=differing,
        images=tuple(image for pair in shown for image in measuring.differing_images(pair)),
        notes=tuple(notes),
        works=(*SOURCES, multiplicity.SELECTION_SOURCES[0]),
        left=measuring.worst_cells(pairs),
    )


def _with_studies(rows: Sequence[Row]) -> tuple[Row, ...]:
    """The rows with the study of each in words, where there are several."""
    if len({row.study for row in rows}) < 2:
        return tuple(rows)
    return tuple(replace(row, scope=f"study {row.study}" if row.study else "main study") for row in rows)


def _pictures(pairs: Sequence[PairedOutcome], images: Sequence[DifferingImage]) -> tuple[bytes, ...]:
    runs = {pair.study: pair.run for pair in pairs}
    wanted = {study: [image.row for image in images if image.study == study] for study in runs}
    pictures = {study: measuring.pictures_of(run, wanted[study]) for study, run in runs.items()}
    return tuple(pictures[image.study].get(image.row, b"") for image in images)
