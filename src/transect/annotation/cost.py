"""What ratings cost, and the hourly wage that measured answer times imply."""

from __future__ import annotations

import math
import statistics

import sqlalchemy as sa

from transect.annotation.project import Project
from transect.annotation.reading import rows
from transect.annotation.schema import items
from transect.errors import BadInput


def check_price(price: float) -> None:
    """Raises BadInput for a price of an answer below 0 or without end."""
    if not 0 <= price < math.inf:
        raise BadInput(f"--price: expected 0 or more for an answer, got {price:g}; fix it")


def estimate(project: Project, price: float) -> dict[str, object]:
    """Answers wanted in all, what they cost at `price` each, and what an hour earns at the median time of an answer.

    Items whose answer is known are asked as often as the others by a market's batch, and count. hourly_wage is None
    where no answer was timed yet; times of excluded raters do not count. Raises BadInput as `check_price`
    does.
    """
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
