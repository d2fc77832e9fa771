"""A target over HTTP against a server that misbehaves on purpose: every image accounted for, nothing paid twice."""

import logging
import socket
import sqlite3
import ssl

import numpy as np
import pytest
from hostile_server import SECRET, asking, picture, pictures, serving, write

from transect.errors import BudgetSpent
from transect.records import Images, Task
from transect.targets import describe, guarded
from transect.targets.http.target import load


def test_an_image_is_asked_about_once_and_read(tmp_path):
    with serving(lambda number, body: {"body": {"score": 0.25}}) as server, asking(tmp_path, server.url) as target:
        images = Images(pictures(3))
        first, again = target.predict(images), target.predict(images)
    assert (target.name, target.task, target.metered) == ("acme", Task.BINARY, True)
    assert first.scores.tolist() == again.scores.tolist() == [[0.25]] * 3
    assert len(server.requests) == 3
    path, headers, body = server.requests[0]
    assert (path, headers["Authorization"], headers["Content-Type"]) == ("/detect", f"Bearer {SECRET}", "image/png")
    assert body.startswith(b"\x89PNG")


def test_equal_images_asked_at_once_are_paid_for_once(tmp_path):
    same = Images(np.stack([picture(7)] * 8))
    with (
        serving(lambda number, body: {"wait": 0.1}) as server,
        asking(tmp_path, server.url, limits="concurrency = 8") as target,
    ):
        assert target.predict(same).scores.tolist() == [[0.5]] * 8
    assert len(server.requests) == 1


@pytest.mark.integration
def test_a_new_process_pays_for_nothing_again(tmp_path):
    with serving() as server:
        for _ in range(2):
            with asking(tmp_path, server.url) as target:
                target.predict(Images(pictures(2)))
        with asking(tmp_path, server.url, response='score = "other"', limits="rate = 1000") as target:
            reasons = target.predict(Images(pictures(2))).failures  # read another way, from the same replies
        assert len(server.requests) == 2
        assert reasons == ("no value at response.score: the answer has score (number)",) * 2
        version = write(tmp_path, server.url)
        version.write_text(f'version = "2"\n{version.read_text()}')
        target = load(version)
        target.predict(Images(pictures(2)))
        target.close()
    assert len(server.requests) == 4, "another version is another target"


class TestTriesAgain:
    @pytest.mark.integration
    @pytest.mark.parametrize(
        "plan", [{"status": 429}, {"status": 500}, {"status": 503}, {"deed": "reset"}, {"deed": "truncate"}]
    )
    def test_passing_failures_are_tried_again(self, tmp_path, plan):
        with (
            serving(lambda number, body: plan if number < 2 else None) as server,
            asking(tmp_path, server.url) as target,
        ):
            assert target.predict(Images(pictures(1))).failures == ("",)
            assert target.ledger.spent().calls == 3, "every request that was sent is counted"
        assert len(server.requests) == 3

    @pytest.mark.integration
    @pytest.mark.parametrize(
        ("plan", "reason"),
        [
            ({"status": 400}, "refused: HTTP 400"),
            ({"status": 401}, "not allowed: HTTP 401: check address and credentials"),
            ({"body": b"{no json"}, "invalid answer: no JSON"),
            ({"body": b'{"score": 1, "score": 0}'}, "invalid answer: JSON with a key twice"),
            ({"body": b'{"score": NaN}'}, "invalid answer: JSON with NaN or infinity"),
            ({"body": {"score": "high"}}, "invalid answer: expected a number at response.score, got text"),
            ({"body": b'"' + b"x" * 150_000 + b'"'}, "invalid answer: an answer larger than 0.1 MB"),
            ({"wait": 1.5}, "timed out after 0.5 s"),
        ],
    )  # fmt: skip
    def test_lasting_failures_are_not_tried_again(self, tmp_path, plan, reason):
        limits = "largest_answer = 0.1"
        with serving(lambda number, body: plan) as server, asking(tmp_path, server.url, limits=limits) as target:
            target.asker._transport._seconds = 0.5
            target.asker._transport._client.timeout = 0.5
            assert target.predict(Images(pictures(1))).failures == (reason,)
        assert len(server.requests) == 1

    def test_retry_after_holds_for_all_threads(self, tmp_path):
        def answer(number, body):
            return {"status": 429, "headers": {"Retry-After": "1"}} if number == 0 else None

        with serving(answer) as server, asking(tmp_path, server.url, limits="concurrency = 1") as target:
            assert not target.predict(Images(pictures(3))).failed.any()
        assert server.times[1] - server.times[0] >= 0.99
        assert len(server.requests) == 4

    def test_without_a_connection_nothing_is_counted(self, tmp_path):
        with socket.socket() as silent:  # it keeps its port and takes no calls
            silent.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{silent.getsockname()[1]}/detect"
            with asking(tmp_path, url, more="[budget]\ncalls = 1") as target:
                assert (
                    target.predict(Images(pictures(2))).failures
                    == ("no connection: start the server, or correct its address (tries: 4)",) * 2
                )
                assert target.ledger.spent().calls == 0


def test_a_certificate_that_is_not_trusted(tmp_path):
    made = tmp_path / "both.pem"
    make_certificate(made)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made)
    with serving() as server:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        with asking(tmp_path, server.url.replace("http:", "https:")) as target:
            reasons = target.predict(Images(pictures(1))).failures
            assert target.ledger.spent().calls == 0
    assert reasons == ("TLS: the certificate was rejected",)


def make_certificate(path):
    """A self-signed certificate and its key in one file."""
    import subprocess

    options = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=127.0.0.1"]
    key = path.with_suffix(".key")
    subprocess.run(["openssl", "req", *options, "-keyout", key, "-out", path], check=True, capture_output=True)
    path.write_bytes(path.read_bytes() + key.read_bytes())


class TestBudget:
    def test_cannot_be_overrun_by_threads_and_tries(self, tmp_path):
        """Half of all calls fail, sixteen threads ask: 10 calls are allowed, 10 arrive."""
        answer = {0: {"status": 500}, 1: None}
        with (
            serving(lambda number, body: answer[number % 2]) as server,
            asking(tmp_path, server.url, limits="concurrency = 16", more="[budget]\ncalls = 10") as target,
        ):
            with pytest.raises(BudgetSpent, match=r"budget spent: 10 of 10 calls are made; .* raise \[budget\]"):
                target.predict(Images(pictures(40)))
            assert target.ledger.spent().calls == 10
        assert len(server.requests) == 10

    def test_in_money_is_exact_and_outlives_the_program(self, tmp_path):
        """0.1 three times is 0.3 exactly, which floats are not: three calls, and none after a restart."""
        more = '[budget]\nmoney = 0.3\n[price]\nper_call = 0.1\ncurrency = "EUR"'
        with serving() as server:
            for left in (3, 0):
                with asking(tmp_path, server.url, more=more) as target:
                    assert target.quote(5).money_left == pytest.approx(left / 10)
                    with pytest.raises(
                        BudgetSpent, match=r"budget spent: 0.3 of 0.3 EUR is spent, and a call costs 0.1"
                    ):
                        target.predict(Images(pictures(5)))
            assert len(server.requests) == 3

    def test_stops_a_run_and_raising_it_goes_on_with_what_was_paid(self, tmp_path):
        with serving() as server:
            with asking(tmp_path, server.url, more="[budget]\ncalls = 4") as target, pytest.raises(BudgetSpent):
                guarded(target, Images(pictures(6)), timeout=1, batch=2)
            with asking(tmp_path, server.url, more="[budget]\ncalls = 6") as target:
                assert not guarded(target, Images(pictures(6)), timeout=1, batch=2).failed.any()
        assert sorted(server.seen.values()) == [1] * 6


def test_rate_and_concurrency_are_kept(tmp_path):
    """Seven calls at 20 a second take at least 6 gaps of 50 ms, and never more than two are under way."""
    with (
        serving(lambda number, body: {"wait": 0.08}) as server,
        asking(tmp_path, server.url, limits="rate = 20\nconcurrency = 2") as target,
    ):
        target.predict(Images(pictures(7)))
    assert server.times[-1] - server.times[0] >= 6 * 0.05 - 0.02  # the clock of arrivals, not of departures
    assert server.most_at_once == 2


def test_the_guard_is_as_patient_as_the_target(tmp_path):
    """The run's timeout of 0.2 s an image would abandon the call, and ask and pay again."""
    with serving(lambda number, body: {"wait": 0.5}) as server, asking(tmp_path, server.url) as target:
        assert guarded(target, Images(pictures(2)), timeout=0.2, batch=2).failures == ("", "")
    assert len(server.requests) == 2


class TestSecrets:
    def test_are_in_no_file_answer_or_description(self, tmp_path):
        """The server echoes the key in three forms, in a header and in a key of the JSON."""
        import base64

        echoed = {
            SECRET: 1,
            "b": base64.b64encode(SECRET.encode()).decode(),
            "h": f"Bearer {SECRET}",
        }
        plan = {"body": echoed, "headers": {"Content-Type": f"application/json; k={SECRET}"}}
        with serving(lambda number, body: plan) as server, asking(tmp_path, server.url) as target:
            reason = target.predict(Images(pictures(1))).failures[0]
            text = f"{describe(target)} {reason} {target.messages.secrets!r} {target.messages.make(picture(1))!r}"
        assert reason.startswith("no value at response.score: the answer has [ACME_KEY] (number)")
        for content in [text.encode(), *(path.read_bytes() for path in tmp_path.iterdir())]:
            assert SECRET.encode() not in content
            assert base64.b64encode(SECRET.encode()) not in content

    @pytest.mark.parametrize("beyond", [1, 9, 20])
    def test_are_not_kept_in_part_where_an_answer_is_cut_off(self, tmp_path, beyond):
        """The limit of 1000 bytes falls into the key of 21 characters, so many before its end."""
        body = b"x" * (1000 - len(SECRET) + beyond) + SECRET.encode() + b"x" * 1000
        limits = "largest_answer = 0.001"
        with serving(lambda number, _: {"body": body}) as server, asking(tmp_path, server.url, limits=limits) as target:
            assert target.predict(Images(pictures(1))).failures == ("invalid answer: an answer larger than 0.001 MB",)
            (kept,) = sqlite3.connect(target.ledger.path).execute("SELECT body FROM calls").fetchone()
        assert kept
        assert set(kept) == {ord("x")}

    def test_are_in_no_log_however_much_is_logged(self, tmp_path, caplog):
        """The key stands in the address and a redirect echoes it: libraries' debug lines would show both."""
        caplog.set_level(logging.DEBUG)
        plan = {"status": 302, "headers": {"Location": f"http://127.0.0.1:9/?k={SECRET}"}}
        with serving(lambda number, body: plan) as server:
            file = write(tmp_path, server.url)
            file.write_text(file.read_text().replace("[response]", '[request.query]\nkey = "${ACME_KEY}"\n[response]'))
            target = load(file)
            target.predict(Images(pictures(1)))
            target.close()
        assert SECRET in server.requests[0][0], "the server got it"
        assert SECRET not in caplog.text
