"""What is left to a model that is better, or not: the combination of levels at which it fails most."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from transect.analysis.compared.pairing import PairedOutcome
from transect.analysis.compared.records import Disagreement, Left
from transect.effects.intervals import wilson
from transect.effects.outcomes import WORSE_WHEN_LARGER


def worst_cells(pairs: Sequence[PairedOutcome]) -> tuple[Left, ...]:
    """Of each model, study and kind of error the combination of set levels at which the model errs most."""
    found = [_worst(pair) for pair in pairs if pair.is_binary and pair.outcome in WORSE_WHEN_LARGER]
    return tuple(left for left in found if left is not None)


def _worst(pair: PairedOutcome) -> Left | None:
    """None for observed images, and where the model makes no such error."""
    design = pair.run.design
    if not design.levels:
        return None
    cells = pair.second.reshape(design.subjects, design.n_cells)
    images = np.isfinite(cells).sum(axis=0)
    errors = np.nansum(cells, axis=0)
    rates = np.divide(errors, images, out=np.zeros(len(images)), where=images > 0)
    worst = int(rates.argmax())
    if not rates[worst] > 0:
        return None
    low, high = wilson(errors[worst], images[worst], 1 - 0.05 / len(images))  # it was picked of all
    settings = design.cells()[worst]
    named = tuple((name, pair.run.attributes[name].label(value)) for name, value in settings.items())
    ends = float(low), float(high)
    return Left(
        pair.study, pair.model, pair.outcome, named, float(rates[worst]), *ends, int(images[worst]), len(images)
    )


def shifted(differing: Sequence[Disagreement]) -> Disagreement | None:
    """Where one model says yes on all images on which they differ, and the images cannot show what that costs."""
    kinds = {each.outcome: each for each in differing}
    if {"miss", "false_alarm"} <= kinds.keys():
        return None
    one = kinds.get("miss") or kinds.get("false_alarm")
    if one is None or (one.only_model > 0) == (one.only_reference > 0):
        return None
    return one
