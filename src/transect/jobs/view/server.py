"""The page's server: pictures, tables and sheets of a selection, for whoever has the token."""

from __future__ import annotations

import hmac
import threading
from collections.abc import Callable
from importlib import resources
from typing import Annotated, Any, Final, final
from urllib.parse import urlencode

import numpy as np
import pyarrow as pa
from fastapi import Depends, FastAPI, HTTPException, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from jaxtyping import Int

from transect.annotation.raters import hash_of
from transect.annotation.server.guard import Buckets, Guard
from transect.annotation.server.listening import LOOPBACK
from transect.errors import BadInput, RunFolderError, TransectError
from transect.jobs.view import replies, selection
from transect.jobs.view.index import Index, read_folder
from transect.jobs.view.selection import Wanted, select
from transect.reports.sheets import contact_sheet
from transect.runs.byte_cache import ByteCache
from transect.runs.folder import parquet_of
from transect.runs.json_records import dumps
from transect.runs.pictures import packed, pixels_of_png, png, reduced, saved
from transect.runs.table_inputs import csv_of
from transect.texts import one_line

THUMBNAIL: Final = 160
"""Pixels of the longer side of a thumbnail; smaller pictures keep their size."""
_PARTS: Final = 128 << 20
_THUMBNAILS: Final = 32 << 20
_QUALITY: Final = 90
_AT_ONCE: Final = 2
_LOCKS: Final = 16


@final
class Pictures:
    """The pictures of an index: `full` as PNG, `thumbnail` as JPEG, `pixels` as numbers."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._parts: ByteCache[pa.ChunkedArray] = ByteCache(_PARTS, lambda column: int(column.nbytes))
        self._thumbnails: ByteCache[bytes] = ByteCache(_THUMBNAILS, len)
        self._at_once = threading.Semaphore(_AT_ONCE)
        self._locks = [threading.Lock() for _ in range(_LOCKS)]

    def pixels(self, row: int) -> np.ndarray:
        """uint8 [h, w, 3]. Raises CorruptedPart or BadInput, naming what does not read back."""
        run, place = self._index.place(row)
        column = self._column(int(self._index.run[row]), int(run.part[place]))
        stored: bytes = column[int(run.row[place])].as_py()
        return pixels_of_png(stored, f"{run.name}: {run.ids[place]}")

    def full(self, row: int) -> bytes:
        """The picture as PNG. Raises as `pixels`."""
        return packed(png(self.pixels(row)))

    def thumbnail(self, row: int) -> bytes:
        """The picture as JPEG, its longer side at most `THUMBNAIL` pixels. Raises as `pixels`."""
        return self._thumbnails.get(row, lambda: _jpeg(self.pixels(row)))

    def _column(self, run: int, part: int) -> pa.ChunkedArray:
        def read() -> pa.ChunkedArray:
            return self._index.runs[run].run.read_part("images", part)["image"]

        # Many requests for one part at once read it once, and few parts are in memory beside those that are kept.
        with self._locks[(run + part) % _LOCKS], self._at_once:
            return self._parts.get((run, part), read)


def _jpeg(pixels: np.ndarray) -> bytes:
    return saved(reduced(pixels, THUMBNAIL), "JPEG", quality=_QUALITY, subsampling=0)


MOST_ON_A_SHEET: Final = 400
_SIDE: Final = 128
_COLUMNS: Final = 10


def table_of(index: Index, rows: Int[np.ndarray, " m"]) -> pa.Table:
    """The rows with run, id, subject, cell, SHA-256, every attribute, and answer, score, right and reason by target."""
    columns: dict[str, object] = {
        "run": pa.array([index.runs[number].name for number in index.run[rows].tolist()], pa.string()),
        "id": index.ids.take(pa.array(rows)),
        "subject": pa.array(index.people[rows]),
        "cell": pa.array(np.concatenate([run.cells for run in index.runs])[rows]),
        "sha256": pa.chunked_array([c for run in index.runs for c in run.digests.chunks]).take(pa.array(rows)),
    }
    columns |= {name: _numbers(values[rows]) for name, values in index.values.items()}
    for name, said in index.answers.items():
        columns |= {
            f"{name}: answer": _numbers(said.answer[rows]),
            f"{name}: score": _numbers(said.score[rows]),
            f"{name}: right": _numbers(said.right[rows]),
            f"{name}: no answer because": pa.array(
                [one_line(str(why)) or None for why in said.reasons[rows]], pa.string()
            ),
        }
    return pa.table(columns)


def sheet_of(pictures: Pictures, rows: Int[np.ndarray, " m"], labels: list[str]) -> bytes:
    """The first images of a selection on one PNG, at most 400, each 128 pixels at most, with its label."""
    if not len(rows):
        raise BadInput("contact sheet: no images; choose fewer filters")
    shown = [_squared(reduced(pictures.pixels(row), _SIDE)) for row in rows[:MOST_ON_A_SHEET].tolist()]
    return saved(contact_sheet(np.stack(shown), _COLUMNS, labels[: len(shown)]))


def _squared(pixels: np.ndarray) -> np.ndarray:
    """The picture in the middle of a white square."""
    square = np.full((_SIDE, _SIDE, 3), 255, dtype=np.uint8)
    height, width = pixels.shape[:2]
    top, left = (_SIDE - height) // 2, (_SIDE - width) // 2
    square[top : top + height, left : left + width] = pixels
    return square


def _numbers(values: np.ndarray) -> pa.Array:
    """Numbers with null for NaN."""
    return pa.array(values, from_pandas=True)


_SCRIPTS: Final = ("view.js", "page.js", "filters.js", "tiles.js", "subject.js", "image.js", "transcripts.js")
_STATIC: Final = {
    **dict.fromkeys(_SCRIPTS, "text/javascript; charset=utf-8"),
    "view.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
"""The files that are served; no other name leads to a file."""
MOST_LINES: Final = 400
"""Entries of one reply."""
MOST_TRANSCRIPTS: Final = 100
"""Images of one reply with all that was said about them."""
_TOKEN: Final = "token"  # noqa: S105  (the name of a parameter)
_KEPT: Final = {"cache-control": "private, max-age=3600, immutable"}
_SELECTIONS: Final = 8 << 20
_BURST, _RATE = 4000, 1000.0
"""Requests of the one person who has the token: fast scrolling asks for hundreds of thumbnails a second."""


@final
class Held:
    """What is served: an index, its pictures, and what addresses led to. It is replaced as a whole, never changed."""

    def __init__(self, index: Index) -> None:
        self.index, self.pictures = index, Pictures(index)
        self.selections: ByteCache[Any] = ByteCache(_SELECTIONS, _size)


@final
class Service:
    """What the routes share. token: who has it sees everything."""

    def __init__(self, index: Index, token: str) -> None:
        self.token, self.held = token, Held(index)
        self.cookie = f"transect_view_{hash_of(token)[:8]}"
        """Its own for each server: cookies of one name would be shared by all ports of this machine."""

    def lets_in(self, given: str) -> bool:
        """Whether a text is the token."""
        return hmac.compare_digest(given.encode(), self.token.encode())

    def read_again(self) -> Held:
        """Look for parts that were finished since. Raises BadInput where no run is left."""
        self.held = Held(read_folder(self.held.index.folder))
        return self.held


def create_app(index: Index, token: str) -> Guard:
    """The ASGI application of an index, for this machine alone."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    service = app.state.service = Service(index, token)
    app.add_exception_handler(TransectError, _refused)
    app.add_exception_handler(RequestValidationError, _not_understood)
    _add_page(app, service)
    _add_answers(app)
    _add_pictures(app)
    _add_exports(app)
    return Guard(app, LOOPBACK, False, {hash_of(token)}, cookies=(service.cookie,), by_session=Buckets(_BURST, _RATE))


def _known(request: Request) -> Service:
    """The service, for a browser with the cookie; 401 for any other."""
    service: Service = request.app.state.service
    if not service.lets_in(request.cookies.get(service.cookie, "")):
        raise HTTPException(401, "open the address that `transect view` printed")
    return service


Known = Annotated[Service, Depends(_known)]


def _held(service: Known) -> Held:
    return service.held


Seen = Annotated[Held, Depends(_held)]
Row = Annotated[int, Path(ge=0, le=2**31 - 1)]
Start = Annotated[int, Query(ge=0, le=2**31 - 1)]


def _add_page(app: FastAPI, service: Service) -> None:
    folder = resources.files(__package__) / "static"
    files = {name: (folder / name).read_bytes() for name in (*_SCRIPTS, "view.css", "index.html", "closed.html")}
    files["icon.svg"] = (resources.files("transect.annotation.server") / "static" / "icon.svg").read_bytes()

    @app.get("/")
    def page(request: Request) -> Response:
        given = request.query_params.get(_TOKEN)
        if given is not None and service.lets_in(given):
            return _let_in(request, service)
        known = service.lets_in(request.cookies.get(service.cookie, ""))
        return _html(files["index.html"]) if known else _html(files["closed.html"], 401)

    @app.get("/static/{name}")
    def static(name: str) -> Response:
        if name not in _STATIC:
            raise HTTPException(404, "no such file")
        return Response(files[name], media_type=_STATIC[name], headers={"cache-control": "no-cache"})


def _html(content: bytes, status: int = 200) -> Response:
    return Response(content, status, media_type="text/html; charset=utf-8")


def _let_in(request: Request, service: Service) -> Response:
    """Give the cookie, and show the same page without the token in its address."""
    rest = urlencode([(key, value) for key, value in request.query_params.multi_items() if key != _TOKEN])
    response = Response(status_code=303, headers={"location": f"/?{rest}" if rest else "/"})
    # Not strict: a link that somebody was sent leads to the page as they left it.
    response.set_cookie(service.cookie, service.token, httponly=True, samesite="lax")
    return response


def _add_answers(app: FastAPI) -> None:
    @app.get("/api/about")
    def about(held: Seen) -> Response:
        return _json(replies.about(held.index))

    @app.post("/api/again")
    def again(service: Known) -> Response:
        return _json(replies.about(service.read_again().index))

    @app.get("/api/images")
    def images(request: Request, held: Seen, start: Start = 0) -> Response:
        wanted, rows = _selected(request, held)
        here = rows[start : start + MOST_LINES]
        return _json({"count": len(rows), "start": start, "lines": replies.lines(held.index, here, wanted)})

    @app.get("/api/transcripts")
    def transcripts(request: Request, held: Seen, start: Start = 0) -> Response:
        wanted, rows = _selected(request, held)
        shown = replies.transcripts(held.index, rows[start : start + MOST_TRANSCRIPTS], wanted.target)
        return _json({"count": len(rows), "start": start, "lines": shown})

    @app.get("/api/pairs")
    def side_by_side(request: Request, held: Seen, start: Start = 0) -> Response:
        index, given = held.index, request.query_params.multi_items()
        wanted = replies.wanted_of(given, tuple(index.answers))
        found = _kept(held, "pairs", given, lambda: selection.pair(index, replies.sides_of(given, index), wanted))
        shown = replies.pair_lines(index, found, start, start + MOST_LINES)
        counts = {"count": len(found.left), "alone": found.alone, "targets": found.targets, "start": start}
        return _json({**counts, "lines": shown})

    @app.get("/api/subject")
    def subject(held: Seen, run: str, subject: str) -> Response:
        return _json(replies.transect_reply(held.index, run, replies.whole("subject", subject)))

    @app.get("/api/image")
    def image(held: Seen, run: str, id: str) -> Response:
        return _json(replies.image_reply(held.index, held.index.row_of(run, id)))

    @app.get("/api/place")
    def place(request: Request, held: Seen, of: str, id: str) -> Response:
        """Where an image stands in a selection: its number, or null."""
        found = np.flatnonzero(_selected(request, held)[1] == held.index.row_of(of, id))
        return _json({"place": int(found[0]) if len(found) else None})


def _add_pictures(app: FastAPI) -> None:
    @app.get("/pictures/{row}/{digest}")
    def picture(held: Seen, row: Row, digest: str) -> Response:
        return _picture(held, row, digest, Pictures.full, "image/png")

    @app.get("/thumbnails/{row}/{digest}")
    def thumbnail(held: Seen, row: Row, digest: str) -> Response:
        return _picture(held, row, digest, Pictures.thumbnail, "image/jpeg")


def _picture(held: Held, row: int, digest: str, encoded: Callable[[Pictures, int], bytes], media: str) -> Response:
    run, place = held.index.place(row)
    if str(run.digests[place])[: replies.DIGITS] != digest:
        raise HTTPException(404, "the run has changed: load the page again")
    return Response(encoded(held.pictures, row), media_type=media, headers=_KEPT)


def _add_exports(app: FastAPI) -> None:
    @app.get("/export.csv")
    def as_csv(request: Request, held: Seen) -> Response:
        return _file(csv_of(table_of(held.index, _selected(request, held)[1])), "csv", "text/csv")

    @app.get("/export.parquet")
    def as_parquet(request: Request, held: Seen) -> Response:
        table = table_of(held.index, _selected(request, held)[1])
        return _file(parquet_of(table), "parquet", "application/octet-stream")

    @app.get("/export.png")
    def as_sheet(request: Request, held: Seen) -> Response:
        rows = _selected(request, held)[1]
        labels = [replies.caption(held.index, row) for row in rows[:MOST_ON_A_SHEET].tolist()]
        return _file(sheet_of(held.pictures, rows, labels), "png", "image/png")


def _selected(request: Request, held: Held) -> tuple[Wanted, np.ndarray]:
    given = request.query_params.multi_items()
    wanted = replies.wanted_of(given, tuple(held.index.answers))
    return wanted, _kept(held, "images", given, lambda: select(held.index, wanted))


def _kept(held: Held, kind: str, given: list[tuple[str, str]], make: Callable[[], Any]) -> Any:
    """What an address leads to; kept, since its pages are asked for one after another."""
    key = (kind, *((name, value) for name, value in given if name not in ("start", "of", "id")))
    return held.selections.get(key, make)


def _size(found: Any) -> int:
    return int(found.nbytes) if isinstance(found, np.ndarray) else int(found.left.nbytes + found.right.nbytes)


def _json(value: object) -> Response:
    return Response(dumps(value, None), media_type="application/json")


def _file(content: bytes, kind: str, media: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="selection.{kind}"'}
    return Response(content, media_type=media, headers=headers)


async def _refused(_: Request, error: Any) -> Response:
    """What is wrong with a request, or with a stored part, in the words of the error."""
    status = 409 if isinstance(error, RunFolderError) else 422
    return Response(dumps({"detail": str(error)}, None), status, media_type="application/json")


async def _not_understood(_: Request, error: Any) -> Response:
    """Which parameter is wrong, without what was sent."""
    places = ", ".join(".".join(str(part) for part in fault["loc"]) for fault in error.errors())
    return Response(dumps({"detail": f"{places}: expected another value"}, None), 422, media_type="application/json")
