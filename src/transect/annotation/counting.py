"""How many answers an item has or awaits, and whether it needs more; excluded raters do not count."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Final

import sqlalchemy as sa
from sqlalchemy import Connection

from transect.annotation.questions import Stop
from transect.annotation.schema import answers, items, raters, tasks

_BATCH: Final = 500


def recount(connection: Connection, of: Iterable[int], stop: Stop | None) -> None:
    """Recount the tasks of items and mark those that need more answers."""
    wanted = sorted(set(of))
    for start in range(0, len(wanted), _BATCH):
        _recount(connection, wanted[start : start + _BATCH], stop)


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
