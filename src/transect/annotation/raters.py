"""Raters, their links and sessions, and the organiser's password: of names nothing is kept, of secrets hashes."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
import secrets
from typing import Final, NamedTuple

import sqlalchemy as sa

from transect.annotation import schema
from transect.annotation.assignment import recount
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
        raise BadInput(f"--raters: expected 1 to {_MOST:,}, got {count}")


def invite(database: Database, count: int, now: float) -> list[Invited]:
    """Create `count` raters."""
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
    """Make a rater active, paused or excluded; whether there is such a rater.

    An excluded rater gives back what they hold, and their answers keep no item from others; readmitted, they count
    again.
    """
    if state not in ("active", "paused", "excluded"):
        raise BadInput(f"state: expected active, paused or excluded, got {state!r}")
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


LIFE: Final = 30 * 24 * 3600.0
"""Seconds that a session lasts."""
_SETTING: Final = "password"
_VARIABLE: Final = "TRANSECT_ADMIN_PASSWORD"
_SHORTEST: Final = 8
_COST: Final = {"n": 2**14, "r": 8, "p": 1}
"""Of scrypt: 16 MB and some 50 ms a guess."""


class Session(NamedTuple):
    """Who is logged in: a rater who may have agreed to take part, or (None) the administrator. csrf: of their forms."""

    rater: int | None
    csrf: str
    consented: bool = False


def begin(database: Database, rater: int | None, now: float) -> str:
    """Log a person in; returns the cookie's value. Expired sessions are deleted."""
    token = secrets.token_urlsafe(32)
    table = schema.sessions
    row = {
        "token_hash": hash_of(token),
        "rater_id": rater,
        "csrf": secrets.token_urlsafe(32),
        "created": now,
        "expires": now + LIFE,
    }

    def work(connection: sa.Connection) -> None:
        connection.execute(table.delete().where(table.c.expires < now))
        connection.execute(table.insert().values(**row))

    database.write(work)
    return token


def find(database: Database, token: str, now: float) -> Session | None:
    """The session of a cookie; None where there is none, it expired, or the rater is excluded."""
    table, raters = schema.sessions, schema.raters
    query = (
        sa.select(table.c.rater_id, table.c.csrf, raters.c.state, raters.c.consented)
        .outerjoin(raters, raters.c.id == table.c.rater_id)
        .where(table.c.token_hash == hash_of(token), table.c.expires >= now)
    )
    with database.reading() as connection:
        row = connection.execute(query).one_or_none()
    if row is None or row.state == "excluded":
        return None
    return Session(row.rater_id, row.csrf, row.consented is not None)


def end(database: Database, token: str) -> None:
    """Log out."""
    table = schema.sessions
    database.write(lambda connection: connection.execute(table.delete().where(table.c.token_hash == hash_of(token))))


def environment_password() -> str | None:
    """That of TRANSECT_ADMIN_PASSWORD, if it is set. Raises BadInput for one that is shorter than 8 characters."""
    password = os.environ.get(_VARIABLE)
    if password is not None and len(password) < _SHORTEST:
        raise BadInput(f"{_VARIABLE}: expected at least {_SHORTEST} characters, got {len(password)}")
    return password


def set_password(database: Database) -> str | None:
    """Set TRANSECT_ADMIN_PASSWORD, else keep what was set before, else make one, which is returned to be shown once."""
    password, stored = environment_password(), database.setting(_SETTING)
    if password is None:
        if stored is not None:
            return None
        new = secrets.token_urlsafe(16)
        database.set({_SETTING: _hashed(new)})
        return new
    if stored is None or not _is(password, stored):
        database.set({_SETTING: _hashed(password)})
        table = schema.sessions
        database.write(lambda connection: connection.execute(table.delete().where(table.c.rater_id.is_(None))))
    return None


def browser_token(database: Database) -> str:
    """What a browser that logged in keeps, so that wrong passwords of others do not shut it out.

    A random name, signed with the stored hash of the password: it logs nobody in, and is void once the password
    changes. Source: OWASP, Slow Down Online Guessing Attacks with Device Cookies.
    """
    name = secrets.token_hex(16)
    return f"{name}.{_signed(database, name)}"


def browser_of(database: Database, token: str) -> str:
    """The name in a browser's token; "" where this project did not sign it."""
    name, _, signature = token.partition(".")
    return name if hmac.compare_digest(signature.encode(), _signed(database, name).encode()) else ""


def _signed(database: Database, name: str) -> str:
    return hmac.new((database.setting(_SETTING) or "").encode(), name.encode(), "sha256").hexdigest()


def is_password(database: Database, password: str) -> bool:
    """Whether it is the administrator's password."""
    stored = database.setting(_SETTING)
    return stored is not None and _is(password, stored)


def _hashed(password: str) -> str:
    salt = secrets.token_bytes(16)
    digest = hashlib.scrypt(password.encode(), salt=salt, **_COST)
    return f"scrypt${base64.b64encode(salt).decode()}${base64.b64encode(digest).decode()}"


def _is(password: str, stored: str) -> bool:
    _, salt, digest = stored.split("$")
    tried = hashlib.scrypt(password.encode(), salt=base64.b64decode(salt), **_COST)
    return hmac.compare_digest(tried, base64.b64decode(digest))
