"""Answers that were given elsewhere, taken in: all or nothing, and none twice."""

from __future__ import annotations

import hashlib
import hmac
import math
import re
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, final

import sqlalchemy as sa
from sqlalchemy import Connection

from transect.annotation.assignment import Kind, Submitted, add, recount
from transect.annotation.database import read_setting, write_setting
from transect.annotation.project import Project
from transect.annotation.questions import RaterQuestion
from transect.annotation.raters import hash_of
from transect.annotation.schema import answers, items, raters, tasks
from transect.errors import BadInput

_KEY: Final = "workers"
_FIRST, _LAST = -62_135_596_800, 253_402_300_800
"""The years 1 to 9999 in UTC, which an export can write."""
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class Incoming(NamedTuple):
    """One answer from elsewhere. where: file and line, for messages. level: the index, None: could not tell.

    left_out: why the answer does not count; nothing else of it is looked at.
    """

    where: str
    study: str
    first: str
    second: str
    question: str
    rater: str
    level: int | None
    detail: int | None = None
    seconds: float | None = None
    given: float | None = None
    repeat: bool = False
    left_out: str = ""


@final
@dataclass(frozen=True, slots=True)
class Imported:
    """How many answers were taken in, how many were there already, of how many new raters, and what was left out."""

    answers: int
    duplicates: int
    raters: int
    left_out: Mapping[str, int]


def worker_key(project: Project) -> bytes:
    """The secret that `anonymous` hashes with: the database's own, made when it is first asked for."""

    def work(connection: Connection) -> str:
        secret = read_setting(connection, _KEY)
        if secret is None:
            secret = secrets.token_hex(32)
            write_setting(connection, _KEY, secret)
        return secret

    return bytes.fromhex(project.database.setting(_KEY) or project.database.write(work))


def anonymous(worker: str, key: bytes) -> str:
    """A number for a worker of another service, the same each time.

    Without the key, a table of answers that is passed on does not tell whose they are to those who know the ids.
    """
    return f"worker-{hmac.new(key, worker.encode(), hashlib.sha256).hexdigest()[:16]}"


def take_in(project: Project, all_answers: Sequence[Incoming], now: float) -> Imported:
    """Keep answers in one transaction, or none of them; a rater's answer to an item is not taken twice."""
    if not all_answers:
        raise BadInput("import: the file has no answers; check it")
    incoming = [answer for answer in all_answers if not answer.left_out]
    _check(incoming)
    left_out = dict(Counter(answer.left_out for answer in all_answers if answer.left_out))

    def work(connection: Connection) -> Imported:
        known = _items(connection, project, incoming)
        people, new = _raters(connection, {answer.rater for answer in incoming}, now)
        place = Counter[int]()
        last = sa.select(tasks.c.rater_id, sa.func.max(tasks.c.place)).group_by(tasks.c.rater_id)
        place.update({row[0]: row[1] for row in connection.execute(last)})
        there = _there(connection)
        taken, duplicates, touched = 0, 0, set()
        for answer in incoming:
            item, rater = known[answer.study, answer.first, answer.second, answer.question], people[answer.rater]
            key = item, rater, answer.repeat
            task, stored = there.get(key, (None, None))
            if stored is not None:
                _agrees(project, answer, stored)
                duplicates += 1
                continue
            if task is None:
                place[rater] += 1
            number = _task(connection, answer, (item, rater, place[rater]), task, now)
            _keep(connection, answer, rater, number, now)
            there[key] = number, (answer.level, answer.detail)
            taken += 1
            if not answer.repeat:
                touched.add(item)
        recount(connection, touched, project.questionnaire.plan.stop)
        return Imported(taken, duplicates, new, left_out)

    return project.database.write(work)


def _check(incoming: Sequence[Incoming]) -> None:
    checked: dict[tuple[object, ...], Incoming] = {}
    for answer in incoming:
        if not _NAME.fullmatch(answer.rater):
            raise BadInput(f"{answer.where}: expected a rater's number (letters, digits, _ . -), got {answer.rater!r}")
        if answer.seconds is not None and not math.isfinite(answer.seconds):
            raise BadInput(f"{answer.where}: expected a finite number of seconds, got {answer.seconds}")
        if answer.given is not None and not _FIRST <= answer.given < _LAST:
            raise BadInput(f"{answer.where}: given: expected a year from 1 to 9999")
        before = checked.setdefault(
            (answer.study, answer.first, answer.second, answer.question, answer.rater, answer.repeat), answer
        )
        if before.level != answer.level:
            raise BadInput(
                f"{answer.where}: rater {answer.rater} gives two answers to {answer.question} of "
                f"{answer.first} (the other: {before.where}); keep one"
            )


def _items(connection: Connection, project: Project, incoming: Sequence[Incoming]) -> dict[tuple[str, ...], int]:
    """Items by image and question. Raises BadInput with the count of answers to none of them."""
    rows = connection.execute(sa.select(items.c.id, items.c.study, items.c.first, items.c.second, items.c.question))
    known: dict[tuple[str, ...], int] = {(row.study, row.first, row.second, row.question): int(row.id) for row in rows}
    unknown = [
        answer for answer in incoming if (answer.study, answer.first, answer.second, answer.question) not in known
    ]
    if unknown:
        first = unknown[0]
        what = (
            f"image {first.first}"
            + (f" of study {first.study}" if first.study else "")
            + f", question {first.question}"
        )
        question_names = ", ".join(each.name for each in project.questionnaire.question)
        raise BadInput(
            f"{first.where}: expected answers about this run's images to {question_names}, got "
            f"{len(unknown):,} for others ({what}); nothing was imported: remove them"
        )
    return known


def _raters(connection: Connection, names: set[str], now: float) -> tuple[dict[str, int], int]:
    """Raters by name, new ones made, whom no link lets in."""
    there = {row.name: int(row.id) for row in connection.execute(sa.select(raters.c.name, raters.c.id))}
    new = sorted(names - there.keys())
    for name in new:
        row = {"name": name, "token_hash": hash_of(secrets.token_urlsafe(32)), "state": "active", "created": now}
        inserted = connection.execute(raters.insert().values(**row))
        there[name] = int((inserted.inserted_primary_key or (0,))[0])
    return there, len(new)


_Kept = tuple[int | None, int | None]
"""Level and follow-up of an answer in force."""


def _there(connection: Connection) -> dict[tuple[int, int, bool], tuple[int, _Kept | None]]:
    """Tasks by item, rater and repeat, and their answer: a lease, or one that ran out, holds none."""
    of = sa.select(tasks, answers.c.value, answers.c.detail).outerjoin(answers, answers.c.id == tasks.c.answer_id)
    return {
        (row.item_id, row.rater_id, row.repeat): (
            int(row.id),
            (row.value, row.detail) if row.state == "answered" else None,
        )
        for row in connection.execute(of)
    }


def _agrees(project: Project, answer: Incoming, stored: _Kept) -> None:
    """Raises BadInput where an answer is another than the one in force; a file may leave the follow-up out."""
    if answer.level == stored[0] and (answer.detail is None or answer.detail == stored[1]):
        return
    after, before = (
        _words(project.questionnaire.named(answer.question), *each) for each in ((answer.level, answer.detail), stored)
    )
    raise BadInput(
        f"{answer.where}: expected {answer.rater}'s stored answer to {answer.question} of {answer.first} "
        f"({before}), got a different one ({after}); nothing was imported: remove it from the file"
    )


def _words(question: RaterQuestion, level: int | None, detail: int | None) -> str:
    if level is None:
        return "cannot tell"
    follow = "" if detail is None else f", {question.details[detail]}"
    return question.levels[level].name + follow


def _task(connection: Connection, answer: Incoming, of: tuple[int, int, int], task: int | None, now: float) -> int:
    """The task that the answer is to, answered now: the rater's own where there is one. of: item, rater, place."""
    time = now if answer.given is None else answer.given
    values = {"flipped": False, "state": "answered", "leased": time, "until": time}
    if task is not None:
        connection.execute(tasks.update().where(tasks.c.id == task).values(**values))
        return task
    item, rater, place = of
    row = {"item_id": item, "rater_id": rater, "repeat": answer.repeat, "place": place, **values}
    return int((connection.execute(tasks.insert().values(**row)).inserted_primary_key or (0,))[0])


def _keep(connection: Connection, answer: Incoming, rater: int, number: int, now: float) -> None:
    milliseconds = None if answer.seconds is None else round(answer.seconds * 1000)
    sent = Submitted(number, f"import-{secrets.token_hex(16)}", answer.level, answer.detail, milliseconds)
    values: tuple[Kind, int | None, int | None]
    values = ("skip" if answer.level is None else "answer", answer.level, answer.detail)
    stored = add(connection, rater, sent, values, now if answer.given is None else answer.given)
    connection.execute(tasks.update().where(tasks.c.id == number).values(answer_id=stored))
