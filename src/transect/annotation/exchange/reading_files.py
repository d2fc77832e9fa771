"""Answers in the files of crowd markets, read as what `incoming` takes."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from transect.annotation.exchange.answers_file import read_answers
from transect.annotation.exchange.answers_table import level_of
from transect.annotation.exchange.crowd import CANNOT_TELL, FOLLOW_UP
from transect.annotation.exchange.incoming import Incoming, anonymous, worker_key
from transect.annotation.project import Project
from transect.annotation.questions import Asked
from transect.errors import BadInput, UnknownName

_LONGEST_FIELD: Final = 1 << 20
_OURS: Final = ("rater-", "worker-")
"""What numbers of raters begin with; every other name is somebody's own."""


def read(path: Path, kind: str, project: Project) -> list[Incoming]:
    """Answers of a file of one kind. Raises UnknownName for another kind, BadInput with the row for a wrong file."""
    if kind == "answers":
        return read_answers(path, project.asked)
    readers: Mapping[str, Callable[[Path, Project], list[Incoming]]] = {
        "mturk": _mturk,
        "ground-truth": _ground_truth,
        "label-studio": _label_studio,
    }
    if kind not in readers:
        raise UnknownName("format", kind, ["answers", *readers])
    try:
        return readers[kind](path, project)
    except (OSError, UnicodeDecodeError, csv.Error, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else " ".join(str(error).split())
        raise BadInput(f"{path}: expected a file of {kind}'s answers, got {reason}; mend the file") from None


def _mturk(path: Path, project: Project) -> list[Incoming]:
    """The results of a batch that `export --format mturk` made; rejected assignments are left out."""
    made, key = [], worker_key(project)
    csv.field_size_limit(_LONGEST_FIELD)
    with path.open(encoding="utf-8-sig", newline="") as file:
        for number, row in enumerate(csv.DictReader(file), start=2):
            if row.get("AssignmentStatus") == "Rejected":
                continue
            where = f"{path}, line {number}"
            question = _question(project, row["Input.question"], where)
            seconds = row.get("WorkTimeInSeconds") or ""
            level = _level(question, row["Answer.answer"], where)
            made.append(
                Incoming(
                    where, row["Input.study"], row["Input.id"], row["Input.second"], question.name,
                    anonymous(row["WorkerId"], key), _turned(level, row.get("Input.flipped") == "1"),
                    _detail(question, row.get("Answer.follow_up") or "", where),
                    seconds=float(seconds) if seconds else None,
                )
            )  # fmt: skip
    return made


def _ground_truth(path: Path, project: Project) -> list[Incoming]:
    """An output manifest: a line per answer."""
    made, key = [], worker_key(project)
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        where = f"{path}, line {number}"
        row = json.loads(line)
        name = next((key.removesuffix("-metadata") for key in row if key.endswith("-metadata")), "")
        question = _question(project, name, where)
        metadata = row[f"{name}-metadata"]
        worker = str(metadata["worker-id"])
        date = metadata.get("creation-date")
        made.append(
            Incoming(
                where, row.get("transect-study", ""), row["transect-id"], "", name,
                worker if worker.startswith(_OURS) else anonymous(worker, key),
                _level(question, str(row[name]), where), _detail(question, metadata.get("follow-up", ""), where),
                given=datetime.fromisoformat(date).timestamp() if date else None,
            )
        )  # fmt: skip
    return made


def _label_studio(path: Path, project: Project) -> list[Incoming]:
    """An export as JSON: tasks with their annotations."""
    made, key = [], worker_key(project)
    for number, task in enumerate(json.loads(path.read_text(encoding="utf-8")), start=1):
        data, where = task["data"], f"{path}, task {number}"
        question = _question(project, data["question"], where)
        for one in task.get("annotations", []):
            by = one["completed_by"]
            worker = str(by["email"] if isinstance(by, dict) else by)
            rater = worker.removesuffix("@example.invalid")
            said = {result["from_name"]: result["value"]["choices"][0] for result in one["result"]}
            if not said:
                continue  # opened and left
            level = _level(question, said[question.name], where)
            made.append(
                Incoming(
                    where, data.get("study", ""), data["first"], data.get("second", ""), question.name,
                    rater if rater.startswith(_OURS) else anonymous(worker, key),
                    _turned(level, bool(data.get("flipped"))),
                    _detail(question, said.get(question.name + FOLLOW_UP, ""), where), seconds=one.get("lead_time"),
                )
            )  # fmt: skip
    return made


def _turned(level: int | None, flipped: bool) -> int | None:
    """The level as of the pair's own order."""
    return 1 - level if flipped and level is not None else level


def _detail(question: Asked, text: str, where: str) -> int | None:
    """The follow-up's level: its name or its index; None where the file has none."""
    follow = question.follow_up.levels if question.follow_up else ()
    if not text:
        return None
    if text in follow:
        return follow.index(text)
    if text.isdecimal() and int(text) < len(follow):
        return int(text)
    raise BadInput(f"{where}: follow-up: expected one of {', '.join(follow) or 'none'}, got {text!r}; mend it")


def _question(project: Project, name: Any, where: str) -> Asked:
    try:
        return project.asked.named(str(name))
    except UnknownName as error:
        raise BadInput(f"{where}: {error}") from None


def _level(question: Asked, text: str, where: str) -> int | None:
    if text == CANNOT_TELL and text not in [one.name for one in question.levels]:
        return None
    try:
        return level_of(question, text)
    except KeyError:
        levels = ", ".join(one.name for one in question.levels)
        raise BadInput(f"{where}: expected one of {levels}, got {text!r}; mend it") from None
