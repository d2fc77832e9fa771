"""How far the ratings are, for a rater and for the organiser, and what they cost."""

from __future__ import annotations

import math
import statistics
from typing import Any, Final

import numpy as np
import sqlalchemy as sa
from sqlalchemy import Connection

from transect.annotation.agreement.coefficients import krippendorff_alpha, percent_agreement
from transect.annotation.agreement.summary import valued_as
from transect.annotation.assignment import answers_by_item
from transect.annotation.database import read_setting
from transect.annotation.project import Project, Row, matrix, rows
from transect.annotation.questions import RaterQuestion
from transect.annotation.schema import answers, items, raters, tasks
from transect.errors import BadInput
from transect.runs.json_records import plain

_RECENT: Final = 600.0
"""Seconds that the current speed is measured over."""


def of_rater(project: Project, rater: int) -> tuple[int, int]:
    """Tasks that a rater has answered, and these with an even share of the answers still to be given."""
    regular = (items.c.gold.is_(None), tasks.c.repeat.is_(False))
    mine = (tasks.c.rater_id == rater, tasks.c.state == "answered")
    free = sa.case((sa.or_(items.c.done, items.c.taken >= items.c.wanted), 0), else_=items.c.wanted - items.c.taken)
    with project.database.reading() as connection:
        answered, had = _tasks(connection, *mine), _tasks(connection, *mine, *regular)
        under_way = _tasks(connection, tasks.c.state == "leased", *regular)
        untaken, most = connection.execute(sa.select(_sum(free), sa.func.count()).where(items.c.gold.is_(None))).one()
        people = _can_answer(connection)
    share = math.ceil((int(untaken) + under_way) / max(people, 1))
    return answered, answered + min(share, int(most) - had)


def _tasks(connection: Connection, *where: sa.ColumnElement[bool]) -> int:
    query = sa.select(sa.func.count()).select_from(tasks.join(items, items.c.id == tasks.c.item_id))
    return int(connection.execute(query.where(*where)).scalar_one())


def _can_answer(connection: Connection) -> int:
    """Raters who have a link and are not held back: not those whom an import made, who answer without consent here."""
    answered = sa.exists().where(tasks.c.rater_id == raters.c.id, tasks.c.state == "answered")
    has_link = sa.or_(raters.c.consented.is_not(None), ~answered)
    query = sa.select(sa.func.count()).select_from(raters).where(raters.c.state == "active", has_link)
    return int(connection.execute(query).scalar_one())


def status(project: Project, now: float) -> dict[str, Any]:
    """What the organiser wants to see: progress by question, speed, a row per rater; None where nothing is known."""
    given_rows = rows(project.database)
    with project.database.reading() as connection:
        per_question = [
            _of_question(connection, question.name) | _agreement(given_rows, question)
            for question in project.questionnaire.question
        ]
        under_way = connection.execute(sa.select(sa.func.count()).where(tasks.c.state == "leased")).scalar_one()
        row_count = connection.execute(sa.select(sa.func.count()).select_from(answers)).scalar_one()
        people = connection.execute(sa.select(raters).order_by(raters.c.id)).all()
        paused = read_setting(connection, "paused") == "1"
    by_rater: dict[str, list[Row]] = {}
    for row in given_rows:
        by_rater.setdefault(row.rater, []).append(row)
    recent = sum(0 <= now - row.given <= _RECENT for row in given_rows)
    return {
        "paused": paused,
        "answers": len(given_rows),
        "rows_kept": row_count,
        "under_way": under_way,
        "per_minute": recent / (_RECENT / 60),
        "seconds_each": _median([row.milliseconds / 1000 for row in given_rows if row.milliseconds is not None]),
        "questions": per_question,
        "raters": [
            {"id": rater.id, "name": rater.name, "state": rater.state, "consented": rater.consented is not None}
            | _of_rater(by_rater.get(rater.name, []))
            for rater in people
        ],
    }


def _of_question(connection: Connection, name: str) -> dict[str, Any]:
    """Counts of answers in force, not of tasks under way. closed: items that want no more."""
    counted = answers_by_item()
    there = sa.func.coalesce(counted.c.answers, 0)
    full = sa.case((sa.or_(items.c.done, there >= items.c.wanted), 1), else_=0)
    wanted, answered, closed, count = connection.execute(
        sa.select(_sum(items.c.wanted), _sum(there), _sum(full), sa.func.count())
        .select_from(items.outerjoin(counted, counted.c.item_id == items.c.id))
        .where(items.c.question == name, items.c.gold.is_(None))
    ).one()
    return {"question": name, "items": count, "wanted": int(wanted), "answered": int(answered), "closed": int(closed)}


def _sum(what: sa.ColumnElement[int]) -> sa.ColumnElement[int]:
    return sa.func.coalesce(sa.func.sum(what), 0)


def _agreement(given_rows: list[Row], question: RaterQuestion) -> dict[str, float | None]:
    ratings = matrix(given_rows, question.name).ratings
    valued = valued_as(ratings, np.asarray(question.values))
    alpha = krippendorff_alpha(valued, question.scale).value
    return dict(plain({"percent_agreement": percent_agreement(ratings), "alpha": alpha}))


def _of_rater(given_rows: list[Row]) -> dict[str, object]:
    """Answers, seconds, how often known answers are met and repeats agree; None where there is nothing to compare."""
    known = [row.value == row.gold for row in given_rows if row.gold is not None]
    first = {(row.study, row.first, row.second, row.question): row.value for row in given_rows if not row.repeat}
    again = [
        first[key] == row.value
        for row in given_rows
        if row.repeat and (key := (row.study, row.first, row.second, row.question)) in first
    ]
    return {
        "answers": len(given_rows),
        "cannot_tell": sum(row.value is None for row in given_rows),
        "seconds_each": _median([row.milliseconds / 1000 for row in given_rows if row.milliseconds is not None]),
        "known_right": statistics.fmean(known) if known else None,
        "known_asked": len(known),
        "repeats_equal": statistics.fmean(again) if again else None,
        "repeats_asked": len(again),
        "last": max((row.given for row in given_rows), default=None),
    }


def _median(values: list[float]) -> float | None:
    return statistics.median(values) if values else None


def check_price(price: float) -> None:
    """Raises BadInput for a price of an answer below 0 or without end."""
    if not 0 <= price < math.inf:
        raise BadInput(f"--price: expected at least 0 per answer, got {price:g}")


def estimate(project: Project, price: float) -> dict[str, object]:
    """Answers wanted, also to known items, their cost at `price` each, and what an hour earns at the median time."""
    check_price(price)
    with project.database.reading() as connection:
        wanted = connection.execute(sa.select(sa.func.coalesce(sa.func.sum(items.c.wanted), 0))).scalar_one()
    times = [row.milliseconds / 1000 for row in rows(project.database) if row.milliseconds and not row.excluded]
    seconds = statistics.median(times) if times else None
    return {
        "answers_wanted": int(wanted),
        "price_each": price,
        "cost": int(wanted) * price,
        "seconds_each": seconds,
        "hourly_wage": None if seconds is None else price * 3600 / seconds,
    }
