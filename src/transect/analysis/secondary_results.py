"""Entries of results.json other than effects: interactions, variance, projections, negative controls, plans; and
intervals that stay valid when an audit is extended.

Effects and interactions of a page are one family of tests, whatever its studies; negative controls, which are alarms
and no findings, are another.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, final

import numpy as np
from jaxtyping import Float

from transect.analysis import findings, finished_run
from transect.analysis.findings import Findings, TransectOutcome
from transect.effects import planning
from transect.effects.always_valid import SOURCES, always_valid_difference
from transect.effects.analysis import CONFIDENCE, adjust, distinct_tests, factorial_effects, with_mirrors
from transect.effects.clusters import clusters_of, linearized, people_with
from transect.effects.contrasts import Contrast, contrasts, steepest_slope
from transect.effects.intervals import wilson
from transect.effects.multiplicity import confidence_of
from transect.effects.planning import Plan, detectable
from transect.effects.projection import PopulationShares, project
from transect.effects.verdicts import POWER, is_shown, rounded_up, subjects_for, subjects_to_tell
from transect.errors import BadInput, UnknownName
from transect.records import Design, Effect, EstimateWithTest
from transect.reports.results import read
from transect.runs.json_records import read_json
from transect.runs.layout import STUDIES


@final
@dataclass(frozen=True, slots=True)
class PilotContrast:
    """One contrast of a pilot. deviation: of the subjects' differences; unpaired_deviation: of single images within
    either of the compared levels. discordant: where each subject has one pair of yes-or-no outcomes, the share of pairs
    that differ; else None. Where no subject differs, both are the upper 95 % limits of what that allows.
    planned_deviation, planned_discordant: their upper 80 % limits, from which the next study is planned. base: of
    averages of yes-or-no outcomes the rate at the first level, else None; cells: how many answers one averages;
    differing: subjects whose difference is not 0. Where several photographs show one person, subjects are people, and
    images_per_subject those of one on average.
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
    base: float | None
    cells: int
    differing: int

    @property
    def about(self) -> tuple[str, str, str]:
        """Its attribute, outcome and target."""
        return self.name.partition(":")[0], self.outcome, self.target

    @property
    def planned(self) -> dict[str, Any]:
        """What a plan takes besides the deviation."""
        return {
            "images_per_subject": self.images_per_subject,
            "unpaired_deviation": self.unpaired_deviation,
            "discordant": self.planned_discordant,
        }


def pilot_contrasts(study: findings.Findings) -> list[PilotContrast]:
    """The contrasts between levels of an experiment, of every target and outcome that is tested; not its slopes."""
    return [
        _pilot_contrast(study, answered, contrast)
        for answered in study.answered
        if answered.measure.tested
        for contrast in contrasts(answered.values, answered.reasons, study.design, study.attributes)
        if contrast.kind == "contrast"
        and people_with(contrast.differences[:, None], clusters_of(answered.people))[0] >= 2
    ]


def _pilot_contrast(study: findings.Findings, answered: findings.TransectOutcome, contrast: Contrast) -> PilotContrast:
    who = clusters_of(answered.people)
    found = contrast.differences if who is None else linearized(contrast.differences[:, None], who)[:, 0]
    d = found[np.isfinite(found)]
    single = answered.measure.is_binary and contrast.pairs == 1 and who is None
    photographs = len(answered.people) / len(np.unique(answered.people))
    averaged = answered.measure.is_share and not single
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
        planning.upper_deviation(d) or _deviation(d),
        planning.upper_share(int(np.count_nonzero(d)), len(d)) if single else None,
        float(np.nanmean(_at_level(study, answered, contrast, contrast.origin))) if averaged else None,
        round(contrast.pairs * answered.measure.answers * photographs),
        int(np.count_nonzero(d)),
    )


def _unpaired(study: findings.Findings, answered: findings.TransectOutcome, contrast: Contrast) -> float:
    """The root of the mean variance of single images within the two levels."""
    levels = contrast.origin, contrast.to
    variances = [float(np.nanvar(_at_level(study, answered, contrast, level))) for level in levels]
    return float(np.sqrt(np.mean(variances)))


def _at_level(
    study: findings.Findings, answered: findings.TransectOutcome, contrast: Contrast, level: float
) -> Float[np.ndarray, " ..."]:
    axis, levels = list(study.design.levels).index(contrast.attribute), study.design.levels[contrast.attribute]
    return np.asarray(np.take(answered.values, levels.index(level), axis=axis + 1))


def _deviation(d: Float[np.ndarray, " n"]) -> float:
    deviation = float(np.std(d, ddof=1))
    if deviation > 0:
        return deviation
    return float(np.sqrt(wilson(0, len(d))[1]))


def plan_next(
    folder: Path,
    effect: float,
    *,
    power: float,
    alpha: float = 0.05,
    family: int | None = None,
    about: Collection[str] = (),
) -> tuple[Plan, PilotContrast]:
    """The plan for the contrast of a finished run that needs the most subjects, and that contrast.

    effect: the smallest difference worth finding, in the outcome's unit. family: tests that share alpha; default those
    of the pilot's report, slopes and interactions among them. about: attributes, outcomes or targets that a contrast
    must all be about. Subjects are counted for the pilot's whole design, from the upper 80 % limit of the pilot's
    spread, so that four of five pilots plan enough.

    Raises BadInput where the run is no experiment or no contrast could be estimated on two subjects.
    """
    study, known = _estimated(folder, about)
    size = _tests(folder, study) if family is None else family

    def plan(contrast: PilotContrast, targets: int) -> Plan:
        return _from_pilot(contrast, effect, power=power, alpha=alpha, family=size, targets=targets)

    return _largest(known, plan)


def _from_pilot(contrast: PilotContrast, effect: float, **settings: Any) -> Plan:
    given = contrast.planned | {"base": contrast.base, "cells": contrast.cells}
    return planning.plan_from_pilot(effect, contrast.planned_deviation, **given, **settings)


def plan_next_equivalence(
    folder: Path, margin: float, *, power: float, about: Collection[str] = ()
) -> tuple[Plan, PilotContrast]:
    """As `plan_next`, for telling a difference of a margin from none: as many subjects as the pilot's report states."""
    study, known = _estimated(folder, about)
    family, effects = _tests(folder, study), {_place(effect): effect for effect in study.effects}

    def plan(contrast: PilotContrast, targets: int) -> Plan:
        found = _from_pilot(contrast, margin, family=family, power=power, targets=targets)
        needed = subjects_to_decide(effects[_place(contrast)], contrast, margin, family=family, power=power)
        if needed is None:
            raise BadInput(f"{folder}: no number of subjects can show a margin of {margin}; raise it")
        subjects = rounded_up(needed)
        images = subjects * contrast.images_per_subject
        apart = math.sqrt(2) * contrast.planned["unpaired_deviation"]
        group = subjects_to_tell(margin, apart, family=family, power=power) or found.unpaired_subjects // 2
        once = 2 * rounded_up(group)
        return replace(
            found, subjects=subjects, images=images, calls=images * targets, power=power,
            unpaired_subjects=once, unpaired_images=once, images_saved=once - images,
        )  # fmt: skip

    return _largest(known, plan)


def subjects_to_decide(
    effect: Effect, pilot: PilotContrast | None, margin: float, *, family: int, power: float = POWER
) -> int | None:
    """Subjects that tell a difference of the margin from none: by the spread between subjects, else by the interval."""
    share = None if pilot is None else pilot.planned_discordant
    spread, averaged = math.nan if pilot is None else pilot.planned_deviation, effect.unit == "proportion"
    needed = subjects_for(
        margin, effect.n_subjects, effect.low, effect.high, spread=spread, discordant=share,
        averaged=averaged and share is None, family=family, power=power,
    )  # fmt: skip
    if needed is None or pilot is None:
        return needed
    found = subjects_to_find(pilot, margin, family=family, power=power)
    return None if found is None else max(needed, found)


def subjects_to_find(pilot: PilotContrast, size: float, *, family: int, power: float = POWER) -> int | None:
    """Subjects that find a difference of this size, as a plan counts them; None for more than anybody could show."""
    try:
        return _from_pilot(pilot, size, power=power, family=family).subjects
    except BadInput:
        return None


def _place(row: Effect | PilotContrast) -> tuple[str, str, str]:
    return row.target, row.outcome, row.name


def _tests(folder: Path, study: Findings) -> int:
    """How many tests the report has that a run belongs to: its own, or that of several studies; all of it, without."""
    within = folder.resolve().parent
    report = (within.parent if within.name == STUDIES else folder) / "results.json"
    if report.is_file():
        stored = read_json(report, "a report's numbers", "make it again: transect report")
        return max(read(stored).family.size, 1)
    return max(distinct_tests([*study.effects, *_effects(study, study.answered, orders=(2, 3))]), 1)


def _largest(known: Sequence[PilotContrast], plan: Callable[[PilotContrast, int], Plan]) -> tuple[Plan, PilotContrast]:
    """The plan of the contrast that needs the most subjects, and that contrast."""
    targets = len({contrast.target for contrast in known})
    return max(((plan(each, targets), each) for each in known), key=lambda pair: pair[0].subjects)


def _estimated(folder: Path, about: Collection[str]) -> tuple[findings.Findings, list[PilotContrast]]:
    """The pilot's analysis, and its contrasts on at least two subjects, of which there is one or more."""
    study = findings.analyse(finished_run.read(folder))
    known = pilot_contrasts(study)
    names = sorted({name for each in known for name in each.about})
    for word in about:
        if word not in names:
            raise UnknownName("attribute, outcome or target", word, names)
        known = [each for each in known if word in each.about]
        if not known:
            raise BadInput(f"--about: no contrast combines {' and '.join(about)}; plan them one at a time")
    if not known:
        raise BadInput(f"{folder}: expected an experiment with a contrast on at least two subjects; run a larger pilot")
    return study, known


def smallest_detectable(contrast: PilotContrast, *, family: int, power: float = 0.9, alpha: float = 0.05) -> float:
    """The smallest difference that the contrast's number of subjects detects with this power; infinite where none is.

    None is where the subjects that differ, as many as in the pilot, could not have so small a p.
    """
    level, n = alpha / family, contrast.n_subjects
    if contrast.base is not None:
        return planning.detectable_rate(n, contrast.base, contrast.deviation, contrast.cells, power=power, alpha=level)
    if contrast.discordant is None and 2.0 ** (1 - contrast.differing) > level:
        return math.inf
    return detectable(contrast.deviation, n, power=power, alpha=level, discordant=contrast.discordant)


OBSERVED: Final = "an association is not a mean of subjects' differences"
INCOMPLETE: Final = "images are left out, so that the largest slope of a subject is not fixed beforehand"
NO_RANGE: Final = "the outcome has no stated range, which an interval valid at every look needs"
REPEATED: Final = "photographs that repeat people: an extension would add photographs of the same people"


def with_always_valid(
    effects: Sequence[Effect],
    differences: Sequence[Float[np.ndarray, " _"]],
    design: Design,
    spans: Mapping[tuple[str, str], float],
    *,
    people_repeat: bool = False,
) -> tuple[Effect, ...]:
    """The effects of a study with their always-valid intervals, or the reason why there is none.

    spans: of a target's outcome, how far two values can be apart; NaN without a limit.
    """
    if not design.levels:
        return tuple(replace(effect, always_reason=OBSERVED) for effect in effects)
    if people_repeat:
        return tuple(replace(effect, always_reason=REPEATED) for effect in effects)
    return tuple(
        _with(effect, _interval(effect, d, design, spans[effect.target, effect.outcome]))
        for effect, d in zip(effects, differences, strict=True)
    )


def _interval(effect: Effect, differences: Float[np.ndarray, " _"], design: Design, span: float) -> EstimateWithTest:
    if not np.isfinite(span):
        return EstimateWithTest(reason=NO_RANGE)
    if effect.kind != "slope":
        return always_valid_difference(differences, span)
    if effect.excluded:
        return EstimateWithTest(reason=INCOMPLETE)
    return always_valid_difference(differences, span * steepest_slope(design.levels[effect.attribute]))


def _with(effect: Effect, interval: EstimateWithTest) -> Effect:
    source = SOURCES.get(interval.interval_method)
    return replace(
        effect,
        always_low=interval.low,
        always_high=interval.high,
        always_method=interval.interval_method,
        always_reason=interval.reason,
        sources=tuple(dict.fromkeys((*effect.sources, *([source] if source else [])))),
    )


Entry = dict[str, Any]
EFFECTS: Final = "effects and interactions"
CONTROL_POWER: Final = 0.8
"""The power at which a negative control's smallest detectable effect is stated."""
TARGET_DIFFERENCE: Final = 0.05
"""The difference of rates that a plan's hint is about: five points."""
NEGATIVE_CONTROL: Final = (
    "Lipsitch, Tchetgen Tchetgen and Cohen 2010, Negative controls: a tool for detecting confounding and bias in "
    "observational studies, doi:10.1097/EDE.0b013e3181d61eeb",
)


@final
@dataclass(frozen=True, slots=True)
class Further:
    """Entries of results.json by key, and the works that describe how they were made."""

    entries: Mapping[str, Sequence[Mapping[str, object]]]
    sources: tuple[str, ...]


def analyse_further(
    studies: Sequence[Findings],
    controls: Sequence[Findings | None],
    shares: Sequence[PopulationShares],
    effects: Sequence[Effect],
    crossed: Sequence[tuple[str, Effect]],
    alpha: float,
) -> Further:
    """Everything but the effects of some studies. controls: the negative control of each study, or None.

    effects, crossed: of all studies, in order, with p corrected in one family; interactions with their study's name.
    """
    names = [study.spec.name for study in studies for _ in study.effects]
    controlled = _controlled(studies, controls)
    projections = [projection for population in shares for projection in _projections(studies, population)]
    tests = max(distinct_tests([*effects, *(effect for _, effect in crossed)]), 1)
    plans = [_plan(study, contrast, tests, alpha) for study in studies for contrast in pilot_contrasts(study)]
    families = [
        _family(EFFECTS, alpha, [*zip(names, effects, strict=True), *crossed]),
        _family("negative controls", alpha, controlled),
    ]
    sources = [source for _, effect in (*crossed, *controlled) for source in effect.sources]
    sources += [source for entry in projections for source in entry["sources"]]
    cited = (*(planning.SOURCES[:1] if plans else ()), *(NEGATIVE_CONTROL if controlled else ()))
    return Further(
        {
            "interactions": [_compared(name, effect) for name, effect in crossed],
            "found_interactions": _found(studies, crossed, alpha),
            "projections": projections,
            "negative_controls": _negative_controls(studies, controls, controlled, alpha),
            "plans": plans,
            "families": [family for family in families if family["size"]],
        },
        tuple(dict.fromkeys([*sources, *cited])),
    )


def interactions_of(studies: Sequence[Findings]) -> list[tuple[str, Effect]]:
    """The interactions of all studies, each with the name of its study; p is not corrected."""
    return [(study.spec.name, effect) for study in studies for effect in _effects(study, study.answered, orders=(2, 3))]


def _controlled(studies: Sequence[Findings], controls: Sequence[Findings | None]) -> list[tuple[str, Effect]]:
    """The effects of the negative controls, corrected over these."""
    found = [
        (study.spec.name, effect)
        for study, control in zip(studies, controls, strict=True)
        if control is not None
        for effect in _effects(control, control.answered, orders=(1,))
    ]
    corrected = adjust([effect for _, effect in found])
    return [(name, effect) for (name, _), effect in zip(found, corrected, strict=True)]


def _effects(
    study: Findings, answers: Sequence[TransectOutcome], *, orders: Sequence[int], confidence: float = CONFIDENCE
) -> list[Effect]:
    """Effects of these orders on each outcome: 1 of single attributes, 2 and 3 of interactions."""
    found = (
        effect
        for answered in answers
        for effect in factorial_effects(
            answered.values,
            answered.reasons,
            study.design,
            study.attributes,
            answered.measure,
            orders=orders,
            people=answered.people,
            confidence=confidence,
            seed=study.design.seed,
        )
    )
    return with_mirrors(found, study.mirrors)


def _found(studies: Sequence[Findings], crossed: Sequence[tuple[str, Effect]], alpha: float) -> list[dict[str, object]]:
    """The significant interactions, the surest first, with intervals that allow for their being picked, without 0."""
    effects = [effect for _, effect in crossed]
    shown = [is_shown(each.p_adjusted, each.low, each.high, alpha) and not each.same_test_as for each in effects]
    found, lost = [place for place, is_found in enumerate(shown) if is_found], [-1]
    while lost:
        level = confidence_of(len(found), distinct_tests(effects))
        ends = _ends(studies, crossed, found, level)
        lost = [place for place in found if ends[place][0] <= 0 <= ends[place][1]]
        found = [place for place in found if place not in lost]
    return [
        {"interaction": place, "low": ends[place][0], "high": ends[place][1], "confidence": level}
        for place in sorted(found, key=lambda place: (effects[place].p_adjusted, effects[place].p))
    ]


def _ends(
    studies: Sequence[Findings], crossed: Sequence[tuple[str, Effect]], places: Sequence[int], level: float
) -> dict[int, tuple[float, float]]:
    """The intervals of some interactions at another level."""
    again = {
        (study.spec.name, effect.target, effect.outcome, effect.name): (effect.low, effect.high)
        for study in studies
        if any(crossed[place][0] == study.spec.name for place in places)
        for effect in _effects(study, study.answered, orders=(2, 3), confidence=level)
    }
    named = {place: crossed[place] for place in places}
    return {place: again[name, one.target, one.outcome, one.name] for place, (name, one) in named.items()}


def _negative_controls(
    studies: Sequence[Findings],
    controls: Sequence[Findings | None],
    effects: Sequence[tuple[str, Effect]],
    alpha: float,
) -> list[dict[str, object]]:
    """The controls' effects, each with the smallest one that it could have found."""
    family = max(distinct_tests([effect for _, effect in effects]), 1)
    smallest = {
        (study.spec.name, contrast.target, contrast.outcome, contrast.name): smallest_detectable(
            contrast, family=family, power=CONTROL_POWER, alpha=alpha
        )
        for study, control in zip(studies, controls, strict=True)
        if control is not None
        for contrast in pilot_contrasts(control)
    }
    rows = []
    for study, effect in effects:
        found = smallest.get((study, effect.target, effect.outcome, effect.name), float("inf"))
        rows.append({**_compared(study, effect), "detectable": found if found != float("inf") else None})
    return rows


_OF_EFFECT: Final = (
    *("target", "outcome", "name", "unit", "estimate", "low", "high", "p", "p_adjusted", "n_subjects", "n_images"),
    *("excluded", "reason", "interval_method", "test_method", "sources", "same_test_as"),
)


def _compared(study: str, effect: Effect) -> Entry:
    spec = dict(effect.spec)
    between = {name: spec.pop(name) for name in ("attributes", "from", "to", "order")}
    return {"study": study, **{name: getattr(effect, name) for name in _OF_EFFECT}, **between, "spec": spec}


def _projections(studies: Sequence[Findings], population: PopulationShares) -> list[Entry]:
    experiments = [study for study in studies if study.answered and not study.in_steps]
    fitting = [study for study in experiments if set(population.attributes) <= set(study.design.levels)]
    if not fitting:
        varied = ", ".join(dict.fromkeys(name for study in experiments for name in study.design.levels)) or "nothing"
        raise BadInput(
            f"shares {population.name}: expected attributes that one study varies together ({varied}), got "
            f"{', '.join(population.attributes)}; leave the others out of the file"
        )
    return [_projection(study, answered, population) for study in fitting for answered in study.answered]


def _projection(study: Findings, answered: TransectOutcome, population: PopulationShares) -> Entry:
    projection = project(
        answered.values,
        study.design.levels,
        population,
        study.attributes,
        is_binary=answered.measure.is_share,
        answers=answered.measure.answers,
        people=answered.people,
    )
    return {
        "study": study.spec.name,
        "target": answered.measure.target,
        "outcome": answered.measure.outcome,
        "unit": answered.measure.unit,
        "population": population.name,
        "source": population.source,
        "independent": population.independent,
        "equal": list(projection.equal),
        "rows": [{"from": values.pop("origin"), **values} for values in map(asdict, projection.rows)],
        "sources": list(projection.sources),
    }


def _plan(study: Findings, contrast: PilotContrast, family: int, alpha: float) -> Entry:
    proportion = contrast.unit == "proportion"
    needed = None
    if proportion:
        needed = _from_pilot(contrast, TARGET_DIFFERENCE, power=POWER, alpha=alpha, family=family).subjects
    detectable = smallest_detectable(contrast, family=family, power=POWER, alpha=alpha)
    return {
        "study": study.spec.name,
        "target": contrast.target,
        "outcome": contrast.outcome,
        "name": contrast.name,
        "unit": contrast.unit,
        "n_subjects": contrast.n_subjects,
        "power": POWER,
        "detectable_difference": detectable if detectable != float("inf") else None,
        "target_difference": TARGET_DIFFERENCE if proportion else None,
        "subjects_needed": needed,
    }


def _family(name: str, alpha: float, members: Sequence[tuple[str, Effect]]) -> dict[str, object]:
    """How many tests and which, by study and effect; those without a p are none, a repeated test counts once."""
    tested = [(study, effect) for study, effect in members if distinct_tests([effect])]
    return {
        "name": name,
        "method": "holm",
        "alpha": alpha,
        "size": len(tested),
        "significant": sum(is_shown(effect.p_adjusted, effect.low, effect.high, alpha) for _, effect in tested),
        "members": [f"{study}: {effect.name}, {effect.outcome} of {effect.target}" for study, effect in tested],
    }
