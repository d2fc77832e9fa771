"""Has simulated raters answer about a run's images, so that a protocol can be tried without people.

    python examples/simulated_raters.py RUN [--raters 5] [--noise 0.1] [--lapse 0.02] [--answer-mean NAME=MEAN …]
        [--seed 0] [--database …] [--questions …] [--photographs …] [--json]

A rater looks at the value that an image was made with, or its label: x = truth + bias + noise, where noise is normal,
and answers the level whose thresholds x lies between; a share `lapse` of answers is any level, all equally likely. This
is the ordered probit of signal detection (Wickens 2002, Elementary Signal Detection Theory, ch. 5), with lapses as in
Wichmann & Hill 2001, doi:10.3758/BF03194544. The raters are simulated-001, simulated-002 and so on: reports count their
answers apart, and no required gate is passed with any. What they answer says nothing about people.
"""

from __future__ import annotations

import itertools
import sys
import time
import zlib
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from scipy.special import ndtr

from transect.annotation.agreement.numbers import NAME
from transect.annotation.exchange import incoming
from transect.annotation.exchange.incoming import Imported, Incoming
from transect.annotation.project import open_project, rows
from transect.annotation.schema import items
from transect.errors import BadInput, TransectError, UnknownName
from transect.runs.json_records import dumps
from transect.runs.parts import announcing_stages, stage

APART = 0.15
"""Standard deviation, between images, of the means of a question that images hold no truth of."""


@dataclass(frozen=True)
class Psychometric:
    """How one rater answers. thresholds: between neighbouring levels, in the units of the truth, in order.

    noise: standard deviation of one look; lapse: share of answers given blindly, 0 to 1; bias: added to every look.
    """

    thresholds: tuple[float, ...]
    noise: float = 0.1
    lapse: float = 0.0
    bias: float = 0.0

    def __post_init__(self):
        if not self.thresholds or list(self.thresholds) != sorted(set(self.thresholds)):
            raise BadInput(f"thresholds: expected one or more, rising, got {self.thresholds}; sort them")
        if not (self.noise >= 0 and 0 <= self.lapse <= 1):
            raise BadInput(f"expected noise of 0 or more and a lapse of 0 to 1, got {self.noise} and {self.lapse}")

    def probabilities(self, truth):
        """How probable each level is for each truth."""
        gaps = np.asarray(self.thresholds) - (np.asarray(truth, dtype=np.float64)[..., None] + self.bias)
        with np.errstate(over="ignore"):  # next to no noise: infinitely many standard deviations away
            below = ndtr(gaps / self.noise) if self.noise else (gaps > 0).astype(float)
        ends = np.zeros((*below.shape[:-1], 1))
        shares = np.diff(np.concatenate([ends, below, ends + 1], axis=-1), axis=-1)
        return (1 - self.lapse) * shares + self.lapse / shares.shape[-1]

    def answers(self, truth, seeds):
        """The level that the rater answers about each image. seeds: of the image and the rater, whatever is asked."""
        chances = np.array([np.random.default_rng(seed).random() for seed in seeds])
        return (chances[:, None] > self.probabilities(truth).cumsum(axis=1)[:, :-1]).sum(axis=1)


def seed_of(*parts):
    """A seed from what a draw is about."""
    return zlib.crc32("/".join(map(str, parts)).encode())


@dataclass(frozen=True)
class Raters:
    """How many raters there are, and how they answer. noise, means: on a scale from 0, the lowest level, to 1.

    means: of the answers to questions about no attribute of the images, such as fakeness.
    """

    raters: int
    noise: float
    lapse: float
    means: dict[str, float]
    seed: int

    def __post_init__(self):
        if self.raters < 1:
            raise BadInput(f"--raters: expected 1 or more, got {self.raters}")
        Psychometric((0.5,), self.noise, self.lapse)
        for name, mean in self.means.items():
            if not 0 <= mean <= 1:
                raise BadInput(f"--answer-mean {name}: expected a mean from 0 to 1, got {mean:g}; change it")


def simulate(project, settings):
    """Have the raters answer what they have not answered yet; the same settings give the same answers."""
    questions = {question.name: question for question in project.questionnaire.question}
    if unknown := [name for name in settings.means if name not in questions]:
        raise UnknownName("question", unknown[0], questions, "see: transect annotate serve --questions")
    asked = asked_items(project)
    given, left_out = [], {}
    for place, (name, question) in enumerate(questions.items(), 1):
        stage(f"answers to {name}, question {place} of {len(questions)}")
        looks = looks_at(project, question, asked.get(name, []), settings)
        if looks is None:
            left_out[f"{name}: no truth in the images"] = len(asked.get(name, []))
            continue
        for number in range(1, settings.raters + 1):
            given += answers_of(question, asked[name], looks, f"{NAME}-{number:03d}", settings)
    if not given:
        raise BadInput(
            f"expected a question that images hold a truth of, got {', '.join(questions)}; give --answer-mean NAME=0.5"
        )
    there = {(row.study, row.first, row.second, row.question, row.rater) for row in rows(project.database)}
    new = [answer for answer in given if (*answer[1:5], answer.rater) not in there]
    stage(f"storing {len(new):,} answers")
    taken = incoming.take_in(project, new, time.time()) if new else Imported(0, 0, 0, {})
    return {
        "answers": taken.answers,
        "already_there": len(given) - len(new),
        "simulated_raters": settings.raters,
        "left_out": left_out,
    }


def asked_items(project):
    """The study, first and second image of what is asked, by question."""
    asked = {}
    with project.database.reading() as connection:
        for row in connection.execute(items.select().where(items.c.gold.is_(None)).order_by(items.c.id)):
            asked.setdefault(str(row.question), []).append((row.study, row.first, row.second))
    return asked


def looks_at(project, question, about, settings):
    """Where each item lies on the question's scale from 0 to 1; None where that is not known."""
    mean = settings.means.get(question.name)
    if mean is not None:
        chances = [np.random.default_rng(seed_of(settings.seed, question.name, *item)) for item in about]
        return np.array([mean + APART * chance.standard_normal() for chance in chances])
    attribute, values = scale_of(question)
    if not attribute or question.pairs or not about:
        return None
    truth = {}
    for study, source in project.pictures.sources.items():
        read = source.values(attribute)
        if read is None:
            return None
        truth |= {(study, image): value for image, value in read.items()}
    looks = np.array([truth.get(item[:2], np.nan) for item in about])
    return (looks - values[0]) / (values[-1] - values[0]) if np.isfinite(looks).all() else None


def scale_of(question):
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


def answers_of(question, about, looks, rater, settings):
    """One rater's answers to one question, with the follow-up question where there is one."""
    attribute, values = scale_of(question)
    rising = (np.asarray(values) - values[0]) / (values[-1] - values[0]) if attribute else np.array(question.places)
    model = Psychometric(tuple(((rising[1:] + rising[:-1]) / 2).tolist()), settings.noise, settings.lapse)
    seeds = [seed_of(settings.seed, rater, question.name, *item) for item in about]
    details = len(question.follow_up.levels) if question.follow_up else 0
    return [
        Incoming(
            NAME, *item, question.name, rater, int(level),
            detail=int(np.random.default_rng(seed).integers(details)) if details else None,
        )
        for item, level, seed in zip(about, model.answers(looks, seeds), seeds, strict=True)
    ]  # fmt: skip


def mean_of(text):
    """NAME=MEAN as a name and a number."""
    name, _, value = text.partition("=")
    try:
        return name.strip(), float(value)
    except ValueError:
        raise BadInput(f"--answer-mean {text}: expected NAME=MEAN, for example fakeness=0.2; fix it") from None


def command(
    run: Annotated[Path, typer.Argument(help="A run folder, as of transect annotate.")],
    raters: Annotated[int, typer.Option(help="Number of simulated raters.")] = 5,
    noise: Annotated[float, typer.Option(help="Standard deviation of a look, as a share of the scale.")] = 0.1,
    lapse: Annotated[float, typer.Option(help="Share of answers that are given blindly.")] = 0.02,
    answer_mean: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=MEAN", help="Mean answer, 0 to 1, to a question that images hold no truth of."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the answers.")] = 0,
    database: Annotated[str | None, typer.Option(help="As of transect annotate.")] = None,
    questions: Annotated[list[str] | None, typer.Option(help="As of transect annotate; repeat.")] = None,
    photographs: Annotated[str | None, typer.Option(help="Of an inversion: the photographs.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
):
    """Have simulated raters answer; what they answer says nothing about people."""
    settings = Raters(raters, noise, lapse, dict(map(mean_of, answer_mean or ())), seed)
    project = open_project(run, database, tuple(questions or ()), photographs=photographs)
    with closing(project.database), announcing_stages(quiet=json):
        counts = simulate(project, settings)
    left_out = ", ".join(f"{why} ({count})" for why, count in counts["left_out"].items())
    words = {**counts, "left_out": left_out or "nothing"}
    print(dumps(counts) if json else "\n".join(f"{key.replace('_', ' ')}: {text}" for key, text in words.items()))


if __name__ == "__main__":
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(command)
    try:
        app()
    except TransectError as error:
        sys.exit(f"simulated_raters: {error}")
