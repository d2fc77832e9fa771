"""How an application listens: where, how long for a request's headers, and for how many connections."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
from collections.abc import Callable
from typing import Any, ClassVar, Final, final
from urllib.parse import urlsplit

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from transect.annotation.server.guard import Guard, network_of
from transect.errors import BadInput, MissingExtra

MOST: Final = 512
"""Connections of all clients together; beyond them, requests are answered with 503."""


class BoundedConnection(H11Protocol):
    """A connection of uvicorn that is closed where its client is too slow, or holds too many others.

    headers_within: seconds until a request's headers are there. most: connections of one address or IPv6 household:
    more than an office of 20 raters opens (six for each browser), and a quarter of what the server holds.
    """

    headers_within: ClassVar[float] = 10.0
    most: ClassVar[int] = 128
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, unless its address holds too many."""
        super().connection_made(transport)
        address = _address(self)
        if sum(_address(other) == address for other in self.connections) > self.most:
            transport.abort()
            return
        self._expect_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer."""
        self._stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes; the timer runs while a request's headers are incomplete, and for a body that nobody reads."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE and self.conn.our_state is not h11.DONE:
            self._stop()
        elif self._timer is None:
            self._expect_headers()

    def _expect_headers(self) -> None:
        self._timer = self.loop.call_later(self.headers_within, self._too_slow)

    def _too_slow(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            self.transport.abort()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class ProxiedConnection(BoundedConnection):
    """As above, behind a proxy on this machine: all clients share its address."""

    most = MOST


def _address(connection: Any) -> str:
    """The client's network; "" for a socket without an address."""
    return network_of(connection.client[0]) if connection.client else ""


try:
    import uvicorn
except ModuleNotFoundError:
    raise MissingExtra("annotate", "the annotation service") from None


LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
"""Names of this machine that no other machine can reach."""


@final
class Server(uvicorn.Server):
    """Serves until a signal stops it; `ready` is called with the port once it listens."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[int], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: Any = None) -> None:
        """Listen, and report that the server is ready."""
        await super().startup(sockets)
        if self.started and self.servers:
            self._ready(int(self.servers[0].sockets[0].getsockname()[1]))


def serve(app: Guard, host: str, port: int, ready: Callable[[int], None]) -> None:
    """Serve an application until a signal stops it. Raises BadInput where the address cannot be listened on."""
    server = Server(config(app, host, port), ready)
    with contextlib.suppress(SystemExit):  # uvicorn's way to say that it could not begin; it has printed why
        server.run()
    if not server.started:
        raise taken(host, port)


def config(app: Guard, host: str, port: int) -> uvicorn.Config:
    """How an application is served, with bounds on its connections."""
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        log_level="warning",
        access_log=False,  # links hold tokens
        server_header=False,
        proxy_headers=False,
        http=ProxiedConnection if app.proxied else BoundedConnection,
        limit_concurrency=MOST,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=5,
        ws="none",
    )


def check_address(host: str, port: int) -> None:
    """Raises BadInput where an address cannot be listened on now, before any work starts."""
    if not 0 <= port <= 65535:  # getaddrinfo takes some of these for other ports
        raise BadInput(f"--port {port}: expected a port from 0 to 65535; choose another")
    try:
        for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            with socket.socket(family, kind, protocol) as listening:
                if os.name == "posix":  # as uvicorn does; elsewhere it would take a port that is in use
                    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listening.bind(address)
    except OSError as error:
        raise taken(host, port, error) from None


def taken(host: str, port: int, error: OSError | None = None) -> BadInput:
    """Why an address cannot be listened on, and what to do; without an error another program took it since."""
    if isinstance(error, socket.gaierror):
        return BadInput(f"--host {host}: no such host; give a name or address of this machine")
    number = errno.EADDRINUSE if error is None else error.errno
    if number == errno.EADDRNOTAVAIL:
        return BadInput(f"--host {host}: expected an address of this machine, got a different one")
    if number == errno.EACCES:
        return BadInput(f"--port {port}: ports below 1024 need privileges; choose 1024 or more")
    return BadInput(f"--port {port} is in use by another program; choose another (0: any free one)")


def reached(host: str, public_url: str | None) -> tuple[str | None, frozenset[str]]:
    """The address that links begin with, where it is known, and the names that the server answers to."""
    if public_url is not None:
        try:
            parts = urlsplit(public_url)
            port = "" if parts.port in (None, {"http": 80, "https": 443}.get(parts.scheme)) else f":{parts.port}"
        except ValueError:
            parts, port = urlsplit(""), ""
        more = parts.path not in ("", "/") or parts.query or parts.fragment or {"@", "*"} & {*parts.netloc}
        if parts.scheme not in ("http", "https") or not parts.hostname or more:
            raise BadInput(f"--public-url: expected an address such as https://rate.example, got {public_url!r}")
        name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        return f"{parts.scheme}://{name}{port}", LOOPBACK | {parts.hostname}
    return None, LOOPBACK if host in LOOPBACK else frozenset()
