"""Requirements of an audit, judged on the tables of its run folder."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int

from transect.analysis.findings import answers_of
from transect.analysis.finished_run import Run
from transect.analysis.group_pairs import pairs_of_groups
from transect.analysis.requirements import preferences
from transect.analysis.requirements.reading import named
from transect.analysis.requirements.records import Checked, Requirement
from transect.analysis.same_images import runs_in, same_images
from transect.analysis.target_outcomes import TargetOutcomes
from transect.analysis.trust import not_judged
from transect.effects.observational import cut
from transect.effects.outcomes import OF_TRUTH, Outcome, unanswered
from transect.effects.requirements import (
    ERROR,
    Bound,
    group_rates,
    increase,
    sizes_beyond_baseline,
    sizes_of_differences,
    status,
    subjects_needed,
)
from transect.effects.samples import Measure
from transect.errors import BadInput, UnknownName
from transect.records import Effect
from transect.runs import bins
from transect.runs.margins import DEFAULT
from transect.runs.spec import PairsEntry, TargetEntry
from transect.runs.wording import counted

_COULD: Final = ", which could exceed the limit"
_JOB_OF: Final = {"ratio": "a recognition benchmark", "leakage": "a leakage analysis"}


def judge(folder: Path, requirements: Sequence[Requirement]) -> tuple[Checked, ...]:
    """What a finished run says about each requirement, for every target where none is named."""
    runs = runs_in(folder)
    rows = []
    for name, sound in named(requirements):
        if sound.kind in _JOB_OF:
            raise BadInput(f"{name}: expected the folder of {_JOB_OF[sound.kind]}, got an audit; check that folder")
        if preferences.is_about_two(sound, runs):
            asked = preferences.asked_in(name, sound, runs)
            rows += [_checked_preference(name, sound, run, entry) for run, entry in asked]
            continue
        rows += [_checked(name, sound, run, target) for run, target in _judged_on(name, sound, runs)]
    return tuple(rows)


def _checked_preference(name: str, requirement: Requirement, run: Run, entry: PairsEntry) -> Checked:
    """As `_checked`, of a question about two images; not met where people without an answer could exceed the limit."""
    limit = DEFAULT if requirement.margin is None else requirement.margin
    if limit >= 1:
        raise BadInput(f"{name}: expected a share below 1, got {limit:g}; two points are 0.02")
    groups, bounds, left_out = preferences.bounds(run, entry, requirement.attribute)
    row = conclude(name, entry.name, groups, bounds, limit, points=True)
    if not left_out:
        return row
    text = f"{row.text}; {counted(left_out, 'subject')} had no answer in both orders"
    could = row.status == "met" and any(preferences.if_answered(bound, left_out) >= limit for bound in bounds)
    return replace(row, status="not shown" if could else row.status, text=f"{text}{_COULD if could else ''}")


def _judged_on(name: str, requirement: Requirement, runs: Sequence[Run]) -> list[tuple[Run, TargetEntry]]:
    """The runs and targets that a requirement is about: those that have its attributes and its outcome."""
    wanted = {*requirement.by, *([requirement.attribute] if requirement.attribute else [])}
    known = sorted({each for run in runs for each in run.attributes})
    for each in wanted:
        if each not in known:
            raise UnknownName(f"attribute in {name!r}:", each, known)
    chosen = [run for run in runs if wanted <= set(run.attributes) and requirement.study in ("", run.spec.name)]
    if not chosen:
        studies = ", ".join(run.spec.name for run in runs)
        raise BadInput(f"{name}: expected a study with {', '.join(sorted(wanted))}, got none of {studies}")
    targets = [(run, target) for run in chosen for target in run.spec.targets]
    named = [pair for pair in targets if requirement.target in ("", pair[1].name)]
    if not named:
        raise UnknownName(f"target in {name!r}:", requirement.target, [target.name for _, target in targets])
    able = [(run, target) for run, target in named if _outcome_name(requirement, run, target)]
    if able and len(able) < len(named):
        lacking = next(target.name for run, target in named if not _outcome_name(requirement, run, target))
        wanted_of_all = f"expected every target to count {requirement.outcome}, {lacking} does not"
        raise BadInput(f"{name}: {wanted_of_all}; name the target, or give it a --truth")
    if not able:
        counts = sorted({each for run, target in named for each in run.outcomes(target)})
        raise UnknownName(f"outcome in {name!r}:", requirement.outcome, counts, hint="give --truth to count errors")
    return able


def _outcome_name(requirement: Requirement, run: Run, target: TargetEntry) -> str:
    """The outcome that a requirement is about, by default the run's first; "" where the target does not offer it."""
    if not requirement.outcome:
        return run.outcomes(target)[0]
    known = {*run.outcomes(target), *run.offered(target, truth=run.labels(target) is not None)}
    return requirement.outcome if requirement.outcome in known else ""


def _checked(name: str, requirement: Requirement, run: Run, target: TargetEntry) -> Checked:
    answers = TargetOutcomes(run, target)
    outcome = answers.outcome(_outcome_name(requirement, run, target))
    about = _About(name, requirement, run, target, outcome)
    points, limit = outcome.unit == "proportion", _limit(name, requirement, outcome)
    groups, bounds = about.quantities()
    row = _with_unanswered(conclude(name, target.name, groups, bounds, limit, points=points), about, limit)
    return _trusted(row, not_judged(answers_of(run, target, answers)))


def _trusted(row: Checked, doubt: str) -> Checked:
    """The row; not met where the target's answers cannot be judged at all."""
    if not doubt or row.status != "met":
        return row
    return replace(row, status="not shown", text=f"{row.text}; not met, because {doubt}")


def _limit(name: str, requirement: Requirement, outcome: Outcome) -> float:
    """The limit of an audit's requirement. Raises BadInput for a share of 1 or more, and for a score without one."""
    points = outcome.unit == "proportion"
    limit = requirement.max_rate if requirement.kind == "rate" else requirement.margin
    if limit is None and not points:
        raise BadInput(f"{name}: expected a margin in the unit of {outcome.name}, got none; state margin")
    stated = DEFAULT if limit is None else limit
    if points and stated >= 1:
        raise BadInput(f"{name}: expected a share below 1, got {stated:g}; two points are 0.02")
    return stated


def _with_unanswered(row: Checked, about: _About, limit: float) -> Checked:
    """The row with how many images have no answer. Not met where these could be against the model and exceed the limit:
    all wrong at one level and all right at the other (Manski's bounds).
    """
    failed = about.failed
    if not failed.any():
        return row
    text = f"{row.text}; {int(failed.sum()):,} of {counted(len(failed), 'image')} had no answer"
    worst = about.worst_cases() if row.status == "met" and about.bounded else ()
    if all(status(each.quantities()[1], limit) == "met" for each in worst):
        return replace(row, text=text)
    return replace(row, status="not shown", text=f"{text}{_COULD}")


def conclude(
    name: str, target: str, groups: Sequence[str], bounds: Sequence[Bound], limit: float, *, points: bool
) -> Checked:
    """A requirement judged by the bounds of what it limits. groups: what each bound is of, in words."""
    said = status(bounds, limit)
    distances = [bound.lower if said == "violated" else bound.upper for bound in bounds]
    unknown = [place for place, distance in enumerate(distances) if math.isnan(distance)]
    worst = unknown[0] if unknown and said == "not shown" else int(np.nanargmax(distances)) if bounds else 0
    bound = bounds[worst]
    needed = subjects_needed(bounds, limit) if said == "not shown" else None
    text = _sentence(said, groups[worst], bound, limit, needed, points)
    return Checked(name, target, said, bound.estimate, bound.upper, limit, bound.n_subjects, needed, text)


def _sentence(said: str, group: str, bound: Bound, limit: float, needed: int | None, points: bool) -> str:
    def number(value: float) -> str:
        return "unknown" if math.isnan(value) else f"{100 * value:.1f} %" if points else f"{value:.3g}"

    measured = f"{group}: {number(bound.estimate)}"
    match said:
        case "met":
            return f"{measured}, below {number(bound.upper)} with 95 % confidence; the limit is {number(limit)}"
        case "violated":
            return f"{measured}, above {number(bound.lower)} with 95 % confidence; the limit is {number(limit)}"
        case _:
            more = (
                f"about {counted(needed, 'subject')} would show it if the estimate stays"
                if needed
                else ("more subjects would not show it unless the estimate falls")
            )
            return f"{measured}, which may be as large as {number(bound.upper)}; the limit is {number(limit)}; {more}"


@final
@dataclass(frozen=True, slots=True)
class _About:
    """One requirement on one target's outcome of a run."""

    name: str
    requirement: Requirement
    run: Run
    target: TargetEntry
    outcome: Outcome

    @property
    def failed(self) -> Bool[np.ndarray, " n"]:
        """Images that the target gave no valid answer on."""
        return np.array([unanswered(str(reason)) for reason in self.outcome.reasons], dtype=bool)

    @property
    def bounded(self) -> bool:
        """Whether the answers that are missing lie between 0 and 1."""
        return self.outcome.is_binary or self.outcome.unit == "proportion"

    def quantities(self) -> tuple[list[str], Sequence[Bound]]:
        """What the requirement limits, in words, with its bounds."""
        match self.requirement.kind:
            case "rate":
                return self.rates()
            case "baseline":
                return self.beyond_baseline()
            case _:
                return self.differences()

    def worst_cases(self) -> Iterator[_About]:
        """The same with answers in place of those that failed: all yes, or yes in one group and no in another."""
        failed, name = self.failed, self.requirement.attribute
        if not name:
            yield self._filled(np.where(failed, 1.0, self.outcome.values))
            return
        _, index = self._grouped(name)
        for first, second in itertools.permutations(range(index.max() + 1), 2):
            values = np.where(failed & (index == first), 1.0, self.outcome.values)
            yield self._filled(np.where(failed & (index == second), 0.0, values))

    def _filled(self, values: Float[np.ndarray, " n"]) -> _About:
        reasons = np.where(np.isfinite(values), "", self.outcome.reasons)
        return replace(self, outcome=replace(self.outcome, values=values, reasons=reasons))

    @property
    def measure(self) -> Measure:
        outcome = self.outcome
        return Measure(self.target.name, outcome.name, outcome.unit, outcome.is_binary, answers=outcome.answers)

    @property
    def values(self) -> Float[np.ndarray, "n ..."]:
        """The outcomes of an experiment [subjects, *shape]."""
        return self._by_subject(self.outcome)

    def _by_subject(self, outcome: Outcome) -> Float[np.ndarray, "n ..."]:
        design = self.run.design
        return outcome.values.reshape(design.subjects, *design.shape)

    @property
    def people(self) -> Int[np.ndarray, " n"]:
        """Who is on each subject of an experiment; several photographs may show one person."""
        return self.run.people[:: self.run.design.n_cells]

    @property
    def axis(self) -> int:
        return list(self.run.design.levels).index(self.requirement.attribute)

    def pairs(self) -> list[str]:
        """Every pair of levels of the attribute in words."""
        attribute = self.run.attributes[self.requirement.attribute]
        labels = [attribute.label(level) for level in self.run.design.levels[attribute.name]]
        return [f"{attribute.name}, {first} against {second}" for first, second in itertools.combinations(labels, 2)]

    def differences(self) -> tuple[list[str], Sequence[Bound]]:
        """The size of the difference of every pair of levels; of observed images of the groups that are compared."""
        if self.run.design.levels:
            people, seed = self.people, self.run.design.seed
            return self.pairs(), sizes_of_differences(self.values, self.axis, self.measure, people=people, seed=seed)
        wide = self._pairs_of_groups(1 - 2 * ERROR)
        strict = self._pairs_of_groups(1 - ERROR / len(wide))
        return [effect.name for effect in wide], [
            Bound(
                abs(effect.estimate),
                max(tight.low, -tight.high),
                max(effect.high, -effect.low),
                effect.n_subjects,
            )
            for effect, tight in zip(wide, strict, strict=True)
        ]

    def _pairs_of_groups(self, confidence: float) -> tuple[Effect, ...]:
        edges = bins.read(self.run.folder.path)
        name = self.requirement.attribute
        return pairs_of_groups(self.run, self.target.name, self.outcome, name, edges, confidence)

    def beyond_baseline(self) -> tuple[list[str], Sequence[Bound]]:
        """What is compared with the baseline: differences of every pair of levels, or without an attribute the rate."""
        baseline = self._baseline()
        people, seed = self.people, self.run.design.seed
        if not self.requirement.attribute:
            return ["increase"], increase(self.values, baseline, self.measure, people=people, seed=seed)
        bounds = sizes_beyond_baseline(self.values, baseline, self.axis, self.measure, people=people, seed=seed)
        return [f"{pair}, beyond the baseline" for pair in self.pairs()], bounds

    def _baseline(self) -> Float[np.ndarray, "n ..."]:
        """The outcomes of the baseline on the same images."""
        path = self.requirement.no_worse_than or Path()
        same = [run for run in runs_in(path) if same_images(run, self.run)]
        if not self.run.design.levels:
            raise BadInput(f"{self.name}: no_worse_than: expected an experiment, got observed images; use --vary")
        if not same:
            raise BadInput(
                f"{self.name}: no_worse_than: expected a run on the same images, got {path}; rerun it with the same "
                "generator, attributes, subjects, size and seed"
            )
        targets = [target for target in same[0].spec.targets if target.name == self.target.name]
        targets = targets or list(same[0].spec.targets)
        if len(targets) != 1:
            raise UnknownName(f"target in {path}:", self.target.name, [target.name for target in targets])
        self._check_alike(same[0], targets[0], path)
        outcomes = TargetOutcomes(same[0], targets[0])
        return self._by_subject(outcomes.outcome(self.outcome.name))

    def _check_alike(self, baseline: Run, target: TargetEntry, path: Path) -> None:
        """Raises BadInput where the baseline's outcome is another: of another task, or judged by another truth."""
        ours, theirs = self.run.truth(self.target), baseline.truth(target)
        judged = self.outcome.name in OF_TRUTH
        if target.task != self.target.task or (judged and (ours and ours.text) != (theirs and theirs.text)):
            raise BadInput(
                f"{self.name}: no_worse_than: expected a baseline of the same task and truth, got {target.name} in "
                f"{path}; audit it again as this model"
            )

    def rates(self) -> tuple[list[str], Sequence[Bound]]:
        """The rate of every group; of shares of several answers each answer counts, by subject."""
        if not self.measure.is_share:
            raise BadInput(f"{self.name}: max_rate: expected an outcome of yes or no, got {self.outcome.name}")
        labels, cells = self._cells()
        people, who = np.unique(self.run.people, return_inverse=True)
        known = np.isfinite(self.outcome.values) & (cells >= 0)
        counts, successes = np.zeros((2, len(people), len(labels)))
        each = 1 if self.outcome.is_binary else self.outcome.answers
        np.add.at(counts, (who[known], cells[known]), each)
        np.add.at(successes, (who[known], cells[known]), each * self.outcome.values[known])
        return labels, group_rates(successes, counts)

    def _cells(self) -> tuple[list[str], Int[np.ndarray, " n"]]:
        """The groups of all attributes of `by` in words, and the group of each image, -1 without one."""
        grouped = [self._grouped(name) for name in self.requirement.by]
        labels = [", ".join(words) for words in itertools.product(*(names for names, _ in grouped))]
        cells = np.zeros(len(self.outcome.values), dtype=np.int64)
        for names_, index in grouped:
            cells = np.where((cells < 0) | (index < 0), -1, cells * len(names_) + index)
        return labels, cells

    def _grouped(self, name: str) -> tuple[list[str], Int[np.ndarray, " n"]]:
        attribute, design = self.run.attributes[name], self.run.design
        if not design.levels:
            groups = cut(attribute, self.run.true[name], bins.read(self.run.folder.path).get(name))
            return [f"{name} {groups.label(place)}" for place in range(len(groups.centers))], groups.index
        axis = list(design.levels).index(name)
        index = np.tile(np.unravel_index(np.arange(design.n_cells), design.shape)[axis], design.subjects)
        return [f"{name} {attribute.label(level)}" for level in design.levels[name]], index
