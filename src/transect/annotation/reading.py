"""Answers in force, read back: one row per item, rater and repeat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import sqlalchemy as sa
from jaxtyping import Float

from transect.annotation.database import Database
from transect.annotation.schema import answers, items, raters, tasks


class Row(NamedTuple):
    """One answer. value: the level's index, None where the rater could not tell; gold: the known answer's index."""

    study: str
    first: str
    second: str
    question: str
    rater: str
    value: int | None
    detail: int | None
    repeat: bool
    gold: int | None
    milliseconds: int | None
    given: float
    place: int
    excluded: bool


def rows(database: Database, question: str | None = None) -> list[Row]:
    """All answers in force, or those to one question, in the order of items and raters."""
    query = (
        sa.select(
            items.c.study, items.c.first, items.c.second, items.c.question, raters.c.name, answers.c.value,
            answers.c.detail, tasks.c.repeat, items.c.gold, answers.c.milliseconds, answers.c.given, tasks.c.place,
            raters.c.state,
        )
        .join(tasks, tasks.c.answer_id == answers.c.id)
        .join(items, items.c.id == tasks.c.item_id)
        .join(raters, raters.c.id == tasks.c.rater_id)
        .where(tasks.c.state == "answered")
        .order_by(items.c.id, raters.c.id, tasks.c.repeat)
    )  # fmt: skip
    if question is not None:
        query = query.where(items.c.question == question)
    with database.reading() as connection:
        return [Row._make((*tuple(row)[:-1], row.state == "excluded")) for row in connection.execute(query)]


class Matrix(NamedTuple):
    """Answers to one question: ratings [units, raters], levels' indices, NaN for no answer."""

    units: tuple[tuple[str, str, str], ...]
    raters: tuple[str, ...]
    ratings: Float[np.ndarray, "units raters"]


def matrix(all_rows: Sequence[Row], question: str, repeats: bool = False) -> Matrix:
    """The answers of raters who are not excluded, without known ones; `repeats`: the second ones of repeated items."""
    chosen = [
        row
        for row in all_rows
        if row.question == question and row.repeat == repeats and row.gold is None and not row.excluded
    ]
    units = tuple(dict.fromkeys((row.study, row.first, row.second) for row in chosen))
    raters = tuple(sorted({row.rater for row in chosen}))
    row = {unit: place for place, unit in enumerate(units)}
    column = {rater: place for place, rater in enumerate(raters)}
    ratings = np.full((len(units), len(raters)), np.nan)
    for answer in chosen:
        if answer.value is not None:
            ratings[row[answer.study, answer.first, answer.second], column[answer.rater]] = answer.value
    return Matrix(units, raters, ratings)
