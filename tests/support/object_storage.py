"""A real server of object storage on loopback (moto's S3), and a proxy before it that fails as it is told."""

import http.client
import itertools
import logging
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = "PLANTED-SECRET-0123456789"
KEY = "PLANTED-KEY"
_numbers = itertools.count()


@contextmanager
def s3_server():
    """The port of a server that keeps what it is given until the end."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        yield server.get_host_and_port()[1]
    finally:
        server.stop()


class Bucket:
    """An empty bucket, seen by a client that is not Transect's."""

    def __init__(self, port):
        import boto3

        self.port, self.name = port, f"bucket-{next(_numbers)}"
        self.client = boto3.client(
            "s3",
            endpoint_url=f"http://127.0.0.1:{port}",
            region_name="us-east-1",
            aws_access_key_id="other",
            aws_secret_access_key="other",
        )
        self.client.create_bucket(Bucket=self.name)

    def address(self, path):
        return f"s3://{self.name}/{path}"

    def names(self, below=""):
        found = self.client.list_objects_v2(Bucket=self.name, Prefix=below).get("Contents", [])
        return [entry["Key"] for entry in found]

    def read(self, name):
        return self.client.get_object(Bucket=self.name, Key=name)["Body"].read()

    def write(self, name, content):
        self.client.put_object(Bucket=self.name, Key=name, Body=content)

    def delete(self, name):
        self.client.delete_object(Bucket=self.name, Key=name)

    def copy(self, below, folder):
        """Copy what lies below a name into a folder, as `aws s3 sync` does."""
        for name in self.names(below):
            path = folder / name.removeprefix(below).lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.read(name))


class FaultyProxy(ThreadingHTTPServer):
    """Hands requests on to a server, but for those that `fault(method, path, number)` names a deed for.

    number: how often this request came. Deeds: "error" (status 500), "hang" (no answer for `hanging` seconds), "cut"
    (the connection ends in the middle of the request), "cut answer" (in the middle of the answer), "lost" (the request
    arrives, its answer does not), "ignore condition" (writes where it must not).
    """

    daemon_threads = True
    block_on_close = False
    hanging = 1.5

    def __init__(self, port):
        super().__init__(("127.0.0.1", 0), _Proxy)
        self.upstream, self.fault = port, lambda _method, _path, _number: None
        self.seen, self.done, self.lock = {}, [], threading.Lock()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def deed(self, method, path):
        with self.lock:
            number = self.seen.get((method, path), 0)
            self.seen[method, path] = number + 1
            deed = self.fault(method, path, number)
            if deed:
                self.done.append((deed, method, path))
            return deed

    def handle_error(self, request, client_address):
        """Connections are cut on purpose."""


class _Proxy(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _handle(self):
        deed = self.server.deed(self.command, self.path)
        length = int(self.headers.get("Content-Length", 0))
        if deed == "cut":
            self.rfile.read(length // 2)
            return self._end()
        body = self.rfile.read(length)
        if deed == "error":
            return self._answer(500, b"<Error><Code>InternalError</Code></Error>")
        if deed == "hang":
            time.sleep(self.server.hanging)
            return self._end()
        status, headers, content = self._asked(body, without_condition=deed == "ignore condition")
        if deed == "lost":
            return self._end()
        return self._answer(status, content, headers, cut=deed == "cut answer")

    do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = _handle  # noqa: N815  (the library's names)

    def _asked(self, body, without_condition):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.upstream, timeout=10)
        dropped = {"if-none-match"} if without_condition else set()
        headers = {name: value for name, value in self.headers.items() if name.lower() not in dropped}
        connection.request(self.command, self.path, body, headers)
        answer = connection.getresponse()
        content, headers = answer.read(), dict(answer.getheaders())
        connection.close()
        return answer.status, headers, content

    def _answer(self, status, content, headers=(), cut=False):
        self.send_response(status)
        hop = {"transfer-encoding", "connection", "server", "date"}
        kept = {name: value for name, value in dict(headers).items() if name.lower() not in hop}
        if self.command != "HEAD":
            kept["Content-Length"] = str(len(content))
        for name, value in kept.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content[: len(content) // 2] if cut else content)
        if cut:
            self._end()

    def _end(self):
        self.close_connection = True
        self.wfile.flush()
        self.connection.close()

    def log_message(self, *arguments):
        """Silent."""


@contextmanager
def faulty(port):
    """A proxy before a server."""
    proxy = FaultyProxy(port)
    thread = threading.Thread(target=proxy.serve_forever, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.shutdown()
        proxy.server_close()
        thread.join()
