"""Which sections does a report have? Decided by what its studies hold; each asks for nothing that is not there."""

from __future__ import annotations

from collections.abc import Sequence

from transect.analysis.sections import (
    adjustment,
    balance,
    comparison,
    confounding,
    interrogation,
    models,
    other_raters,
    people,
    perceived,
    sensitivity,
    thresholds,
    unanswered,
    verification,
)
from transect.analysis.sections.answers import Answers
from transect.analysis.sections.models import check
from transect.errors import BadInput
from transect.report.records import Section
from transect.runs.progress import stage


def build(found: Sequence[Answers], asked: Sequence[str] = ()) -> list[Section]:
    """The sections of all targets of all studies, as entries of `results.json`.

    asked: names of `MODELS`, by which errors are adjusted beside the estimators that every report has.

    Raises UnknownName for another model, BadInput where no study takes a model that was asked for.
    """
    chosen = check(asked)
    if chosen and not any(_modelled(one) for one in found):
        raise BadInput(
            f"--model {', '.join(chosen)}: expected errors of observed images, or of images that --perceived says "
            "what was seen on, got none; leave it out, or give --perceived (and --truth where errors are not known)"
        )
    targets = list(dict.fromkeys(one.target for one in found))
    made: list[Section] = []
    for target in targets:
        stage(f"sections about {target}")
        own = [one for one in found if one.target == target]
        made += _of_target(own, chosen)
    plain = [one for one in found if one.target == targets[0] and not one.steps] if targets else []
    if plain and any(not one.design.levels for one in plain) and (made_one := balance.section(plain)):
        made.append(made_one)
    return made


def _modelled(one: Answers) -> bool:
    """Whether errors are adjusted: those of images as they come, or by what was seen on images that were made."""
    return not one.steps and one.judged and bool(one.perceived or not one.design.levels)


def _of_target(own: Sequence[Answers], chosen: Sequence[str]) -> list[Section]:
    made: list[Section] = []
    if stepped := [one for one in own if one.steps]:
        made.append(sensitivity.section(stepped))
    plain = [one for one in own if not one.steps]
    made += [found for one in plain if (found := unanswered.section(one))]
    made += [found for one in plain if (found := interrogation.section(one))]
    made += [found for one in plain if (found := verification.section(one))]
    experiments = [one for one in plain if one.design.levels]
    observations = [one for one in plain if not one.design.levels]
    for experiment in experiments:
        made += [found for one in observations if (found := comparison.section(experiment, one))]
    made += [perceived.section(one) for one in experiments if one.perceived]
    for one in filter(_modelled, own):
        made += [adjustment.section(one), *([models.section(one, chosen)] if chosen else [])]
    if chosen and (untaken := [one for one in own if not _modelled(one)]):
        made.append(models.refused(untaken))
    made += [found for one in plain if (found := people.section(one))]
    made += [found for one in plain if (found := other_raters.section(one))]
    made += [found for one in observations if (found := confounding.section(one))]
    made += [thresholds.section(one) for one in plain if thresholds.has_section(one)]
    return made
