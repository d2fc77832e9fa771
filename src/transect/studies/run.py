"""Run a study: one step after the other, those that are finished skipped, until the end or until people must answer."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from transect.errors import TransectError
from transect.runs.folder import write_atomically
from transect.runs.locks import lock_folder
from transect.studies.commands import Commands
from transect.studies.file import StudyFile, Value, read_study
from transect.studies.ledger import Ledger, answer_of, inputs_of, store_answer
from transect.studies.plan import Planned, plan
from transect.studies.result import State, StudyNumbers, StudyResult, StudyStep, claims_of
from transect.studies.variables import unset, values_of
from transect.studies.waiting import Waiting, waiting
from transect.texts import say

_LOCK = "study.lock"
_PAGES = ("*.html", "sheet.png")


@final
@dataclass(frozen=True, slots=True)
class Request:
    """Which study, with which profile (None: the file's first) and variables, and where (None: runs/NAME)."""

    file: str | Path
    profile: str | None = None
    out: Path | None = None
    variables: Mapping[str, object] | None = None


@final
@dataclass(frozen=True, slots=True)
class Opened:
    """A study that was checked: nothing has run yet. lacking: variables that must still be set."""

    study: StudyFile
    profile: str
    out: Path
    values: Mapping[str, Value]
    steps: tuple[Planned, ...]
    resume: str
    lacking: Mapping[str, str]


def open_study(request: Request, commands: Commands, *, lenient: bool = False) -> Opened:
    """Read and check a study. lenient: variables that must be set may be missing, to show the steps.

    Raises BadInput or UnknownName for what does not fit, in one line.
    """
    study, name = read_study(request.file)
    profile = request.profile or study.default_profile
    given = dict(request.variables or {})
    out = request.out or Path("runs") / name
    values = values_of(study, profile, given, lenient=lenient)
    steps = plan(study, values, out, commands)
    lacking = unset(study, profile, given)
    return Opened(study, profile, out, values, steps, _resume(request, profile, out, given), lacking)


def run(opened: Opened, commands: Commands, *, quiet: bool = False) -> StudyResult:
    """Run what is not finished. Raises what a step raises, with its name; finished steps are kept."""
    lock = lock_folder(opened.out, _LOCK)
    try:
        ledger = Ledger.of(opened.out, opened.study.title, opened.profile)
        states: dict[str, State] = {}
        for number, step in enumerate(opened.steps, start=1):
            if step.left_out:
                continue
            inputs = inputs_of(step, opened.steps, opened.out)
            if not ledger.finished(step, inputs, opened.steps[number:]):
                if not quiet:
                    say(f"step {number} of {len(opened.steps)}, {step.name}: {step.does}", error=True)
                if waits := _do(step, commands, quiet):
                    states[step.name] = "waiting"
                    return _kept(opened, states, waits)
                ledger = ledger.with_step(step, inputs)
                ledger.write(opened.out)
            states[step.name] = "finished"
        return _kept(opened, states, None)
    finally:
        lock.release()


def planned(opened: Opened) -> StudyResult:
    """The steps and their commands, without running any."""
    ledger = Ledger.of(opened.out, opened.study.title, opened.profile)
    states: dict[str, State] = dict.fromkeys(
        (step.name for step in opened.steps if step.name in ledger.steps and step.folder.exists()), "finished"
    )
    return _result(opened, states, None, "planned")


def _do(step: Planned, commands: Commands, quiet: bool) -> Waiting | None:
    """Run a step; what it waits for, where it does."""
    try:
        step.folder.mkdir(parents=True, exist_ok=True)
        if step.wait is not None:
            return waiting(step, step.wait)
        for name, text in step.files.items():
            write_atomically(step.folder / name, text)
        store_answer(step.folder, commands.call(step.command, step.words, quiet=quiet))
    except TransectError as error:
        error.args = (f"step {step.name}: {error}",)
        raise
    return None


def _kept(opened: Opened, states: Mapping[str, State], waits: Waiting | None) -> StudyResult:
    result = _result(opened, states, waits, "waiting" if waits else "finished")
    result.report(opened.out)
    return result


def _result(opened: Opened, states: Mapping[str, State], waits: Waiting | None, state: Any) -> StudyResult:
    steps = tuple(_step(number, step, states, waits) for number, step in enumerate(opened.steps, start=1))
    by_name = {step.name: step.state for step in steps}
    finished = [step for step in opened.steps if by_name[step.name] == "finished"]
    answers = {step.name: answer_of(step.folder) for step in finished}
    study = opened.study
    claims = claims_of(study, answers, by_name)
    return StudyResult(
        StudyNumbers(
            study.title,
            study.paper,
            opened.profile,
            state,
            steps,
            claims,
            waits,
            opened.resume,
            str(opened.out),
            opened.lacking,
        )
    )


def _step(number: int, step: Planned, states: Mapping[str, State], waits: Waiting | None) -> StudyStep:
    state: State = "left out" if step.left_out else states.get(step.name, "to do")
    note = step.left_out or (waits.missing if waits and waits.step == step.name else "")
    command = shlex.join(["transect", *step.command.split(), *step.words]) if step.command else "wait for ratings"
    page = _page(step) if state == "finished" else None
    return StudyStep(number, step.name, step.does, state, str(step.folder), command, str(page or ""), note)


def _page(step: Planned) -> Path | None:
    """The step's page, or its picture."""
    if step.page is not None:
        return step.page if step.page.exists() else None
    return next((path for pattern in _PAGES for path in sorted(step.folder.glob(pattern))), None)


def _resume(request: Request, profile: str, out: Path, given: Mapping[str, object]) -> str:
    words: Sequence[str] = ["transect", "study", str(request.file), "--profile", profile, "--out", str(out)]
    settings = [word for name, value in given.items() for word in ("--set", f"{name}={_setting(value)}")]
    return shlex.join([*words, *settings])


def _setting(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(list(value)) if isinstance(value, list | tuple) else str(value)
