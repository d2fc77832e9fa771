"""What must be checked before a number is used: answers that hardly vary, guess or never change, and assumptions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from transect.analysis.findings import Findings
from transect.analysis.sections.answers import Answers
from transect.analysis.verdicts import AttributeVerdict
from transect.records import Task
from transect.reports.wording import short_name
from transect.runs.spec import TargetEntry
from transect.runs.wording import counted, spaced

CONSTANT: Final = 0.99
"""Share of equal answers from which a target is said to give nearly always the same one."""
GUESSING: Final = 0.1
"""Rate of yes where the truth is yes, minus the rate where it is no: below this a target is said to guess."""
FEWEST: Final = 20
"""Images or subjects below which nothing is said of answers."""
_FIX: Final = "check --preprocess, --output, --threshold and --task"


def warnings_of(studies: Sequence[Findings], verdicts: Sequence[AttributeVerdict]) -> list[str]:
    """The warnings about the targets and the images of some studies, each once."""
    lines: list[str] = []
    for study in studies:
        for target in study.spec.targets:
            answers = next(each for each in study.answers if each.target == target.name)
            found = (*_about_answers(answers), *_unchanging(study, answers), *_assumed(target))
            lines += [f"{short_name(target.name)}: {line}" for line in found]
        lines += _unread(study)
    failed = [verdict for verdict in verdicts if verdict.check and verdict.verdict != "found"]
    lines += [
        f"{short_name(verdict.target)}: no effect of {spaced(verdict.attribute)} on the {verdict.outcome} was found, "
        f"although the truth is about it; {_FIX}."
        for verdict in failed
    ]
    return list(dict.fromkeys(lines))


def _about_answers(answers: Answers) -> Iterator[str]:
    known = answers.answers[np.isfinite(answers.answers)]
    if len(known) < FEWEST or answers.task in (Task.REGRESSION, Task.EMBEDDING):
        return
    yes = int(known.sum())
    most = max(yes, len(known) - yes)
    word = "yes" if yes >= len(known) - yes else "no"
    expected = answers.truth[np.isfinite(answers.truth)]
    wanted = len(expected) > 0 and float((expected == (word == "yes")).mean()) >= CONSTANT
    if most >= CONSTANT * len(known) and not wanted:
        yield f"the answer is {word} for {most:,} of {counted(len(known), 'image')}; {_FIX}."
    elif (gap := _gap(answers)) < GUESSING:
        yield (
            f"the answers hardly follow the truth: yes is {100 * gap:.1f} points more frequent where the truth is yes "
            f"than where it is no; {_FIX}."
        )


def _gap(answers: Answers) -> float:
    """The rate of yes where the truth is yes minus that where it is no; infinite where either has too few images."""
    known = np.isfinite(answers.answers) & np.isfinite(answers.truth)
    said, true = answers.answers[known], answers.truth[known]
    if min((true == 1).sum(), (true == 0).sum()) < FEWEST:
        return np.inf
    return float(said[true == 1].mean() - said[true == 0].mean())


def _unchanging(study: Findings, answers: Answers) -> Iterator[str]:
    """That nothing which was set changes the target's score at all: it does not look at what was changed."""
    if not study.design.levels:
        return
    values = answers.scores.reshape(study.design.subjects, -1)
    known = np.isfinite(values)
    compared = known.sum(axis=1) >= 2
    if compared.sum() < FEWEST:
        return
    low = np.min(values, axis=1, where=known, initial=np.inf)
    high = np.max(values, axis=1, where=known, initial=-np.inf)
    if (low >= high)[compared].all():
        subjects = counted(int(compared.sum()), "subject")
        yield f"no score changes within any of {subjects}, whatever was set; {_FIX}."


def _assumed(target: TargetEntry) -> Iterator[str]:
    """The preprocessing that the model does not state."""
    assumed = target.description.facts.get("assumed")
    if isinstance(assumed, list | tuple) and assumed:
        names = ", ".join(spaced(str(name)) for name in assumed)
        verb, pronoun = ("was", "it") if len(assumed) == 1 else ("were", "them")
        yield f"the {names} of its input {verb} assumed; state {pronoun} with --preprocess."


def _unread(study: Findings) -> Iterator[str]:
    """The varied attributes whose readability from the images was not measured."""
    generator = study.spec.generator
    if generator.of_photographs or not study.design.levels:
        return
    read = {reading.attribute for reading in study.spec.readings if reading.value is not None}
    if unread := [spaced(name) for name in study.design.levels if name not in read]:
        yield (
            f"How well {', '.join(unread)} can be read from the images of {generator.name} was not measured: an effect "
            "may be small because a change is hard to see."
        )
