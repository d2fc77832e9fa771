"""Calls, money and tokens of a speaker over HTTP: held before a call, settled after it, and never overrun."""

import os
import subprocess
import sys
from decimal import Decimal

import pytest
from chat_servers import YES, answer_of, speaking, write_chat
from hostile_server import pictures, serving
from hypothesis import given, settings
from hypothesis import strategies as st
from places import SUPPORT

from transect.errors import BudgetSpent
from transect.spoken_answers import Ask
from transect.targets.http.chat.interfaces import INTERFACES, bound
from transect.targets.http.chat.settings import ChatRequest, ChatSettings
from transect.targets.http.chat.speaker import load_chat
from transect.targets.http.ledger import Allowance, Call, Ledger, Reply, Spent, Tokens

PRICED = '[price]\nper_million_sent = 1000\nper_million_received = 10000\ncurrency = "EUR"\n'
"""A thousandth for each token sent, and a hundredth for each received."""


def shown(n, size=4):
    """n images, each shown alone."""
    return [(one,) for one in pictures(n, size)]


def texts(said):
    return [[one.text for one in row] for row in said]


def plan(**answer):
    return lambda number, body: {"body": answer_of("openai-chat", **answer)}


class TestBudget:
    def test_in_tokens_is_settled_by_what_replies_count(self, tmp_path):
        """A call holds some and takes 60. The budget fits what one holds beside what six take: the eighth is too many."""
        assert bound_of(YES, 4) == Tokens(765 + len(YES.system) + len(YES.prompt) + 100, 8)
        held = bound_of(YES, 4).total
        budget = held + 60 * 6
        with (
            serving(plan(sent=55, received=5)) as server,
            speaking(tmp_path, server.url, limits="concurrency = 1", more=f"[budget]\ntokens = {budget}") as speaker,
        ):
            with pytest.raises(
                BudgetSpent, match=rf"budget spent: 420 of {budget} tokens are used, and a call may use {held}; "
            ):
                speaker.speak(shown(20), [[YES]] * 20)
            assert (speaker.asker.made().tokens, len(server.requests)) == (420, 7)
            quote = speaker.quote(3, [YES], size=(4, 4))
            assert (quote.tokens, quote.tokens_left) == (3 * held, budget - 420)

    def test_threads_wait_for_what_others_hold(self, tmp_path):
        """Two calls fit at a time, and each gives back what it did not take: all six are asked by eight threads."""
        held = bound_of(YES, 4).total
        more = f"[budget]\ntokens = {2 * held + 5 * 60}"
        answer = {"wait": 0.05, "body": answer_of("openai-chat", sent=55, received=5)}
        with (
            serving(lambda number, body: answer) as server,
            speaking(tmp_path, server.url, limits="concurrency = 8", more=more) as speaker,
        ):
            assert texts(speaker.speak(shown(6), [[YES]] * 6)) == [["Yes."]] * 6
        assert server.most_at_once <= 2

    def test_takes_nothing_for_what_was_refused_and_all_for_what_broke(self, tmp_path):
        held = bound_of(YES, 4).total
        for status, taken in ((429, 0), (400, 0), (500, 2 * held)):
            with (
                serving(lambda number, body, status=status: {"status": status, "body": {}}) as server,
                speaking(tmp_path, server.url, limits="attempts = 2", name=f"s{status}.toml") as speaker,
            ):
                speaker.speak(shown(1), [[YES]])
                assert speaker.asker.made().tokens == taken

    @pytest.mark.integration
    def test_holds_among_several_processes(self, tmp_path):
        """Three programs ask 60 questions at once with 8 threads each; the tokens allow less than half of them."""
        held = bound_of(YES, 4).total
        budget = held + 24 * 60
        more = f"[budget]\ntokens = {budget}"
        with serving(plan(sent=55, received=5)) as server:
            file = write_chat(tmp_path, server.url, limits="concurrency = 8", more=more)
            running = [
                subprocess.Popen([sys.executable, "-c", ASK, str(file), str(k)], env=variables()) for k in range(3)
            ]
            assert 3 in {process.wait(60) for process in running} <= {0, 3}
            speaker = load_chat(file)
            spent = speaker.ledger.spent()
            speaker.close()
        assert spent.tokens == 60 * len(server.requests) <= budget
        assert spent.tokens > budget - held


ASK = """
import sys
from chat_servers import YES
from hostile_server import pictures
from transect.errors import BudgetSpent
from transect.targets.http.chat.speaker import load_chat
speaker = load_chat(sys.argv[1])
start = 20 * int(sys.argv[2])
try:
    speaker.speak([(one,) for one in pictures(60)[start : start + 20]], [[YES]] * 20)
except BudgetSpent:
    sys.exit(3)
"""


def variables():
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(SUPPORT), os.environ.get("PYTHONPATH", "")])}


def bound_of(ask, size, preset="openai-chat"):
    return bound(ChatSettings(preset=preset, request=ChatRequest(model="m")), [(size, size)], ask)


class TestTokensHeld:
    @pytest.mark.parametrize(
        ("preset", "size", "tokens"),
        [
            # OpenAI's own example: 1024 x 1024 are four tiles, 765; 32 x 32 patches at 2.46 are more.
            ("openai-chat", (1024, 1024), 2520),
            # 2048 x 4096 is six tiles of 512 after scaling: 1,105; 64 x 128 patches are more.
            ("openai-chat", (2048, 4096), 20153),
            # Anthropic's table: 1000 x 1000 are about 1,334.
            ("anthropic-messages", (1000, 1000), 1334),
            # Google's example: 960 x 540 are six tiles of 258.
            ("gemini", (960, 540), 1548),
            ("bedrock-converse", (1024, 1024), 4096),
        ],
    )
    def test_of_an_image_by_the_documented_rules(self, preset, size, tokens):
        assert INTERFACES[preset].tokens(*size) == tokens


@settings(max_examples=50, deadline=None)
@given(
    calls=st.lists(st.tuples(st.integers(0, 400), st.integers(0, 60), st.booleans()), max_size=20),
    budget=st.integers(200, 2000),
)
def test_tokens_never_overrun_a_budget_where_the_bound_holds(tmp_path_factory, calls, budget):
    """Against a model by hand: allowed while what is settled, and 100 tokens more, fit."""
    ledger = Ledger(
        tmp_path_factory.mktemp("x") / "x.sqlite", Allowance(tokens=budget, per_million_sent=Decimal("0.3"))
    )
    settled = 0
    for number, (sent, received, counts) in enumerate(calls):
        used = Tokens(sent % 81, received % 21)
        try:
            call = ledger.claim("r", str(number), seconds=60, tokens=Tokens(80, 20))
        except BudgetSpent:
            assert settled + 100 > budget
            continue
        assert isinstance(call, Call)
        assert ledger.spent().tokens == settled + 100 <= budget
        ledger.settle(call, Reply(200, "", b"{}"), final=True, used=used if counts else None)
        settled += used.total if counts else 100
        assert ledger.spent().tokens == ledger.made.tokens == settled
    ledger.close()


class TestQuote:
    def test_is_told_without_asking_or_making_a_file(self, tmp_path):
        """10 images, 3 questions of which two are the same call, 1024 x 1024 pixels."""
        asks = [YES, Ask(YES.system, YES.prompt, 1, max_tokens=8), Ask("", "Old?", max_tokens=20)]
        with serving() as server:
            with speaking(tmp_path, server.url, more=f"{PRICED}[budget]\ncalls = 50") as speaker:
                quote = speaker.quote(10, asks)
                two = speaker.quote(10, asks, shown=2)
            assert list(tmp_path.glob("*.sqlite*")) == []
            assert server.requests == []
        first, other = bound_of(YES, 1024), bound_of(asks[2], 1024)
        sent, received = 10 * (first.sent + other.sent), 10 * (first.received + other.received)
        assert (quote.calls, quote.tokens, quote.calls_left) == (20, sent + received, 50)
        assert quote.cost == pytest.approx(sent / 1000 + received / 100)
        assert two.tokens == quote.tokens + 20 * 2520


def test_money_is_rounded_up_to_a_billionth():
    """0.1 for a million tokens: 1e-7 for one; 0.0004 of that is less than a billionth, and counts as one."""
    assert Allowance(per_million_sent=Decimal("0.1")).price(Tokens(3, 5)) == 300
    assert Allowance(per_million_received=Decimal("0.0001")).price(Tokens(3, 4)) == 1
    spent = Spent(0, Decimal("0.999999999"))
    assert Allowance(money=Decimal(1), per_million_sent=Decimal("0.001")).fault(spent, Tokens(1, 0)) == ""
    assert "may cost" in Allowance(money=Decimal(1), per_million_sent=Decimal("0.002")).fault(spent, Tokens(1, 0))
