"""Sends one request and takes back one bounded reply. Redirects are not followed, certificates are checked."""

from __future__ import annotations

import logging
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, final, runtime_checkable

from transect import __version__
from transect.errors import MissingExtra
from transect.targets.http.ledger import Reply
from transect.targets.http.settings import Limits, is_loopback

MEGABYTE = 1_000_000
_WRITTEN_AT_ONCE = 16_384
"""Bytes: what a socket takes in one step once it takes any, so that the deadline is seen between steps."""


@final
class CallFailed(Exception):
    """Nothing usable came back. retryable: another try has sense. sent: the request may have arrived."""

    def __init__(self, reason: str, *, retryable: bool, sent: bool) -> None:
        super().__init__(reason)
        self.reason, self.retryable, self.sent = reason, retryable, sent


@final
@dataclass(frozen=True, slots=True)
class Message:
    """One request, complete with its secrets: never shown, kept or put into an exception."""

    method: str
    url: str
    headers: Mapping[str, str]
    query: Mapping[str, str]
    content: bytes | None = None
    json: Any = None
    files: Mapping[str, tuple[str, bytes, str]] | None = None
    data: Mapping[str, str] | None = None

    def __repr__(self) -> str:
        return f"Message({self.method})"


@runtime_checkable
class Transport(Protocol):
    """What sends a message."""

    def send(self, message: Message) -> Reply:
        """The reply, whatever its status. Raises CallFailed where there is none."""
        ...

    def close(self) -> None:
        """Let go of its connections."""
        ...


@final
class HttpTransport:
    """Sends over HTTP with httpx2; a new connection for each call, safe to share between threads."""

    def __init__(self, url: str, limits: Limits) -> None:
        try:
            import httpx2
        except ModuleNotFoundError:
            raise MissingExtra("http", "an HTTP target") from None
        self._errors, self._deadline = httpx2, _Deadline()
        silence("httpx2", "httpcore2")
        self._seconds, self._largest = limits.timeout, int(limits.largest_answer * MEGABYTE)
        # A connection for each call: bytes behind an answer would be taken for the answer about the next image.
        pool = httpx2.Limits(max_connections=limits.concurrency, max_keepalive_connections=0)
        self._client = httpx2.Client(
            timeout=httpx2.Timeout(limits.timeout),
            limits=pool,
            follow_redirects=False,
            trust_env=not is_loopback(url),
            headers={"User-Agent": f"transect/{__version__}", "Accept-Encoding": "identity"},
        )

    def send(self, message: Message) -> Reply:
        """The reply, whatever its status; its body ends at the largest answer. Raises CallFailed where there is none.

        It is over within the timeout, from when sending began, however slowly the other side takes or gives bytes. A
        request that timed out or was malformed is not tried again: it may have been paid for, or will fail again.
        """
        errors = self._errors
        try:
            return self._send(message)
        except (errors.ConnectError, errors.ConnectTimeout, errors.PoolTimeout, errors.ProxyError) as error:
            if _is_tls(error):
                raise CallFailed("TLS: the certificate was not accepted", retryable=False, sent=False) from None
            raise CallFailed("no connection", retryable=True, sent=False) from None
        except errors.TimeoutException:
            raise CallFailed(f"timed out after {self._seconds:g} s", retryable=False, sent=True) from None
        except (errors.NetworkError, errors.RemoteProtocolError):
            raise CallFailed("connection dropped", retryable=True, sent=True) from None
        except errors.DecodingError:
            raise CallFailed("an answer whose encoding is broken", retryable=False, sent=True) from None
        except (errors.HTTPError, errors.InvalidURL, ValueError, UnicodeError) as error:
            # The message of these may hold the address or a header.
            raise CallFailed(f"not a sound request ({type(error).__name__})", retryable=False, sent=False) from None

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def _send(self, message: Message) -> Reply:
        self._deadline.set(self._seconds)
        options = {"content": message.content, "json": message.json, "files": message.files, "data": message.data}
        arguments = {key: value for key, value in options.items() if value is not None}
        if message.query:
            arguments["params"] = message.query
        arguments |= {"headers": dict(message.headers), "extensions": {"trace": self._deadline.trace}}
        with self._client.stream(message.method, message.url, **arguments) as response:
            body = bytearray()
            reason = ""
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > self._largest:
                    reason = f"an answer larger than {self._largest / MEGABYTE:g} MB"
                    break
            headers = response.headers
            content_type, wait = headers.get("content-type", ""), headers.get("retry-after", "")
            return Reply(response.status_code, content_type, bytes(body[: self._largest]), reason, wait)


@final
class _Deadline:
    """Bounds a call as a whole, of which each thread makes one at a time.

    HTTP libraries' timeouts are between bytes: who sends one now and then holds a call for as long as they like. Each
    new connection is limited here to its thread's deadline, by the hook for extensions of requests.
    """

    def __init__(self) -> None:
        self._of_thread = threading.local()

    def set(self, seconds: float) -> None:
        """Begin a call of this thread that may take so long."""
        self._of_thread.until = time.monotonic() + seconds

    def trace(self, event: str, info: Mapping[str, object]) -> None:
        """Bound a connection that was just made, before and after TLS."""
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            self._bound(info["return_value"])

    def _bound(self, stream: Any) -> None:
        import httpcore2

        read: Callable[[int, float | None], bytes] = stream.read
        write: Callable[[bytes, float | None], None] = stream.write

        def read_in_time(max_bytes: int, timeout: float | None = None) -> bytes:
            return read(max_bytes, self._left(timeout, httpcore2.ReadTimeout))

        def write_in_time(buffer: bytes, timeout: float | None = None) -> None:
            for start in range(0, len(buffer), _WRITTEN_AT_ONCE):
                part = buffer[start : start + _WRITTEN_AT_ONCE]
                write(part, self._left(timeout, httpcore2.WriteTimeout))

        stream.read, stream.write = read_in_time, write_in_time

    def _left(self, timeout: float | None, late: type[Exception]) -> float:
        left: float = self._of_thread.until - time.monotonic()
        if left <= 0:
            raise late("the call took too long")
        return left if timeout is None else min(left, timeout)


def silence(*libraries: str) -> None:
    """Let these libraries log warnings alone: their other lines hold addresses and headers, and so secrets."""
    for name in libraries:
        logging.getLogger(name).setLevel(logging.WARNING)


def _is_tls(error: BaseException) -> bool:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError) or "CERTIFICATE_VERIFY_FAILED" in str(cause):
            return True
        cause = cause.__cause__ or cause.__context__
    return False
