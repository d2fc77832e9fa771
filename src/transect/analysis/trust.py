"""Can a target's answers be judged at all? Answers that hardly vary, guess, or never move say little about a person."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from transect.analysis.sections.answers import Answers
from transect.records import Task
from transect.runs.wording import counted

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
        more = "more" if gap >= 0 else "less"
        text = (
            f"the answers hardly follow the truth: yes is {abs(100 * gap):.1f} points {more} frequent where the truth "
            "is yes than where it is no"
        )
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
