"""Raters: numbers and tokens, never names; what is kept is a token's hash."""

from __future__ import annotations

import hashlib
import re
import secrets
from typing import NamedTuple

import sqlalchemy as sa

from transect.annotation import schema
from transect.annotation.counting import recount
from transect.annotation.database import Database
from transect.annotation.project import Project
from transect.errors import BadInput

_MOST = 10_000
_NUMBERED = re.compile(r"rater-(\d+)")


class Invited(NamedTuple):
    """A new rater and the token of the invitation, which is shown this once."""

    name: str
    token: str


def hash_of(token: str) -> str:
    """What is kept of a token. Tokens have 256 random bits, so that a plain hash cannot be guessed back."""
    return hashlib.sha256(token.encode()).hexdigest()


def check_count(count: int) -> None:
    """Raises BadInput for a count of new raters that is not from 1 to 10,000."""
    if not 1 <= count <= _MOST:
        raise BadInput(f"--raters: expected 1 to {_MOST:,}, got {count}; fix it")


def invite(database: Database, count: int, now: float) -> list[Invited]:
    """Create `count` raters. Raises BadInput as `check_count` does."""
    check_count(count)
    table = schema.raters

    def work(connection: sa.Connection) -> list[Invited]:
        if connection.dialect.name != "sqlite":
            connection.execute(sa.text("LOCK TABLE raters IN SHARE ROW EXCLUSIVE MODE"))
        # Numbers that came with imported answers are taken, too.
        numbers = [_NUMBERED.fullmatch(name) for name in connection.execute(sa.select(table.c.name)).scalars()]
        there = max((int(match[1]) for match in numbers if match), default=0)
        invitations = [Invited(f"rater-{there + i + 1:04d}", secrets.token_urlsafe(32)) for i in range(count)]
        rows = [
            {"name": invitation.name, "token_hash": hash_of(invitation.token), "state": "active", "created": now}
            for invitation in invitations
        ]
        connection.execute(table.insert(), rows)
        return invitations

    return database.write(work)


def by_token(database: Database, token: str) -> int | None:
    """The rater of a token; None for an unknown token or an excluded rater."""
    table = schema.raters
    with database.reading() as connection:
        rater = connection.execute(
            sa.select(table.c.id).where(table.c.token_hash == hash_of(token), table.c.state != "excluded")
        ).scalar()
    return None if rater is None else int(rater)


def consent(database: Database, rater: int, now: float) -> None:
    """Note that a rater agreed to take part."""
    table = schema.raters
    database.write(
        lambda connection: connection.execute(
            table.update().where(table.c.id == rater, table.c.consented.is_(None)).values(consented=now)
        )
    )


def set_state(project: Project, rater: int, state: str) -> bool:
    """Make a rater active, paused or excluded; whether there is such a rater. Raises BadInput for another state.

    An excluded rater gives back what they hold, and their answers keep no item from others; readmitted, their
    answers count again.
    """
    if state not in ("active", "paused", "excluded"):
        raise BadInput(f"state: expected active, paused or excluded, got {state!r}; fix it")
    table, tasks = schema.raters, schema.tasks

    def work(connection: sa.Connection) -> bool:
        before = connection.execute(sa.select(table.c.state).where(table.c.id == rater).with_for_update()).scalar()
        connection.execute(table.update().where(table.c.id == rater).values(state=state))
        if before is None or (before == "excluded") == (state == "excluded"):
            return before is not None
        connection.execute(
            tasks.update().where(tasks.c.rater_id == rater, tasks.c.state == "leased").values(state="expired")
        )
        had = sa.select(tasks.c.item_id).where(tasks.c.rater_id == rater, tasks.c.repeat.is_(False))
        recount(connection, connection.execute(had).scalars(), project.questionnaire.plan.stop)
        return True

    return project.database.write(work)
