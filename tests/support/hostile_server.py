"""A real HTTP server on loopback that answers as it is told, also badly, and counts what it was asked."""

import hashlib
import json
import socket
import struct
import threading
import time
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

from transect.targets.http.target import load

SECRET = "correct-horse-battery"


def picture(value, size=4):
    """One image uint8 [size, size, 3] of one color."""
    return np.full((size, size, 3), value, np.uint8)


def pictures(n, size=4):
    """n different images."""
    return np.stack([picture(i, size) for i in range(n)])


class Hostile(ThreadingHTTPServer):
    """answer(number of the request, its body) gives a plan: a dict with status, headers, body, wait, or a deed."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, answer):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer, self.lock = answer, threading.Lock()
        self.seen, self.requests, self.at_once, self.most_at_once, self.times = Counter(), [], 0, 0, []
        self.sent = 0

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/detect"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        server = self.server
        with server.lock:
            number = len(server.requests)
            server.requests.append((self.path, dict(self.headers), body))
            server.times.append(time.monotonic())
            server.seen[hashlib.sha256(body).hexdigest()] += 1
            server.at_once += 1
            server.most_at_once = max(server.most_at_once, server.at_once)
        try:
            self._perform({"status": 200, "body": {"score": 0.5}, **(server.answer(number, body) or {})})
        finally:
            with server.lock:
                server.at_once -= 1

    do_GET = do_PUT = do_POST  # noqa: N815

    def _perform(self, plan):
        time.sleep(plan.get("wait", 0))
        content = plan["body"] if isinstance(plan["body"], bytes) else json.dumps(plan["body"]).encode()
        if plan.get("deed") == "reset":
            # No lingering: the other side sees a reset instead of an orderly end.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
            return
        try:
            if plan.get("deed") == "drip header":
                self._drip_header(plan["drip"])
                return
            self.send_response(plan["status"])
            declared = len(content) * 2 if plan.get("deed") == "truncate" else len(content)
            for name, value in {"Content-Type": "application/json", **plan.get("headers", {})}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(declared))
            self.end_headers()
            for i in range(0, len(content), plan.get("chunk", len(content) or 1)):
                self.server.sent += self.wfile.write(content[i : i + plan.get("chunk", len(content) or 1)])
                time.sleep(plan.get("drip", 0))
            self.close_connection = plan.get("deed") == "truncate"
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _drip_header(self, pause):
        """One byte at a time, for as long as the other side listens."""
        self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while True:
            self.wfile.write(b"x")
            time.sleep(pause)

    def log_message(self, *_):
        pass


@contextmanager
def serving(answer=lambda number, body: None):
    """A running server; its requests are in `requests`, counted by image in `seen`."""
    server = Hostile(answer)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


TOML = """
task = "{task}"
[request]
url = "{url}"
body = "bytes"
headers = {{ Authorization = "Bearer ${{ACME_KEY}}" }}
[response]
{response}
[limits]
first_wait = 0.01
longest_wait = 2.0
timeout = {timeout}
{limits}
{more}
"""


def write(
    folder, url, *, task="binary", response='score = "score"', limits="", more="", timeout=20.0, name="acme.toml"
):
    """A target's file for a server. timeout: seconds, by default longer than a busy machine ever stalls."""
    path = folder / name
    whole = {"url": url, "task": task, "response": response, "timeout": timeout, "limits": limits, "more": more}
    path.write_text(TOML.format(**whole))
    return path


@contextmanager
def asking(folder, url, **settings):
    """The target of such a file, closed in the end."""
    target = load(write(folder, url, **settings))
    try:
        yield target
    finally:
        target.close()
