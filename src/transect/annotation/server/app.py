"""The application as a whole, and how it is run."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import socket
import threading
import time
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any, Final, final

from transect.errors import BadInput, MissingExtra

try:
    import uvicorn
    from fastapi import FastAPI, HTTPException, Request, Response
    from fastapi.exceptions import RequestValidationError
except ModuleNotFoundError:
    raise MissingExtra("annotate", "the annotation service") from None

from transect import __version__
from transect.annotation.database import Database
from transect.annotation.project import Project
from transect.annotation.server import admin, rating
from transect.annotation.server.connections import MOST, BoundedConnection, ProxiedConnection
from transect.annotation.server.guard import Guard
from transect.annotation.server.service import Service

_STATIC: Final = {
    "page.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
    "rate.js": "text/javascript; charset=utf-8",
    "dashboard.js": "text/javascript; charset=utf-8",
}
"""The files that are served; no other name leads to a file."""
_HEALTH_SECONDS: Final = 5
LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})


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

    hosts: names it answers to, empty for any; examples: a folder of pictures of levels; secure: it is reached by
    HTTPS, so that cookies are sent in no other way; public: the name (and port) under which a proxy on this
    machine shows it, which says in X-Forwarded-For whose request it is, so that raters do not share one rate.
    """
    service = Service(project, examples, secure, clock)
    app = FastAPI(title="Transect annotation", version=__version__, docs_url=None, redoc_url=None)
    app.state.service = service
    app.include_router(rating.router)
    app.include_router(admin.router)
    app.add_exception_handler(HTTPException, _told)
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
                    database.check_writable(now)
                except BadInput:
                    fault = "answers cannot be stored"
        return Response(fault or "ok", 503 if fault else 200, media_type="text/plain")


async def _told(_: Request, error: Any) -> Response:
    body = json.dumps({"detail": error.detail})
    return Response(body, error.status_code, headers=dict(error.headers or {}), media_type="application/json")


async def _not_understood(_: Request, error: Any) -> Response:
    """Which field is wrong and why, without what was sent."""
    detail = [
        {"loc": [str(part) for part in fault["loc"]], "msg": fault["msg"], "type": fault["type"]}
        for fault in error.errors()
    ]
    return Response(json.dumps({"detail": detail}), 422, media_type="application/json")


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
    server = Server(_config(app, host, port), ready)
    with contextlib.suppress(SystemExit):  # uvicorn's way to say that it could not begin; it has printed why
        server.run()
    if not server.started:
        raise _taken(host, port)


def _config(app: Guard, host: str, port: int) -> uvicorn.Config:
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
    try:
        for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            with socket.socket(family, kind, protocol) as listening:
                if os.name == "posix":  # as uvicorn does; elsewhere it would take a port that is in use
                    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listening.bind((address[0], port, *address[2:]))  # getaddrinfo takes ports beyond 65,535 for others
    except (OSError, OverflowError) as error:
        raise _taken(host, port, error) from None


def _taken(host: str, port: int, error: Exception | None = None) -> BadInput:
    """Why an address cannot be listened on, and what to do; without an error another program took it since."""
    if isinstance(error, socket.gaierror):
        return BadInput(f"--host {host}: expected a name or address of this machine, found none of that name; fix it")
    if isinstance(error, OverflowError):
        return BadInput(f"--port {port}: expected a port from 0 to 65535; choose another")
    number = error.errno if isinstance(error, OSError) else errno.EADDRINUSE
    if number == errno.EADDRNOTAVAIL:
        return BadInput(f"--host {host}: expected an address of this machine, got that of another; fix it")
    if number == errno.EACCES:
        return BadInput(f"--port {port}: expected a port that you may use, got one below 1024; choose 1024 or more")
    return BadInput(
        f"--port {port}: expected a free port, found another program on it (an earlier serve?): stop that, or choose "
        "another --port; --port 0 takes any free one"
    )
