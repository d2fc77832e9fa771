"""What every request passes before any page is looked at: host, origin, size of the body, rate.

Every reply leaves with headers that let a browser run nothing but the pages' own files. Starlette's middleware checks
the host and the size. What is our own, and which libraries were tried in its place, stands in
docs/research/size.md.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Container
from ipaddress import ip_address, ip_network
from time import monotonic
from typing import Final, final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from transect.annotation.raters import hash_of


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
            level, before = self._levels.get(key, (float(self.burst), now))
            level = min(float(self.burst), level + max(now - before, 0.0) * self.rate)
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


LARGEST_BODY: Final = 16 * 1024
"""Bytes: an answer has some 200."""
_SLOWEST_BODY: Final = 10.0
COOKIES: Final = {"rater": "transect_rater", "admin": "transect_admin"}
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
    "cache-control": "no-store",
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
        inner: ASGIApp,
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
        self._inner, self._known = RequestBodyLimitMiddleware(inner, LARGEST_BODY), known
        names = [f"[{name}]" if ":" in name else name for name in hosts]
        self._checked = TrustedHostMiddleware(self._pass, names or ["*"], www_redirect=False)
        self._headers = _HEADERS | ({"strict-transport-security": "max-age=31536000"} if secure else {})
        self._public, self.proxied = public, bool(public)
        self._by_session = by_session or Buckets(burst=60, rate=20.0)
        self._by_address = Buckets(burst=200, rate=50.0)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return

        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._checked({**scope, "client": self._client(scope)}, _in_time(receive), dressed)

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        length = Headers(scope=scope).get("content-length", "")
        if scope["method"] not in _SAFE and not _same_origin(Headers(scope=scope), self._public):
            await PlainTextResponse("the request comes from a different site", 403)(scope, receive, send)
        elif length.isdigit() and (len(length) > 9 or int(length) > LARGEST_BODY):
            await PlainTextResponse("the request is too large", 413)(scope, receive, send)  # before a handler acts
        elif not self._has_room(HTTPConnection(scope)):
            reply = PlainTextResponse("too many requests: wait a moment", 429, {"retry-after": "2"})
            await reply(scope, receive, send)
        else:
            await self._inner(scope, receive, send)

    def _has_room(self, request: HTTPConnection) -> bool:
        """Whether its session, or else its address, may ask once more now."""
        session = next((request.cookies[name] for name in self._cookies if name in request.cookies), "")
        key = hash_of(session) if session else ""
        buckets, of = (self._by_session, key) if key in self._known else (self._by_address, request["client"][0])
        return buckets.take(of, self._clock())

    def _client(self, scope: Scope) -> tuple[str, int]:
        """Who sent a request: the last address that a proxy on this machine adds, never one that others say."""
        address, port = scope.get("client") or ("", 0)
        said = ",".join(Headers(scope=scope).getlist("x-forwarded-for"))
        named = network_of(said.rpartition(",")[2].strip())
        return (named, 0) if self._public and named and is_loopback(address) else (network_of(address) or address, port)


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


def _same_origin(headers: Headers, public: str) -> bool:
    """Whether a browser says that a page of this server sent the request; programs say nothing, and have no cookies."""
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    try:
        return origin is None or urlsplit(origin).netloc in {headers.get("host", ""), public} - {""}
    except ValueError:
        return False


def _in_time(receive: Receive) -> Receive:
    """The same, but a body that is not there in time is refused."""
    ends, whole = asyncio.get_running_loop().time() + _SLOWEST_BODY, False

    async def received() -> Message:
        nonlocal whole
        if whole:
            return await receive()
        try:
            async with asyncio.timeout_at(ends):
                message = await receive()
        except TimeoutError:
            raise HTTPException(408, "the request came too slowly") from None
        whole = not message.get("more_body", False)
        return message

    return received
