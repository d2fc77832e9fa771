"""The application as a whole."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any, Final

from transect.errors import BadInput, MissingExtra

try:
    from fastapi import FastAPI, HTTPException, Request, Response
    from fastapi.exceptions import RequestValidationError
except ModuleNotFoundError:
    raise MissingExtra("annotate", "the annotation service") from None

from transect import __version__
from transect.annotation.database import Database
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
    """The ASGI application of a project.

    hosts: names it answers to, empty for any; examples: a folder of pictures of levels; secure, public: as of `Guard`.
    """
    service = Service(project, examples, secure, clock)
    app = FastAPI(title="Transect annotation", version=__version__, docs_url=None, redoc_url=None)
    app.state.service = service
    app.include_router(rating.router)
    app.include_router(admin.router)
    app.add_exception_handler(RequestValidationError, _not_understood)
    _add_files(app)
    _add_health(app, project.database, clock)
    return Guard(app, hosts, secure, service.known, public=public)


def _add_files(app: FastAPI) -> None:
    texts = {name: (resources.files(__package__) / "static" / name).read_bytes() for name in _STATIC}

    @app.get("/static/{name}", include_in_schema=False)
    def static(name: str) -> Response:
        if name not in texts:
            raise HTTPException(404, "no such file")
        return Response(texts[name], media_type=_STATIC[name], headers={"cache-control": "no-cache"})


def _add_health(app: FastAPI, database: Database, clock: Callable[[], float]) -> None:
    """/health: whether an answer could be kept now, tried at most every few seconds, whoever asks."""
    lock, last, fault = threading.Lock(), -math.inf, ""

    @app.get("/health", include_in_schema=False)
    def health() -> Response:
        nonlocal last, fault
        with lock:
            now = clock()
            if not last <= now < last + _HEALTH_SECONDS:
                last, fault = now, ""
                try:
                    database.set({"last_check": f"{now:.0f}"})
                except BadInput:
                    fault = "answers cannot be stored"
        return Response(fault or "ok", 503 if fault else 200, media_type="text/plain")


async def _not_understood(_: Request, error: Any) -> Response:
    """Which field is wrong and why, without what was sent."""
    detail = [
        {"loc": [str(part) for part in fault["loc"]], "msg": fault["msg"], "type": fault["type"]}
        for fault in error.errors()
    ]
    return Response(json.dumps({"detail": detail}), 422, media_type="application/json")
