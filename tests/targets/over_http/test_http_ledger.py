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
from transect.targets.http.ledger import Allowance, Call, Ledger, Reply, Unconfirmed, UnderWay
from transect.targets.http.money import Spent, Tokens

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


def test_a_call_whose_time_is_over_is_unconfirmed(tmp_path):
    ledger = Ledger(tmp_path / "x.sqlite", Allowance())
    assert isinstance(ledger.claim("r", "i", seconds=-1), Call)
    assert not ledger.under_way("r", "i")
    assert isinstance(ledger.claim("r", "i", seconds=60), Unconfirmed)
    assert isinstance(ledger.claim("another request", "i", seconds=60), Call)
    ledger.close()


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


def test_a_file_of_another_version_is_refused(tmp_path):
    import sqlite3

    database = sqlite3.connect(tmp_path / "x.sqlite")
    database.execute("PRAGMA user_version = 9")
    database.close()
    with pytest.raises(AnswersUnusable, match="expected a file of answers of version 2, found 9: name another"):
        Ledger(tmp_path / "x.sqlite", Allowance())


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


@pytest.mark.parametrize("version", [0, 1])
def test_another_programs_database_is_refused_and_left_as_it_is(tmp_path, version):
    path = tmp_path / "bookmarks.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE bookmarks (address TEXT)")
        database.execute(f"PRAGMA user_version = {version}")
    before = path.read_bytes()
    with pytest.raises(
        AnswersUnusable, match="expected a file of answers or a new file, got another program's database"
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
