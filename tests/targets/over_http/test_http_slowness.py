"""A call over HTTP ends at its timeout, also where the other side gives or takes bytes just often enough."""

import socket
import threading
import time

import pytest
from hostile_server import asking, pictures, serving

from transect.records import Images
from transect.targets.http.asking import CallFailed, HttpTransport, Message
from transect.targets.http.settings import Limits


@pytest.mark.integration
@pytest.mark.parametrize(
    ("plan", "kept_alive"),
    [({"deed": "drip header", "drip": 0.05}, False), ({"body": b"x" * 400, "chunk": 1, "drip": 0.05}, True)],
)
def test_a_call_is_over_in_time_however_slowly_bytes_come(tmp_path, plan, kept_alive):
    """Pauses of 50 ms are far below the timeout of 1 s; the body would take 20 s, the header for ever."""
    with (
        serving(lambda number, body: None if kept_alive and number == 0 else plan) as server,
        asking(tmp_path, server.url, limits="concurrency = 1", timeout=1.0) as target,
    ):
        images = pictures(2)
        if kept_alive:
            target.predict(Images(images[:1]))
        before = time.monotonic()
        assert target.predict(Images(images[1:])).failures == ("timed out after 1 s",)
        assert time.monotonic() - before < 2
        assert target.ledger.spent().calls == len(server.requests) == 1 + kept_alive


def test_a_call_is_over_in_time_however_slowly_bytes_are_taken():
    """The server reads at most 200 kB each 50 ms of 50 MB, which would take 12 s."""
    listening, done = socket.create_server(("127.0.0.1", 0)), threading.Event()
    transport = HttpTransport("http://127.0.0.1/", Limits(timeout=1))

    def take_slowly():
        connection, _ = listening.accept()
        with connection:
            while not done.wait(0.05):
                connection.recv(200_000)

    thread = threading.Thread(target=take_slowly, daemon=True)
    thread.start()
    url, before = f"http://127.0.0.1:{listening.getsockname()[1]}/", time.monotonic()
    with pytest.raises(CallFailed, match="timed out after 1 s"):
        transport.send(Message("POST", url, {}, {}, content=bytes(50_000_000)))
    assert time.monotonic() - before < 2
    done.set()
    thread.join()
    transport.close()
    listening.close()
