"""The organiser's pages: login, dashboard, pause, raters, export."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, HTTPException, Path, Request, Response

from transect.annotation import progress, raters
from transect.annotation.exchange.outgoing import answers_table
from transect.annotation.raters import set_state
from transect.annotation.server.guard import COOKIES
from transect.annotation.server.service import AdminSession, Changing, Form, Serving
from transect.errors import BadInput
from transect.runs.folder import parquet_of
from transect.runs.table_inputs import csv_of

router: Final = APIRouter()
_ERRORS: Final[dict[int | str, dict[str, object]]] = {
    401: {"description": "nobody is logged in"},
    429: {"description": "too often"},
}


@router.get("/admin/login", include_in_schema=False)
def login_page(service: Serving) -> Response:
    """Where the password is asked for."""
    return service.page("login.html", wrong=False)


@router.post("/admin/login", include_in_schema=False)
def login(request: Request, service: Serving, form: Form) -> Response:
    """Log the organiser in."""
    if not service.logins.is_right(request, form.get("password", "")):
        return service.page("login.html", 403, wrong=True)
    response = service.log_in(_to("/admin"), None)
    service.logins.remember(response, secure=service.secure)
    return response


@router.get("/admin", include_in_schema=False)
def dashboard(request: Request, service: Serving) -> Response:
    """Progress, speed, agreement, raters."""
    session = service.session(request, "admin")
    if session is None:
        return _to("/admin/login")
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
    content, media = csv_of(table), "text/csv"
    if kind == "parquet":
        content, media = parquet_of(table, compression="zstd"), "application/octet-stream"
    headers = {"content-disposition": f'attachment; filename="answers.{kind}"'}
    return Response(content, media_type=media, headers=headers)


@router.post("/admin/pause", include_in_schema=False)
def pause(service: Serving, form: Changing) -> Response:
    """Stop giving out tasks, or resume."""
    service.database.set({"paused": "1" if form.get("pause") == "1" else "0"})
    return _to("/admin")


@router.post("/admin/raters/{rater}", include_in_schema=False)
def rater(service: Serving, form: Changing, rater: Annotated[int, Path(ge=1, le=2**31 - 1)]) -> Response:
    """Pause or exclude a rater, or let them resume."""
    try:
        known = set_state(service.project, rater, form.get("state", ""))
    except BadInput as error:
        raise HTTPException(400, str(error)) from None
    if not known:
        raise HTTPException(404, "no such rater")
    return _to("/admin")


@router.post("/admin/logout", include_in_schema=False)
def logout(request: Request, service: Serving, form: Changing) -> Response:
    """Log the organiser out."""
    _ = form
    raters.end(service.database, request.cookies.get(COOKIES["admin"], ""))
    response = _to("/admin/login")
    response.delete_cookie(COOKIES["admin"])
    return response


def _to(address: str) -> Response:
    return Response(status_code=303, headers={"location": address})
