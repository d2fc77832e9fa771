"""The frozen result of a study: its steps, what it waits for, and the paper's figures beside its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, final

import pyarrow as pa

from transect.runs.plain_json import plain
from transect.runs.result import JobResult
from transect.studies.file import Claim, StudyFile
from transect.studies.waiting import Waiting

State = Literal["finished", "waiting", "to do", "left out"]


@final
@dataclass(frozen=True, slots=True)
class StudyStep:
    """A step. command: its command line, or what it waits for. page: its page or picture, "" for none.

    note: why it was left out, or what it waits for.
    """

    number: int
    name: str
    does: str
    state: State
    folder: str
    command: str
    page: str = ""
    note: str = ""


@final
@dataclass(frozen=True, slots=True)
class StudyClaim:
    """A figure of the paper beside one of this study. ours: null with a reason where the step gives none."""

    about: str
    published: str
    ours: float | None
    step: str
    reason: str = ""
    note: str = ""


@final
@dataclass(frozen=True, slots=True)
class StudyNumbers:
    """A study. state: finished, waiting for people, or planned (a dry run). waits_for: what a waiting one needs.

    unset: variables that a planned one still needs, with what each is.
    """

    study: str
    paper: str
    profile: str
    state: Literal["finished", "waiting", "planned"]
    steps: tuple[StudyStep, ...]
    claims: tuple[StudyClaim, ...]
    waits_for: Waiting | None
    resume: str
    out: str
    unset: Mapping[str, str] = field(default_factory=dict)


@final
@dataclass(frozen=True)
class StudyResult(JobResult[StudyNumbers]):
    """The result of `transect.study`."""

    JOB: ClassVar[str] = "study"

    @property
    def waiting(self) -> bool:
        """Whether people must answer before the study goes on."""
        return self.numbers.state == "waiting"

    @property
    def table(self) -> pa.Table:
        """One row per step."""
        return pa.Table.from_pylist(plain(self.numbers.steps))

    def report(self, path: str | Path) -> Path:
        """Write study.html and study.json into the folder `path`; links lead from there to the steps' pages."""
        from transect.studies.page import write

        return write(self.numbers, Path(path))

    def headline(self) -> str:
        """How far the study is."""
        numbers = self.numbers
        done = sum(step.state == "finished" for step in numbers.steps)
        all_steps = sum(step.state != "left out" for step in numbers.steps)
        steps = f"{done} of {all_steps} steps finished, profile {numbers.profile}"
        if numbers.waits_for is not None:
            return f"{numbers.study}: {steps}; step {numbers.waits_for.step} waits for {numbers.waits_for.missing}"
        return f"{numbers.study}: {steps}"

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """One row per step."""
        rows = [(str(step.number), step.name, step.state, step.page or step.note) for step in self.numbers.steps]
        return ("", "step", "state", "page"), rows

    def claim_rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """One row per figure of the paper."""
        rows = [(claim.about, claim.published, ours_of(claim)) for claim in self.numbers.claims]
        return ("figure", "paper", "here"), rows

    def warning_lines(self) -> Sequence[str]:
        """What people must do now, and how to resume."""
        waits = self.numbers.waits_for
        if waits is None:
            return ()
        return (
            f"step {waits.step} waits for {waits.missing}. Have people rate:",
            *(f"  {line}" for line in waits.lines),
            "then resume with:",
            f"  {self.numbers.resume}",
        )


def ours_of(claim: StudyClaim) -> str:
    """A claim's own figure in words, or why there is none."""
    return f"{claim.ours:.4g}" if claim.ours is not None else claim.reason


def claims_of(study: StudyFile, answers: Mapping[str, Any], states: Mapping[str, State]) -> tuple[StudyClaim, ...]:
    """The paper's figures beside those in the answers of finished steps."""
    return tuple(_claim(claim, answers.get(claim.step), states[claim.step]) for claim in study.claim)


def _claim(claim: Claim, answer: Any, state: State) -> StudyClaim:
    value, reason = None, "step left out" if state == "left out" else "not computed yet"
    if state == "finished":
        value, reason = _at(answer, claim.value)
    ours = None if value is None else value * claim.scale
    return StudyClaim(claim.about, claim.published, ours, claim.step, reason, claim.note)


def _at(answer: Any, pointer: str) -> tuple[float | None, str]:
    """The number at a JSON pointer, or None and the reason."""
    value = answer
    for part in pointer.strip("/").split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, Mapping) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return None, "not among the step's numbers"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None, "not estimable; see the step's page"
    return float(value), ""
