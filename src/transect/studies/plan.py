"""The steps of one run of a study: their arguments, their folders, and what each refers to; checked before any runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import final

from transect.errors import BadInput, UnknownName
from transect.studies.commands import Commands
from transect.studies.file import HERE, Step, StudyFile, Value
from transect.studies.variables import REFERENCE, substituted


@final
@dataclass(frozen=True, slots=True)
class Wait:
    """Wait until each image of a run has this many answers to each question. photographs: of an inversion, else ""."""

    run: Path
    raters: int
    questions: tuple[str, ...]
    photographs: str = ""


@final
@dataclass(frozen=True, slots=True)
class Planned:
    """A step of a run. words: of its command line, after the command; symbolic: the same with {step} for folders.

    refers: earlier steps that it reads. left_out: why it is not run, "" where it is. wait: what a step without a
    command waits for. files: texts to write into the folder.
    """

    name: str
    does: str
    folder: Path
    command: str = ""
    words: tuple[str, ...] = ()
    symbolic: tuple[str, ...] = ()
    refers: tuple[str, ...] = ()
    page: Path | None = None
    wait: Wait | None = None
    left_out: str = ""
    files: Mapping[str, str] = field(default_factory=dict)


def plan(
    study: StudyFile, values: Mapping[str, Value], out: Path, commands: Commands, *, check: bool = True
) -> tuple[Planned, ...]:
    """Every step, in order. check: also have each command parse its words.

    Raises BadInput or UnknownName, in one line with the step, for an unknown command, option or reference, a reference
    to a later step or to one that is left out, a circle, or a value that a command refuses.
    """
    names = [step.name for step in study.step]
    steps: list[Planned] = []
    for number, step in enumerate(study.step, start=1):
        folder = out / f"{number:02d}-{step.name}"
        try:
            steps.append(_planned(step, folder, names[: number - 1], names, values, steps, commands))
        except BadInput as error:
            raise _of_step(error, step.name) from None
    chosen = _without_unused(study, steps)
    for planned in chosen if check else ():
        if planned.command and not planned.left_out:
            try:
                commands.check(planned.command, planned.words)
            except BadInput as error:
                raise _of_step(error, planned.name) from None
    return tuple(chosen)


def _of_step(error: BadInput, name: str) -> BadInput:
    return BadInput(f"step {name}: {error}")


def _planned(
    step: Step,
    folder: Path,
    earlier: Sequence[str],
    names: Sequence[str],
    values: Mapping[str, Value],
    planned: Sequence[Planned],
    commands: Commands,
) -> Planned:
    refers: list[str] = []
    folders = {each.name: str(each.folder) for each in planned} | {HERE: str(folder)}

    def reference(name: str, real: bool) -> str:
        if name in values:
            return _text_of(name, values[name], lambda text: substituted(text, lambda inner: reference(inner, real)))
        if name in folders:
            refers.extend([name] if name != HERE else [])
            return folders[name] if real else "{" + name + "}"
        if name in names:
            later = "itself; write {here}" if name not in earlier and name == step.name else "a later step; move it up"
            raise BadInput(f"{{{name}}}: expected an earlier step, got {later}")
        raise UnknownName("reference", name, [*values, *earlier, HERE], "a variable, an earlier step, or here")

    def put(value: Value, real: bool) -> Value:
        return _put(value, values, lambda text: substituted(text, lambda name: reference(name, real)))

    if not _true(put(step.when, real=True)):
        return Planned(step.name, step.does, folder, step.run, left_out=f"{step.when} is not set")
    if step.waits_for:
        run, photographs = (str(put(text, real=True)) for text in (step.of, step.photographs))
        wait = Wait(Path(run), _raters(put(step.raters, real=True)), _texts(step, put), photographs)
        return Planned(step.name, step.does, folder, refers=tuple(dict.fromkeys(refers)), wait=wait)
    words, symbolic = (
        commands.arguments(
            step.run,
            [put(value, real) for value in step.arguments],
            {key: put(value, real) for key, value in step.options.items()},
        )
        for real in (True, False)
    )
    page = Path(str(put(step.page, real=True))) if step.page else None
    files = {name: str(put(text, real=True)) for name, text in step.files.items()}
    return Planned(
        step.name, step.does, folder, step.run, tuple(words), tuple(symbolic), tuple(dict.fromkeys(refers)), page,
        files=files,
    )  # fmt: skip


def _put(value: Value, values: Mapping[str, Value], text: Callable[[str], str]) -> Value:
    """A value with its references replaced: a text that is one variable alone becomes that variable's value."""
    if isinstance(value, tuple):
        parts = [_put(item, values, text) for item in value]
        return tuple(each for part in parts for each in (part if isinstance(part, tuple) else (part,)))
    if not isinstance(value, str):
        return value
    whole = REFERENCE.fullmatch(value)
    if whole and whole[1] in values and not isinstance(values[whole[1]], str):
        inner = values[whole[1]]
        return _put(inner, values, text) if isinstance(inner, tuple) else inner
    return text(value)


def _text_of(name: str, value: Value, text: Callable[[str], str]) -> str:
    if isinstance(value, tuple):
        raise BadInput(f"{{{name}}}: expected a text or a number within a text, got a list; let it stand alone")
    return text(value) if isinstance(value, str) else str(value)


def _true(value: Value) -> bool:
    return value not in (False, "", (), "false", 0)


def _raters(value: Value) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise BadInput(f"raters: expected a whole number of 1 or more, got {value!r}; change it")
    return value


def _texts(step: Step, put: Callable[[Value, bool], Value]) -> tuple[str, ...]:
    questions = put(step.questions, True)
    return tuple(map(str, questions)) if isinstance(questions, tuple) else (str(questions),)


def _without_unused(study: StudyFile, steps: Sequence[Planned]) -> list[Planned]:
    """The steps, those with if_used left out where no later step that runs refers to them.

    Raises BadInput where a step that runs refers to one that is left out.
    """
    used: set[str] = set()
    chosen: list[Planned] = []
    for step, planned in zip(reversed(study.step), reversed(steps), strict=True):
        unused = step.if_used and planned.name not in used and not planned.left_out
        each = replace(planned, left_out="no later step uses it") if unused else planned
        if not each.left_out:
            used.update(each.refers)
        chosen.append(each)
    chosen.reverse()
    out = {each.name: each.left_out for each in chosen if each.left_out}
    for each in chosen:
        if lacking := [name for name in each.refers if name in out and not each.left_out]:
            name = lacking[0]
            raise BadInput(
                f"step {each.name}: {{{name}}}: expected a step that runs, but {out[name]}; set the variable"
            )
    return chosen
