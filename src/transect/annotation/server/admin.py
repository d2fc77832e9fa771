"""The organiser's pages: login, dashboard, pause, raters, export."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, HTTPException, Path, Request, Response
from starlette.concurrency import run_in_threadpool

from transect.annotation import progress, raters
from transect.annotation.exchange.outgoing import answers_table, as_parquet
from transect.annotation.raters import set_state
from transect.annotation.server.guard import COOKIES
from transect.annotation.server.service import AdminSession, Service, Serving, check_csrf, form_of
from transect.runs.table_inputs import csv_of

router: Final = APIRouter()
_ERRORS: Final[dict[int | str, dict[str, Any]]] = {
    401: {"description": "nobody is logged in"},
    429: {"description": "too often"},
}


@router.get("/admin/login", include_in_schema=False)
def login_page(service: Serving) -> Response:
    """Where the password is asked for."""
    return service.page("login.html", wrong=False)


@router.post("/admin/login", include_in_schema=False)
async def login(request: Request, service: Serving) -> Response:
    """Log the organiser in."""
    form = await form_of(request)

    def work() -> Response:
        if not service.logins.is_right(request, form.get("password", "")):
            return service.page("login.html", 403, wrong=True)
        response = service.log_in(Response(status_code=303, headers={"location": "/admin"}), None)
        service.logins.remember(response, secure=service.secure)
        return response

    return await run_in_threadpool(work)


@router.get("/admin", include_in_schema=False)
def dashboard(request: Request, service: Serving) -> Response:
    """Progress, speed, agreement, raters."""
    session = service.session(request, "admin")
    if session is None:
        return Response(status_code=303, headers={"location": "/admin/login"})
    status = progress.status(service.project, service.clock())
    return service.page("dashboard.html", csrf=session.csrf, now=status, asked=service.project.questionnaire)


@router.get("/api/admin/status", responses=_ERRORS)
def status(service: Serving, session: AdminSession) -> dict[str, Any]:
    """The dashboard's figures."""
    _ = session
    return progress.status(service.project, service.clock())


@router.get("/admin/export.{kind}", include_in_schema=False)
def export(service: Serving, session: AdminSession, kind: Literal["csv", "parquet"]) -> Response:
    """All answers."""
    _ = session
    table = answers_table(service.project)
    content, media = (csv_of(table), "text/csv") if kind == "csv" else (as_parquet(table), "application/octet-stream")
    headers = {"content-disposition": f'attachment; filename="answers.{kind}"'}
    return Response(content, media_type=media, headers=headers)


@router.post("/admin/pause", include_in_schema=False)
async def pause(request: Request, service: Serving) -> Response:
    """Stop giving out tasks, or resume."""
    return await _change(request, service, lambda form: progress.pause(service.database, form.get("pause") == "1"))


@router.post("/admin/raters/{rater}", include_in_schema=False)
async def rater(request: Request, service: Serving, rater: Annotated[int, Path(ge=1, le=2**31 - 1)]) -> Response:
    """Pause or exclude a rater, or let them resume."""
    return await _change(request, service, lambda form: _set(service, rater, form.get("state", "")))


@router.post("/admin/logout", include_in_schema=False)
async def logout(request: Request, service: Serving) -> Response:
    """Log the organiser out."""
    token = request.cookies.get(COOKIES["admin"], "")
    response = await _change(request, service, lambda _: raters.end(service.database, token))
    response.headers["location"] = "/admin/login"
    response.delete_cookie(COOKIES["admin"])
    return response


def _set(service: Service, rater: int, state: str) -> None:
    if state not in ("active", "paused", "excluded"):
        raise HTTPException(400, "expected active, paused or excluded")
    if not set_state(service.project, rater, state):
        raise HTTPException(404, "no such rater")


async def _change(request: Request, service: Service, work: Callable[[dict[str, str]], None]) -> Response:
    """Do what a form of the dashboard asks for, and show the dashboard again."""
    form = await form_of(request)

    def run() -> Response:
        session = service.session(request, "admin")
        if session is None:
            raise HTTPException(401, "nobody is logged in")
        check_csrf(session, form.get("csrf", ""))
        work(form)
        return Response(status_code=303, headers={"location": "/admin"})

    return await run_in_threadpool(run)
