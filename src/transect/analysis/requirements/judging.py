"""What a finished run says about each requirement: met, violated, or not shown; of audits, recognition and leakage."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, final

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import ndtri

from transect.analysis.asked_answers import named as preferred_named
from transect.analysis.asked_answers import preferred
from transect.analysis.findings import answers_of, pairs_of_groups
from transect.analysis.finished_run import Run, TargetOutcomes, runs_in, same_images
from transect.analysis.margins import DEFAULT_MARGIN
from transect.analysis.requirements.records import Checked, Requirement
from transect.analysis.requirements.records import named as reading_named
from transect.analysis.verdicts import not_judged
from transect.effects import verdicts
from transect.effects.observational import cut
from transect.effects.outcomes import OF_TRUTH, Outcome, unanswered
from transect.effects.preferences import PREFERRED
from transect.effects.samples import Measure
from transect.effects.verdicts import ERROR, Bound
from transect.errors import BadInput, UnknownName
from transect.records import Effect
from transect.runs.json_records import read_json
from transect.runs.spec import PairsEntry, TargetEntry
from transect.runs.wording import counted


def asked_in(name: str, requirement: Requirement, runs: Sequence[Run]) -> list[tuple[Run, PairsEntry]]:
    """The questions that a requirement is about, with their runs."""
    if requirement.kind != "difference" or not requirement.attribute:
        raise BadInput(f"{name}: a question about two images has no rate and no baseline; give attribute and margin")
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


def preferences_bounds(run: Run, entry: PairsEntry, attribute: str) -> tuple[list[str], list[Bound], int]:
    """The size of the difference of every two levels, in words and with its bounds, and how many people at most have no
    answer in both orders.
    """
    wide = [each for each in preferred(run, entry, 1 - 2 * ERROR)[0] if each.attribute == attribute]
    strict = [each for each in preferred(run, entry, 1 - ERROR / len(wide))[0] if each.attribute == attribute]
    dropped = max(int(each.spec["subjects_dropped"]) for each in wide)
    return [effect.name for effect in wide], _sizes(wide, strict), dropped


def _sizes(wide: Sequence[Effect], strict: Sequence[Effect]) -> list[Bound]:
    """Bounds of the sizes of differences: upper ends of 90 % intervals, lower ends that hold for all together."""
    return [
        Bound(
            abs(effect.estimate),
            max(tight.low, -tight.high),
            max(effect.high, -effect.low),
            n_subjects=effect.n_subjects,
        )
        for effect, tight in zip(wide, strict, strict=True)
    ]


def if_answered(bound: Bound, people: int) -> float:
    """How large the difference could be if people without an answer in both orders all preferred the same level.

    >>> if_answered(Bound(0.0, -0.1, 0.1, n_subjects=80), 20)
    0.28
    """
    return (bound.n_subjects * bound.high + people) / (bound.n_subjects + people)


RECOGNITION: Final = "recognition.json"
LEAKAGE: Final = "leakage.json"
_KINDS: Final = {RECOGNITION: "ratio", LEAKAGE: "leakage"}
_ADVICE: Final = "run the command again"


def numbers_in(folder: Path) -> str:
    """The file of numbers in a folder of a recognition benchmark or a leakage analysis; "" in another folder."""
    return next((name for name in _KINDS if (folder / name).is_file()), "")


def judge_other_job(folder: Path, requirements: Sequence[Requirement]) -> tuple[Checked, ...]:
    """What a recognition benchmark or a leakage analysis says about each requirement.

    Their stored intervals have 95 %, so that each end errs in at most 2.5 %, less than the 5 % of other requirements.

    Raises BadInput for a requirement of another job, or numbers that are not there.
    """
    file = numbers_in(folder)
    numbers = read_json(folder / file, "the numbers of that job", _ADVICE)
    rows = []
    for name, sound in reading_named(requirements):
        if sound.kind != _KINDS[file]:
            raise BadInput(f"{name}: {file} cannot show this requirement; check it against another run")
        try:
            rows.append(_ratio(name, sound, numbers) if file == RECOGNITION else _leakage(name, sound, numbers))
        except (KeyError, TypeError, IndexError, ValueError, AttributeError):
            raise BadInput(f"{folder / file}: expected the numbers of that job, got other data; {_ADVICE}") from None
    return tuple(rows)


def _ratio(name: str, requirement: Requirement, numbers: Mapping[str, Any]) -> Checked:
    """The ratio of every group's FNMR to the geometric mean, at every threshold of all images."""
    sample = numbers["samples"]["all"]
    people = {group["group"]: group["identities"] for group in sample["groups"]}
    rows = [row for row in sample["differentials"] if row["rate"] == "fnmr"]
    groups, bounds = [], []
    for row in rows:
        for ratio in row["ratios"] or [{"group": row["reason"], "ratio": None, "low": None, "high": None}]:
            groups.append(f"{ratio['group']} at threshold {row['threshold']:.3g}")
            bounds.append(_bound(ratio, "ratio", people.get(ratio["group"], 0)))
    limit = requirement.max_fnmr_ratio or math.nan
    together = [_held_together(bound, len(bounds)) for bound in bounds]
    return conclude(name, str(numbers["embeddings"]), groups, together, limit, points=False)


def _held_together(bound: Bound, quantities: int) -> Bound:
    """The bound with a lower end that holds for all ratios together: further below on the scale of logarithms, on which
    the intervals of ratios are symmetric.
    """
    if not (bound.low > 0 and bound.estimate > 0):
        return bound
    wider = float(ndtri(1 - ERROR / quantities) / ndtri(1 - 0.025))
    return replace(bound, low=bound.estimate * (bound.low / bound.estimate) ** max(wider, 1.0))


def _leakage(name: str, requirement: Requirement, numbers: Mapping[str, Any]) -> Checked:
    """Amplification, the model's leakage less that of the labels at the model's accuracy."""
    figure = numbers["amplification"]
    if figure is None:
        raise BadInput(f"{name}: leakage_delta_max: expected an analysis with predictions, got one without")
    bound = _bound(figure, "estimate", int(figure["n"]))
    limit = requirement.leakage_delta_max or math.nan
    return conclude(name, str(numbers["model"]), ["amplification in points"], [bound], limit, points=False)


def _bound(row: Mapping[str, object], estimate: str, n: int) -> Bound:
    return Bound(_number(row[estimate]), _number(row["low"]), _number(row["high"]), n_subjects=n)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


_COULD: Final = ", which could exceed the limit"
_JOB_OF: Final = {"ratio": "a recognition benchmark", "leakage": "a leakage analysis"}


def judge(folder: Path, requirements: Sequence[Requirement]) -> tuple[Checked, ...]:
    """What a finished run says about each requirement, for every target where none is named."""
    runs = runs_in(folder)
    rows = []
    for name, sound in reading_named(requirements):
        if sound.kind in _JOB_OF:
            raise BadInput(f"{name}: expected the folder of {_JOB_OF[sound.kind]}, got an audit; check that folder")
        if sound.outcome == PREFERRED or any(preferred_named(run, sound.target) for run in runs):
            asked = asked_in(name, sound, runs)
            rows += [_checked_preference(name, sound, run, entry) for run, entry in asked]
            continue
        rows += [_checked(name, sound, run, target) for run, target in _judged_on(name, sound, runs)]
    return tuple(rows)


def _checked_preference(name: str, requirement: Requirement, run: Run, entry: PairsEntry) -> Checked:
    """As `_checked`, of a question about two images; not met where people without an answer could exceed the limit."""
    limit = DEFAULT_MARGIN if requirement.margin is None else requirement.margin
    if limit >= 1:
        raise BadInput(f"{name}: expected a share below 1, got {limit:g}; two points are 0.02")
    groups, bounds, left_out = preferences_bounds(run, entry, requirement.attribute)
    row = conclude(name, entry.name, groups, bounds, limit, points=True)
    if not left_out:
        return row
    text = f"{row.text}; {counted(left_out, 'subject')} had no answer in both orders"
    could = row.status == "met" and any(if_answered(bound, left_out) >= limit for bound in bounds)
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
        raise BadInput(f"{name}: expected a study with {', '.join(sorted(wanted))}, got only {studies}")
    targets = [(run, target) for run in chosen for target in run.spec.targets]
    named = [pair for pair in targets if requirement.target in ("", pair[1].name)]
    if not named:
        raise UnknownName(f"target in {name!r}:", requirement.target, [target.name for _, target in targets])
    able = [(run, target) for run, target in named if _outcome_name(requirement, run, target)]
    if able and len(able) < len(named):
        lacking = next(target.name for run, target in named if not _outcome_name(requirement, run, target))
        wanted_of_all = f"expected every target to count {requirement.outcome}, {lacking} does not"
        raise BadInput(f"{name}: {wanted_of_all}; choose the target, or give it a --truth")
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
        raise BadInput(f"{name}: no margin in the unit of {outcome.name}; set margin")
    stated = DEFAULT_MARGIN if limit is None else limit
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
    if all(verdicts.status(each.quantities()[1], limit) == "met" for each in worst):
        return replace(row, text=text)
    return replace(row, status="not shown", text=f"{text}{_COULD}")


def conclude(
    name: str, target: str, groups: Sequence[str], bounds: Sequence[Bound], limit: float, *, points: bool
) -> Checked:
    """A requirement judged by the bounds of what it limits. groups: what each bound is of, in words."""
    said = verdicts.status(bounds, limit)
    distances = [bound.low if said == "violated" else bound.high for bound in bounds]
    unknown = [place for place, distance in enumerate(distances) if math.isnan(distance)]
    worst = unknown[0] if unknown and said == "not shown" else int(np.nanargmax(distances)) if bounds else 0
    bound = bounds[worst]
    needed = verdicts.subjects_needed(bounds, limit) if said == "not shown" else None
    text = _sentence(said, groups[worst], bound, limit, needed, points)
    return Checked(name, target, said, bound.estimate, bound.high, limit, bound.n_subjects, needed, text)


def _sentence(said: str, group: str, bound: Bound, limit: float, needed: int | None, points: bool) -> str:
    def number(value: float) -> str:
        return "unknown" if math.isnan(value) else f"{100 * value:.1f} %" if points else f"{value:.3g}"

    measured = f"{group}: {number(bound.estimate)}"
    match said:
        case "met":
            return f"{measured}, below {number(bound.high)} with 95 % confidence; the limit is {number(limit)}"
        case "violated":
            return f"{measured}, above {number(bound.low)} with 95 % confidence; the limit is {number(limit)}"
        case _:
            more = (
                f"about {counted(needed, 'subject')} would show it if the estimate stays"
                if needed
                else ("more subjects would not show it unless the estimate falls")
            )
            return f"{measured}, which may be as large as {number(bound.high)}; the limit is {number(limit)}; {more}"


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
            sizes = verdicts.sizes_of_differences(self.values, self.axis, self.measure, people=self.people)
            return self.pairs(), sizes
        wide = self._pairs_of_groups(1 - 2 * ERROR)
        strict = self._pairs_of_groups(1 - ERROR / len(wide))
        return [effect.name for effect in wide], _sizes(wide, strict)

    def _pairs_of_groups(self, confidence: float) -> tuple[Effect, ...]:
        name = self.requirement.attribute
        return pairs_of_groups(self.run, self.target.name, self.outcome, name, self.run.bins, confidence)

    def beyond_baseline(self) -> tuple[list[str], Sequence[Bound]]:
        """What is compared with the baseline: differences of every pair of levels, or without an attribute the rate."""
        baseline = self._baseline()
        people = self.people
        if not self.requirement.attribute:
            return ["increase"], verdicts.increase(self.values, baseline, self.measure, people=people)
        bounds = verdicts.sizes_beyond_baseline(self.values, baseline, self.axis, self.measure, people=people)
        return [f"{pair}, beyond the baseline" for pair in self.pairs()], bounds

    def _baseline(self) -> Float[np.ndarray, "n ..."]:
        """The outcomes of the baseline on the same images."""
        path = self.requirement.no_worse_than or Path()
        same = [run for run in runs_in(path) if same_images(run, self.run)]
        if not self.run.design.levels:
            raise BadInput(f"{self.name}: no_worse_than: expected an experiment, got observed images; use --vary")
        if not same:
            raise BadInput(
                f"{self.name}: no_worse_than: expected a run on the same images, got {path}; use the same "
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
                f"{self.name}: no_worse_than: expected a baseline of the same task and truth, got "
                f"{target.name} in {path}; audit it again with the same truth"
            )

    def rates(self) -> tuple[list[str], Sequence[Bound]]:
        """The rate of every group; of shares of several answers each answer counts, by subject."""
        if not self.measure.is_share:
            raise BadInput(f"{self.name}: max_rate: expected a yes-or-no outcome, got {self.outcome.name}")
        labels, cells = self._cells()
        people, who = np.unique(self.run.people, return_inverse=True)
        known = np.isfinite(self.outcome.values) & (cells >= 0)
        counts, successes = np.zeros((2, len(people), len(labels)))
        each = 1 if self.outcome.is_binary else self.outcome.answers
        np.add.at(counts, (who[known], cells[known]), each)
        np.add.at(successes, (who[known], cells[known]), each * self.outcome.values[known])
        return labels, verdicts.group_rates(successes, counts)

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
            groups = cut(attribute, self.run.true[name], self.run.bins.get(name))
            return [f"{name} {groups.label(place)}" for place in range(len(groups.centers))], groups.index
        axis = list(design.levels).index(name)
        index = np.tile(np.unravel_index(np.arange(design.n_cells), design.shape)[axis], design.subjects)
        return [f"{name} {attribute.label(level)}" for level in design.levels[name]], index
