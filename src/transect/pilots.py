"""What a finished run tells the next one: how far subjects differ, and with it how many subjects an effect needs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np
from jaxtyping import Float

from transect import findings
from transect.effects.contrasts import contrasts
from transect.effects.intervals import wilson
from transect.effects.planning import Plan, detectable, plan_from_pilot
from transect.errors import BadInput


@final
@dataclass(frozen=True, slots=True)
class PilotContrast:
    """One contrast of a pilot. deviation: of the subjects' differences; unpaired_deviation: of single images at the
    first level. Where no subject differs, the deviation is the upper 95 % limit of what that allows.
    """

    name: str
    target: str
    outcome: str
    unit: str
    deviation: float
    unpaired_deviation: float
    n_subjects: int
    images_per_subject: int


def pilot_contrasts(found: findings.Findings) -> list[PilotContrast]:
    """The contrasts between levels of an experiment, of every target and outcome that is tested; not its slopes."""
    made = []
    for answered in found.answered:
        if not answered.tested:
            continue
        for contrast in contrasts(answered.values, answered.reasons, found.design, found.attributes):
            if contrast.kind == "contrast" and contrast.n_subjects >= 2:
                d = contrast.differences[np.isfinite(contrast.differences)]
                single = answered.values[np.isfinite(answered.values)]
                made.append(
                    PilotContrast(
                        contrast.name,
                        answered.target,
                        answered.outcome,
                        answered.unit,
                        _deviation(d),
                        float(np.std(single)),
                        contrast.n_subjects,
                        found.design.n_cells,
                    )
                )
    return made


def _deviation(d: Float[np.ndarray, " n"]) -> float:
    deviation = float(np.std(d, ddof=1))
    if deviation > 0:
        return deviation
    return float(np.sqrt(wilson(0, len(d))[1]))


def plan_next(
    folder: Path, effect: float, *, power: float, alpha: float = 0.05, family: int | None = None
) -> tuple[Plan, PilotContrast]:
    """The plan for the contrast of a finished run that needs the most subjects, and that contrast.

    effect: the smallest difference worth finding, in the outcome's unit. family: tests that share alpha; default the
    contrasts of the pilot. Subjects are counted for the pilot's whole design.

    Raises BadInput where the run is no experiment or no contrast could be estimated on two subjects.
    """
    found = findings.analyse(folder)
    known = pilot_contrasts(found)
    if not known:
        raise BadInput(f"{folder}: expected an experiment with a contrast on at least two subjects; run a larger pilot")
    size = len(known) if family is None else family
    targets = len({contrast.target for contrast in known})
    plans = [
        plan_from_pilot(
            effect,
            contrast.deviation,
            images_per_subject=contrast.images_per_subject,
            unpaired_deviation=contrast.unpaired_deviation,
            power=power,
            alpha=alpha,
            family=size,
            targets=targets,
        )
        for contrast in known
    ]
    most = max(range(len(plans)), key=lambda place: plans[place].subjects)
    return plans[most], known[most]


def smallest_found(contrast: PilotContrast, *, family: int, power: float = 0.9, alpha: float = 0.05) -> float:
    """The smallest difference that as many subjects as the contrast has would find with this power."""
    return detectable(contrast.deviation, contrast.n_subjects, power=power, alpha=alpha / family)
