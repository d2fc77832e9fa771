"""Calls, money and answers of one target in one SQLite file: the only place that allows a call.

A call is entered, and its price counted, before it is sent, in the transaction that sees that the budget allows it: so
neither threads, nor other processes, nor a restart can overrun it. What came back is kept with the call, whatever it
was. A call that was never settled, because its program was killed, stays counted.
"""

from __future__ import annotations

import os
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Final, final

from transect.errors import AnswersUnusable, BudgetSpent
from transect.records import CallCounts
from transect.runs.sqlite_files import make_private, use_write_ahead_log
from transect.texts import words_of

NANO: Final = 10**9
"""Money is counted in whole billionths of the currency."""

_SCHEMA_VERSION = 1
_APPLICATION: Final = 0x74736374
"""What SQLite files of ours say that they are ("tsct")."""
_SCHEMA = """
CREATE TABLE calls (
    id INTEGER PRIMARY KEY, request TEXT NOT NULL, image TEXT NOT NULL, state TEXT NOT NULL, final INTEGER NOT NULL
    DEFAULT 0, price INTEGER NOT NULL, owner TEXT NOT NULL, started REAL NOT NULL, until REAL NOT NULL, seconds REAL,
    status INTEGER, content_type TEXT, reason TEXT NOT NULL DEFAULT '', body BLOB);
CREATE UNIQUE INDEX final_answers ON calls (request, image) WHERE final = 1;
CREATE UNIQUE INDEX under_way ON calls (request, image) WHERE state = 'sent';
CREATE INDEX by_image ON calls (request, image);
CREATE TABLE spent (calls INTEGER NOT NULL, money INTEGER NOT NULL);
INSERT INTO spent VALUES (0, 0);
"""

_CANARIES = """
CREATE TABLE IF NOT EXISTS canaries (
    request TEXT NOT NULL, number INTEGER NOT NULL, image TEXT NOT NULL, png BLOB NOT NULL,
    PRIMARY KEY (request, number))"""


@final
@dataclass(frozen=True, slots=True)
class Reply:
    """What came back from one call: HTTP's status, type and body (cut off where `reason` says so).

    reason: why it can be no answer, "" where it can. retry_after: the value of the header of that name.
    """

    status: int
    content_type: str
    body: bytes
    reason: str = ""
    retry_after: str = ""


@final
@dataclass(frozen=True, slots=True)
class Call:
    """A call that was allowed and is entered: send it, then settle it."""

    id: int
    price: int


@final
class UnderWay:
    """Another thread or process is asking about the same image."""


@final
class Unconfirmed:
    """A call about the image was under way when its program was killed: it may have been paid."""


@final
@dataclass(frozen=True, slots=True)
class Allowance:
    """The most that may be spent: calls, money (None: no limit), and the price of a call."""

    calls: int | None = None
    money: Decimal | None = None
    per_call: Decimal = Decimal(0)
    currency: str = "USD"

    @property
    def price(self) -> int:
        """One call, in billionths."""
        return int(self.per_call * NANO)


@final
@dataclass(frozen=True, slots=True)
class Spent:
    """Calls made and money spent until now, since the file of answers was created."""

    calls: int
    money: Decimal


@final
class Ledger:
    """The file of one target's calls and answers; safe to share between threads and processes.

    Raises AnswersUnusable where the file cannot be read or written, here and in every method.
    """

    def __init__(self, path: Path, allowance: Allowance, *, ask_unconfirmed: bool = False) -> None:
        self.path, self.allowance, self._ask_unconfirmed = path, allowance, ask_unconfirmed
        self._lock = threading.RLock()
        self.made = Spent(0, Decimal(0))
        """What this process asked for."""
        self._owner = f"{socket.gethostname()}:{os.getpid()}"
        with self._errors():
            path.parent.mkdir(parents=True, exist_ok=True)
            make_private(path)
            self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
            try:
                self._check_ours()
                self._open()
            except BaseException:
                self._database.close()
                raise

    def _check_ours(self) -> None:
        """Refuse a database of another program before anything is written to it."""
        (tables,) = self._database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        (kind,) = self._database.execute("PRAGMA application_id").fetchone()  # after them: others may just create both
        if kind != _APPLICATION and (kind or tables):
            raise AnswersUnusable(
                f"{self.path}: expected a file of answers or a new file, got another program's database: "
                "name another under [answers] file"
            )

    def _open(self) -> None:
        use_write_ahead_log(self._database)
        self._database.execute("PRAGMA synchronous = FULL")  # a budget holds also after a power cut
        with self._transaction() as database:
            database.execute(_CANARIES)
            (version,) = database.execute("PRAGMA user_version").fetchone()
            if version == 0:
                for statement in _SCHEMA.split(";"):
                    database.execute(statement)
                database.execute(f"PRAGMA application_id = {_APPLICATION}")
                database.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")
            elif version != _SCHEMA_VERSION:
                raise AnswersUnusable(
                    f"{self.path}: expected a file of answers of version {_SCHEMA_VERSION}, found {version}: "
                    "name another under [answers] file"
                )

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()

    def find(self, request: str, image: str) -> Reply | None:
        """The final answer about an image that is there already, None where there is none."""
        with self._lock, self._errors():
            row = self._database.execute(
                "SELECT status, content_type, body, reason FROM calls WHERE request = ? AND image = ? AND final = 1",
                (request, image),
            ).fetchone()
        return None if row is None else Reply(row[0], row[1], row[2], row[3])

    def latest(self, request: str, image: str) -> Reply | None:
        """The reply to the latest call about an image, final or not; None where nothing came back."""
        with self._lock, self._errors():
            row = self._database.execute(
                "SELECT status, content_type, body, reason FROM calls WHERE request = ? AND image = ? "
                "AND body IS NOT NULL ORDER BY id DESC LIMIT 1",
                (request, image),
            ).fetchone()
        return None if row is None else Reply(row[0], row[1], row[2], row[3])

    def under_way(self, request: str, image: str) -> bool:
        """Whether another thread or process is asking about the image just now."""
        query = "SELECT owner, until FROM calls WHERE request = ? AND image = ? AND state = 'sent'"
        with self._lock, self._errors():
            rows = self._database.execute(query, (request, image)).fetchall()
        return any(until >= time.time() and _alive(owner) for owner, until in rows)

    def claim(self, request: str, image: str, *, seconds: float) -> Reply | Call | UnderWay | Unconfirmed:
        """A call about an image, entered and paid for; or why none is needed or allowed.

        seconds: after which the call will surely have ended. Raises BudgetSpent where the budget has no call left.
        """
        with self._transaction() as database:
            if (known := self.find(request, image)) is not None:
                return known
            self._mark_killed(request, image)
            states = {
                state
                for (state,) in database.execute(
                    "SELECT state FROM calls WHERE request = ? AND image = ?", (request, image)
                )
            }
            if "sent" in states:
                return UnderWay()
            if "unconfirmed" in states and not self._ask_unconfirmed:
                return Unconfirmed()
            return self._enter(request, image, seconds)

    def may_be_given_back(self) -> bool:
        """Whether a call is under way: if it finds no connection, what it holds of the budget comes back."""
        with self._lock, self._errors():
            rows = self._database.execute("SELECT owner, until FROM calls WHERE state = 'sent'").fetchall()
        return any(until >= time.time() and _alive(owner) for owner, until in rows)

    def _enter(self, request: str, image: str, seconds: float) -> Call:
        price, now = self.allowance.price, time.time()
        self._check_budget(self.spent(), price)
        self._database.execute("UPDATE spent SET calls = calls + 1, money = money + ?", (price,))
        cursor = self._database.execute(
            "INSERT INTO calls (request, image, state, price, owner, started, until) VALUES (?, ?, 'sent', ?, ?, ?, ?)",
            (request, image, price, self._owner, now, now + seconds),
        )
        self._count(1, price)
        return Call(int(cursor.lastrowid or 0), price)

    def _check_budget(self, spent: Spent, price: int) -> None:
        allowed = self.allowance
        advice = f"finished work is kept: raise [budget] and run the same command again (answers: {self.path.name})"
        if allowed.calls is not None and spent.calls + 1 > allowed.calls:
            raise BudgetSpent(f"budget spent: {spent.calls} of {allowed.calls} calls are made; {advice}")
        if allowed.money is not None and spent.money + Decimal(price) / NANO > allowed.money:
            amount = f"{spent.money.normalize():f} of {allowed.money:f} {allowed.currency}"
            raise BudgetSpent(f"budget spent: {amount} is spent, and a call costs {allowed.per_call:f}; {advice}")

    def settle(self, call: Call, reply: Reply, *, final: bool) -> None:
        """Keep what came back. final: it is the answer about this image and is never paid for again."""
        with self._transaction() as database:
            database.execute(
                "UPDATE calls SET state = 'answered', final = ?, seconds = ? - started, status = ?, content_type = ?, "
                "reason = ?, body = ? WHERE id = ?",
                (int(final), time.time(), reply.status, reply.content_type, reply.reason, reply.body, call.id),
            )

    def fail(self, call: Call, reason: str, *, sent: bool) -> None:
        """Nothing came back. sent: the request may have arrived, so that it stays counted; else it is given back."""
        with self._transaction() as database:
            database.execute(
                "UPDATE calls SET state = ?, seconds = ? - started, reason = ? WHERE id = ?",
                ("lost" if sent else "not sent", time.time(), reason, call.id),
            )
            if not sent:
                database.execute("UPDATE spent SET calls = calls - 1, money = money - ?", (call.price,))
                self._count(-1, -call.price)

    def spent(self) -> Spent:
        """Calls and money until now."""
        with self._lock, self._errors():
            calls, money = self._database.execute("SELECT calls, money FROM spent").fetchone()
        return Spent(calls, Decimal(money) / NANO)

    def answered(self, request: str) -> int:
        """Images with a final answer to this request."""
        with self._lock, self._errors():
            query = "SELECT count(*) FROM calls WHERE request = ? AND final = 1"
            return int(self._database.execute(query, (request,)).fetchone()[0])

    def counts(self, request: str) -> CallCounts | None:
        """Calls under this request, canaries left out; None where there was none."""
        query = (
            "SELECT count(DISTINCT image), count(DISTINCT CASE WHEN final = 1 THEN image END), "
            "count(CASE WHEN state != 'not sent' THEN 1 END) FROM calls WHERE request = ?"
        )
        why = (
            "SELECT CASE state WHEN 'answered' THEN 'HTTP ' || status WHEN 'sent' THEN 'under way' "
            "WHEN 'unconfirmed' THEN 'program killed during the call' ELSE reason END AS why, count(*) FROM calls "
            "WHERE request = ? AND final = 0 GROUP BY why ORDER BY count(*) DESC, why"
        )
        with self._lock, self._errors():
            images, answered, calls = self._database.execute(query, (request,)).fetchone()
            failed = {str(reason): int(n) for reason, n in self._database.execute(why, (request,))}
        return CallCounts(images, answered, calls, failed) if images else None

    def canaries(self, request: str) -> list[tuple[str, bytes]]:
        """Key and PNG of each image that is asked about again, in order."""
        with self._lock, self._errors():
            query = "SELECT image, png FROM canaries WHERE request = ? ORDER BY number"
            return [(key, png) for key, png in self._database.execute(query, (request,)).fetchall()]

    def add_canary(self, request: str, number: int, image: str, png: bytes) -> None:
        """Keep one more; that of another process under the same number stays."""
        with self._transaction() as database:
            database.execute("INSERT OR IGNORE INTO canaries VALUES (?, ?, ?, ?)", (request, number, image, png))

    def _count(self, calls: int, price: int) -> None:
        self.made = Spent(self.made.calls + calls, self.made.money + Decimal(price) / NANO)

    def _mark_killed(self, request: str, image: str) -> None:
        """Calls whose program is gone, or whose time is long over, will never be settled."""
        query = "SELECT id, owner, until FROM calls WHERE request = ? AND image = ? AND state = 'sent'"
        for identity, owner, until in self._database.execute(query, (request, image)).fetchall():
            if until < time.time() or not _alive(owner):
                self._database.execute("UPDATE calls SET state = 'unconfirmed' WHERE id = ?", (identity,))

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Everything or nothing, alone among threads and processes."""
        with self._lock, self._errors():
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield self._database
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            advice = "no call is made without it: free space, fix its rights, or name another under [answers] file"
            raise AnswersUnusable(
                f"{self.path}: the file of answers cannot be used ({words_of(error)}); {advice}"
            ) from error


def _alive(owner: str) -> bool:
    """Whether the process that entered a call may still live; of another host only the time can tell."""
    host, _, process = owner.rpartition(":")
    if host != socket.gethostname() or os.name == "nt":
        return True
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
