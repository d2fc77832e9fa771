"""Wrong passwords: few from one address, and a browser that logged in before has a count of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from fastapi import HTTPException, Request, Response

from transect.annotation import sessions
from transect.annotation.database import Database
from transect.annotation.server.guard import is_loopback
from transect.annotation.server.limits import Buckets

BROWSER: Final = "transect_browser"
"""The cookie of a browser from which the organiser logged in."""
_ALL: Final = "all"
_YEAR: Final = 365 * 24 * 3600


@final
class Logins:
    """The organiser's logins: ten wrong passwords by address or known browser, then one in half a minute.

    Many addresses may be one person's, and a proxy that is set up badly lets people choose theirs: unknown browsers
    together have a hundred wrong passwords, then one in six seconds. Those of this machine are not among them.
    """

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database, self._clock = database, clock
        self._each = Buckets(burst=10, rate=1 / 30)
        self._all = Buckets(burst=100, rate=1 / 6)

    def is_right(self, request: Request, password: str) -> bool:
        """Whether the password is right. Raises HTTPException 429, before it looks, where too many were wrong."""
        counts = self._counts(request)
        now = self._clock()
        if not all(buckets.take(key, now) for buckets, key in counts):
            raise HTTPException(429, "too many wrong passwords: wait a minute", {"retry-after": "30"})
        if not sessions.is_password(self._database, password):
            return False
        for buckets, key in counts:
            buckets.give(key)
        return True

    def remember(self, response: Response, *, secure: bool) -> None:
        """Give a browser that logged in its cookie."""
        token = sessions.browser_token(self._database)
        response.set_cookie(
            BROWSER, token, max_age=_YEAR, path="/admin/login", httponly=True, secure=secure, samesite="strict"
        )

    def _counts(self, request: Request) -> list[tuple[Buckets, str]]:
        """What an attempt is counted in."""
        if browser := sessions.browser_of(self._database, request.cookies.get(BROWSER, "")):
            return [(self._each, f"browser {browser}")]
        address = request.client.host if request.client else ""
        own = [(self._each, f"address {address}")]
        return own if is_loopback(address) else [*own, (self._all, _ALL)]
