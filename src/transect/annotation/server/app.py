"""The application as a whole."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Final, final

from transect.errors import MissingExtra
from transect.texts import say

try:
    from fastapi import FastAPI, HTTPException, Request, Response
    from fastapi.exceptions import RequestValidationError
except ModuleNotFoundError:
    raise MissingExtra("annotate", "the annotation service") from None

from transect import __version__
from transect.annotation.database import Database, Unusable
from transect.annotation.project import Project
from transect.annotation.server import admin, rating
from transect.annotation.server.guard import Guard
from transect.annotation.server.listening import LOOPBACK
from transect.annotation.server.service import Service

_STATIC: Final = {
    "page.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
    "rate.js": "text/javascript; charset=utf-8",
    "dashboard.js": "text/javascript; charset=utf-8",
}
"""The files that are served; no other name leads to a file."""
_HEALTH_SECONDS: Final = 5


def create_app(
    project: Project,
    hosts: frozenset[str] = LOOPBACK,
    *,
    examples: Path | None = None,
    secure: bool = False,
    public: str = "",
    clock: Callable[[], float] = time.time,
) -> Guard:
    """The ASGI application of a project; hosts, secure, public: as of `Guard`; examples: a folder of pictures."""
    service = Service(project, examples, secure, clock)
    app = FastAPI(title="Transect annotation", version=__version__, docs_url=None, redoc_url=None)
    app.state.service = service
    app.include_router(rating.router)
    app.include_router(admin.router)
    app.add_exception_handler(RequestValidationError, _not_understood)
    _add_files(app)
    health = _Health(project.database, clock)
    app.add_api_route("/health", health.state, include_in_schema=False)
    app.add_exception_handler(Unusable, health.failed)
    return Guard(app, hosts, secure, service.known, public=public)


def _add_files(app: FastAPI) -> None:
    texts = {name: (resources.files(__package__) / "static" / name).read_bytes() for name in _STATIC}

    @app.get("/static/{name}", include_in_schema=False)
    def static(name: str) -> Response:
        if name not in texts:
            raise HTTPException(404, "no such file")
        return Response(texts[name], media_type=_STATIC[name], headers={"cache-control": "no-cache"})


@final
class _Health:
    """Whether an answer could be kept now: tried at most every few seconds, and known from each answer that failed."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database, self._clock = database, clock
        self._lock, self._last, self._fault = threading.Lock(), -math.inf, False

    def state(self) -> Response:
        """200 or 503, as /health says it."""
        with self._lock:
            now = self._clock()
            if not self._last <= now < self._last + _HEALTH_SECONDS:
                self._last, self._fault = now, False
                try:
                    self._database.set({"last_check": f"{now:.0f}"})
                except Unusable:
                    self._fault = True
        text, status = ("answers cannot be stored", 503) if self._fault else ("ok", 200)
        return Response(text, status, media_type="text/plain")

    async def failed(self, _: Request, error: Exception) -> Response:
        """What a request gets while the database takes and gives nothing; its page keeps the answer and sends again."""
        self._last, self._fault = self._clock(), True
        say(str(error), error=True)  # which may name a server: for who runs this, not for raters
        detail = "the database is full or down, and what you sent is not stored: send it again later"
        return Response(json.dumps({"detail": detail}), 503, {"retry-after": "5"}, "application/json")


async def _not_understood(_: Request, error: Exception) -> Response:
    """Which field is wrong and why, without what was sent."""
    detail = [
        {"loc": [str(part) for part in fault["loc"]], "msg": fault["msg"], "type": fault["type"]}
        for fault in (error.errors() if isinstance(error, RequestValidationError) else ())
    ]
    return Response(json.dumps({"detail": detail}), 422, media_type="application/json")
