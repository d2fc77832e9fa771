"""Connections that send nothing: how long one may take for a request's headers, and how many an address may hold."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from transect.annotation.server.guard import network_of

MOST: Final = 512
"""Connections of all clients together; beyond them, requests are answered with 503."""


class BoundedConnection(H11Protocol):
    """A connection of uvicorn that is closed where its client is too slow, or holds too many others.

    headers_within: seconds from the first byte of a request (or from connecting) to the end of its headers.
    most: connections of one address; an IPv6 network of one household counts as one address. It is more than an
    office of 20 raters opens (six for each browser), and a quarter of what the server holds.
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
