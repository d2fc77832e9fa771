"""Calls, money, tokens and answers of one target in one SQLite file: the only place that allows a call.

A call is entered, and its price counted, before it is sent, in the transaction that sees that the budget allows it:
so neither threads, nor other processes, nor a restart can overrun it. Where tokens are paid for, the most that the
call can take is held until its reply says how many there were. What came back is kept with the call, whatever it
was. A call that was never settled, because its program was killed, stays counted.
"""

from __future__ import annotations

import os
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from math import ceil
from pathlib import Path
from typing import Any, Final, final

from transect.errors import AnswersUnusable, BudgetSpent
from transect.records import CallCounts
from transect.runs.locks import make_private, use_write_ahead_log
from transect.texts import words_of

NANO: Final = 10**9
"""Money is counted in whole billionths of the currency."""
_MILLION: Final = 10**6


@final
@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of one call: of what is sent, images included, and of what comes back."""

    sent: int = 0
    received: int = 0

    @property
    def total(self) -> int:
        """Both together."""
        return self.sent + self.received

    def times(self, factor: float) -> Tokens:
        """Both multiplied, and rounded up.

        >>> Tokens(10, 3).times(1.5)
        Tokens(sent=15, received=5)
        """
        return self if factor == 1 else Tokens(ceil(self.sent * factor), ceil(self.received * factor))

    def beyond(self, held: Tokens) -> float:
        """How many times what was held these are, at least 1.

        >>> Tokens(30, 5).beyond(Tokens(20, 10)), Tokens(1, 1).beyond(Tokens())
        (1.5, 1.0)
        """
        pairs = ((self.sent, held.sent), (self.received, held.received))
        return max([1.0, *(used / kept for used, kept in pairs if kept)])


NO_TOKENS: Final = Tokens()


@final
@dataclass(frozen=True, slots=True)
class Spent:
    """Calls made, money spent and tokens used until now, since the file of answers was created."""

    calls: int
    money: Decimal
    tokens: int = 0


@final
@dataclass(frozen=True, slots=True)
class Allowance:
    """The most that may be spent (None: no limit), and the price of a call and of a million tokens."""

    calls: int | None = None
    money: Decimal | None = None
    per_call: Decimal = Decimal(0)
    currency: str = "USD"
    tokens: int | None = None
    per_million_sent: Decimal = Decimal(0)
    per_million_received: Decimal = Decimal(0)

    def price(self, tokens: Tokens = NO_TOKENS) -> int:
        """One call with these tokens, in billionths, rounded up.

        >>> Allowance(per_call=Decimal("0.1")).price(), Allowance(per_million_sent=Decimal("2.5")).price(Tokens(3, 9))
        (100000000, 7500)
        """
        for_tokens = tokens.sent * self.per_million_sent + tokens.received * self.per_million_received
        return int((self.per_call * NANO + for_tokens * NANO / _MILLION).to_integral_value(ROUND_CEILING))

    def fault(self, spent: Spent, tokens: Tokens = NO_TOKENS) -> str:
        """Why no call with so many tokens is allowed any more; "" where it is."""
        price = Decimal(self.price(tokens)) / NANO
        if self.calls is not None and spent.calls + 1 > self.calls:
            return f"{spent.calls} of {self.calls} calls are made"
        if self.money is not None and spent.money + price > self.money:
            amount = f"{spent.money.normalize():f} of {self.money:f} {self.currency}"
            at_most = "may cost" if tokens.total else "costs"
            return f"{amount} is spent, and a call {at_most} {price.normalize():f}"
        if self.tokens is not None and spent.tokens + tokens.total > self.tokens:
            return f"{spent.tokens} of {self.tokens} tokens are used, and a call may use {tokens.total}"
        return ""


_VERSION: Final = 3
APPLICATION: Final = 0x74736374
"""What SQLite files of ours say that they are ("tsct")."""
_NEW: Final = """
CREATE TABLE calls (
    id INTEGER PRIMARY KEY, request TEXT NOT NULL, image TEXT NOT NULL, state TEXT NOT NULL, final INTEGER NOT NULL
    DEFAULT 0, price INTEGER NOT NULL, tokens_sent INTEGER NOT NULL, tokens_received INTEGER NOT NULL,
    most_sent INTEGER NOT NULL, most_received INTEGER NOT NULL,
    owner TEXT NOT NULL, started REAL NOT NULL, until REAL NOT NULL, seconds REAL, status INTEGER, content_type TEXT,
    reason TEXT NOT NULL DEFAULT '', body BLOB);
CREATE UNIQUE INDEX final_answers ON calls (request, image) WHERE final = 1;
CREATE UNIQUE INDEX under_way ON calls (request, image) WHERE state = 'sent';
CREATE INDEX by_image ON calls (request, image);
CREATE TABLE spent (
    calls INTEGER NOT NULL, money INTEGER NOT NULL, tokens INTEGER NOT NULL, beyond REAL NOT NULL);
INSERT INTO spent VALUES (0, 0, 0, 1.0);
CREATE TABLE batches (name TEXT PRIMARY KEY, request TEXT NOT NULL);
CREATE TABLE canaries (
    request TEXT NOT NULL, number INTEGER NOT NULL, image TEXT NOT NULL, item BLOB NOT NULL,
    PRIMARY KEY (request, number))"""

_STEPS: Final[Mapping[int, str]] = {
    1: """
CREATE TABLE IF NOT EXISTS canaries (
    request TEXT NOT NULL, number INTEGER NOT NULL, image TEXT NOT NULL, png BLOB NOT NULL,
    PRIMARY KEY (request, number));
ALTER TABLE canaries RENAME COLUMN png TO item;
ALTER TABLE calls ADD COLUMN tokens_sent INTEGER NOT NULL DEFAULT 0;
ALTER TABLE calls ADD COLUMN tokens_received INTEGER NOT NULL DEFAULT 0;
ALTER TABLE spent ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE spent ADD COLUMN beyond REAL NOT NULL DEFAULT 1.0;
CREATE TABLE batches (name TEXT PRIMARY KEY, request TEXT NOT NULL)""",
    # `beyond` was a product over replies, far too large; the next reply tells it anew.
    2: """
ALTER TABLE calls ADD COLUMN most_sent INTEGER NOT NULL DEFAULT 0;
ALTER TABLE calls ADD COLUMN most_received INTEGER NOT NULL DEFAULT 0;
UPDATE spent SET beyond = 1.0""",
}
"""What makes a file of each earlier version one of the next."""


def prepare(database: sqlite3.Connection, path: Path) -> None:
    """Make the tables of a new file, or bring an earlier one up to date with all that it holds; in a transaction."""
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version > _VERSION:
        raise AnswersUnusable(
            f"{path}: expected answers of version {_VERSION} or earlier, got {version}; update Transect to "
            "keep these paid answers, or pay again with another [answers] file"
        )
    steps = [_NEW] if version == 0 else [_STEPS[k] for k in range(version, _VERSION)]
    for statement in ";".join(steps).split(";"):
        database.execute(statement)
    database.execute(f"PRAGMA application_id = {APPLICATION}")
    database.execute(f"PRAGMA user_version = {_VERSION}")


_BATCH: Final = "a batch:"
"""Begins the owner of calls that a provider's batch makes: as a process elsewhere, it lives until its time is over."""


@final
@dataclass(frozen=True, slots=True)
class Reply:
    """What came back from one call, in HTTP's terms. reason: why it can be no answer, such as a body cut off, or ""."""

    status: int
    content_type: str
    body: bytes
    reason: str = ""
    retry_after: str = ""


@final
@dataclass(frozen=True, slots=True)
class Call:
    """A call that was allowed and is entered: send it, then settle it. tokens: reserved of the budget until then.

    most: that it takes by its rule; as many times more is held as the worst reply before it counted.
    """

    id: int
    price: int
    tokens: Tokens = NO_TOKENS
    most: Tokens = NO_TOKENS


@final
class UnderWay:
    """Another thread or process is asking about the same image."""


@final
class Unconfirmed:
    """A call about the image was under way when its program was killed: it may have been paid."""


@final
class Ledger:
    """The calls and answers of one target, safe between processes. Its methods raise AnswersUnusable where it fails."""

    def __init__(self, path: Path, allowance: Allowance, *, ask_unconfirmed: bool = False) -> None:
        self.path, self.allowance, self._ask_unconfirmed = path, allowance, ask_unconfirmed
        self._lock = threading.RLock()
        self.made = Spent(0, Decimal(0))
        """What this process asked for."""
        self._entered: set[int] = set()
        self._owner = f"{socket.gethostname()}:{os.getpid()}"
        with self._errors():
            path.parent.mkdir(parents=True, exist_ok=True)
            make_private(path)
            self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
            try:
                self._check_ours()
                use_write_ahead_log(self._database)
                self._database.execute("PRAGMA synchronous = FULL")  # a budget holds also after a power cut
                with self._transaction() as database:
                    prepare(database, self.path)
            except BaseException:
                self._database.close()
                raise

    def _check_ours(self) -> None:
        """Refuse a database of another program before anything is written to it."""
        (count,) = self._database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        (kind,) = self._database.execute("PRAGMA application_id").fetchone()  # after them: others may just create both
        if kind != APPLICATION and (kind or count):
            raise AnswersUnusable(
                f"{self.path}: expected a file of answers or a new file, got a different program's database: "
                "choose another under [answers] file"
            )

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()

    def find(self, request: str, image: str) -> Reply | None:
        """The final answer about an image that is there already, None where there is none."""
        return self._reply("final = 1", request, image)

    def latest(self, request: str, image: str) -> Reply | None:
        """The reply to the latest call about an image, final or not; None where nothing came back."""
        return self._reply("body IS NOT NULL ORDER BY id DESC LIMIT 1", request, image)

    def _reply(self, which: str, request: str, image: str) -> Reply | None:
        query = f"SELECT status, content_type, body, reason FROM calls WHERE request = ? AND image = ? AND {which}"  # noqa: S608
        rows = self._rows(query, request, image)
        return Reply(*rows[0]) if rows else None

    def _rows(self, query: str, *values: object) -> list[Any]:
        with self._lock, self._errors():
            return self._database.execute(query, values).fetchall()

    def under_way(self, request: str, image: str) -> bool:
        """Whether another thread or process is asking about the image just now."""
        query = "SELECT owner, until FROM calls WHERE request = ? AND image = ? AND state = 'sent'"
        return any(_is_live(*row) for row in self._rows(query, request, image))

    def claim(
        self, request: str, image: str, *, seconds: float, tokens: Tokens = NO_TOKENS
    ) -> Reply | Call | UnderWay | Unconfirmed:
        """A call about an image, entered and paid for; or why none is needed or allowed.

        seconds: after which the call will surely have ended. tokens: at most that it takes; as many times more
        is held as the worst reply before it counted. Raises BudgetSpent where the budget has no such call left.
        """
        with self._transaction():
            if (known := self.find(request, image)) is not None:
                return known
            self._mark_killed(request, image)
            query = "SELECT state FROM calls WHERE request = ? AND image = ?"
            states = {state for (state,) in self._rows(query, request, image)}
            if "sent" in states:
                return UnderWay()
            if "unconfirmed" in states and not self._ask_unconfirmed:
                return Unconfirmed()
            return self._enter(request, image, seconds, tokens)

    def may_be_given_back(self) -> bool:
        """Whether a call is under way: what it holds of the budget may come back, that of a batch only after hours."""
        query = "SELECT owner, until FROM calls WHERE state = 'sent' AND owner NOT LIKE ?"
        return any(_is_live(*row) for row in self._rows(query, f"{_BATCH}%"))

    def _enter(self, request: str, image: str, seconds: float, tokens: Tokens) -> Call:
        now = time.time()
        held = tokens.times(self.beyond())
        price = self.allowance.price(held)
        if fault := self.allowance.fault(self.spent(), held):
            advice = f"finished work is kept: raise [budget] and run the same command again (answers: {self.path.name})"
            raise BudgetSpent(f"budget spent: {fault}; {advice}")
        cursor = self._database.execute(
            "INSERT INTO calls (request, image, state, price, tokens_sent, tokens_received, most_sent, most_received, "
            "owner, started, until) VALUES (?, ?, 'sent', ?, ?, ?, ?, ?, ?, ?, ?)",
            (request, image, price, held.sent, held.received, tokens.sent, tokens.received, self._owner, now,
             now + seconds),
        )  # fmt: skip
        call = Call(int(cursor.lastrowid or 0), price, held, tokens)
        self._entered.add(call.id)
        self._count(call, 1, price, held.total)
        return call

    def settle(self, call: Call, reply: Reply, *, final: bool, used: Tokens | None = None) -> None:
        """Keep what came back. final: it is the answer about this image and is never paid for again.

        used: the tokens that the reply counts, which are paid for instead of those held; None where it counts none.
        A call that is settled already stays as it is: two programs may collect the same batch.
        """
        tokens = call.tokens if used is None else used
        price = call.price if used is None else self.allowance.price(used)
        with self._transaction() as database:
            if not self._is_open(call):
                return
            database.execute(
                "UPDATE calls SET state = 'answered', final = ?, seconds = ? - started, status = ?, content_type = ?, "
                "reason = ?, body = ?, price = ?, tokens_sent = ?, tokens_received = ? WHERE id = ?",
                (int(final), time.time(), reply.status, reply.content_type, reply.reason, reply.body,
                 price, tokens.sent, tokens.received, call.id),
            )  # fmt: skip
            if used is not None:
                self._count(call, 0, price - call.price, used.total - call.tokens.total)
                database.execute("UPDATE spent SET beyond = max(beyond, ?)", (used.beyond(call.most),))

    def fail(self, call: Call, reason: str, *, sent: bool) -> None:
        """Nothing came back. sent: it may have arrived, so that it stays counted; else it is given back."""
        with self._transaction() as database:
            if not self._is_open(call):
                return
            database.execute(
                "UPDATE calls SET state = ?, seconds = ? - started, reason = ? WHERE id = ?",
                ("lost" if sent else "not sent", time.time(), reason, call.id),
            )
            if not sent:
                self._count(call, -1, -call.price, -call.tokens.total)

    def _is_open(self, call: Call) -> bool:
        """Whether a call can be settled still; also one whose program was taken for dead, since its reply may come."""
        rows = self._rows("SELECT state FROM calls WHERE id = ?", call.id)
        return any(state in ("sent", "unconfirmed") for (state,) in rows)

    def spent(self) -> Spent:
        """Calls, money and tokens until now, with what calls under way hold."""
        [(calls, money, tokens)] = self._rows("SELECT calls, money, tokens FROM spent")
        return Spent(calls, Decimal(money) / NANO, tokens)

    def beyond(self) -> float:
        """How many times more than their rule calls hold: the most that any reply counted, at least 1."""
        return float(self._rows("SELECT beyond FROM spent")[0][0])

    def answered(self, request: str) -> int:
        """Images with a final answer to this request."""
        return int(self._rows("SELECT count(*) FROM calls WHERE request = ? AND final = 1", request)[0][0])

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
        with self._lock:
            [(images, answered, calls)] = self._rows(query, request)
            failed = {str(reason): int(n) for reason, n in self._rows(why, request)}
        return CallCounts(images, answered, calls, failed) if images else None

    def canaries(self, request: str) -> list[tuple[str, bytes]]:
        """Key and content of each item that is asked about again, in order: an image as PNG, or a question as JSON."""
        return self._rows("SELECT image, item FROM canaries WHERE request = ? ORDER BY number", request)

    def add_canary(self, request: str, number: int, image: str, item: bytes) -> None:
        """Keep one more; that of another process under the same number stays."""
        with self._transaction() as database:
            database.execute("INSERT OR IGNORE INTO canaries VALUES (?, ?, ?, ?)", (request, number, image, item))

    def add_batch(self, request: str, name: str, calls: Sequence[Call], *, seconds: float) -> None:
        """Hand calls over to a batch of the provider's: another program may collect them, for so many seconds."""
        with self._transaction() as database:
            database.execute("INSERT INTO batches VALUES (?, ?)", (name, request))
            until = time.time() + seconds
            rows = [(_BATCH + name, until, call.id) for call in calls]
            database.executemany("UPDATE calls SET owner = ?, until = ? WHERE id = ?", rows)

    def batches(self, request: str) -> list[str]:
        """The names of the batches that were handed over and not collected."""
        rows = self._rows("SELECT name FROM batches WHERE request = ? ORDER BY rowid", request)
        return [str(name) for (name,) in rows]

    def calls_of(self, batch: str) -> dict[int, Call]:
        """The calls of a batch that are not settled, by their numbers."""
        query = (
            "SELECT id, price, tokens_sent, tokens_received, most_sent, most_received FROM calls WHERE owner = ? "
            "AND state = 'sent'"
        )
        rows = self._rows(query, _BATCH + batch)
        return {row[0]: Call(row[0], row[1], Tokens(*row[2:4]), Tokens(*row[4:])) for row in rows}

    def drop_batch(self, batch: str) -> None:
        """Forget a batch whose calls are settled."""
        with self._transaction() as database:
            database.execute("DELETE FROM batches WHERE name = ?", (batch,))

    def _count(self, call: Call, calls: int, price: int, tokens: int) -> None:
        """Add to what all programs spent, and to what this one did where the call is its own; within a transaction."""
        self._database.execute(
            "UPDATE spent SET calls = calls + ?, money = money + ?, tokens = tokens + ?", (calls, price, tokens)
        )
        if call.id not in self._entered:  # of a batch that a program before it handed over
            return
        made = self.made
        self.made = Spent(made.calls + calls, made.money + Decimal(price) / NANO, made.tokens + tokens)

    def _mark_killed(self, request: str, image: str) -> None:
        """Calls whose program is gone, or whose time is long over, will never be settled."""
        query = "SELECT id, owner, until FROM calls WHERE request = ? AND image = ? AND state = 'sent'"
        for identity, owner, until in self._rows(query, request, image):
            if not _is_live(owner, until):
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


def _is_live(owner: str, until: float) -> bool:
    """Whether the process that entered a call may still make it; of another host only the time can tell."""
    if until < time.time():
        return False
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
