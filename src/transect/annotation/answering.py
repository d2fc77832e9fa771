"""Taking answers: each is added once, whatever is sent twice, and can be taken back by another row.

A key that the page chose stands for one answer: sent again, after a lost connection or by anybody who recorded it, it
changes nothing and gets the same reply. An answer that comes after its lease ran out is kept too; its image may then
have one more answer than was asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, final

import sqlalchemy as sa
from sqlalchemy import Connection

from transect.annotation.assignment import Task, task_of
from transect.annotation.counting import recount
from transect.annotation.project import Project
from transect.annotation.questions import RaterQuestion
from transect.annotation.schema import answers, items, raters, tasks
from transect.errors import TransectError

Kind = Literal["answer", "skip", "undo"]
LONGEST: Final = 24 * 3600 * 1000
"""Milliseconds; what a page says beyond it, or below 0, is not a time to answer."""


class Refused(TransectError):
    """An answer that cannot be taken: of another rater's task, of a level that there is not, or twice."""


@final
@dataclass(frozen=True, slots=True)
class Given:
    """What a rater sends: which task, the level as shown (None: cannot tell), the follow-up's, and the time taken."""

    task: int
    key: str
    value: int | None
    detail: int | None = None
    milliseconds: int | None = None


@final
@dataclass(frozen=True, slots=True)
class Taken:
    """That an answer is on disk. replayed: it was already."""

    answer: int
    replayed: bool


def answer(project: Project, rater: int, sent: Given, now: float) -> Taken:
    """Keep an answer. Raises Refused with the reason where it cannot be taken."""

    def work(connection: Connection) -> Taken:
        _hold(connection, rater)
        row = _task(connection, rater, sent.task)
        question = project.questionnaire.named(row.question)
        values = _values(question, row.flipped, sent)
        if before := _sent_before(connection, rater, sent.key):
            same = (before.task_id, before.kind, before.value, before.detail) == (sent.task, *values)
            if not same:
                raise Refused("this key stands for another answer: send a new one")
            return Taken(before.id, replayed=True)
        if row.state == "answered":
            raise Refused("this task is answered: take the answer back first")
        number = _add(connection, rater, sent, values, now)
        connection.execute(tasks.update().where(tasks.c.id == row.id).values(state="answered", answer_id=number))
        if not row.repeat:
            recount(connection, [row.item_id], project.questionnaire.plan.stop)
        return Taken(number, replayed=False)

    return project.database.write(work)


def undo(project: Project, rater: int, key: str, now: float) -> Task | None:
    """Take the rater's last answer back and lease its task again; None where there is nothing to take back."""
    lease = project.questionnaire.plan.lease_minutes * 60

    def work(connection: Connection) -> Task | None:
        _hold(connection, rater)
        if before := _sent_before(connection, rater, key):
            return task_of(_task(connection, rater, before.task_id)) if before.kind == "undo" else None
        last = connection.execute(
            sa.select(tasks.c.id)
            .where(tasks.c.rater_id == rater, tasks.c.state == "answered")
            .order_by(tasks.c.answer_id.desc())
            .limit(1)
        ).scalar()
        if last is None:
            return None
        _add(connection, rater, Given(last, key, None), ("undo", None, None), now)
        connection.execute(
            tasks.update()
            .where(tasks.c.id == last)
            .values(state="leased", leased=now, until=now + lease, answer_id=None)
        )
        row = _task(connection, rater, last)
        if not row.repeat:
            recount(connection, [row.item_id], project.questionnaire.plan.stop)
        return task_of(row)

    return project.database.write(work)


def _hold(connection: Connection, rater: int) -> None:
    """One request of a rater at a time, and none of an excluded rater."""
    state = connection.execute(sa.select(raters.c.state).where(raters.c.id == rater).with_for_update()).scalar()
    if state in (None, "excluded"):
        raise Refused("this rater takes no part any more")


def _task(connection: Connection, rater: int, task: int) -> Any:
    row = connection.execute(
        sa.select(tasks, items.c.question, items.c.study, items.c.first, items.c.second)
        .join(items, items.c.id == tasks.c.item_id)
        .where(tasks.c.id == task, tasks.c.rater_id == rater)
        .with_for_update(of=tasks)
    ).one_or_none()
    if row is None:
        raise Refused("there is no such task of this rater")
    return row


def _values(question: RaterQuestion, flipped: bool, sent: Given) -> tuple[Kind, int | None, int | None]:
    """What is kept: the kind, the level (sides put right) and the follow-up's. Raises Refused."""
    if sent.value is None:
        if not question.skip:
            raise Refused("this question has to be answered")
        return "skip", None, None
    if not 0 <= sent.value < len(question.levels):
        raise Refused(f"expected a level from 0 to {len(question.levels) - 1}, got {sent.value}")
    details = len(question.follow_up.levels) if question.follow_up else 0
    if (sent.detail is None) == bool(details) or not 0 <= (sent.detail or 0) < max(details, 1):
        raise Refused("expected an answer to the follow-up question where there is one, and only there")
    return "answer", (question.turned(sent.value) if flipped else sent.value), sent.detail


def _sent_before(connection: Connection, rater: int, key: str) -> Any:
    return connection.execute(sa.select(answers).where(answers.c.rater_id == rater, answers.c.key == key)).one_or_none()


def _add(
    connection: Connection, rater: int, sent: Given, values: tuple[Kind, int | None, int | None], now: float
) -> int:
    kind, value, detail = values
    time = sent.milliseconds
    inserted = connection.execute(
        answers.insert().values(
            task_id=sent.task,
            rater_id=rater,
            key=sent.key,
            kind=kind,
            value=value,
            detail=detail,
            milliseconds=time if time is not None and 0 <= time <= LONGEST else None,
            given=now,
        )
    )
    return int((inserted.inserted_primary_key or (0,))[0])
