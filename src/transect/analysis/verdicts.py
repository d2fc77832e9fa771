"""What the audit concludes about each attribute, which effects it picks as the largest, and what must be checked
first.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias, final

import numpy as np

from transect.analysis.asked_answers import named, preferred
from transect.analysis.findings import Findings, estimate, pairs_of_groups
from transect.analysis.margins import margin_of
from transect.analysis.secondary_results import PilotContrast, pilot_contrasts, subjects_to_decide, subjects_to_find
from transect.analysis.sections import spoken_answers
from transect.analysis.sections.answers import Answers
from transect.analysis.sections.edits import EDIT_VALIDITY_KEY, MOST_FAIL
from transect.analysis.sections.places import RunFindings
from transect.effects.analysis import CONFIDENCE, UNTESTED, distinct_tests
from transect.effects.multiplicity import confidence_of, errors_of, shrunken
from transect.effects.outcomes import OF_TRUTH
from transect.effects.verdicts import (
    EQUIVALENCE,
    holds_zero,
    is_shown,
    judge,
    largest,
    outermost,
    pairs_of_levels,
    rounded_up,
    subjects_to_confirm,
)
from transect.experiment import edits as experiment_edits
from transect.records import Effect, Task
from transect.reports.entries import VerdictEntry
from transect.reports.records import Section
from transect.reports.results import PickedEntry, SelectionEntry
from transect.reports.wording import short_name
from transect.runs.spec import TargetEntry
from transect.runs.wording import counted, spaced
from transect.targets.resolution import remedy

CONSTANT: Final = 0.99
"""Share of equal answers from which a target is said to give nearly always the same one."""
GUESSING: Final = 0.1
"""Rate of yes where the truth is yes, minus the rate where it is no: below this a target is said to guess."""
FEWEST: Final = 20
"""Images or subjects below which nothing is said of answers."""


@final
@dataclass(frozen=True, slots=True)
class Doubt:
    """Something that must be checked before a target's numbers are used.

    judged: differences are judged all the same; else the target may be one that does not see the images as it should,
    and "no difference" would be praise for a broken setup.
    """

    text: str
    judged: bool


def doubts(answers: Answers) -> list[Doubt]:
    """What speaks against a target's answers in one study."""
    return [*_about_answers(answers), *_about_choices(answers), *_unmoved(answers)]


def not_judged(answers: Answers) -> str:
    """Why a target's differences cannot be judged; "" where they can."""
    return next((doubt.text for doubt in doubts(answers) if not doubt.judged), "")


def _about_answers(answers: Answers) -> Iterator[Doubt]:
    known = answers.answers[np.isfinite(answers.answers)]
    if len(known) < FEWEST or answers.task in (Task.REGRESSION, Task.EMBEDDING):
        return
    yes = int(known.sum())
    most = max(yes, len(known) - yes)
    word = "yes" if yes >= len(known) - yes else "no"
    expected = answers.truth[np.isfinite(answers.truth)]
    wanted = len(expected) > 0 and float((expected == (word == "yes")).mean()) >= CONSTANT
    if most >= CONSTANT * len(known) and not wanted:
        text = f"the answer is {word} for {most:,} of {counted(len(known), 'image')}"
        yield Doubt(text, judged=not len(expected))
    elif (gap := _gap(answers)) < GUESSING:
        points = "1 point" if f"{abs(100 * gap):.1f}" == "1.0" else f"{abs(100 * gap):.1f} points"
        likelier = f"only {points} likelier" if gap > 0 else f"{points} less likely" if gap < 0 else "no likelier"
        text = f"answers barely track the truth: “yes” is {likelier} when it is right"
        yield Doubt(text, judged=False)


def _about_choices(answers: Answers) -> Iterator[Doubt]:
    """That a model which chooses between options nearly always says the same one."""
    asked = answers.asked
    if asked is None or not asked.is_choice:
        return
    values = asked.values()
    known = values[np.isfinite(values)].astype(np.int64)
    if len(known) < FEWEST:
        return
    counts = np.bincount(known, minlength=len(asked.question.options))
    most = int(counts.argmax())
    if counts[most] >= CONSTANT * len(known):
        option = asked.question.options[most]
        text = f"the answer is “{option}” to {counts[most]:,} of {counted(len(known), 'text')}"
        yield Doubt(text, judged=True)


def _gap(answers: Answers) -> float:
    """The rate of yes where the truth is yes minus that where it is no; infinite where either has too few images."""
    known = np.isfinite(answers.answers) & np.isfinite(answers.truth)
    said, true = answers.answers[known], answers.truth[known]
    if min((true == 1).sum(), (true == 0).sum()) < FEWEST:
        return np.inf
    return float(said[true == 1].mean() - said[true == 0].mean())


def _right(answers: Answers) -> bool:
    """Whether every answer is known to be right."""
    known = np.isfinite(answers.answers)
    return bool(known.any() and (answers.answers[known] == answers.truth[known]).all())


def _unmoved(answers: Answers) -> Iterator[Doubt]:
    """That nothing which was set changes the target's score at all."""
    if not answers.design.levels:
        return
    values = answers.scores.reshape(answers.design.subjects, -1)
    known = np.isfinite(values)
    compared = known.sum(axis=1) >= 2
    if compared.sum() < FEWEST:
        return
    low = np.min(values, axis=1, where=known, initial=np.inf)
    high = np.max(values, axis=1, where=known, initial=-np.inf)
    if (low >= high)[compared].all():
        bare = bool(np.isin(values[known], (0.0, 1.0)).all())
        alike = len(np.unique(values[known])) == 1
        text = f"no score changes within any of {counted(int(compared.sum()), 'subject')}, whatever was set"
        yield Doubt(text, judged=bare and (alike or _right(answers)))


ALPHA: Final = 0.05


_VerdictKey: TypeAlias = tuple[str, str, str, str]
"""Study, target, outcome, attribute."""


def judge_all(
    studies: Sequence[Findings],
    effects: Sequence[Effect],
    margins: Mapping[str, float],
    again: Estimates | None = None,
    *,
    tests: int = 0,
    unshown: Collection[int] = (),
) -> tuple[VerdictEntry, ...]:
    """A verdict for each attribute and outcome, in the order of the effects; one for outcomes that mirror each other.

    effects: of all studies, in order, with adjusted p-values. Effects of the truth's own attribute on errors get no
    verdict: where the label changes, the error does. again: estimates the intervals of observed images at another
    level; without it no difference between them is ever shown to be small, and none of an outcome without a test found.
    Outcomes against a reference image, which matches itself, have no test: there a difference is found where it exceeds
    the margin. A difference whose printed interval includes 0, corrected for selection or not, is not found.
    tests: of the page (default: those of the effects). unshown: effects whose interval includes 0 when corrected for
    selection.
    """
    tests = tests or distinct_tests(effects)
    shown = {i for i, each in enumerate(effects) if is_shown(each.p_adjusted, each.low, each.high, ALPHA)}
    untested = sum(effect.test_method == UNTESTED and effect.estimable for effect in effects)
    verdicts = []
    place = 0
    for study in studies:
        of_study = range(place, place + len(study.effects))
        place += len(study.effects)
        spread = {(pilot.target, pilot.outcome, pilot.name): pilot for pilot in pilot_contrasts(study)}
        said: dict[_VerdictKey, float] = {}
        for whose, indices in _by_attribute(study, effects, of_study).items():
            margin = margin_of(margins, whose[2], effects[indices[0]].unit.partition(" per ")[0])
            of_truth = whose[2] in OF_TRUTH and whose[3] == truth_of(study, whose[1])
            if not of_truth and not _repeats(study, whose, margin, said):
                said[whose] = margin
                evidence = _Evidence(study, spread, margin, tests, untested, shown.difference(unshown))
                verdicts.append(_judged(whose, indices, effects, evidence, again))
    return tuple(verdicts)


def leads(verdicts: Sequence[VerdictEntry]) -> list[int]:
    """The effects of the differences found, without those that check the target, in the order of the verdicts."""
    return [
        verdict.effect
        for verdict in verdicts
        if verdict.verdict == "found" and not verdict.check and verdict.effect is not None
    ]


def truth_of(study: Findings, target: str) -> str:
    """The attribute that the target's truth is about; "" without one."""
    return next((answers.truth_attribute for answers in study.answers if answers.target == target), "")


@final
@dataclass(frozen=True, slots=True)
class _Evidence:
    study: Findings
    spread: Mapping[tuple[str, str, str], PilotContrast]
    margin: float
    family: int
    untested: int
    shown: Collection[int]


def _by_attribute(study: Findings, effects: Sequence[Effect], indices: range) -> dict[_VerdictKey, list[int]]:
    groups: dict[_VerdictKey, list[int]] = {}
    for index in indices:
        effect = effects[index]
        groups.setdefault((study.spec.name, effect.target, effect.outcome, effect.attribute), []).append(index)
    return groups


def _repeats(study: Findings, whose: _VerdictKey, margin: float, said: Mapping[_VerdictKey, float]) -> bool:
    """Whether the verdict on an outcome that this one mirrors says the same: unless another margin was stated."""
    name, target, outcome, attribute = whose
    first = name, target, study.mirrors.get((target, outcome), ""), attribute
    return first in said and not abs(said[first] - margin) > 0


def _judged(
    whose: _VerdictKey, indices: Sequence[int], effects: Sequence[Effect], evidence: _Evidence, again: Estimates | None
) -> VerdictEntry:
    study, target, outcome, attribute = whose
    doubt = next((not_judged(each) for each in evidence.study.answers if each.target == target), "")
    names = {effects[index].name for index in indices}
    known = [index for index in indices if effects[index].estimable and effects[index].same_test_as not in names]
    about = {
        "study": study, "target": target, "outcome": outcome, "attribute": attribute, "margin": evidence.margin,
        "check": attribute == truth_of(evidence.study, target), "effect": None, "low": None, "high": None,
    }  # fmt: skip
    if not known:
        return VerdictEntry.made_of(**about, verdict="not estimable", reason=effects[indices[0]].reason)
    contrasts = [index for index in known if effects[index].kind == "contrast"]
    beyond = [index for index in contrasts if _beyond(effects[index], evidence, again)]
    # The largest significant contrast, else a significant slope, else the largest contrast.
    lead = min(beyond or known, key=lambda i: (
        i not in evidence.shown, effects[i].kind != "contrast", -abs(effects[i].estimate)
    ))  # fmt: skip
    low, high = _ends(whose, [effects[index] for index in contrasts], evidence.study, again)
    found = judge(bool(beyond) or lead in evidence.shown, low, high, evidence.margin)
    about |= {"effect": lead, "low": low, "high": high}
    if doubt and found != "found":
        return VerdictEntry.made_of(**about, verdict="not judged", reason=doubt)
    if found != "cannot tell":
        return VerdictEntry.made_of(**about, verdict=found)
    needed = largest([_needed_by(effects[index], evidence) for index in contrasts])
    confirming = _confirming(effects[lead], evidence)
    return VerdictEntry.made_of(**about, verdict=found, subjects_needed=needed, subjects_to_confirm=confirming)


def _beyond(effect: Effect, evidence: _Evidence, again: Estimates | None) -> bool:
    """Whether an effect that has no test is larger than the margin, at a level shared by all that have none."""
    if effect.test_method != UNTESTED or again is None or not min(abs(effect.low), abs(effect.high)) > evidence.margin:
        return False
    wider = again(evidence.study.spec.name, effect, 1 - ALPHA / evidence.untested)
    return wider.low > evidence.margin or wider.high < -evidence.margin


def _ends(
    whose: _VerdictKey, contrasts: Sequence[Effect], study: Findings, again: Estimates | None
) -> tuple[float, float]:
    name, target, outcome, attribute = whose
    answered = study.table(target, outcome)
    if answered is not None:
        axis = list(study.design.levels).index(attribute)
        return outermost(pairs_of_levels(answered.values, axis, answered.measure, people=answered.people))
    if again is None or not contrasts:
        return math.nan, math.nan
    bounds = again.pairs(name, contrasts[0], EQUIVALENCE)
    return float(np.min([each.low for each in bounds])), float(np.max([each.high for each in bounds]))


def _needed_by(effect: Effect, evidence: _Evidence) -> int | None:
    pilot = evidence.spread.get((effect.target, effect.outcome, effect.name))
    return subjects_to_decide(effect, pilot, evidence.margin, family=evidence.family)


def _confirming(effect: Effect, evidence: _Evidence) -> int | None:
    """Subjects for a difference as large as the one measured, beyond the margin; None where as many took part."""
    pilot = evidence.spread.get((effect.target, effect.outcome, effect.name))
    size, needed = abs(effect.estimate), None
    if size <= evidence.margin:
        return None
    if pilot is not None:
        needed = subjects_to_find(pilot, size, family=evidence.family)
    elif effect.basis == "observational":
        n = effect.n_subjects
        needed = subjects_to_confirm(size, n, effect.low, effect.high, family=evidence.family)
    return None if needed is None or needed <= effect.n_subjects else rounded_up(needed)


FEW: Final = 3
"""Candidates up to which estimates stay as they are: hardly anything was picked."""


def select(
    studies: Sequence[Findings], effects: Sequence[Effect], picked: Sequence[int], again: Estimates | None = None
) -> SelectionEntry:
    """The picked effects, with intervals whose false coverage rate is at most 5 % and shrunken estimates.

    effects: of all studies, in order. picked: indices into them, of differences that were found. Candidates are all
    estimable effects but those of the truth's own attribute. Without `again`, intervals of another level than the
    effects' own are NaN. Source: see `effects.selection`.
    """
    names = [study.spec.name for study in studies for _ in study.effects]
    candidates = [index for index in _candidates(studies) if effects[index].estimable]
    level = confidence_of(len(picked), len(candidates)) if picked else CONFIDENCE
    every = [*candidates, *(index for index in picked if index not in candidates)]  # mirrored outcomes, by own margins
    means = dict(zip(every, _shrunken([effects[index] for index in every]), strict=True))
    chosen = [_picked(index, names[index], effects[index], level, means[index], again) for index in picked]
    return SelectionEntry(of=len(candidates), confidence=level, effects=chosen)


def _in_order(verdicts: Sequence[VerdictEntry], effects: Sequence[Effect]) -> list[VerdictEntry]:
    """As the page lists them: found, not judged, cannot tell, no difference; rates first, then by size; checks last."""
    ranks = ("found", "not judged", "cannot tell", "no difference", "not estimable")

    def key(verdict: VerdictEntry) -> tuple[bool, int, bool, float]:
        effect = None if verdict.effect is None else effects[verdict.effect]
        other = effect is None or not effect.unit.startswith("proportion")
        return (
            verdict.check and verdict.verdict == "found",
            ranks.index(verdict.verdict),
            other,
            0.0 if effect is None else -abs(effect.estimate),
        )

    return sorted(verdicts, key=key)


def conclude(
    studies: Sequence[Findings],
    effects: Sequence[Effect],
    margins: Mapping[str, float],
    again: Estimates | None = None,
    *,
    tests: int = 0,
) -> tuple[list[VerdictEntry], SelectionEntry]:
    """The verdicts as the page lists them, and the differences found with intervals corrected for their selection."""
    unshown: set[int] = set()
    while True:
        judged = _in_order(judge_all(studies, effects, margins, again, tests=tests, unshown=unshown), effects)
        picked = select(studies, effects, leads(judged), again)
        more = {row.effect for row in picked.effects if holds_zero(row.low, row.high)} - unshown
        if not more:
            return judged, picked
        unshown |= more


@final
@dataclass(frozen=True, slots=True)
class Estimates:
    """Effects of finished runs, by study, with intervals of another level; each level is estimated once."""

    studies: Mapping[str, RunFindings]
    _known: dict[tuple[str, str, str, float], tuple[Effect, ...]] = field(default_factory=dict, repr=False)

    def __call__(self, study: str, effect: Effect, confidence: float) -> Effect:
        """The effect with an interval of this level."""
        key = study, effect.target, effect.outcome, confidence
        if key not in self._known:
            self._known[key] = self._estimated(*key)
        return next(each for each in self._known[key] if each.name == effect.name)

    def pairs(self, study: str, effect: Effect, confidence: float) -> tuple[Effect, ...]:
        """The differences between every two groups of the effect's attribute: observed images, or two at once."""
        about = self.studies[study]
        run, bins = about.run, about.bins or {}
        if asked := named(run, effect.target):
            return tuple(each for each in preferred(run, asked, confidence)[0] if each.attribute == effect.attribute)
        outcome = about.findings.outcomes[effect.target, effect.outcome]
        return pairs_of_groups(run, effect.target, outcome, effect.attribute, bins, confidence)

    def _estimated(self, study: str, target: str, outcome: str, confidence: float) -> tuple[Effect, ...]:
        about = self.studies[study]
        run, found = about.run, about.findings
        if asked := named(run, target):
            return preferred(run, asked, confidence)[0]
        edges, table = {} if run.design.levels else dict(about.bins or {}), found.table(target, outcome)
        counted = found.outcomes[target, outcome]
        return estimate(run, target, counted, edges, confidence, max_order=0, table=table).effects


def _picked(index: int, study: str, effect: Effect, level: float, mean: float, again: Estimates | None) -> PickedEntry:
    low, high = effect.low, effect.high
    if level != CONFIDENCE:
        wider = None if again is None else again(study, effect, level)
        low, high = (np.nan, np.nan) if wider is None else (wider.low, wider.high)
    return PickedEntry.made_of(effect=index, low=low, high=high, shrunken=mean)


def _shrunken(effects: Sequence[Effect]) -> list[float]:
    """Estimates drawn towards 0; the estimate itself where there are few, NaN without an interval."""
    estimates, low, high = (np.array([getattr(each, end) for each in effects]) for end in ("estimate", "low", "high"))
    if len(effects) <= FEW:
        return [float(each) for each in estimates]
    return [float(mean) for mean in shrunken(estimates, errors_of(estimates, low, high, CONFIDENCE))]


def _candidates(studies: Sequence[Findings]) -> list[int]:
    """Effects that may be picked: of the truth's own attribute neither those on errors, whose label changes with it,
    nor those on answers, which check the target; none that repeats another.
    """
    named = [(study, effect) for study in studies for effect in study.effects]
    about = (effect.attribute != truth_of(study, effect.target) for study, effect in named)
    return [i for i, own in enumerate(about) if own and not named[i][1].same_test_as]


_SHOWN: Final = 3


def _fix(target: TargetEntry) -> str:
    """What to check of a target that is doubted: only what it takes."""
    facts = target.description.facts
    if target.description.question is not None or facts.get("kind") == "HTTP":
        return "check the question and the response"
    settings = ("preprocess", "output", "threshold", "task") if "preprocess" in facts else ()
    return remedy(target.name, *settings)


def warnings_of(studies: Sequence[Findings], verdicts: Sequence[VerdictEntry]) -> list[str]:
    """The warnings about the targets and the images of some studies, each once."""
    lines: list[str] = []
    for study in studies:
        for target in study.spec.targets:
            answers = next(each for each in study.answers if each.target == target.name)
            found = [*(f"{doubt.text}; {_fix(target)}." for doubt in doubts(answers)), *_assumed(target)]
            found += [] if answers.asked is None else spoken_answers.warnings(answers.asked)
            lines += [f"{short_name(target.name)}: {line}" for line in found]
    lines += [*_unread(studies), *_copies(studies)]
    fixes = {target.name: _fix(target) for study in studies for target in study.spec.targets}
    failed = [verdict for verdict in verdicts if verdict.check and verdict.verdict != "found"]
    lines += [
        f"{short_name(verdict.target)}: no effect of {spaced(verdict.attribute)} on the {verdict.outcome} was found, "
        f"although that is what it should react to; {fixes[verdict.target]}."
        for verdict in failed
    ]
    return list(dict.fromkeys(lines))


def _copies(studies: Sequence[Findings]) -> Iterator[str]:
    """A line for each set of photographs in which pictures repeat."""
    for facts in (study.spec.generator.facts for study in studies):
        copies = facts.get("copies")
        if isinstance(copies, list | tuple) and copies:
            verb = "is the same picture" if len(copies) == 1 else "are the same pictures"
            yield (
                f"{facts['name']}: {counted(len(copies), 'photograph')} {verb} as another "
                f"({'; '.join(copies[:_SHOWN])}{'; …' if len(copies) > _SHOWN else ''}) and count as further subjects; "
                "intervals are too narrow. Remove the copies."
            )


def failed_edits(sections: Sequence[Section]) -> list[str]:
    """A line for each study in which most edited images fail the checks that were asked for."""
    several = len({section.study for section in sections if section.key == EDIT_VALIDITY_KEY}) > 1
    return [
        f"{section.study}: {line}" if several else line
        for section in sections
        if section.key == EDIT_VALIDITY_KEY
        for line in section.warnings
        if line.startswith(MOST_FAIL)
    ]


def _assumed(target: TargetEntry) -> Iterator[str]:
    """The preprocessing that the model does not state."""
    assumed = target.description.facts.get("assumed")
    if isinstance(assumed, list | tuple) and assumed:
        names = ", ".join(spaced(str(name)) for name in assumed)
        verb, pronoun = ("was", "it") if len(assumed) == 1 else ("were", "them")
        yield f"the {names} of its input {verb} assumed; state {pronoun} with --preprocess."


def _checked(study: Findings) -> set[str]:
    """The attributes that a target, or the built-in network, read from each image."""
    edits = study.spec.edits
    if edits is None:
        return set()
    return set(edits.attributes) | (set(experiment_edits.well_read()) if edits.shipped else set())


def _unread(studies: Sequence[Findings]) -> list[str]:
    """The varied attributes whose readability from the images was not measured, world by world."""
    unread: dict[str, dict[str, None]] = {}
    for study in studies:
        generator = study.spec.generator
        if generator.of_photographs:
            continue
        read = {reading.attribute for reading in study.spec.readings if reading.value is not None}
        read |= _checked(study)
        if generator.edits_photographs:  # settings of a camera are computed on a photograph and need no reading
            read |= {attribute.name for attribute in study.attributes.values() if attribute.role == "nuisance"}
        names = {spaced(name): None for name in study.design.levels if name not in read}
        unread[generator.name] = unread.get(generator.name, {}) | names
    return [
        f"How well {', '.join(names)} can be read from the images of {world} was not measured: an effect may be small "
        "because a change is hard to see. Measure it with --check-attribute NAME=TARGET or --check-shipped."
        for world, names in unread.items()
        if names
    ]
