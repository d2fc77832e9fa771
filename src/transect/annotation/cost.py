"""What ratings cost, and the hourly wage that measured answer times imply."""

from __future__ import annotations

import statistics
from typing import Any

import sqlalchemy as sa

from transect.annotation.project import Project
from transect.annotation.reading import rows
from transect.annotation.schema import items
from transect.errors import BadInput


def estimate(project: Project, price: float) -> dict[str, Any]:
    """Answers wanted in all, what they cost at `price` each, and what an hour earns at the median time of an answer.

    hourly_wage is None where no answer was timed yet. Raises BadInput for a price below 0.
    """
    if not price >= 0:
        raise BadInput(f"--price: expected 0 or more for an answer, got {price:g}; mend it")
    with project.database.reading() as connection:
        wanted = connection.execute(
            sa.select(sa.func.coalesce(sa.func.sum(items.c.wanted), 0)).where(items.c.gold.is_(None))
        ).scalar_one()
    times = [one.milliseconds / 1000 for one in rows(project.database) if one.milliseconds]
    seconds = statistics.median(times) if times else None
    return {
        "answers_wanted": int(wanted),
        "price_each": price,
        "cost": int(wanted) * price,
        "seconds_each": seconds,
        "hourly_wage": None if seconds is None else price * 3600 / seconds,
    }
