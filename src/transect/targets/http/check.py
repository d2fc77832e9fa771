"""Ask a target about one image and explain what was sent, what came back, and what was read off it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transect.records import Predictions, Task
from transect.runs import picture_files
from transect.runs.plain_json import plain
from transect.targets.http.answers import NoAnswer, failed, outline, parse
from transect.targets.http.ledger import Reply
from transect.targets.http.messages import Pixels, content_type, encoded, image_key
from transect.targets.http.target import HttpTarget
from transect.targets.http.transport import CallFailed

_SHOWN = 600


def check(target: HttpTarget, pixels: Pixels) -> dict[str, object]:
    """What one image shows, as JSON values, without secrets.

    target, task, sent (address, method, headers as written, body), reply (status, content type, bytes, start; None
    where nothing came back), final (whether it is kept as the image's answer), answer (an outline), found (what each
    path finds), prediction, failure ("" for an answer), kept (the answer was there already and cost nothing), calls and
    cost of this check, budget.

    Raises BudgetSpent and AnswersUnusable.
    """
    before = target.calls_made()
    reply, failure = _reply(target, pixels)
    calls, cost = (now - then for now, then in zip(target.calls_made(), before, strict=True))
    came = reply or (target.ledger.latest(target.request, image_key(pixels)) if calls else None)
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
    import numpy as np

    return np.asarray(picture_files.open_rgb(Path(path), str(path)))


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
