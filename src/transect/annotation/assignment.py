"""Who is asked what next, the answers that come back, and when there are enough.

Tasks are leased to a rater for a while, and every item gets as many answers as wanted. Raters go through one question
after another, each beginning with another one, and through its images along one shuffled circle, each from another
place and half of them backwards, so that no order is everybody's; among open items those with the fewest answers come
first. Rows are locked in one order (rater, task, item), and locked items are passed over (SKIP LOCKED on PostgreSQL;
SQLite has one writer at a time).

A key that the page chose stands for one answer: sent again, after a lost connection or by anybody who recorded it, it
changes nothing and gets the same reply. An answer that comes after its lease ran out is kept too; its image may then
have one more answer than was asked for.
"""

from __future__ import annotations

import random
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal, final

import sqlalchemy as sa
from sqlalchemy import Connection

from transect.annotation.database import Database, read_setting
from transect.annotation.project import Project
from transect.annotation.questions import Plan, RaterQuestion, Stop
from transect.annotation.schema import answers, items, raters, tasks
from transect.errors import TransectError

TASKS: Final = sa.select(tasks, items.c.question, items.c.study, items.c.first, items.c.second).join(
    items, items.c.id == tasks.c.item_id
)
_COUNTED_AT_ONCE: Final = 500


def recount(connection: Connection, of: Iterable[int], stop: Stop | None) -> None:
    """Recount the tasks of items and mark those that need more answers."""
    wanted = sorted(set(of))
    for start in range(0, len(wanted), _COUNTED_AT_ONCE):
        _recount(connection, wanted[start : start + _COUNTED_AT_ONCE], stop)


def _recount(connection: Connection, some: list[int], stop: Stop | None) -> None:
    # Locked before they are counted, so that concurrent changes of their tasks change the counts after this.
    locked = sa.select(items.c.id, items.c.taken, items.c.done).where(items.c.id.in_(some)).order_by(items.c.id)
    before = connection.execute(locked.with_for_update()).all()
    counted = (
        sa.select(tasks.c.item_id, tasks.c.state, answers.c.value)
        .join(raters, raters.c.id == tasks.c.rater_id)
        .outerjoin(answers, answers.c.id == tasks.c.answer_id)
        .where(
            tasks.c.item_id.in_(some),
            tasks.c.repeat.is_(False),
            tasks.c.state.in_(("leased", "answered")),
            raters.c.state != "excluded",
        )
    )
    taken, values_by_item = Counter[int](), defaultdict[int, list[int | None]](list)
    for item, state, value in connection.execute(counted):
        taken[item] += 1
        if state == "answered":
            values_by_item[item].append(value)
    for item, *counts in before:
        now = [taken[item], reaches_agreement(values_by_item[item], stop)]
        if counts != now:
            connection.execute(items.update().where(items.c.id == item).values(taken=now[0], done=now[1]))


def reaches_agreement(values: list[int | None], stop: Stop | None) -> bool:
    """Whether a stop rule wants no further answers; a "cannot tell" agrees with no answer.

    >>> reaches_agreement([1, 1, 0], Stop(after=3, agreement=0.6))
    True
    >>> reaches_agreement([1, 1, None], Stop(after=3, agreement=1.0))
    False
    """
    if stop is None or len(values) < stop.after:
        return False
    counts = Counter(value for value in values if value is not None)
    most = max(counts.values(), default=0)
    return most >= stop.agreement * len(values) - 1e-9


_GAP: Final = 10
"""Tasks between an answer and its repeat, at the least."""
_BATCH: Final = 200
_LOOKS: Final = 25


@final
@dataclass(frozen=True, slots=True)
class Task:
    """What a rater is asked: an item, and which of a pair stands left. repeat: the rater has answered it before."""

    id: int
    question: str
    study: str
    first: str
    second: str
    flipped: bool
    place: int
    repeat: bool


def next_tasks(project: Project, rater: int, now: float, count: int = 2) -> list[Task]:
    """The tasks that a rater holds, filled up to `count`; fewer where nothing is left, none while paused."""
    expire(project.database, project.questionnaire.plan, now)

    def lease(connection: Connection) -> list[Task]:
        if not _may_work(connection, rater):
            return []
        held = _held(connection, rater)
        return _held(connection, rater) if len(held) < count and _lease(connection, project, rater, now) else held

    with project.database.reading() as connection:
        there = _held(connection, rater) if _may_work(connection, rater, holding=False) else None
    if there is None:
        return []
    # One item is locked per transaction, so that no two raters can wait for each other's.
    before = -1
    while before < len(there) < count:
        before, there = len(there), project.database.write(lease)
    return there[:count]


def expire(database: Database, plan: Plan, now: float) -> int:
    """Take back tasks whose time has run out, or lies over two leases ahead (a clock set back); returns how many."""
    # Twice: a request that waited for its turn has an older `now` than leases that were given meanwhile.
    late = sa.or_(tasks.c.until < now, tasks.c.until > now + 2 * plan.lease_minutes * 60)
    query = sa.select(tasks.c.id).where(tasks.c.state == "leased", late).limit(_BATCH)
    with database.reading() as connection:
        if connection.execute(query).first() is None:
            return 0

    def work(connection: Connection) -> int:
        rows = connection.execute(
            sa.select(tasks.c.id, tasks.c.item_id, tasks.c.repeat)
            .where(tasks.c.state == "leased", late)
            .limit(_BATCH)
            .with_for_update(skip_locked=True)
        ).all()
        if rows:
            connection.execute(tasks.update().where(tasks.c.id.in_([row.id for row in rows])).values(state="expired"))
        for item in sorted(row.item_id for row in rows if not row.repeat):
            connection.execute(items.update().where(items.c.id == item).values(taken=items.c.taken - 1))
        return len(rows)

    return database.write(work)


def _may_work(connection: Connection, rater: int, holding: bool = True) -> bool:
    """Whether the study and the rater are not paused. holding: keep the rater's row until the transaction ends."""
    query = sa.select(raters.c.state).where(raters.c.id == rater)
    state = connection.execute(query.with_for_update() if holding else query).scalar()
    return state == "active" and read_setting(connection, "paused") != "1"


def _held(connection: Connection, rater: int) -> list[Task]:
    query = TASKS.where(tasks.c.rater_id == rater, tasks.c.state == "leased").order_by(tasks.c.place)
    return [_task_of(row) for row in connection.execute(query)]


def _task_of(row: Any) -> Task:
    return Task(row.id, row.question, row.study, row.first, row.second, row.flipped, row.place, row.repeat)


def _lease(connection: Connection, project: Project, rater: int, now: float) -> bool:
    """Give the rater one more task; False where there is none."""
    plan = project.questionnaire.plan
    place = (
        connection.execute(sa.select(sa.func.max(tasks.c.place)).where(tasks.c.rater_id == rater)).scalar() or 0
    ) + 1
    item = _regular(connection, project, rater)
    if item is None:
        return False  # gold and repeats accompany the work and end with it
    if plan.gold_every and place % plan.gold_every == 0:
        query = (
            sa.select(items.c.id).where(items.c.gold.is_not(None), _not_had(rater)).order_by(items.c.position).limit(1)
        )
        gold = connection.execute(query).scalar()
        if gold is not None:
            return _give(connection, project, rater, gold, place, now)
    if _repeats(connection, plan, rater, place):
        again = _repeat(connection, rater, place)
        if again is not None:
            return _give(connection, project, rater, again, place, now, repeat=True)
    return _give(connection, project, rater, item, place, now)


def _give(
    connection: Connection, project: Project, rater: int, item: int, place: int, now: float, repeat: bool = False
) -> bool:
    plan = project.questionnaire.plan
    name = connection.execute(sa.select(items.c.question).where(items.c.id == item)).scalar_one()
    question = project.questionnaire.named(name)
    flipped = question.sided and bool(zlib.crc32(f"{plan.seed}/{item}/{rater}/{repeat}".encode()) & 1)
    values: dict[str, object] = {
        "place": place, "flipped": flipped, "state": "leased", "leased": now, "until": now + plan.lease_minutes * 60,
        "answer_id": None,
    }  # fmt: skip
    of = (tasks.c.item_id == item, tasks.c.rater_id == rater, tasks.c.repeat == repeat)
    if not connection.execute(tasks.update().where(*of, tasks.c.state == "expired").values(**values)).rowcount:
        connection.execute(tasks.insert().values(item_id=item, rater_id=rater, repeat=repeat, **values))
    if not repeat:
        connection.execute(items.update().where(items.c.id == item).values(taken=items.c.taken + 1))
    return True


def _not_had(rater: int) -> sa.ColumnElement[bool]:
    """Items that the rater neither holds nor has answered."""
    had = sa.select(tasks.c.id).where(
        tasks.c.item_id == items.c.id,
        tasks.c.rater_id == rater,
        tasks.c.repeat.is_(False),
        tasks.c.state.in_(("leased", "answered")),
    )
    return ~sa.exists(had)


def _regular(connection: Connection, project: Project, rater: int) -> int | None:
    """The item that a rater is to have next; its row is locked."""
    plan, blocks = project.questionnaire.plan, len(project.questionnaire.question)
    order = _blocks(plan, blocks, rater, connection)
    for attempt in range(_LOOKS):
        item = next(filter(None, (_in_block(connection, plan, rater, block) for block in order)), None)
        if item is not None or not _anything_open(connection, rater):
            return item
        time.sleep(0.002 * attempt)  # what is open is locked: others are about to take it, or have just left it
    return None


def _anything_open(connection: Connection, rater: int) -> bool:
    query = sa.select(items.c.id).where(
        items.c.done.is_(False), items.c.gold.is_(None), items.c.taken < items.c.wanted, _not_had(rater)
    )
    return connection.execute(query.limit(1)).first() is not None


def _blocks(plan: Plan, blocks: int, rater: int, connection: Connection) -> list[int]:
    """Questions in the rater's order: the same cycle from another start, or drawn again for each task."""
    if plan.order == "by-question":
        return [(rater + i) % blocks for i in range(blocks)]
    place = connection.execute(sa.select(sa.func.count()).where(tasks.c.rater_id == rater)).scalar_one()
    order = list(range(blocks))
    random.Random(f"{plan.seed}/{rater}/{place}").shuffle(order)  # noqa: S311  (an order, no secret)
    return order


def _in_block(connection: Connection, plan: Plan, rater: int, block: int) -> int | None:
    open_items = (items.c.block == block, items.c.done.is_(False), items.c.gold.is_(None))
    size = connection.execute(
        sa.select(sa.func.max(items.c.position)).where(items.c.block == block, items.c.gold.is_(None))
    ).scalar()
    if size is None:
        return None
    chance = random.Random(f"{plan.seed}/{rater}/{block}")  # noqa: S311  (an order, no secret)
    start, backwards = chance.randint(0, size), bool(chance.getrandbits(1))
    ahead = items.c.position <= start if backwards else items.c.position >= start
    along = items.c.position.desc() if backwards else items.c.position
    for taken in _levels(connection, open_items):
        for side in (ahead, ~ahead):
            query = sa.select(items.c.id).where(*open_items, items.c.taken == taken, side, _not_had(rater))
            item = connection.execute(query.order_by(along).limit(1).with_for_update(skip_locked=True)).scalar()
            if item is not None:
                return int(item)
    return None


def _levels(connection: Connection, open_items: tuple[sa.ColumnElement[bool], ...]) -> list[int]:
    """How many answers open items have, each number once, in order."""
    query = sa.select(items.c.taken).where(*open_items, items.c.taken < items.c.wanted).distinct()
    return sorted(connection.execute(query).scalars())


def _repeats(connection: Connection, plan: Plan, rater: int, place: int) -> bool:
    """Whether a repeat is due: at its place, or one after where a task with a known answer had that."""
    if not plan.repeat_every or place % plan.repeat_every > 1:
        return False
    if place % plan.repeat_every == 0:
        return True
    gold = sa.select(items.c.gold).join(tasks, tasks.c.item_id == items.c.id)
    return connection.execute(gold.where(tasks.c.rater_id == rater, tasks.c.place == place - 1)).scalar() is not None


def _repeat(connection: Connection, rater: int, place: int) -> int | None:
    """An item that the rater answered a while ago and has not had again."""
    other = tasks.alias()
    again = sa.select(other.c.id).where(
        other.c.item_id == tasks.c.item_id, other.c.rater_id == rater, other.c.repeat.is_(True)
    )
    query = (
        sa.select(tasks.c.item_id)
        .join(items, items.c.id == tasks.c.item_id)
        .where(
            tasks.c.rater_id == rater,
            tasks.c.state == "answered",
            tasks.c.repeat.is_(False),
            tasks.c.place <= place - _GAP,
            items.c.gold.is_(None),
            ~sa.exists(again),
        )
        .order_by(tasks.c.place)
        .limit(1)
    )
    return connection.execute(query).scalar()


Kind = Literal["answer", "skip", "undo"]
LONGEST: Final = 24 * 3600 * 1000
"""Milliseconds; what a page says beyond it, or below 0, is not a time to answer."""


class Refused(TransectError):
    """An answer that cannot be taken: of another rater's task, of a level that there is not, or twice."""


@final
@dataclass(frozen=True, slots=True)
class Submitted:
    """What a rater sends: which task, the level as shown (None: cannot tell), the follow-up's, and the time taken."""

    task: int
    key: str
    value: int | None
    detail: int | None = None
    milliseconds: int | None = None


@final
@dataclass(frozen=True, slots=True)
class Stored:
    """That an answer is on disk. replayed: it was already."""

    answer: int
    replayed: bool


def answer(project: Project, rater: int, sent: Submitted, now: float) -> Stored:
    """Keep an answer. Raises Refused with the reason where it cannot be taken."""

    def work(connection: Connection) -> Stored:
        _hold(connection, rater)
        row = _task(connection, rater, sent.task)
        question = project.questionnaire.named(row.question)
        values = _values(question, row.flipped, sent)
        if before := _sent_before(connection, rater, sent.key):
            same = (before.task_id, before.kind, before.value, before.detail) == (sent.task, *values)
            if not same:
                raise Refused("this key belongs to a different answer: send a new key")
            return Stored(before.id, replayed=True)
        if row.state == "answered":
            raise Refused("this task is already answered: withdraw the answer first")
        number = add(connection, rater, sent, values, now)
        connection.execute(tasks.update().where(tasks.c.id == row.id).values(state="answered", answer_id=number))
        if not row.repeat:
            recount(connection, [row.item_id], project.questionnaire.plan.stop)
        return Stored(number, replayed=False)

    return project.database.write(work)


def undo(project: Project, rater: int, key: str, now: float) -> Task | None:
    """Take the rater's last answer back and lease its task again; None where there is nothing to take back."""
    lease = project.questionnaire.plan.lease_minutes * 60

    def work(connection: Connection) -> Task | None:
        _hold(connection, rater)
        if before := _sent_before(connection, rater, key):
            return _task_of(_task(connection, rater, before.task_id)) if before.kind == "undo" else None
        last = connection.execute(
            sa.select(tasks.c.id)
            .where(tasks.c.rater_id == rater, tasks.c.state == "answered")
            .order_by(tasks.c.answer_id.desc())
            .limit(1)
        ).scalar()
        if last is None:
            return None
        add(connection, rater, Submitted(last, key, None), ("undo", None, None), now)
        connection.execute(
            tasks.update()
            .where(tasks.c.id == last)
            .values(state="leased", leased=now, until=now + lease, answer_id=None)
        )
        row = _task(connection, rater, last)
        if not row.repeat:
            recount(connection, [row.item_id], project.questionnaire.plan.stop)
        return _task_of(row)

    return project.database.write(work)


def _hold(connection: Connection, rater: int) -> None:
    """One request of a rater at a time, and none of an excluded rater."""
    state = connection.execute(sa.select(raters.c.state).where(raters.c.id == rater).with_for_update()).scalar()
    if state in (None, "excluded"):
        raise Refused("this rater has left the study")


def _task(connection: Connection, rater: int, task: int) -> Any:
    mine = TASKS.where(tasks.c.id == task, tasks.c.rater_id == rater)
    row = connection.execute(mine.with_for_update(of=tasks)).one_or_none()
    if row is None:
        raise Refused("this rater has no such task")
    return row


def _values(question: RaterQuestion, flipped: bool, sent: Submitted) -> tuple[Kind, int | None, int | None]:
    """What is kept: the kind, the level (sides put right) and the follow-up's. Raises Refused."""
    if sent.value is None:
        if not question.skip:
            raise Refused("this question must be answered")
        return "skip", None, None
    if not 0 <= sent.value < len(question.levels):
        raise Refused(f"expected a level from 0 to {len(question.levels) - 1}, got {sent.value}")
    details = len(question.details)
    if (sent.detail is None) == bool(details) or not 0 <= (sent.detail or 0) < max(details, 1):
        raise Refused("expected an answer to the follow-up question only if there is one")
    return "answer", (question.turned(sent.value) if flipped else sent.value), sent.detail


def _sent_before(connection: Connection, rater: int, key: str) -> Any:
    return connection.execute(sa.select(answers).where(answers.c.rater_id == rater, answers.c.key == key)).one_or_none()


def add(
    connection: Connection, rater: int, sent: Submitted, values: tuple[Kind, int | None, int | None], now: float
) -> int:
    """Write a row of answers. Returns its number."""
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


def answers_by_item() -> sa.Subquery:
    """Of each item that has some the count `answers` in force: repeats and excluded raters do not count."""
    return (
        sa.select(tasks.c.item_id, sa.func.count().label("answers"))
        .join(raters, raters.c.id == tasks.c.rater_id)
        .where(tasks.c.state == "answered", tasks.c.repeat.is_(False), raters.c.state != "excluded")
        .group_by(tasks.c.item_id)
        .subquery()
    )
