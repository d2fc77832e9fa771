"""Ask a model behind a chat interface one question about one image, and explain what was sent and what came back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from transect.runs.plain_json import plain
from transect.said import Ask, Pixels, Spoken
from transect.targets.http.canaries import round_key
from transect.targets.http.chat.canaries import Question
from transect.targets.http.chat.pictures import Shown
from transect.targets.http.chat.speaker import ChatSpeaker
from transect.targets.http.check import shown_reply
from transect.targets.http.ledger import Reply
from transect.targets.http.transport import CallFailed

QUESTION: Final = Ask("", "What does this picture show? Answer in one sentence.", max_tokens=100)


def check(speaker: ChatSpeaker, pixels: Pixels, ask: Ask = QUESTION) -> dict[str, object]:
    """What one question about one image shows, as JSON values, without secrets.

    target, interface, model; asked: the question; sent: address, headers as written, the image; reply: status, content
    type, bytes, start, None where nothing came back; text, end, refusal, failure ("" for an answer); tokens_sent,
    tokens_received, as the reply counts them; tokens_held: at most, as the budget held them; kept: the answer was there
    already and cost nothing; calls and cost of this check; budget.

    Raises BudgetSpent and AnswersUnusable.
    """
    before = speaker.calls_made()
    question = Question(Shown((pixels,), speaker.settings.request), ask)
    reply, said = _asked(speaker, question)
    calls, cost = (now - then for now, then in zip(speaker.calls_made(), before, strict=True))
    if reply is None and calls:
        reply = speaker.ledger.latest(round_key(speaker.request, 0), speaker.key(question))
    return {
        "target": speaker.name,
        "interface": speaker.settings.preset,
        "model": speaker.settings.request.model,
        "asked": {"system": ask.system, "prompt": ask.prompt, "max_tokens": ask.max_tokens},
        "sent": _sent(speaker, question),
        "reply": reply and shown_reply(reply),
        **{key: value for key, value in asdict(said).items() if key != "likelihoods"},
        "tokens_held": plain(asdict(speaker.bound(question))),
        "kept": not said.failure and calls == 0,
        "calls": calls,
        "cost": round(cost, 9),
        "budget": plain(speaker.quote(1, [ask], size=question.shown.sizes[0])),
    }


def advice(explained: Mapping[str, Any]) -> str:
    """What to do about a check without an answer; "" where there is one."""
    failure = explained["failure"]
    if not failure:
        return ""
    return f"{explained['target']}: expected an answer, got {failure}: fix [request] or [limits], and check again"


def _asked(speaker: ChatSpeaker, question: Question) -> tuple[Reply | None, Spoken]:
    try:
        reply = speaker.ask(question)
    except CallFailed as error:
        return None, Spoken(failure=error.reason)
    return reply, speaker.read(reply)


def _sent(speaker: ChatSpeaker, question: Question) -> dict[str, object]:
    request, picture = speaker.settings.request, question.shown.pictures[0]
    size = f"{picture.width}x{picture.height}"
    return {
        "url": speaker.message(question).url or f"Amazon Bedrock in {request.region}",
        "headers": dict(request.headers),
        "query": dict(request.query),
        "image": f"{picture.media_type}, {size} pixels, {len(picture.content)} bytes",
    }
