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
from typing import Any, Final, NamedTuple, final

import sqlalchemy as sa
from sqlalchemy import Connection

from transect.annotation.answering import LONGEST
from transect.annotation.counting import recount
from transect.annotation.database import read_setting, write_setting
from transect.annotation.project import Project
from transect.annotation.questions import RaterQuestion
from transect.annotation.raters import hash_of
from transect.annotation.schema import answers, items, raters, tasks
from transect.errors import BadInput

_KEY: Final = "workers"
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class Incoming(NamedTuple):
    """One answer from elsewhere. where: file and line, for messages. level: the index, None: could not tell.

    left_out: why the answer does not count; it is counted under this reason, and nothing else of it is looked at.
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
        kept = read_setting(connection, _KEY)
        if kept is None:
            kept = secrets.token_hex(32)
            write_setting(connection, _KEY, kept)
        return kept

    return bytes.fromhex(project.database.setting(_KEY) or project.database.write(work))


def anonymous(worker: str, key: bytes) -> str:
    """A number for a worker of another service, the same each time; their own id is not kept.

    Without the key, a table of answers that is passed on does not tell whose they are to those who know the ids.

    >>> anonymous("A1B2C3", b"key") == anonymous("A1B2C3", b"key") != anonymous("A1B2C3", b"another")
    True
    """
    return f"worker-{hmac.new(key, worker.encode(), hashlib.sha256).hexdigest()[:16]}"


def take_in(project: Project, given: Sequence[Incoming], now: float) -> Imported:
    """Keep answers in one transaction. Answers of a rater to an item that they answered already are not taken again.

    Raises BadInput, and takes nothing, where an image or a question is not asked about, a rater has no usable name, a
    time is no finite number, or one rater answers one item differently twice, in the file or from what is kept.
    """
    if not given:
        raise BadInput("import: expected answers, got none; check the file")
    incoming = [one for one in given if not one.left_out]
    _check(incoming)
    left_out = dict(Counter(one.left_out for one in given if one.left_out))

    def work(connection: Connection) -> Imported:
        known = _items(connection, project, incoming)
        people, new = _raters(connection, {one.rater for one in incoming}, now)
        place = Counter[int]()
        last = sa.select(tasks.c.rater_id, sa.func.max(tasks.c.place)).group_by(tasks.c.rater_id)
        place.update({row[0]: row[1] for row in connection.execute(last)})
        there = _there(connection)
        taken, duplicates, touched = 0, 0, set()
        for one in incoming:
            item, rater = known[one.study, one.first, one.second, one.question], people[one.rater]
            key = item, rater, one.repeat
            task, kept = there.get(key, (None, None))
            if kept is not None:
                _agrees(project, one, kept)
                duplicates += 1
                continue
            if task is None:
                place[rater] += 1
            made = _task(connection, one, (item, rater, place[rater]), task, now)
            _keep(connection, one, rater, made, now)
            there[key] = made, (one.level, one.detail)
            taken += 1
            if not one.repeat:
                touched.add(item)
        recount(connection, touched, project.questionnaire.plan.stop)
        return Imported(taken, duplicates, new, left_out)

    return project.database.write(work)


def _check(incoming: Sequence[Incoming]) -> None:
    said: dict[tuple[Any, ...], Incoming] = {}
    for one in incoming:
        if not _NAME.fullmatch(one.rater):
            raise BadInput(
                f"{one.where}: expected a rater's number (letters, digits, _ . -), got {one.rater!r}; fix it"
            )
        for what, value in (("seconds", one.seconds), ("given", one.given)):
            if value is not None and not (isinstance(value, int | float) and math.isfinite(value)):
                raise BadInput(f"{one.where}: expected a finite number of {what}, got {value!r:.40}; fix it")
        before = said.setdefault((one.study, one.first, one.second, one.question, one.rater, one.repeat), one)
        if before.level != one.level:
            raise BadInput(
                f"{one.where}: rater {one.rater} answers {one.question} of {one.first} twice and differently (before: "
                f"{before.where}); keep one"
            )


def _items(connection: Connection, project: Project, incoming: Sequence[Incoming]) -> dict[tuple[str, ...], int]:
    """Items by image and question. Raises BadInput with the count of answers to none of them."""
    rows = connection.execute(sa.select(items.c.id, items.c.study, items.c.first, items.c.second, items.c.question))
    known: dict[tuple[str, ...], int] = {(row.study, row.first, row.second, row.question): int(row.id) for row in rows}
    unknown = [one for one in incoming if (one.study, one.first, one.second, one.question) not in known]
    if unknown:
        one = unknown[0]
        what = f"image {one.first}" + (f" of study {one.study}" if one.study else "") + f", question {one.question}"
        asked = ", ".join(each.name for each in project.questionnaire.question)
        raise BadInput(
            f"{one.where}: expected answers about this run's images to {asked}, got {len(unknown):,} of others "
            f"({what}); take them out, nothing was imported"
        )
    return known


def _raters(connection: Connection, names: set[str], now: float) -> tuple[dict[str, int], int]:
    """Raters by name, new ones made, whom no link lets in."""
    there = {row.name: int(row.id) for row in connection.execute(sa.select(raters.c.name, raters.c.id))}
    new = sorted(names - there.keys())
    for name in new:
        row = {"name": name, "token_hash": hash_of(secrets.token_urlsafe(32)), "state": "active", "created": now}
        made = connection.execute(raters.insert().values(**row))
        there[name] = int((made.inserted_primary_key or (0,))[0])
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


def _agrees(project: Project, one: Incoming, kept: _Kept) -> None:
    """Raises BadInput where an answer is another than the one in force; a file may leave the follow-up out."""
    if one.level == kept[0] and (one.detail is None or one.detail == kept[1]):
        return
    said, before = (
        _words(project.questionnaire.named(one.question), *each) for each in ((one.level, one.detail), kept)
    )
    raise BadInput(
        f"{one.where}: expected {one.rater}'s answer to {one.question} of {one.first} that is kept ({before}), got "
        f"another ({said}); take it out of the file, nothing was imported"
    )


def _words(asked: RaterQuestion, level: int | None, detail: int | None) -> str:
    if level is None:
        return "cannot tell"
    follow = f", {asked.follow_up.levels[detail]}" if asked.follow_up and detail is not None else ""
    return asked.levels[level].name + follow


def _task(connection: Connection, one: Incoming, of: tuple[int, int, int], task: int | None, now: float) -> int:
    """The task that the answer is to, answered now: the rater's own where there is one. of: item, rater, place."""
    given = now if one.given is None else one.given
    values = {"flipped": False, "state": "answered", "leased": given, "until": given}
    if task is not None:
        connection.execute(tasks.update().where(tasks.c.id == task).values(**values))
        return task
    item, rater, place = of
    row = {"item_id": item, "rater_id": rater, "repeat": one.repeat, "place": place, **values}
    return int((connection.execute(tasks.insert().values(**row)).inserted_primary_key or (0,))[0])


def _keep(connection: Connection, one: Incoming, rater: int, number: int, now: float) -> None:
    given = now if one.given is None else one.given
    milliseconds = None if one.seconds is None or abs(one.seconds) > LONGEST / 1000 else round(one.seconds * 1000)
    kept = connection.execute(
        answers.insert().values(
            task_id=number, rater_id=rater, key=f"import-{secrets.token_hex(16)}",
            kind="skip" if one.level is None else "answer", value=one.level, detail=one.detail, given=given,
            milliseconds=milliseconds if milliseconds is not None and 0 <= milliseconds <= LONGEST else None,
        )
    ).inserted_primary_key  # fmt: skip
    connection.execute(tasks.update().where(tasks.c.id == number).values(answer_id=int((kept or (0,))[0])))
