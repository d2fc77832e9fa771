"""The rater's pages and what they ask for: tasks, pictures, answers."""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import Annotated, Any, Final, Literal

import sqlalchemy as sa
from fastapi import APIRouter, HTTPException, Path, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from transect.annotation import progress
from transect.annotation.assignment import LONGEST, TASKS, Refused, Submitted, Task, answer, next_tasks, undo
from transect.annotation.database import read_setting
from transect.annotation.project import Project
from transect.annotation.raters import by_token, consent
from transect.annotation.schema import raters, tasks
from transect.annotation.server.service import Form, Reading, Service, Serving, Writing, check_csrf
from transect.annotation.sources import digest_of
from transect.runs.pictures import packed

router: Final = APIRouter()
_ERRORS: Final[dict[int | str, dict[str, object]]] = {
    400: {"description": "not understood"},
    401: {"description": "nobody is logged in"},
    403: {"description": "no CSRF token, or no consent yet"},
    429: {"description": "too often"},
}
_CONFLICT: Final[dict[int | str, dict[str, object]]] = {409: {"description": "cannot be taken, and why"}, **_ERRORS}
_Number = Annotated[int, Field(ge=1, le=2**31 - 1)]
_Key = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{8,64}$")]
_Digest = Annotated[str, Path(pattern=r"^[0-9a-f]{32}$")]
# Browsers keep a picture under its address for an hour. Tasks and levels are numbered the same way in every study, so
# the address contains a digest of the picture.
_KEPT: Final = {"cache-control": "private, max-age=3600"}


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class AnswerBody(_Body):
    """One answer. key: chosen by the page, the same when it is sent again; value: null where one cannot tell."""

    task: _Number
    key: _Key
    value: int | None = Field(ge=0, le=1000)
    detail: int | None = Field(default=None, ge=0, le=1000)
    milliseconds: int | None = Field(default=None, ge=0, le=LONGEST)


class UndoBody(_Body):
    """Takes the last answer back."""

    key: _Key


class TaskShown(BaseModel):
    """A task as the page shows it: pictures from left to right, by their addresses; or texts, and no picture."""

    id: int
    question: str
    pictures: list[str]
    texts: list[str] = []


class Work(BaseModel):
    """The tasks that a rater holds, and how far they are. paused: there is more, but not now."""

    tasks: list[TaskShown]
    answered: int
    share: int
    paused: bool


class Acknowledged(Work):
    """That an answer is kept, under which number. replayed: it was there already."""

    answer: int
    replayed: bool


@router.get("/", include_in_schema=False)
def home(request: Request, service: Serving) -> Response:
    """Where a rater answers; before that, what they agree to."""
    session = service.session(request, "rater")
    if session is None or session.rater is None:
        return service.page("closed.html", 401)
    questionnaire = service.project.questionnaire
    name = "rate.html" if session.consented else "consent.html"
    return service.page(name, csrf=session.csrf, asked=questionnaire)


@router.get("/invite/{token}", include_in_schema=False)
def invited(request: Request, service: Serving, token: Annotated[str, Path(max_length=128)]) -> Response:
    """Log a rater in by their link."""
    # A right link is let in however many wrong ones come from there: raters behind one address share its guesses,
    # and a link has 256 random bits.
    rater = by_token(service.database, token)
    if rater is None:
        if not service.guesses.take(request.client.host if request.client else "", service.clock()):
            raise HTTPException(429, "too many wrong links: wait a minute", {"retry-after": "30"})
        return service.page("closed.html", 404)
    return service.log_in(Response(status_code=303, headers={"location": "/"}), rater)


@router.post("/consent", include_in_schema=False)
def agree(request: Request, service: Serving, form: Form) -> Response:
    """Note a rater's consent."""
    session = service.session(request, "rater")
    if session is None or session.rater is None:
        return service.page("closed.html", 401)
    check_csrf(session, form.get("csrf", ""))
    consent(service.database, session.rater, service.clock())
    return Response(status_code=303, headers={"location": "/"})


@router.get("/api/questions", responses=_ERRORS)
def questions(service: Serving, rater: Reading) -> dict[str, Any]:
    """What is asked: texts, levels, keys, and where their examples are."""
    _ = rater
    return {"questions": [_question(service, question.name) for question in service.project.questionnaire.question]}


@router.get("/api/tasks", responses=_ERRORS)
def held(service: Serving, rater: Reading) -> Work:
    """The task to show now and the next one."""
    return _work(service, rater)


@router.post("/api/answers", responses=_CONFLICT)
def answered(service: Serving, rater: Writing, body: AnswerBody) -> Acknowledged:
    """Keep an answer; it is on disk when this replies."""
    sent = Submitted(body.task, body.key, body.value, body.detail, body.milliseconds)
    try:
        taken = answer(service.project, rater, sent, service.clock())
    except Refused as error:
        raise HTTPException(409, str(error)) from None
    return Acknowledged(**_work(service, rater).model_dump(), answer=taken.answer, replayed=taken.replayed)


@router.post("/api/undo", responses=_CONFLICT)
def undone(service: Serving, rater: Writing, body: UndoBody) -> Work:
    """Take the last answer back: its task comes first again."""
    try:
        undo(service.project, rater, body.key, service.clock())
    except Refused as error:
        raise HTTPException(409, str(error)) from None
    return _work(service, rater)


@router.get(
    "/pictures/{task}/{side}/{digest}",
    response_class=Response,
    responses={**_ERRORS, 200: {"content": {"image/png": {}}}, 404: {"description": "no picture of the rater's"}},
)
def picture(
    service: Serving,
    rater: Reading,
    task: Annotated[int, Path(ge=1, le=2**31 - 1)],
    side: Literal["left", "right"],
    digest: _Digest,
) -> Response:
    """A picture of one of the rater's own tasks."""
    mine = (tasks.c.id == task, tasks.c.rater_id == rater, tasks.c.state.in_(("leased", "answered")))
    with service.database.reading() as connection:
        row = connection.execute(TASKS.where(*mine)).one_or_none()
    image = "" if row is None else _on_side(row, side)
    pictures = service.project.pictures
    if row is None or not image or pictures.are_texts or pictures.digest(row.study, image) != digest:
        raise HTTPException(404, "no picture of yours")
    return Response(packed(pictures.png(row.study, image)), media_type="image/png", headers=_KEPT)


@router.get(
    "/examples/{question}/{level}/{digest}",
    response_class=Response,
    responses={**_ERRORS, 200: {"content": {"image/png": {}}}, 404: {"description": "no example"}},
)
def example(
    service: Serving,
    rater: Reading,
    question: Annotated[str, Path(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,62}$")],
    level: Annotated[int, Path(ge=0, le=1000)],
    digest: _Digest,
) -> Response:
    """A face that shows a level."""
    _ = rater
    # The name is looked up, never joined from what was sent.
    known = {each.name: each for each in service.project.questionnaire.question}
    if question not in known or level >= len(known[question].levels):
        raise HTTPException(404, "no example")
    png = _example(service.examples, known[question].name, level)
    if png is None or digest_of(png) != digest:
        raise HTTPException(404, "no example")
    return Response(png, media_type="image/png", headers=_KEPT)


def _work(service: Service, rater: int) -> Work:
    project: Project = service.project
    there = [_shown(project, task) for task in next_tasks(project, rater, service.clock())]
    answered_so_far, share = progress.of_rater(project, rater)
    with service.database.reading() as connection:
        state = connection.execute(sa.select(raters.c.state).where(raters.c.id == rater)).scalar()
        paused = read_setting(connection, "paused") == "1" or state == "paused"
    return Work(tasks=there, answered=answered_so_far, share=share, paused=paused)


def _shown(project: Project, task: Task) -> TaskShown:
    if (text := project.pictures.text(task.study, task.first)) is not None:
        return TaskShown(id=task.id, question=task.question, pictures=[], texts=[text])
    start, digest = f"/pictures/{task.id}", project.pictures.digest
    on = {side: _on_side(task, side) for side in ("left", "right")}
    pictures = [f"{start}/{side}/{digest(task.study, image)}" for side, image in on.items() if image]
    return TaskShown(id=task.id, question=task.question, pictures=pictures)


def _question(service: Service, name: str) -> dict[str, Any]:
    question = service.project.questionnaire.named(name)
    levels = []
    for place, level in enumerate(question.levels):
        png = _example(service.examples, name, place)
        example = None if png is None else f"/examples/{name}/{place}/{digest_of(png)}"
        levels.append({"name": level.name, "key": level.key, "example": example})
    return {
        "name": name,
        "text": question.text,
        "help": question.help,
        "skip": question.skip,
        "levels": levels,
        "follow_up": question.follow_up.model_dump() if question.follow_up else None,
    }


def _example(folder: FilePath | None, question: str, level: int) -> bytes | None:
    """The PNG of a level, where there is one."""
    path = None if folder is None else folder / f"{question}-{level}.png"
    return path.read_bytes() if path is not None and path.is_file() else None


def _on_side(row: Any, side: str) -> str:
    """Which image stands there; of a single image there is no right one."""
    if not row.second:
        return str(row.first) if side == "left" else ""
    return str(row.second if row.flipped == (side == "left") else row.first)
