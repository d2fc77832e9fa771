"""Plans from a finished run: how much subjects differ, and so how many subjects an effect needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np
from jaxtyping import Float

from transect.analysis import findings, finished_run
from transect.effects.analysis import distinct_tests
from transect.effects.contrasts import Contrast, contrasts
from transect.effects.equivalence_planning import plan_equivalence_from_pilot
from transect.effects.intervals import wilson
from transect.effects.pilot_spread import upper_deviation, upper_share
from transect.effects.planning import Plan, detectable, plan_from_pilot
from transect.effects.repeated import clusters_of, linearized, people_with
from transect.errors import BadInput


@final
@dataclass(frozen=True, slots=True)
class PilotContrast:
    """One contrast of a pilot. deviation: of the subjects' differences; unpaired_deviation: of single images within
    either of the compared levels. discordant: where each subject has one pair of yes-or-no outcomes, the share of pairs
    that differ; else None. Where no subject differs, both are the upper 95 % limits of what that allows.
    planned_deviation, planned_discordant: their upper 80 % limits, from which the next study is planned. Where several
    photographs show one person, subjects are people, and images_per_subject those of one on average.
    """

    name: str
    target: str
    outcome: str
    unit: str
    deviation: float
    unpaired_deviation: float
    n_subjects: int
    images_per_subject: int
    discordant: float | None
    planned_deviation: float
    planned_discordant: float | None


def pilot_contrasts(study: findings.Findings) -> list[PilotContrast]:
    """The contrasts between levels of an experiment, of every target and outcome that is tested; not its slopes."""
    return [
        _pilot_contrast(study, answered, contrast)
        for answered in study.answered
        if answered.measure.tested
        for contrast in contrasts(answered.values, answered.reasons, study.design, study.attributes)
        if contrast.kind == "contrast" and _people(answered, contrast) >= 2
    ]


def _people(answered: findings.TransectOutcome, contrast: Contrast) -> int:
    return int(people_with(contrast.differences[:, None], clusters_of(answered.people))[0])


def _pilot_contrast(study: findings.Findings, answered: findings.TransectOutcome, contrast: Contrast) -> PilotContrast:
    who = clusters_of(answered.people)
    found = contrast.differences if who is None else linearized(contrast.differences[:, None], who)[:, 0]
    d = found[np.isfinite(found)]
    single = answered.measure.is_binary and contrast.pairs == 1 and who is None
    photographs = len(answered.people) / len(np.unique(answered.people))
    return PilotContrast(
        contrast.name,
        answered.measure.target,
        answered.measure.outcome,
        answered.measure.unit,
        _deviation(d),
        _unpaired(study, answered, contrast),
        len(d),
        round(study.design.n_cells * photographs),
        (float((d != 0).mean()) or float(wilson(0, len(d))[1])) if single else None,
        upper_deviation(d) or _deviation(d),
        upper_share(int(np.count_nonzero(d)), len(d)) if single else None,
    )


def _unpaired(study: findings.Findings, answered: findings.TransectOutcome, contrast: Contrast) -> float:
    """The root of the mean variance of single images within the two levels."""
    axis = list(study.design.levels).index(contrast.attribute)
    levels = study.design.levels[contrast.attribute]
    variances = [
        float(np.nanvar(np.take(answered.values, levels.index(level), axis=axis + 1)))
        for level in (contrast.origin, contrast.to)
    ]
    return float(np.sqrt(np.mean(variances)))


def _deviation(d: Float[np.ndarray, " n"]) -> float:
    deviation = float(np.std(d, ddof=1))
    if deviation > 0:
        return deviation
    return float(np.sqrt(wilson(0, len(d))[1]))


def plan_next(
    folder: Path, effect: float, *, power: float, alpha: float = 0.05, family: int | None = None
) -> tuple[Plan, PilotContrast]:
    """The plan for the contrast of a finished run that needs the most subjects, and that contrast.

    effect: the smallest difference worth finding, in the outcome's unit. family: tests that share alpha; default those
    of the pilot's report, slopes among them. Subjects are counted for the pilot's whole design, from the upper 80 %
    limit of the pilot's spread, so that four of five pilots plan enough.

    Raises BadInput where the run is no experiment or no contrast could be estimated on two subjects.
    """
    study, known = _estimated(folder)
    tested = distinct_tests(study.effects)
    size = max(tested, len(known)) if family is None else family
    targets = len({contrast.target for contrast in known})
    plans = [
        plan_from_pilot(
            effect,
            contrast.planned_deviation,
            images_per_subject=contrast.images_per_subject,
            unpaired_deviation=contrast.unpaired_deviation,
            power=power,
            alpha=alpha,
            family=size,
            targets=targets,
            discordant=contrast.planned_discordant,
        )
        for contrast in known
    ]
    return _largest(plans, known)


def plan_next_equivalence(folder: Path, margin: float, *, power: float) -> tuple[Plan, PilotContrast]:
    """As `plan_next`, for showing that no difference exceeds a margin, where there is none."""
    _, known = _estimated(folder)
    targets = len({contrast.target for contrast in known})
    plans = [
        plan_equivalence_from_pilot(
            margin,
            contrast.planned_deviation,
            images_per_subject=contrast.images_per_subject,
            unpaired_deviation=contrast.unpaired_deviation,
            power=power,
            targets=targets,
            discordant=contrast.planned_discordant,
        )
        for contrast in known
    ]
    return _largest(plans, known)


def _estimated(folder: Path) -> tuple[findings.Findings, list[PilotContrast]]:
    """The pilot's analysis, and its contrasts on at least two subjects, of which there is one or more."""
    study = findings.analyse(finished_run.read(folder))
    known = pilot_contrasts(study)
    if not known:
        raise BadInput(f"{folder}: expected an experiment with a contrast on at least two subjects; run a larger pilot")
    return study, known


def _largest(plans: Sequence[Plan], known: Sequence[PilotContrast]) -> tuple[Plan, PilotContrast]:
    most = max(range(len(plans)), key=lambda place: plans[place].subjects)
    return plans[most], known[most]


def smallest_detectable(contrast: PilotContrast, *, family: int, power: float = 0.9, alpha: float = 0.05) -> float:
    """The smallest difference that the contrast's number of subjects detects with this power."""
    level = alpha / family
    return detectable(contrast.deviation, contrast.n_subjects, power=power, alpha=level, discordant=contrast.discordant)
