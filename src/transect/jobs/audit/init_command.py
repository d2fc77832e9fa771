"""The command `transect init`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final, TypeVar

import typer

from transect.console.options import Json
from transect.errors import BadInput
from transect.runs.json_records import dumps
from transect.runs.wording import counted
from transect.texts import say, whole_number

T = TypeVar("T")
NONE: Final = "none"
"""Instead of a truth, where errors are not to be counted."""


def init(
    file: Annotated[Path, typer.Argument(metavar="[FILE]", help="The TOML file to write.")] = Path("study.toml"),
    target: Annotated[str | None, typer.Option(help="The model to audit; see: transect targets.")] = None,
    questions: Annotated[
        str | None,
        typer.Option(help="For a model that answers in words: what to ask, a TOML file or a set that ships."),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(help="The kind of model: face-detector, face-attribute, face-recognition or classifier."),
    ] = None,
    vary: Annotated[
        list[str] | None, typer.Option(help="What to set: NAME, NAME=LOW:HIGH:COUNT or NAME=A,B,…; repeatable.")
    ] = None,
    truth: Annotated[
        str | None, typer.Option(help="The right answer: 'smile>0.5', an attribute, face, or none.")
    ] = None,
    subjects: Annotated[int | None, typer.Option(help="Rendered people.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file that is there.")] = False,
    json: Json = False,
) -> None:
    """Ask five questions and write a commented study file for `transect audit --config`.

    An answer that is given as an option is not asked for. Without a terminal nothing is asked: the target must be
    given, and the others are those of the preset.
    """
    from transect.jobs.audit import init as job
    from transect.jobs.audit import presets

    job.check_new(file, overwrite)
    ask = _ask if sys.stdin.isatty() else _default
    chosen_questions = questions or ""
    target = target or ask("--target", "1/5 Which model? (see: transect targets)", "", _known(chosen_questions))
    kinds = f"2/5 What kind of model is it? ({', '.join(presets.NAMES)})"
    chosen = presets.preset(preset or ask("--preset", kinds, job.fitting(target, chosen_questions), _preset))
    usual = job.usual(target, chosen, chosen_questions)
    varied = vary or ask("--vary", "3/5 What shall vary? (several with spaces between)", shlex.join(usual.vary), _vary)
    question = "4/5 What is the right answer? ('smile>0.5', an attribute, face, or none)"
    right = _truth(truth) if truth else ask("--truth", question, " ".join(usual.truth) or NONE, _truth)
    stated = None if subjects is None else _count(str(subjects))
    people = stated or ask("--subjects", "5/5 How many subjects?", str(usual.subjects), _count)
    written = job.write(file, job.Answers(target, chosen.name, tuple(varied), right, people, chosen_questions))
    if json:
        say(dumps(written))
        return
    images, calls = counted(written.images, "image"), counted(written.calls, "call")
    say(f"{file}: {images}, {calls}; run it: transect audit --config {shlex.quote(str(file))}")


def _ask(_: str, question: str, default: str, read: Callable[[str], T]) -> T:
    """What was answered at the terminal; asked again where it does not fit, with the reason."""
    while True:
        try:
            return read(typer.prompt(question, default=default or None, err=True))
        except BadInput as error:
            say(str(error), error=True)


def _default(option: str, _: str, default: str, read: Callable[[str], T]) -> T:
    if not default:
        raise BadInput(f"{option}: expected it, since there is no terminal to ask at; give it")
    return read(default)


def _known(questions: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        from transect.jobs.audit import init as job

        job.fitting(text, questions)
        return text

    return read


def _preset(text: str) -> str:
    from transect.jobs.audit import presets

    return presets.preset(text).name


def _vary(text: str) -> tuple[str, ...]:
    from transect.jobs.audit import init as job

    try:
        words = shlex.split(text)
    except ValueError:
        raise BadInput(f"--vary: expected quotes in pairs, got {text!r}; close or drop the quote") from None
    return job.levels_of(words)


def _truth(text: str) -> tuple[str, ...]:
    from transect.jobs.audit import init as job

    return () if text == NONE else job.truth_of(text)


def _count(text: str) -> int:
    number = whole_number(text)
    if not number:
        raise BadInput(f"subjects: expected a whole number of 1 or more, got {text[:40]!r}")
    return number
