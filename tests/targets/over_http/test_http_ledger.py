"""The file of calls: its budget against a model of it, under any order of what happens."""

import contextlib
import itertools
import socket
import sqlite3
import tempfile
import threading
from decimal import Decimal
from pathlib import Path

import pytest
from hostile_server import asking, pictures, serving
from hypothesis import given, settings
from hypothesis import strategies as st

from transect.errors import AnswersUnusable, BudgetSpent
from transect.records import Images
from transect.targets.http import asking as http_asking
from transect.targets.http.ledger import Allowance, Call, Ledger, Reply, Spent, Tokens, Unconfirmed, UnderWay

ANSWER = Reply(200, "application/json", b"{}")
STEPS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["answer", "again", "lost", "unsent", "open"])), max_size=25
)


@settings(max_examples=25, deadline=None)
@given(steps=STEPS, calls=st.integers(1, 8))
def test_the_ledger_allows_and_counts_calls_like_a_simple_model(steps, calls):
    """Counted: all but what was not sent. Allowed: while counted < budget, about images neither answered nor open."""
    counted, answered, opened = 0, set(), set()
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / "x.sqlite", Allowance(calls, None, Decimal("0.1")))
        for image, end in steps:
            try:
                claimed = ledger.claim("r", str(image), seconds=60)
            except BudgetSpent:
                assert counted == calls
                assert image not in answered | opened
                continue
            assert isinstance(claimed, Reply) == (image in answered)
            assert isinstance(claimed, UnderWay) == (image in opened)
            if isinstance(claimed, Call):
                counted += end != "unsent"
                answered |= {image} if end == "answer" else set()
                opened |= {image} if end == "open" else set()
                finish(ledger, claimed, end)
            assert ledger.spent().calls == ledger.made.calls == counted <= calls
            assert ledger.spent().money == counted * Decimal("0.1")
        assert ledger.answered("r") == len(answered)
        ledger.close()


def finish(ledger, call, end):
    if end in ("answer", "again"):
        ledger.settle(call, ANSWER, final=end == "answer")
    elif end != "open":
        ledger.fail(call, end, sent=end == "lost")


def test_a_call_is_settled_once_also_by_two_programs(tmp_path):
    """Held 5,100 tokens of the batch's call, of which the reply took 1,010: both programs that collect it count so."""
    first, second = (Ledger(tmp_path / "x.sqlite", Allowance(tokens=10_000)) for _ in range(2))
    call = first.claim("r", "i", seconds=60, tokens=Tokens(5000, 100))
    first.add_batch("r", "b", [call], seconds=60)
    collected = [(ledger, ledger.calls_of("b")[call.id]) for ledger in (first, second)]
    for ledger, its in collected:
        ledger.settle(its, ANSWER, final=True, used=Tokens(1000, 10))
        assert ledger.spent() == Spent(1, Decimal(0), 1010)
    second.fail(call, "batch: expired", sent=False)
    assert (second.spent().calls, second.spent().tokens, second.answered("r")) == (1, 1010, 1)
    first.close()
    second.close()


def test_a_call_is_given_back_once(tmp_path):
    ledger = Ledger(tmp_path / "x.sqlite", Allowance(per_call=Decimal("0.1")))
    kept, unsent = (ledger.claim("r", image, seconds=60, tokens=Tokens(7, 3)) for image in "ab")
    for _ in range(2):
        ledger.fail(unsent, "no connection", sent=False)
        assert ledger.spent() == Spent(1, Decimal("0.1"), 10)
    ledger.settle(unsent, ANSWER, final=True, used=Tokens(1, 1))
    ledger.fail(kept, "cut off", sent=True)
    assert ledger.spent() == Spent(1, Decimal("0.1"), 10)
    assert ledger.answered("r") == 0
    ledger.close()


def test_a_reply_after_the_time_of_its_call_is_kept(tmp_path):
    """Another program took the call for lost; what it held, 10 tokens, becomes what the reply counts, 4."""
    ledger = Ledger(tmp_path / "x.sqlite", Allowance())
    call = ledger.claim("r", "i", seconds=-1, tokens=Tokens(7, 3))
    assert isinstance(ledger.claim("r", "i", seconds=60), Unconfirmed)
    ledger.settle(call, ANSWER, final=True, used=Tokens(3, 1))
    assert (ledger.spent().tokens, ledger.find("r", "i")) == (4, ANSWER)
    ledger.close()


def test_calls_in_flight_that_count_more_than_was_held_count_for_one(tmp_path):
    """Sixteen take 1.5 times the 1,000 tokens sent that were held: the next holds 1.5 x 1,000 and 1.5 x 64, no more.

    One of that size takes them, and the next holds the same; after one that takes twice the rule, twice is held.
    """
    ledger = Ledger(tmp_path / "x.sqlite", Allowance(tokens=100_000))
    rule = Tokens(1000, 64)
    calls = [ledger.claim("r", f"a{k}", seconds=60, tokens=rule) for k in range(16)]
    for call in calls:
        ledger.settle(call, ANSWER, final=True, used=Tokens(1500, 10))
    held = [Tokens(1500, 96), Tokens(1500, 96), Tokens(2000, 128), Tokens(2000, 128)]
    for k, used in enumerate([Tokens(1500, 10), Tokens(2000, 10), Tokens(1, 1), Tokens(1, 1)]):
        call = ledger.claim("r", f"b{k}", seconds=60, tokens=rule)
        assert call.tokens == held[k]
        ledger.settle(call, ANSWER, final=True, used=used)
    ledger.close()


VERSION_1 = """
CREATE TABLE calls (
    id INTEGER PRIMARY KEY, request TEXT NOT NULL, image TEXT NOT NULL, state TEXT NOT NULL, final INTEGER NOT NULL
    DEFAULT 0, price INTEGER NOT NULL, owner TEXT NOT NULL, started REAL NOT NULL, until REAL NOT NULL, seconds REAL,
    status INTEGER, content_type TEXT, reason TEXT NOT NULL DEFAULT '', body BLOB);
CREATE UNIQUE INDEX final_answers ON calls (request, image) WHERE final = 1;
CREATE UNIQUE INDEX under_way ON calls (request, image) WHERE state = 'sent';
CREATE INDEX by_image ON calls (request, image);
CREATE TABLE spent (calls INTEGER NOT NULL, money INTEGER NOT NULL);
CREATE TABLE canaries (
    request TEXT NOT NULL, number INTEGER NOT NULL, image TEXT NOT NULL, png BLOB NOT NULL,
    PRIMARY KEY (request, number));
INSERT INTO calls VALUES (1, 'r', 'a', 'answered', 1, 200000000, 'h:1', 0, 9, 1, 200, 'application/json', '', X'7B7D');
INSERT INTO calls VALUES (2, 'r', 'b', 'sent', 0, 200000000, 'h:1', 0, 9, NULL, NULL, NULL, '', NULL);
INSERT INTO spent VALUES (2, 400000000);
INSERT INTO canaries VALUES ('r', 0, 'a', X'504E47');
"""
"""A file as it was before tokens were counted: two calls at 0.2, of which one was answered."""
VERSION_2 = f"""{VERSION_1}
ALTER TABLE canaries RENAME COLUMN png TO item;
ALTER TABLE calls ADD COLUMN tokens_sent INTEGER NOT NULL DEFAULT 3;
ALTER TABLE calls ADD COLUMN tokens_received INTEGER NOT NULL DEFAULT 4;
ALTER TABLE spent ADD COLUMN tokens INTEGER NOT NULL DEFAULT 14;
ALTER TABLE spent ADD COLUMN beyond REAL NOT NULL DEFAULT 656.8;
CREATE TABLE batches (name TEXT PRIMARY KEY, request TEXT NOT NULL);
"""


@pytest.mark.parametrize(("version", "content", "tokens"), [(1, VERSION_1, 0), (2, VERSION_2, 14)])
def test_a_file_of_an_earlier_version_keeps_its_answers_and_what_was_spent(tmp_path, version, content, tokens):
    """Two of three calls are made: a third is allowed, a fourth is not, and what is answered is not asked again."""
    with sqlite3.connect(tmp_path / "x.sqlite") as database:
        database.executescript(f"{content} PRAGMA application_id = {0x74736374}; PRAGMA user_version = {version};")
    database.close()
    for more in (1, 0):
        ledger = Ledger(tmp_path / "x.sqlite", Allowance(calls=3, per_call=Decimal("0.2")))
        assert ledger.spent() == Spent(3 - more, (3 - more) * Decimal("0.2"), tokens + 7 * (1 - more))
        assert (ledger.claim("r", "a", seconds=60).body, ledger.answered("r")) == (b"{}", 2 - more)
        assert [item for _, item in ledger.canaries("r")] == [b"PNG"]
        if more:
            call = ledger.claim("r", "c", seconds=60, tokens=Tokens(5, 5))
            assert call.tokens == Tokens(5, 5)
            ledger.settle(call, Reply(200, "", b"{}"), final=True, used=Tokens(5, 2))
        with pytest.raises(BudgetSpent, match="3 of 3 calls are made"):
            ledger.claim("r", "d", seconds=60)
        ledger.close()


def test_stopping_waits_for_what_is_under_way(tmp_path, monkeypatch):
    """Two calls under way are answered and kept; the images after them are not asked about."""
    monkeypatch.setattr(http_asking, "_stopping", threading.Event())
    with (
        serving(lambda number, body: {"wait": 0.3}) as server,
        asking(tmp_path, server.url, limits="concurrency = 2") as target,
    ):
        failures = []

        def ask():
            try:
                target.predict(Images(pictures(6)))
            except BaseException as error:
                failures.append(type(error).__name__)

        thread = threading.Thread(target=ask)
        thread.start()
        while len(server.requests) < 2:
            thread.join(0.01)
        http_asking.drain()
        assert target.ledger.answered(target.request) == 2
        thread.join()
        assert failures == ["Interrupted"]
    assert len(server.requests) == 2


def test_another_programs_database_is_refused_and_left_as_it_is(tmp_path):
    path = tmp_path / "bookmarks.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE bookmarks (address TEXT)")
        database.execute("PRAGMA user_version = 1")
    before = path.read_bytes()
    with pytest.raises(
        AnswersUnusable, match="expected a file of answers or a new file, got a different program's database"
    ):
        Ledger(path, Allowance())
    assert path.read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["bookmarks.sqlite"]


def test_an_answer_that_nobody_asked_for_is_not_taken_for_the_next_images(tmp_path, monkeypatch):
    """The server puts a second whole answer behind its first, in the same packet."""
    monkeypatch.setenv("ACME_KEY", "correct-horse")
    numbers, server = itertools.count(), socket.create_server(("127.0.0.1", 0))

    def answer(score):
        body = f'{{"score": {score}}}'
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        return (head + body).encode()

    def converse(connection):
        with connection, connection.makefile("rb") as asked:
            while head := list(iter(asked.readline, b"\r\n")):
                if not head[-1]:
                    return
                asked.read(next(int(line.split()[1]) for line in head if line.lower().startswith(b"content-length")))
                connection.sendall(answer(0.1 * next(numbers)) + answer(0.9))

    def accept():
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=converse, args=(server.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    url = f"http://127.0.0.1:{server.getsockname()[1]}/detect"
    with asking(tmp_path, url, limits="concurrency = 1") as target:
        scores = [float(target.predict(Images(picture[None])).scores[0, 0]) for picture in pictures(4)]
    server.close()
    assert scores == pytest.approx([0, 0.1, 0.2, 0.3])
