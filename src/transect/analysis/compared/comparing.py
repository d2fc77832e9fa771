"""Finished runs compared: from their folders to the numbers of the comparison and its pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import final

from transect.analysis.compared.images import differing_images, disagreement, pictures_of, shown_outcomes
from transect.analysis.compared.judging import conclude, corrected
from transect.analysis.compared.measuring import CONFIDENCE, Measured, measured
from transect.analysis.compared.pairing import PairedOutcome, images_of, models_of, paired_outcomes
from transect.analysis.compared.preferences import asked_models, compared_preferences
from transect.analysis.compared.records import CompareNumbers, DifferingImage, Row
from transect.analysis.compared.remaining import worst_cells
from transect.analysis.compared.words import answers, with_texts
from transect.effects import selection
from transect.effects.paired_models import SOURCES
from transect.runs import margins, mounts


@final
@dataclass(frozen=True, slots=True)
class Comparison:
    """The numbers, and the pictures of the images in them (b"" where the run keeps none)."""

    numbers: CompareNumbers
    pictures: tuple[bytes, ...]


def compare_runs(folders: Sequence[Path], targets: Sequence[str], stated: Sequence[str]) -> Comparison:
    """Compare the models of finished runs, each with its reference, on the images that both answered."""
    asked = asked_models(images_of(folders), targets)
    about_one = [name for name in targets if name not in {each.target for each in asked}]
    models = models_of(folders, about_one) if about_one or not targets else ()
    pairs, notes = paired_outcomes(models) if models else ([], [])
    preferences, alone = compared_preferences(asked)
    outcomes = {pair.outcome for pair in pairs} | {each.row.outcome for each in preferences}
    known = margins.parse(stated, outcomes) if stated else margins.read(folders[0])
    names = [*(model.name for model in models), *(each.name for each in asked)]
    numbers = _numbers(folders, names, pairs, preferences, known, [*notes, *alone])
    return Comparison(numbers, _pictures(pairs, numbers.images))


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
    differing = tuple(map(disagreement, pairs))
    shown = shown_outcomes(pairs)
    return CompareNumbers(
        folders=tuple(map(mounts.name_of, folders)),
        models=tuple(models),
        margins=dict(known),
        confidence=CONFIDENCE,
        answer=answers(conclusions, rows, differing),
        conclusions=conclusions,
        rows=rows,
        disagreements=differing,
        images=tuple(image for pair in shown for image in differing_images(pair)),
        notes=tuple(notes),
        works=(*SOURCES, selection.SOURCES[0]),
        left=worst_cells(pairs),
    )


def _with_studies(rows: Sequence[Row]) -> tuple[Row, ...]:
    """The rows with the study of each in words, where there are several."""
    if len({row.study for row in rows}) < 2:
        return tuple(rows)
    return tuple(replace(row, scope=f"study {row.study}" if row.study else "main study") for row in rows)


def _pictures(pairs: Sequence[PairedOutcome], images: Sequence[DifferingImage]) -> tuple[bytes, ...]:
    runs = {pair.study: pair.run for pair in pairs}
    wanted = {study: [image.row for image in images if image.study == study] for study in runs}
    pictures = {study: pictures_of(run, wanted[study]) for study, run in runs.items()}
    return tuple(pictures[image.study].get(image.row, b"") for image in images)
