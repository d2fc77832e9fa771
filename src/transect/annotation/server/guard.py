"""What every request passes before any page is looked at: host, origin, size of the body, rate.

Every reply leaves with headers that let a browser run nothing but the pages' own files.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Container, MutableMapping
from ipaddress import ip_address, ip_network
from time import monotonic
from typing import Any, Final, final
from urllib.parse import urlsplit

from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse

from transect.annotation.raters import hash_of
from transect.texts import whole_number


@final
class Buckets:
    """`burst` requests at once, refilled at `rate` a second, for each key."""

    def __init__(self, burst: int, rate: float, most: int = 20_000) -> None:
        self.burst, self.rate, self._most = burst, rate, most
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, key: str, now: float) -> bool:
        """Whether one more is allowed, which is then counted."""
        with self._lock:
            level = self._level(key, now)
            self._levels[key] = (level - 1 if level >= 1 else level, now)
            self._levels.move_to_end(key)
            while len(self._levels) > self._most:
                self._levels.popitem(last=False)
            return level >= 1

    def give(self, key: str) -> None:
        """Take back the last count of a key."""
        with self._lock:
            if key in self._levels:
                level, before = self._levels[key]
                self._levels[key] = (min(float(self.burst), level + 1), before)

    def _level(self, key: str, now: float) -> float:
        level, before = self._levels.get(key, (float(self.burst), now))
        return min(float(self.burst), level + max(now - before, 0.0) * self.rate)


Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

LARGEST_BODY: Final = 16 * 1024
"""Bytes: an answer has some 200."""
_SLOWEST_BODY: Final = 10.0
COOKIES: Final = {"rater": "transect_rater", "admin": "transect_admin"}
_HOST: Final = re.compile(r"(?:\[(?P<address>[\da-fA-F:.]+)\]|(?P<name>[\w.-]+))(?::\d{1,5})?", re.ASCII)
_SAFE: Final = {"GET", "HEAD", "OPTIONS"}
_HEADERS: Final = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with no-referrer a browser sends its own forms with origin null
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}


@final
class Guard:
    """An ASGI application around another.

    hosts: names it answers to; empty: any. secure: it is reached by HTTPS, so that cookies are sent in no other way.
    known: hashes of session cookies. A session has its own rate; other requests share that of their address. public:
    the name (and port) under which a proxy on this machine shows it; then the last address in X-Forwarded-For says
    whose request it is. cookies: names of those that hold a session.
    """

    def __init__(
        self,
        inner: Any,
        hosts: frozenset[str],
        secure: bool,
        known: Container[str],
        *,
        public: str = "",
        cookies: Collection[str] = tuple(COOKIES.values()),
        by_session: Buckets | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._clock, self._cookies = clock, cookies
        self._inner, self._hosts, self._secure, self._known = inner, hosts, secure, known
        self._public, self.proxied = public, bool(public)
        self._by_session = by_session or Buckets(burst=60, rate=20.0)
        self._by_address = Buckets(burst=200, rate=50.0)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
        scope = {**scope, "client": self._client(scope, headers)}

        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": self._dressed(message.get("headers", []))}
            await send(message)

        if refusal := self._refusal(scope, headers):
            status, reason = refusal
            await PlainTextResponse(reason, status, {"retry-after": "2"} if status == 429 else None)(
                scope, receive, dressed
            )
            return
        body = await _body(receive, headers) if scope["method"] not in _SAFE else b""
        if isinstance(body, int):
            reason = "the request is too large" if body == 413 else "the request came too slowly"
            await PlainTextResponse(reason, body)(scope, receive, dressed)
            return
        await self._inner(scope, _replayed(body, receive), dressed)

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        """Status and reason where a request goes no further."""
        host = headers.get("host", "")
        if self._hosts and _name_of(host) not in self._hosts:
            return 400, "this server does not answer to that name"
        if scope["method"] not in _SAFE and not _same_origin(headers, {host, self._public} - {""}):
            return 403, "the request comes from another site"
        cookies = cookie_parser(headers.get("cookie", ""))
        session = next((cookies[name] for name in self._cookies if name in cookies), "")
        key = hash_of(session) if session else ""
        address = scope["client"][0]
        buckets, of = (self._by_session, key) if key in self._known else (self._by_address, address)
        return None if buckets.take(of, self._clock()) else (429, "too many requests: wait a moment")

    def _client(self, scope: Scope, headers: dict[str, str]) -> tuple[str, int]:
        """Who sent a request: the last address that a proxy on this machine adds, never one that others say."""
        address, port = scope.get("client") or ("", 0)
        named = network_of(headers.get("x-forwarded-for", "").rpartition(",")[2].strip())
        return (named, 0) if self._public and named and is_loopback(address) else (network_of(address) or address, port)

    def _dressed(self, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        there = {key.lower() for key, _ in headers}
        more = dict(_HEADERS)
        if b"cache-control" not in there:
            more["cache-control"] = "no-store"
        if self._secure:
            more["strict-transport-security"] = "max-age=31536000"
        return [*headers, *((key.encode(), value.encode()) for key, value in more.items() if key.encode() not in there)]


def network_of(address: str) -> str:
    """What stands for one person: an address without its port, of IPv6 the network that one household has.

    >>> network_of("192.0.2.1:5000"), network_of("::ffff:192.0.2.1"), network_of("[2001:db8::1]:5000"), network_of("x")
    ('192.0.2.1', '192.0.2.1', '2001:db8::/64', '')
    """
    bare = address[1:].partition("]")[0] if address.startswith("[") else address
    bare = bare.partition(":")[0] if bare.count(":") == 1 else bare
    try:
        network_address = ip_address(bare)
    except ValueError:
        return ""
    network_address = getattr(network_address, "ipv4_mapped", None) or network_address
    return (
        str(network_address) if network_address.version == 4 else str(ip_network((network_address, 64), strict=False))
    )


def is_loopback(address: str) -> bool:
    """Whether it is an address of this machine alone."""
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def _name_of(host: str) -> str:
    """The name in a Host header, without its port; "" for anything else, such as a user's name or a list.

    >>> _name_of("localhost:8000"), _name_of("[::1]:8000"), _name_of("a@localhost"), _name_of("localhost,b")
    ('localhost', '::1', '', '')
    """
    found = _HOST.fullmatch(host)
    return (found["address"] or found["name"]).lower() if found else ""


def _same_origin(headers: dict[str, str], names: Container[str]) -> bool:
    """Whether a browser says that a page of this server sent the request; programs say nothing, and have no cookies."""
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    try:
        return origin is None or urlsplit(origin).netloc in names
    except ValueError:
        return False


async def _body(receive: Receive, headers: dict[str, str]) -> bytes | int:
    """The whole body, or the status that refuses it."""
    length = whole_number(headers.get("content-length", "0"))
    if length is None or length > LARGEST_BODY:
        return 413

    async def read() -> bytes | int:
        body = b""
        while True:
            message = await receive()
            part: bytes = message.get("body", b"")
            body += part
            if len(body) > LARGEST_BODY:
                return 413
            if message["type"] == "http.disconnect" or not message.get("more_body", False):
                return body

    try:
        return await asyncio.wait_for(read(), _SLOWEST_BODY)
    except TimeoutError:
        return 408


def _replayed(body: bytes, receive: Receive) -> Receive:
    """What the inner application receives: the body that was read, then whatever comes."""
    sent = False

    async def again() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
