"""The table of answers read back from CSV or Parquet.

Answers in the files of crowd markets, read as what `incoming` takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from transect.annotation.exchange.casting import read_typed, seconds_of
from transect.annotation.exchange.crowd import CANNOT_TELL, FOLLOW_UP, check_level_names
from transect.annotation.exchange.incoming import Incoming, anonymous, worker_key
from transect.annotation.exchange.outgoing import SCHEMA, level_of
from transect.annotation.project import Project
from transect.annotation.questions import Questionnaire, RaterQuestion
from transect.errors import BadInput, UnknownName
from transect.runs import table_inputs
from transect.runs.json_records import loads
from transect.runs.table_inputs import TableLike, without_mark
from transect.texts import words_of

_NEEDED: Final = ("id", "question", "rater", "answer")
_UNUSED: Final = ("level", "value", "known", "place")
"""Columns that follow from the answer or are assigned again on import."""
_READ: Final = pa.schema([field for field in SCHEMA if field.name not in _UNUSED])


def read_answers(source: TableLike, questionnaire: Questionnaire) -> list[Incoming]:
    """Answers in a file or table as `export` writes it: columns id, question, rater, answer, the others where they are
    known.

    Raises BadInput in one line with the row for a file that cannot be read, a column that is missing, or an answer that
    is no level; UnknownName for a question that is not asked. Answers of excluded raters (column `excluded`)
    are marked as left out. Columns have the types that `export` gives them, or such as can be cast to these; times
    without a zone are in UTC.
    """
    table, path = read_typed(source, _READ, "answers")
    if missing := [name for name in _NEEDED if name not in table.column_names]:
        raise BadInput(f"{path}: expected columns {', '.join(_NEEDED)}, got no {', '.join(missing)}; fix the file")
    rows = table.to_pylist()
    if path.lower().endswith(".csv"):
        rows = [{key: without_mark(v) if isinstance(v, str) else v for key, v in row.items()} for row in rows]
    return [_incoming(row, f"{path}, row {number}", questionnaire) for number, row in enumerate(rows, start=1)]


def _incoming(row: dict[str, Any], where: str, questionnaire: Questionnaire) -> Incoming:
    try:
        question = questionnaire.named(str(row["question"]))
    except UnknownName as error:
        raise BadInput(f"{where}: {error}") from None
    text = "" if row["answer"] is None else str(row["answer"])
    try:
        level = level_of(question, text)
    except KeyError:
        levels = ", ".join(level.name for level in question.levels)
        raise BadInput(f"{where}: answer: expected one of {levels}, got {text!r}; fix it") from None
    if level is None and not question.skip:
        raise BadInput(f"{where}: answer: {question.name} has to be answered, got none; take the row out")
    follow = question.follow_up.levels if question.follow_up else ()
    detail = row.get("follow_up") or ""
    if detail and detail not in follow:
        raise BadInput(f"{where}: follow_up: expected one of {', '.join(follow) or 'none'}, got {detail!r}; fix it")
    return Incoming(
        where,
        str(row.get("study") or ""),
        str(row["id"] or ""),
        str(row.get("second") or ""),
        question.name,
        str(row["rater"] or ""),
        level,
        follow.index(detail) if detail else None,
        row.get("seconds"),
        _given(row.get("given"), where),
        bool(row.get("repeat")),
        "of raters who were shut out" if row.get("excluded") else "",
    )


def _given(time: datetime | str | None, where: str) -> float | None:
    if time is None or isinstance(time, str):
        return seconds_of(time, where) if time else None
    return time.timestamp()


_UNREADABLE: Final = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)
_OURS: Final = ("rater-", "worker-")
"""The prefix of raters' numbers; every other name belongs to a person."""


def read(source: TableLike, kind: str, project: Project) -> list[Incoming]:
    """Answers of a file of one kind; of the kind "answers" also those of a table in memory. Raises UnknownName for
    another kind, BadInput with the row for a wrong file.
    """
    if kind == "answers":
        return read_answers(source, project.questionnaire)
    readers: Mapping[str, Callable[[Path, Project], list[Incoming]]] = {
        "mturk": _mturk,
        "ground-truth": _ground_truth,
        "label-studio": _label_studio,
    }
    if kind not in readers:
        raise UnknownName("format", kind, ["answers", *readers])
    if not isinstance(source, str | Path):
        raise BadInput(f"answers of {kind}: expected a file, got {type(source).__name__}; give its path")
    path = Path(source)
    try:
        return readers[kind](path, project)
    except _UNREADABLE as error:
        reason = f"no {error}" if isinstance(error, KeyError) else words_of(error)
        raise BadInput(f"{path}: expected a file of {kind}'s answers, got {reason}; fix the file") from None


def _mturk(path: Path, project: Project) -> list[Incoming]:
    """The results of a batch that `export --format mturk` made; rejected assignments are marked as left out."""
    answers, key = [], worker_key(project)
    for number, row in table_inputs.records_of(path, str(path), breaks=_is_free_text):
        where = f"{path}, line {number}"
        if row.get("AssignmentStatus") == "Rejected":
            answers.append(Incoming(where, "", "", "", "", "", None, left_out="rejected"))
            continue
        question = _question(project, row["Input.question"], where)
        seconds = row.get("WorkTimeInSeconds") or ""
        level = _by_place(question, _chosen(row, "answer"), where)
        answers.append(
            Incoming(
                where, row["Input.study"], row["Input.id"], row["Input.second"], question.name,
                _worker(row.get("WorkerId"), key, where), _turned(question, level, row.get("Input.flipped") == "1"),
                None if level is None else _detail_by_place(question, _chosen(row, "follow_up"), where),
                seconds=float(seconds) if seconds else None,
            )
        )  # fmt: skip
    return answers


def _is_free_text(column: str) -> bool:
    """Whether people write into the column of a batch's results, so that it may hold line breaks."""
    return column.startswith("Answer.") or column in ("Description", "Keywords", "RequesterFeedback", "Title")


def _chosen(row: Mapping[str, str], field: str) -> str:
    """What a form's radio buttons say, in any of the ways that Mechanical Turk writes a form; "" where nothing does.

    `Answer.taskAnswers` is JSON of all fields, a radio's an object of booleans by value; `answer-format` makes columns
    of it, `Answer.answer.0` and so on; forms without crowd elements give `Answer.answer` the value itself.
    """
    if row.get("Answer.taskAnswers"):
        (form,) = loads(row["Answer.taskAnswers"])
        value = form.get(field) or ""
        return _ticked(value) if isinstance(value, dict) else str(value)
    prefix = f"Answer.{field}."
    flat = {name.removeprefix(prefix): value for name, value in row.items() if name and name.startswith(prefix)}
    return _ticked({name: (value or "").lower() == "true" for name, value in flat.items()}) or (
        row.get(f"Answer.{field}") or ""
    )


def _ticked(buttons: Mapping[str, object]) -> str:
    on = [name for name, value in buttons.items() if value is True]
    return on[0] if len(on) == 1 else ""


def _ground_truth(path: Path, project: Project) -> list[Incoming]:
    """The manifest that `export --format ground-truth` writes: a line per answer, with its worker."""
    answers, key = [], worker_key(project)
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        where = f"{path}, line {number}"
        row = loads(line)
        name = next((key.removesuffix("-metadata") for key in row if key.endswith("-metadata")), "")
        question = _question(project, name, where)
        metadata = row[f"{name}-metadata"]
        if "worker-id" not in metadata:
            raise BadInput(
                f"{where}: expected an answer with its worker, as transect annotate export writes it, got a label that "
                "was made of several; import the workers' own answers as a table (--format answers)"
            )
        worker, level = str(metadata["worker-id"]), _by_place(question, str(row[name]), where)
        shown = metadata.get("class-name")
        if level is not None and shown is not None and shown != question.levels[level].name:
            raise BadInput(
                f"{where}: expected level {level} to be {question.levels[level].name!r}, got {shown!r}; fix it"
            )
        date = metadata.get("creation-date")
        answers.append(
            Incoming(
                where, str(row.get("transect-study", "")), str(row["transect-id"]), "", name,
                worker if worker.startswith(_OURS) else anonymous(worker, key), level,
                _detail(question, metadata.get("follow-up", ""), where),
                given=seconds_of(date, where) if date else None,
            )
        )  # fmt: skip
    return answers


def _label_studio(path: Path, project: Project) -> list[Incoming]:
    """An export as JSON: tasks with their annotations; those that were skipped or left empty are marked."""
    answers, key = [], worker_key(project)
    for number, task in enumerate(loads(path.read_text(encoding="utf-8")), start=1):
        data, where = task["data"], f"{path}, task {number}"
        question = _question(project, data["question"], where)
        check_level_names(question)
        for annotation in task.get("annotations", []):
            choices = {result["from_name"]: result["value"]["choices"][0] for result in annotation["result"]}
            if not choices or annotation.get("was_cancelled"):
                answers.append(Incoming(where, "", "", "", "", "", None, left_out="skipped"))
                continue
            if question.name not in choices:
                raise BadInput(
                    f"{where}: expected an answer to {question.name}, got one to {', '.join(choices)}; give each "
                    "project only the tasks of its question"
                )
            level = _by_name(question, choices[question.name], where)
            answers.append(
                Incoming(
                    where, str(data.get("study", "")), str(data["first"]), str(data.get("second", "")), question.name,
                    _rater_of(annotation, key, where), _turned(question, level, bool(data.get("flipped"))),
                    _detail(question, choices.get(question.name + FOLLOW_UP, ""), where),
                    seconds=annotation.get("lead_time"),
                )
            )  # fmt: skip
    return answers


def _rater_of(annotation: Mapping[str, Any], key: bytes, where: str) -> str:
    """The rater's number of an annotation: ours where we exported it, else that of the user who completed it."""
    ours = next((result["meta"]["rater"] for result in annotation["result"] if "rater" in result.get("meta", {})), "")
    if str(ours).startswith(_OURS):
        return str(ours)
    by = annotation.get("completed_by")
    return _worker((by.get("email") or by.get("id")) if isinstance(by, dict) else by, key, where)


def _worker(worker: object, key: bytes, where: str) -> str:
    """A worker's number. Raises BadInput where the file does not say whose the answer is."""
    if worker in (None, ""):
        raise BadInput(f"{where}: expected the rater of the answer, got none; fix it")
    return anonymous(str(worker), key)


def _turned(question: RaterQuestion, level: int | None, flipped: bool) -> int | None:
    """The level as of the pair's own order."""
    return question.turned(level) if flipped and level is not None else level


def _detail(question: RaterQuestion, text: str, where: str) -> int | None:
    """The follow-up's level by its name; None where the file has none."""
    follow = question.follow_up.levels if question.follow_up else ()
    if not text:
        return None
    if text in follow:
        return follow.index(text)
    raise BadInput(f"{where}: follow-up: expected one of {', '.join(follow) or 'none'}, got {text!r}; fix it")


def _detail_by_place(question: RaterQuestion, text: str, where: str) -> int | None:
    """The follow-up's level by its place."""
    follow = question.follow_up.levels if question.follow_up else ()
    if not text:
        return None
    if text.isdecimal() and int(text) < len(follow):
        return int(text)
    raise BadInput(f"{where}: follow-up: expected a place from 0 to {len(follow) - 1}, got {text!r}; fix it")


def _question(project: Project, name: object, where: str) -> RaterQuestion:
    try:
        return project.questionnaire.named(str(name))
    except UnknownName as error:
        raise BadInput(f"{where}: {error}") from None


def _by_place(question: RaterQuestion, text: str, where: str) -> int | None:
    """The level by its place from 0, never by its name, which may be a number too; None: could not tell."""
    if _cannot_tell(question, text, where):
        return None
    if text.isdecimal() and int(text) < len(question.levels):
        return int(text)
    raise BadInput(f"{where}: expected a place from 0 to {len(question.levels) - 1}, got {text!r}; fix it")


def _by_name(question: RaterQuestion, text: str, where: str) -> int | None:
    """The level by its name; None: could not tell."""
    names = [level.name for level in question.levels]
    if text in names:
        return names.index(text)
    if _cannot_tell(question, text, where):
        return None
    raise BadInput(f"{where}: expected one of {', '.join(names)}, got {text!r}; fix it")


def _cannot_tell(question: RaterQuestion, text: str, where: str) -> bool:
    if text == CANNOT_TELL and not question.skip:
        raise BadInput(f"{where}: {question.name} has to be answered, got {CANNOT_TELL!r}; take it out")
    return text == CANNOT_TELL
