"""The command `transect annotate simulate`."""

from __future__ import annotations

import time
from contextlib import closing
from typing import Annotated

import typer

from transect.console.common_options import Json
from transect.errors import BadInput
from transect.jobs.annotate.command import Address, Photographs, Questions, Run, print_fields


def simulate(
    run: Run,
    raters: Annotated[int, typer.Option(help="Number of simulated raters.")] = 5,
    noise: Annotated[
        float, typer.Option(help="Standard deviation of a look, as a share of the question's scale.")
    ] = 0.1,
    lapse: Annotated[float, typer.Option(help="Share of answers that are given blindly.")] = 0.02,
    answer_mean: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=MEAN",
            help="Mean answer to a question that images hold no truth of, from 0, the lowest level, to 1; e.g. "
            "fakeness=0.2; repeat.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the answers.")] = 0,
    database: Address = None,
    questions: Questions = None,
    photographs: Photographs = None,
    json: Json = False,
) -> None:
    """Have simulated raters answer, from the attributes that images were made with, to try a protocol without people.

    Their names begin with simulated-; what they answer says nothing about people.
    """
    import transect.annotation.database  # noqa: F401  (says which extra is missing)
    from transect.annotation.project import open_project
    from transect.annotation.simulated_answers import SimulatedRaters
    from transect.annotation.simulated_answers import simulate as answer
    from transect.runs.progress import announcing_stages

    settings = SimulatedRaters(raters, noise, lapse, dict(map(_mean, answer_mean or ())), seed)
    project = open_project(run, database, tuple(questions or ()), photographs=photographs)
    with closing(project.database), announcing_stages(quiet=json):
        taken = answer(project, settings, time.time())
    counts = {"answers": taken.answers, "already_there": taken.duplicates, "simulated_raters": raters}
    print_fields({**counts, "left_out": dict(taken.left_out)}, json)


def _mean(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        return name.strip(), float(value)
    except ValueError:
        raise BadInput(f"--answer-mean {text}: expected NAME=MEAN, for example fakeness=0.2; fix it") from None
