"""Requirements of what a model prefers of two images of a subject: a largest difference between the levels' shares."""

from __future__ import annotations

from collections.abc import Sequence

from transect.analysis.finished_run import Run
from transect.analysis.preferred import named, preferred
from transect.analysis.requirements.records import Requirement
from transect.effects.preferences import PREFERRED
from transect.effects.requirements import ERROR, Bound
from transect.errors import BadInput, UnknownName
from transect.runs.spec import PairsEntry


def is_about_two(requirement: Requirement, runs: Sequence[Run]) -> bool:
    """Whether a requirement is of a question about two images: by its outcome, or by the target that it names."""
    return requirement.outcome == PREFERRED or any(named(run, requirement.target) for run in runs)


def asked_in(name: str, requirement: Requirement, runs: Sequence[Run]) -> list[tuple[Run, PairsEntry]]:
    """The questions that a requirement is about, with their runs."""
    if requirement.kind != "difference" or not requirement.attribute:
        raise BadInput(
            f"{name}: expected attribute and margin of a question about two images, got another limit; it has no rate "
            "and no baseline"
        )
    if requirement.outcome not in ("", PREFERRED):
        raise UnknownName(f"outcome in {name!r}:", requirement.outcome, [PREFERRED])
    about = [run for run in runs if run.spec.pairs and requirement.study in ("", run.spec.name)]
    known = sorted({each for run in about for each in run.design.levels})
    if requirement.attribute not in known:
        raise UnknownName(f"attribute in {name!r}:", requirement.attribute, known)
    asked = [(run, entry) for run in about for entry in run.spec.pairs if requirement.attribute in run.design.levels]
    chosen = [each for each in asked if requirement.target in ("", each[1].name)]
    if not chosen:
        raise UnknownName(f"target in {name!r}:", requirement.target, [entry.name for _, entry in asked])
    return chosen


def bounds(run: Run, entry: PairsEntry, attribute: str) -> tuple[list[str], list[Bound], int]:
    """The size of the difference of every two levels, in words and with its bounds, and how many people at most have no
    answer in both orders.
    """
    wide = [each for each in preferred(run, entry, 1 - 2 * ERROR)[0] if each.attribute == attribute]
    strict = [each for each in preferred(run, entry, 1 - ERROR / len(wide))[0] if each.attribute == attribute]
    found = [
        Bound(abs(effect.estimate), max(tight.low, -tight.high), max(effect.high, -effect.low), effect.n_subjects)
        for effect, tight in zip(wide, strict, strict=True)
    ]
    return [effect.name for effect in wide], found, max(int(each.spec["subjects_dropped"]) for each in wide)


def if_answered(bound: Bound, people: int) -> float:
    """How large the difference could be if people without an answer in both orders all preferred the same level.

    >>> if_answered(Bound(0.0, -0.1, 0.1, 80), 20)
    0.28
    """
    return (bound.n_subjects * bound.upper + people) / (bound.n_subjects + people)
