"""A model behind a web address as a target, and a check of its file with one image."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

import numpy as np

from transect.records import Images, Predictions, Quote, Task
from transect.runs import pictures
from transect.runs.json_records import plain
from transect.targets.http.answers import AnswerReader, NoAnswer, failed, outline, parse
from transect.targets.http.asking import AwsTransport, CallFailed, HttpTransport, Message, Transport
from transect.targets.http.canaries import Canaries, Repeated, of_images, round_key
from transect.targets.http.ledger import Reply
from transect.targets.http.messages import Messages, Pixels, content_type, encoded, request_key
from transect.targets.http.settings import REKOGNITION, Settings, read_settings
from transect.targets.kinds import Kind
from transect.targets.python_objects import array_digest

KIND: Final = Kind(
    trust="data",
    listed=(("file.toml", "any", "an HTTP API, described in a TOML file"),),
    named=("*.toml",),
    extra="http",
    needs=("httpx2", "jmespath", "tenacity"),
    remote=True,
)


@final
@dataclass(frozen=True, slots=True)
class Options:
    """None: the file says everything."""


_USUAL: Final = Options()


def load(path: str | Path, _: Options = _USUAL) -> HttpTarget:
    """The target that a TOML file describes. Raises BadInput for what is wrong with it, MissingExtra."""
    return HttpTarget(read_settings(Path(path)), Path(path))


@final
class HttpTarget(Repeated):
    """A Target that asks over HTTP. It counts its calls (`metered`), so that no trial calls are made."""

    def __init__(self, settings: Settings, path: Path) -> None:
        self.settings, self.reader, self.messages = settings, AnswerReader(settings), Messages(settings)
        self.task, self.labels, self.threshold = settings.task, settings.labels, self.reader.spec.threshold
        self.positive = self.reader.spec.positive_column
        super().__init__(settings, path, request_key(settings), _transport(settings), self.messages.secrets)
        self.canaries = Canaries(settings.canary, self.request, self.ask, of_images(self.reader.read))

    def describe(self) -> dict[str, object]:
        """What is asked and how answers are read, without secrets; limits, budget and price are no part of it."""
        shown = self.settings.model_dump(mode="json", by_alias=True)
        keys = ("version", "preset", "request", "response")
        facts = {key: shown[key] for key in keys}
        return {"kind": "HTTP", "request_sha256": self.request, **self.reader.spec.describe(), **facts}

    def quote(self, images: int) -> Quote:
        """The maximum cost of N new images without further tries, and what the budget allows."""
        canary = self.settings.canary
        calls = images + (images // canary.every * canary.images if canary.every else 0)
        return self.asker.quote(self.name, images, self.request, calls=calls)

    def predict(self, images: Images) -> Predictions:
        """One answer per image, in order. Raises BudgetSpent or AnswersUnusable; what was answered by then is kept."""
        threads = self.settings.limits.concurrency
        self.canaries.choose(self.ledger, images.pixels)
        with ThreadPoolExecutor(max(1, min(threads, len(images)))) as pool:
            rows = list(pool.map(self._one, images.pixels))
        self.ask_canaries(threads)
        return _together(self.task, rows, self.labels)

    def ask(self, pixels: Pixels, again: int = 0) -> Reply:
        """The final reply about one image, from the file of answers or by calls. again: the round of a canary."""
        return self.asker.ask(
            round_key(self.request, again),
            array_digest(pixels),
            lambda: self.messages.make(pixels, again),
            done=lambda: self.messages.done(pixels),
        )

    def close(self) -> None:
        """Close the file of answers and all connections."""
        super().close()
        self.messages.close()

    def _one(self, pixels: Pixels) -> Predictions:
        try:
            return self.reader.read(self.ask(pixels), pixels.shape[1], pixels.shape[0])
        except CallFailed as error:
            return failed(self.task, error.reason)


def _transport(settings: Settings) -> Transport:
    request, limits = settings.request, settings.limits
    if settings.is_rekognition:
        return AwsTransport(
            "rekognition", REKOGNITION, _detect_faces, region=request.region, endpoint=request.url, limits=limits
        )
    return HttpTransport(request.url, limits)


def _detect_faces(client: Any, message: Message) -> Mapping[str, Any]:
    answer: Mapping[str, object] = client.detect_faces(Image={"Bytes": message.content}, Attributes=["ALL"])
    return answer


def _together(task: Task, rows: Sequence[Predictions], labels: tuple[str, ...]) -> Predictions:
    """One table of the answers about single images; a row of another width than the labels or most rows fails."""
    widths = [row.scores.shape[1] for row in rows if not row.failures[0]]
    width = len(labels) or max(sorted(set(widths)), key=widths.count, default=1)
    reasons = [
        row.failures[0] or ("" if row.scores.shape[1] == width else f"invalid answer: expected {width} numbers")
        for row in rows
    ]
    scores = np.full((len(rows), width), np.nan)
    for i, row in enumerate(rows):
        if not reasons[i]:
            scores[i] = row.scores[0]
    boxes = tuple(row.boxes[0] if row.boxes else np.zeros((0, 5)) for row in rows) if task is Task.DETECTION else None
    return Predictions(task, scores, tuple(reasons), boxes, labels)


_SHOWN = 600


def check(target: HttpTarget, pixels: Pixels) -> dict[str, object]:
    """What one image shows, as JSON values, without secrets.

    sent: address, method, headers as written. reply: None where nothing came back. final: whether it is kept as the
    answer. found: what each path finds. kept: the answer was there already and cost nothing.
    """
    before = target.calls_made()
    reply, failure = _reply(target, pixels)
    calls, cost = (now - then for now, then in zip(target.calls_made(), before, strict=True))
    came = reply or (target.ledger.latest(target.request, array_digest(pixels)) if calls else None)
    content = _content(came)
    parts = {} if content is None or reply is None else _found(target, content)
    if reply is None:
        prediction = failed(target.task, failure)
    else:
        prediction = target.reader.read(reply, pixels.shape[1], pixels.shape[0])
    return {
        "target": target.name,
        "task": str(target.task),
        "sent": _sent(target, pixels),
        "reply": came and shown_reply(came),
        "final": reply is not None,
        "answer": "" if content is None else outline(content),
        "found": parts,
        "prediction": _json_of(prediction),
        "failure": prediction.failures[0],
        "kept": reply is not None and calls == 0,
        "calls": calls,
        "cost": round(cost, 9),
        "budget": plain(target.quote(1)),
    }


def advice(target: HttpTarget, explained: Mapping[str, Any]) -> str:
    """What to do about a check without an answer; "" where there is one."""
    failure = explained["failure"]
    if not failure:
        return ""
    if not explained["final"]:
        return f"{target.name}: expected an answer, got {failure}: fix [request] or [limits], and check again"
    path = f"response.{target.settings.answers_to}"
    if failure.startswith("no value at"):
        return f"{target.name}: {path} matches nothing: the answer has {explained['answer']}; fix the path"
    return f"{target.name}: expected a {target.task} answer, got {failure}; fix [request] or [response]"


def picture(path: str | Path) -> Pixels:
    """The pixels of an image file. Raises BadInput for what is no image."""
    return np.asarray(pictures.open_rgb(Path(path), str(path)))


def _reply(target: HttpTarget, pixels: Pixels) -> tuple[Reply | None, str]:
    try:
        return target.ask(pixels), ""
    except CallFailed as error:
        return None, error.reason


def _content(reply: Reply | None) -> object:
    try:
        return None if reply is None else parse(reply.body)
    except NoAnswer:
        return None


def _found(target: HttpTarget, content: object) -> dict[str, object]:
    try:
        parts = target.reader.parts(content)
    except Exception as error:  # a path that does not fit the answer; the failure says which
        return {"fault": type(error).__name__}
    return {name: _short(value) for name, value in parts.items()}


def _short(value: object) -> object:
    text = json.dumps(value, ensure_ascii=False)
    return value if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _sent(target: HttpTarget, pixels: Pixels) -> dict[str, object]:
    request = target.settings.request
    size = f"{pixels.shape[1]}x{pixels.shape[0]}"
    kind = f"{content_type(request)}, {size} pixels, {len(encoded(pixels, request))} bytes"
    return {
        "url": request.url or f"Amazon Rekognition in {request.region}",
        "method": request.method,
        "headers": dict(request.headers),
        "query": dict(request.query),
        "body": request.body,
        "image": kind,
    }


def shown_reply(reply: Reply) -> dict[str, object]:
    """Status, content type, size and beginning of a reply, as JSON values."""
    text = reply.body[: 4 * _SHOWN].decode(errors="replace")
    start = re.sub(r"[^\S ]+|[^\x20-\U0010ffff]", " ", text)[:_SHOWN]
    return {
        "status": reply.status,
        "content_type": reply.content_type,
        "bytes": len(reply.body),
        "starts": start + ("…" if len(reply.body) > len(start.encode()) else ""),
    }


def _json_of(prediction: Predictions) -> dict[str, object]:
    """Scores and boxes as JSON values: null for NaN."""
    answer: dict[str, object] = {"scores": plain(prediction.scores[0])}
    if prediction.task is Task.DETECTION and prediction.boxes is not None:
        answer["boxes"] = plain(prediction.boxes[0])
    if prediction.labels:
        answer["labels"] = list(prediction.labels)
    return answer
