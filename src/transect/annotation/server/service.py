"""What the routes share: the project, the clock, who is known, and who is logged in."""

from __future__ import annotations

import hmac
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final, final

from fastapi import Depends, Header, HTTPException, Request, Response
from jinja2 import Environment, PackageLoader, StrictUndefined

from transect.annotation import sessions
from transect.annotation.project import Project
from transect.annotation.raters import hash_of
from transect.annotation.server.guard import COOKIES
from transect.annotation.server.limits import Buckets
from transect.annotation.server.logins import Logins

_MOST_KNOWN: Final = 20_000


@final
class Known:
    """Hashes of cookies that were found to be sessions; the oldest are forgotten first."""

    def __init__(self) -> None:
        self._hashes: OrderedDict[str, None] = OrderedDict()

    def __contains__(self, key: object) -> bool:
        return key in self._hashes

    def add(self, key: str) -> None:
        """Remember one."""
        self._hashes[key] = None
        if len(self._hashes) > _MOST_KNOWN:
            self._hashes.popitem(last=False)

    def drop(self, key: str) -> None:
        """Forget one."""
        self._hashes.pop(key, None)


@final
class Service:
    """One running application. examples: a folder of pictures of levels; clock: seconds since 1970."""

    def __init__(
        self,
        project: Project,
        examples: Path | None,
        secure: bool,
        clock: Callable[[], float] = time.time,
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
    def database(self) -> Any:
        """The project's."""
        return self.project.database

    def page(self, name: str, status: int = 200, **values: object) -> Response:
        """A page from its template."""
        text = self._pages.get_template(name).render(title=self.project.questionnaire.title, **values)
        return Response(text, status, media_type="text/html; charset=utf-8")

    def log_in(self, response: Response, rater: int | None) -> Response:
        """Give a response the cookie of a new session."""
        token = sessions.begin(self.database, rater, self.clock())
        self.known.add(hash_of(token))
        response.set_cookie(
            COOKIES["admin" if rater is None else "rater"],
            token,
            max_age=int(sessions.LIFE),
            httponly=True,
            secure=self.secure,
            samesite="strict" if rater is None else "lax",  # a link in a mail leads to a page that is logged in
        )
        return response

    def session(self, request: Request, kind: str) -> sessions.Session | None:
        """Who sent a request, if anybody of that kind is logged in."""
        token = request.cookies.get(COOKIES[kind], "")
        session = sessions.find(self.database, token, self.clock()) if token else None
        if session is None or (session.rater is None) != (kind == "admin"):
            self.known.drop(hash_of(token))
            return None
        self.known.add(hash_of(token))
        return session


def service_of(request: Request) -> Service:
    """The service that a request is to."""
    service: Service = request.app.state.service
    return service


Serving = Annotated[Service, Depends(service_of)]


def rater_of(request: Request, service: Serving) -> sessions.Session:
    """The rater's session; 401 where nobody is logged in."""
    return _somebody(service.session(request, "rater"))


def admin_of(request: Request, service: Serving) -> sessions.Session:
    """The administrator's session; 401 where nobody is logged in."""
    return _somebody(service.session(request, "admin"))


RaterSession = Annotated[sessions.Session, Depends(rater_of)]
AdminSession = Annotated[sessions.Session, Depends(admin_of)]


def writing_rater(session: RaterSession, x_csrf_token: Annotated[str, Header(max_length=128)] = "") -> int:
    """The rater who sent a change from the service's own page; 403 without its CSRF token."""
    check_csrf(session, x_csrf_token)
    return _rater(session)


def reading_rater(session: RaterSession) -> int:
    """The rater who asks, and has agreed to take part; 403 before that."""
    return _rater(session)


Writing = Annotated[int, Depends(writing_rater)]
Reading = Annotated[int, Depends(reading_rater)]


def check_csrf(session: sessions.Session, token: str) -> None:
    """403 where a change was not sent by a page of this session."""
    if not hmac.compare_digest(session.csrf.encode(), token.encode()):
        raise HTTPException(403, "this page is too old: load it again")


def _somebody(session: sessions.Session | None) -> sessions.Session:
    if session is None:
        raise HTTPException(401, "nobody is logged in: open your link again")
    return session


def _rater(session: sessions.Session) -> int:
    if session.rater is None:
        raise HTTPException(401, "nobody is logged in: open your link again")
    if not session.consented:
        raise HTTPException(403, "nothing is shown or taken before you agree to take part: open your link again")
    return session.rater
