"""The images of a run that its page shows with the answers of one target."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from transect.analysis.target_outcomes import TargetOutcomes
from transect.experiment.verification import NON_MATCH
from transect.records import Task
from transect.reports import selection
from transect.reports.records import Gallery


def gallery_of(answered: TargetOutcomes) -> Gallery:
    """The strips, flips and failures of one target, chosen by the rules of `reports.selection`."""
    run, target, predictions = answered.run, answered.target, answered.predictions
    decisions = answered.decisions
    wrong = np.zeros(len(predictions), dtype=bool)
    outcomes = [answered.outcome(name) for name in run.outcomes(target)]
    values = {outcome.name: outcome.values for outcome in outcomes}
    for outcome in outcomes:
        if outcome.name in (*selection.WRONG, NON_MATCH) and outcome.is_binary:
            wrong |= outcome.values == 1
    answers = selection.answer_texts(predictions, decisions)
    if answered.in_words:
        wrong |= (answered.mistakes == 1) & (target.task is Task.BINARY)
        answers = selection.quoted(predictions, answers)
    if "distance" in values:  # of embeddings: how far from the reference, and whether the two still match
        decisions = 1 - values[NON_MATCH] if NON_MATCH in values else decisions
        answers = selection.distance_texts(predictions, values["distance"], decisions)
    shown = selection.Shown(
        study=run.spec.name,
        target=target.name,
        design=run.design,
        attributes=run.attributes,
        subjects=run.images["subject"].to_numpy(),
        true=run.true,
        predictions=predictions,
        answers=answers,
        decisions=decisions,
        wrong=wrong,
        expected_boxes=run.expected_boxes(target),
        in_steps=run.spec.generator.steps is not None,
    )
    rows_per_part = run.spec.rows_per_part

    def pictures(part: int) -> pa.Table:
        return run.folder.read_part("images", part, only=("image",))

    def png_of(rows: Sequence[int]) -> dict[int, bytes]:
        return selection.stored_images(pictures, rows_per_part, rows)

    return selection.choose(shown, png_of)


def merge(galleries: Sequence[Gallery]) -> Gallery:
    """One gallery of several, in order."""
    return Gallery(
        tuple(strip for gallery in galleries for strip in gallery.strips),
        tuple(failure for gallery in galleries for failure in gallery.failures),
        sum(gallery.total for gallery in galleries),
        tuple(flip for gallery in galleries for flip in gallery.flips),
        tuple(face for gallery in galleries for face in gallery.faces),
    )
