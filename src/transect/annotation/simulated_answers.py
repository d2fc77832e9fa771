"""Answers of simulated raters to all questions about images, so that a protocol can be tried without people.

A rater looks at the value that the image was made with, or its label, by the model of `simulated`.
Their answers say nothing about people.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, final

import numpy as np
from jaxtyping import Float

from transect.annotation.exchange import incoming
from transect.annotation.exchange.incoming import Imported, Incoming
from transect.annotation.project import Project
from transect.annotation.questions import RaterQuestion
from transect.annotation.reading import rows
from transect.annotation.schema import items
from transect.annotation.simulated import NAME, Psychometric, answers, seed_of
from transect.errors import BadInput, UnknownName
from transect.runs.progress import stage

_APART: Final = 0.15
"""Standard deviation, between images, of the means of a question that images hold no truth of."""


@final
@dataclass(frozen=True, slots=True)
class SimulatedRaters:
    """How many raters there are, and how they answer. noise, means: on a scale from 0, the lowest level, to 1.

    means: of the answers to questions about no attribute of the images, such as fakeness. Raises BadInput for less than
    one rater, noise below 0, or a lapse or mean outside 0 to 1.
    """

    raters: int = 5
    noise: float = 0.1
    lapse: float = 0.02
    means: Mapping[str, float] | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.raters < 1:
            raise BadInput(f"--raters: expected 1 or more, got {self.raters}")
        Psychometric((0.5,), self.noise, self.lapse)
        for name, mean in (self.means or {}).items():
            if not 0 <= mean <= 1:
                raise BadInput(f"--answer-mean {name}: expected a mean from 0 to 1, got {mean:g}; change it")


class _Item(NamedTuple):
    study: str
    first: str
    second: str


def simulate(project: Project, settings: SimulatedRaters, now: float) -> Imported:
    """Have simulated raters answer what they have not answered yet; the same settings give the same answers.

    Questions without a truth and without a mean are left out and named. Raises BadInput where none is left.
    """
    questions = {question.name: question for question in project.questionnaire.question}
    if unknown := [name for name in settings.means or {} if name not in questions]:
        raise UnknownName("question", unknown[0], questions, "see: transect annotate serve --questions")
    by_question = _items(project)
    given, left_out = [], {}
    there = {(row.study, row.first, row.second, row.question, row.rater) for row in rows(project.database)}
    for place, (name, question) in enumerate(questions.items(), 1):
        stage(f"answers to {name}, question {place} of {len(questions)}")
        looks = _looks(project, question, by_question.get(name, []), settings)
        if looks is None:
            left_out[f"{name}: no truth in the images"] = len(by_question.get(name, []))
            continue
        for number in range(1, settings.raters + 1):
            given += _answers(question, by_question[name], looks, number, settings)
    if not given:
        raise BadInput(
            f"expected a question that images hold a truth of, got {', '.join(questions)}; give --answer-mean NAME=0.5"
        )
    new = [answer for answer in given if (*answer[1:5], answer.rater) not in there]
    stage(f"storing {len(new):,} answers")
    taken = incoming.take_in(project, new, now) if new else Imported(0, 0, 0, {})
    return Imported(taken.answers, len(given) - len(new), taken.raters, left_out)


def _items(project: Project) -> dict[str, list[_Item]]:
    by_question: dict[str, list[_Item]] = {}
    with project.database.reading() as connection:
        for row in connection.execute(items.select().where(items.c.gold.is_(None)).order_by(items.c.id)):
            by_question.setdefault(str(row.question), []).append(_Item(row.study, row.first, row.second))
    return by_question


def _looks(
    project: Project, question: RaterQuestion, about: list[_Item], settings: SimulatedRaters
) -> Float[np.ndarray, " n"] | None:
    """Where each item lies on the question's scale from 0 to 1; None where that is not known."""
    mean = (settings.means or {}).get(question.name)
    if mean is not None:
        chances = [np.random.default_rng(seed_of(settings.seed, question.name, *item)) for item in about]
        return np.array([mean + _APART * chance.standard_normal() for chance in chances])
    attribute, values = _scale(question)
    if not attribute or question.pairs or not about:
        return None
    truth = _truths(project, attribute)
    if truth is None:
        return None
    looks = np.array([truth.get((item.study, item.first), np.nan) for item in about])
    return (looks - values[0]) / (values[-1] - values[0]) if np.isfinite(looks).all() else None


def _scale(question: RaterQuestion) -> tuple[str, tuple[float, ...]]:
    """The attribute that a question is about and the value of each level; of no rising values, no attribute.

    Where the question names no attribute, it is the one that all examples of its levels set first.
    """
    attribute, values = question.attribute, question.values
    examples = [level.example for level in question.levels]
    if not attribute and all(examples):
        attribute = next(iter(examples[0]))
        values = tuple(example.get(attribute, np.nan) for example in examples)
    rising = all(low < high for low, high in itertools.pairwise(values))
    return (attribute, values) if rising else ("", values)


def _truths(project: Project, attribute: str) -> dict[tuple[str, str], float] | None:
    """The value of an attribute that each image was made with; None where a study does not have it."""
    truths: dict[tuple[str, str], float] = {}
    for study, source in project.pictures.sources.items():
        values = source.values(attribute)
        if values is None:
            return None
        truths |= {(study, image): value for image, value in values.items()}
    return truths


def _answers(
    question: RaterQuestion, about: list[_Item], looks: Float[np.ndarray, " n"], number: int, settings: SimulatedRaters
) -> list[Incoming]:
    name = f"{NAME}-{number:03d}"
    _, values = _scale(question)
    rising = (
        (np.asarray(values) - values[0]) / (values[-1] - values[0])
        if _scale(question)[0]
        else np.array(question.places)
    )
    thresholds = tuple(((rising[1:] + rising[:-1]) / 2).tolist())
    seeds = [seed_of(settings.seed, name, question.name, *item) for item in about]
    levels = answers(Psychometric(thresholds, settings.noise, settings.lapse), looks, seeds)
    details = len(question.follow_up.levels) if question.follow_up else 0
    return [
        Incoming(
            NAME, *item, question.name, name, int(level),
            detail=int(np.random.default_rng(seed).integers(details)) if details else None,
        )
        for item, level, seed in zip(about, levels, seeds, strict=True)
    ]  # fmt: skip
