"""Answers read back: the table that `export` writes, and the files of crowd markets, as what `incoming` takes.

A reader of a format says what its file says of each answer; `_incoming` is the one place that judges it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, Literal, NamedTuple

from transect.annotation.agreement.numbers import NAME
from transect.annotation.exchange import label_studio
from transect.annotation.exchange.answer_tables import read_answers, seconds_of
from transect.annotation.exchange.crowd import CANNOT_TELL, FOLLOW_UP, check_level_names
from transect.annotation.exchange.incoming import Incoming, anonymous, worker_key
from transect.annotation.project import Project
from transect.annotation.questions import Questionnaire, RaterQuestion
from transect.errors import BadInput, UnknownName
from transect.runs import table_inputs
from transect.runs.json_records import loads
from transect.runs.table_inputs import TableLike
from transect.texts import words_of

_NEEDED: Final = ("id", "question", "rater", "answer")
_UNUSED: Final = ("level", "value", "known", "place")
"""Columns that follow from the answer or are assigned again on import."""
_UNREADABLE: Final = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)
_OURS: Final = ("rater-", "worker-", f"{NAME}-")
"""The prefix of raters' numbers; every other name belongs to a person."""
_FLAGS: Final = {"true": True, "1": True, "false": False, "0": False}


class _Said(NamedTuple):
    """What a file says of one answer. choice: None: could not tell.

    by: whether choice and follow-up are a level's name, its place from 0 (never its name, which may be a number too),
    or either. flipped: whether the pair was shown with its sides changed.
    """

    where: str
    question: object
    study: object
    first: object
    second: object
    rater: str
    choice: str | None
    follow_up: str = ""
    by: Literal["name", "place", "either"] = "name"
    flipped: object = False
    seconds: object = None
    given: object = None


def read(source: TableLike, kind: str, project: Project) -> list[Incoming]:
    """Answers of a file of one kind, or of a table in memory; wrong ones are refused in one line, with the row."""
    if kind == "answers":
        return list(_answers(source, project.questionnaire))
    readers: Mapping[str, Callable[[Path, Project], Iterator[Incoming]]] = {
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
        return list(readers[kind](path, project))
    except _UNREADABLE as error:
        reason = f"no {error}" if isinstance(error, KeyError) else words_of(error)
        raise BadInput(f"{path}: expected a file of {kind}'s answers, got {reason}; fix the file") from None


def _answers(source: TableLike, questionnaire: Questionnaire) -> Iterator[Incoming]:
    """The table as `export` writes it; columns have its types, or such as can be cast to these."""
    rows, path = read_answers(source, _NEEDED, _UNUSED)
    for number, row in enumerate(rows, start=1):
        said = _Said(
            f"{path}, row {number}", row["question"], row.get("study"), row["id"], row.get("second"),
            _text(row["rater"]), _text(row["answer"]) or None, _text(row.get("follow_up")), "either",
            seconds=row.get("seconds"), given=row.get("given"),
        )  # fmt: skip
        left_out = "of raters who were shut out" if row.get("excluded") else ""
        yield _incoming(said, questionnaire)._replace(repeat=bool(row.get("repeat")), left_out=left_out)


def _mturk(path: Path, project: Project) -> Iterator[Incoming]:
    """The results of a batch that `export --format mturk` made; rejected assignments are marked as left out."""
    key = worker_key(project)
    for number, row in table_inputs.records_of(path, str(path), breaks=_is_free_text):
        where = f"{path}, line {number}"
        if row.get("AssignmentStatus") == "Rejected":
            yield _uncounted(where, "rejected")
            continue
        said = _Said(
            where, row["Input.question"], row["Input.study"], row["Input.id"], row["Input.second"],
            _worker(row.get("WorkerId"), key, where), _choice(_chosen(row, "answer")), _chosen(row, "follow_up"),
            "place", row.get("Input.flipped", "0"), row.get("WorkTimeInSeconds"),
        )  # fmt: skip
        yield _incoming(said, project.questionnaire)


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
        value = form.get(field)
        return _ticked(value) if isinstance(value, dict) else _text(value)
    prefix = f"Answer.{field}."
    flat = {name.removeprefix(prefix): value for name, value in row.items() if name and name.startswith(prefix)}
    return _ticked({name: (value or "").lower() == "true" for name, value in flat.items()}) or (
        row.get(f"Answer.{field}") or ""
    )


def _ticked(buttons: Mapping[str, object]) -> str:
    """The button that is on; several are named together, which is no answer."""
    return ", ".join(name for name, value in buttons.items() if value is True)


def _ground_truth(path: Path, project: Project) -> Iterator[Incoming]:
    """The manifest that `export --format ground-truth` writes: a line per answer, with its worker."""
    key = worker_key(project)
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        where = f"{path}, line {number}"
        row = loads(line)
        name = next((key.removesuffix("-metadata") for key in row if key.endswith("-metadata")), "")
        question = _question(project.questionnaire, name, where)
        metadata = row[f"{name}-metadata"]
        if "worker-id" not in metadata:
            raise BadInput(
                f"{where}: expected an answer with its worker, as transect annotate export writes it, got a label "
                "merged from several; import the workers' own answers as a table (--format answers)"
            )
        worker = metadata["worker-id"]  # the rater's number where we exported it
        rater = worker if isinstance(worker, str) and worker.startswith(_OURS) else _worker(worker, key, where)
        said = _Said(
            where, name, row.get("transect-study"), row["transect-id"], "", rater, _text(row[name]), by="place",
            given=metadata.get("creation-date"),
        )  # fmt: skip
        answer = _incoming(said, project.questionnaire)
        level, shown = question.levels[answer.level or 0].name, metadata.get("class-name")
        if shown not in (None, level):
            raise BadInput(f"{where}: expected level {answer.level} to be {level!r}, got {shown!r}")
        yield answer._replace(detail=_detail(question, _text(metadata.get("follow-up")), "name", where))


def _label_studio(path: Path, project: Project) -> Iterator[Incoming]:
    """An export as JSON or CSV; annotations that were skipped or left empty are marked."""
    key, is_csv = worker_key(project), path.suffix.lower() == ".csv"  # a CSV has the task's own columns too
    exported = list(label_studio.read(path))
    if not exported:
        raise BadInput(f"{path}: expected an export of Label Studio, found no annotation; check --format")
    for each in exported:
        data, where = each.data, each.where
        question = _question(project.questionnaire, data["question"], where)
        check_level_names(question)
        left_empty = not each.answers or (is_csv and question.name not in each.answers)
        if left_empty or _flag(each.cancelled, where, "was_cancelled"):
            yield _uncounted(where, "skipped")
            continue
        if question.name not in each.answers:
            raise BadInput(
                f"{where}: expected an answer to {question.name}, got one to {', '.join(each.answers)}; give each "
                "project only the tasks of its question"
            )
        rater = str(each.rater) if str(each.rater).startswith(_OURS) else _worker(each.user, key, where)
        said = _Said(
            where, question.name, data.get("study"), data["first"], data.get("second"), rater,
            _choice(_one(each.answers, question.name, where)), _one(each.answers, question.name + FOLLOW_UP, where),
            flipped=data.get("flipped", False), seconds=each.seconds,
        )  # fmt: skip
        yield _incoming(said, project.questionnaire)


def _one(answers: Mapping[str, object], name: str, where: str) -> str:
    """The one choice that is ticked; "" where the form did not ask."""
    choice = answers.get(name, "")
    if isinstance(choice, list):
        raise BadInput(f"{where}: {name}: expected one choice, got {len(choice)}; remove the annotation")
    return _text(choice)


def _incoming(said: _Said, questionnaire: Questionnaire) -> Incoming:
    """What a file says, as an answer: the one reader of choice, sides, seconds and time of all formats."""
    where, question = said.where, _question(questionnaire, said.question, said.where)
    level, detail = None, None
    if said.choice is not None:
        level = _place(said.choice, question.names, said.by, f"{where}: answer")
        detail = _detail(question, said.follow_up, said.by, where)
    elif not question.skip:
        raise BadInput(f"{where}: answer: {question.name} must be answered; remove the row")
    if _flag(said.flipped, where, "flipped"):
        if not question.sided:
            raise BadInput(f"{where}: flipped: expected false, since {question.name} has no sides, got true")
        level = None if level is None else question.turned(level)
    return Incoming(
        where, _text(said.study), _text(said.first), _text(said.second), question.name, said.rater, level, detail,
        _seconds(said.seconds, where), _time(said.given, where),
    )  # fmt: skip


def _uncounted(where: str, reason: str) -> Incoming:
    return Incoming(where, "", "", "", "", "", None, left_out=reason)


def _question(questionnaire: Questionnaire, name: object, where: str) -> RaterQuestion:
    try:
        return questionnaire.named(str(name))
    except UnknownName as error:
        raise BadInput(f"{where}: {error}") from None


def _detail(question: RaterQuestion, text: str, by: str, where: str) -> int | None:
    return _place(text, question.details, by, f"{where}: follow_up") if text else None


def _place(text: str, names: Sequence[str], by: str, where: str) -> int:
    """Which of the names a text means: by its name, its place, or first the one and then the other."""
    places = [str(place) for place in range(len(names))]
    for known in {"name": (names,), "place": (places,), "either": (names, places)}[by]:
        if text in known:
            return known.index(text)
    expected = f"a place from 0 to {len(names) - 1}" if by == "place" else f"one of {', '.join(names) or 'none'}"
    raise BadInput(f"{where}: expected {expected}, got {text!r:.80}")


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _choice(text: str) -> str | None:
    return None if text == CANNOT_TELL else text


def _worker(worker: object, key: bytes, where: str) -> str:
    """A worker's number. Raises BadInput where the file does not say whose the answer is."""
    if isinstance(worker, bool) or not isinstance(worker, str | int) or not str(worker).strip():
        found = "none" if worker in (None, "") else f"{worker!r:.40}"
        raise BadInput(f"{where}: expected the rater of the answer, got {found}")
    return anonymous(str(worker), key)


def _flag(value: object, where: str, field: str) -> bool:
    """True or 1, false or 0, also as texts; in other tables a text such as "no" would count as true."""
    try:
        return _FLAGS[str(value).lower()]
    except KeyError:
        raise BadInput(f"{where}: {field}: expected true or false, got {value!r:.40}") from None


def _seconds(value: object, where: str) -> float | None:
    if value is None or value == "":
        return None
    try:
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            return float(value)
    except (ValueError, OverflowError):
        pass
    raise BadInput(f"{where}: seconds: expected a number, got {value!r:.40}")


def _time(value: object, where: str) -> float | None:
    if isinstance(value, datetime):
        return value.timestamp()
    if value is None or isinstance(value, str):
        return seconds_of(value, where) if value else None
    raise BadInput(f"{where}: given: expected a date and time, got {value!r:.40}")
