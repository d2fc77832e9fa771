"""What the routes share: the project, the clock, the organiser's logins, and who is logged in."""

from __future__ import annotations

import hmac
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final, final
from urllib.parse import parse_qsl

from fastapi import Depends, Header, HTTPException, Request, Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import ClientDisconnect

from transect.annotation import raters
from transect.annotation.database import Database
from transect.annotation.project import Project
from transect.annotation.raters import hash_of
from transect.annotation.server.guard import COOKIES, Buckets, is_loopback

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
        if not raters.is_password(self._database, password):
            return False
        for buckets, key in counts:
            buckets.give(key)
        return True

    def remember(self, response: Response, *, secure: bool) -> None:
        """Give a browser that logged in its cookie."""
        token = raters.browser_token(self._database)
        response.set_cookie(
            BROWSER, token, max_age=_YEAR, path="/admin/login", httponly=True, secure=secure, samesite="strict"
        )

    def _counts(self, request: Request) -> list[tuple[Buckets, str]]:
        """What an attempt is counted in."""
        if browser := raters.browser_of(self._database, request.cookies.get(BROWSER, "")):
            return [(self._each, f"browser {browser}")]
        address = request.client.host if request.client else ""
        own = [(self._each, f"address {address}")]
        return own if is_loopback(address) else [*own, (self._all, _ALL)]


_MOST_FIELDS = 20


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form; 400 where the body is none."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise HTTPException(415, "expected a form")
    try:
        text = (await request.body()).decode("utf-8")
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except (ValueError, ClientDisconnect):
        raise HTTPException(400, "expected a form in UTF-8") from None


Form = Annotated[dict[str, str], Depends(form_of)]
_MOST_KNOWN: Final = 20_000


@final
class Known(OrderedDict[str, None]):
    """Hashes of cookies that were found to be sessions; the oldest are forgotten first."""

    def add(self, key: str) -> None:
        """Remember one."""
        self[key] = None
        if len(self) > _MOST_KNOWN:
            self.popitem(last=False)


@final
class Service:
    """One running application. examples: a folder of pictures of levels; clock: seconds since 1970."""

    def __init__(
        self, project: Project, examples: Path | None, secure: bool, clock: Callable[[], float] = time.time
    ) -> None:
        self.project, self.examples, self.secure, self.clock = project, examples, secure, clock
        self.known = Known()
        self.guesses = Buckets(burst=10, rate=1 / 30)
        """Wrong links by address: ten, then one in half a minute."""
        self.logins = Logins(project.database, clock)
        self._pages = Environment(
            loader=PackageLoader("transect.annotation.server"), autoescape=True, undefined=StrictUndefined
        )

    @property
    def database(self) -> Database:
        """The project's."""
        return self.project.database

    def page(self, name: str, status: int = 200, **values: object) -> Response:
        """A page from its template."""
        text = self._pages.get_template(name).render(title=self.project.questionnaire.title, **values)
        return Response(text, status, media_type="text/html; charset=utf-8")

    def log_in(self, response: Response, rater: int | None) -> Response:
        """Give a response the cookie of a new session."""
        token = raters.begin(self.database, rater, self.clock())
        self.known.add(hash_of(token))
        response.set_cookie(
            COOKIES["admin" if rater is None else "rater"],
            token,
            max_age=int(raters.LIFE),
            httponly=True,
            secure=self.secure,
            samesite="strict" if rater is None else "lax",  # a link in a mail leads to a page that is logged in
        )
        return response

    def session(self, request: Request, kind: str) -> raters.Session | None:
        """Who sent a request, if anybody of that kind is logged in."""
        token = request.cookies.get(COOKIES[kind], "")
        session = raters.find(self.database, token, self.clock()) if token else None
        if session is None or (session.rater is None) != (kind == "admin"):
            self.known.pop(hash_of(token), None)
            return None
        self.known.add(hash_of(token))
        return session


def service_of(request: Request) -> Service:
    """The service that a request is to."""
    service: Service = request.app.state.service
    return service


Serving = Annotated[Service, Depends(service_of)]


def rater_of(request: Request, service: Serving) -> raters.Session:
    """The rater's session; 401 where nobody is logged in."""
    return _somebody(service.session(request, "rater"))


def admin_of(request: Request, service: Serving) -> raters.Session:
    """The administrator's session; 401 where nobody is logged in."""
    return _somebody(service.session(request, "admin"))


AdminSession = Annotated[raters.Session, Depends(admin_of)]


def changed_by_admin(session: AdminSession, form: Form) -> dict[str, str]:
    """A form of the administrator's; 403 without its CSRF token."""
    check_csrf(session, form.get("csrf", ""))
    return form


Changing = Annotated[dict[str, str], Depends(changed_by_admin)]
RaterSession = Annotated[raters.Session, Depends(rater_of)]


def reading_rater(session: RaterSession) -> int:
    """The rater who asks, and has agreed to take part; 403 before that."""
    if session.rater is None or not session.consented:
        raise HTTPException(403, "nothing is shown or taken before you agree to take part: open your link again")
    return session.rater


Reading = Annotated[int, Depends(reading_rater)]


def writing_rater(
    session: RaterSession, rater: Reading, x_csrf_token: Annotated[str, Header(max_length=128)] = ""
) -> int:
    """The rater who sent a change from the service's own page; 403 without its CSRF token."""
    check_csrf(session, x_csrf_token)
    return rater


Writing = Annotated[int, Depends(writing_rater)]


def check_csrf(session: raters.Session, token: str) -> None:
    """403 where a change was not sent by a page of this session."""
    if not hmac.compare_digest(session.csrf.encode(), token.encode()):
        raise HTTPException(403, "this page is too old: load it again")


def _somebody(session: raters.Session | None) -> raters.Session:
    if session is None:
        raise HTTPException(401, "nobody is logged in: open your link again")
    return session
