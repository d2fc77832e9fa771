"""A model behind a chat interface, as a speaker: each question is asked once, paid for once, and accounted for; its
canaries; a check of its file.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, final

from transect.errors import BadInput
from transect.records import Quote
from transect.runs.folder import canonical_json
from transect.runs.json_records import plain
from transect.runs.pictures import pixels_of_png
from transect.spoken_answers import Ask, Pixels, Spoken
from transect.targets.http.asking import AwsTransport, CallFailed, HttpTransport, Message, Transport
from transect.targets.http.canaries import Canaries, Kind, Repeated, round_key
from transect.targets.http.chat.batches import Asked, Batcher
from transect.targets.http.chat.interfaces import INTERFACES, BatchInterface, Shown, bound, passing, spoken, used
from transect.targets.http.chat.settings import ChatRequest, ChatSettings, form_of, read_chat_settings
from transect.targets.http.ledger import Reply, Tokens
from transect.targets.http.messages import encode_as
from transect.targets.http.settings import BEDROCK, Secrets
from transect.targets.http.target import shown_reply


@final
@dataclass(frozen=True, slots=True)
class Question:
    """One text about images that are shown together."""

    shown: Shown
    ask: Ask


def of_questions(
    key: Callable[[Question], str], read: Callable[[Reply], Spoken], request: ChatRequest
) -> Kind[Question, Spoken]:
    """Questions whose answers are texts, which are 0 or 1 apart: equal, or not."""

    def unpack(packed: bytes) -> Question:
        content = json.loads(packed)
        pixels: list[Pixels] = [pixels_of_png(base64.b64decode(one)) for one in content["images"]]
        asked = {**content["ask"], "options": tuple(content["ask"]["options"])}
        return Question(Shown(pixels, request), Ask(**asked))

    return Kind(key, _pack, unpack, lambda reply, _: read(reply), apart)


def _pack(question: Question) -> bytes:
    images = [base64.b64encode(encode_as(pixels, "png")).decode() for pixels in question.shown.pixels]
    return canonical_json({"ask": asdict(question.ask), "images": images}).encode()


def apart(first: Spoken | None, other: Spoken | None) -> float:
    """0 for the same text, end and reason for none, 1 for others, NaN where one is missing."""
    if first is None or other is None:
        return float("nan")
    compared = attrgetter("text", "end", "refusal", "failure")
    return float(compared(first) != compared(other))


QUOTED_SIZE: Final = (1024, 1024)
"""Width and height in pixels of the images that a quote is for, unless it is told another size."""


def load_chat(path: str | Path) -> ChatSpeaker:
    """The speaker that a TOML file describes. Raises BadInput for what is wrong with it, MissingExtra."""
    return ChatSpeaker(read_chat_settings(Path(path)), Path(path))


def request_key(settings: ChatSettings) -> str:
    """SHA-256 of what is sent with every question; limits, budget and prices have no part in it."""
    request = settings.request.model_dump(by_alias=True, exclude={"image_tokens", "structured"})
    sent = {"version": settings.version, "preset": settings.preset, **request}
    return hashlib.sha256(canonical_json(sent).encode()).hexdigest()


def ask_key(ask: Ask, request: ChatRequest) -> str:
    """SHA-256 of a question's texts, temperature, limit of tokens and repeat, and of the form of its answer, if any.

    Where the temperature is sent, all repeats at 0 are the same answer, and one call.

    >>> request = ChatRequest(model="m")
    >>> ask_key(Ask("", "a", repeat=1), request) == ask_key(Ask("", "a"), request)
    True
    """
    repeat = 0 if request.send_temperature and ask.temperature == 0 else ask.repeat
    form = form_of(request, ask)
    sent = [ask.system, ask.prompt, float(ask.temperature), ask.max_tokens, repeat, *([form] if form else [])]
    return hashlib.sha256(canonical_json(sent).encode()).hexdigest()


@final
class ChatSpeaker(Repeated):
    """A Speaker that asks over HTTP. It counts its calls and tokens (`metered`), so that no trial calls are made."""

    def __init__(self, settings: ChatSettings, path: Path) -> None:
        self.settings, self._interface = settings, INTERFACES[settings.preset]
        request = settings.request
        self.secrets = Secrets({"headers": request.headers, "query": request.query, "json": request.body})
        filled = {key: self.secrets.fill(getattr(request, key)) for key in ("headers", "query", "body")}
        self._filled = request.model_copy(update=filled)
        super().__init__(
            settings,
            path,
            request_key(settings),
            _transport(settings),
            self.secrets,
            used=lambda reply: used(reply, self._interface),
            passing=passing,
        )
        kind = of_questions(self.key, self.read, request)
        self.canaries = Canaries(settings.canary, self.request, self.ask, kind)

    @property
    def patience(self) -> float:
        """Seconds that one question may take at the longest; in a batch hours."""
        batch = self.settings.batch
        return super().patience + (3600 * batch.hours if batch else 0.0)

    def describe(self) -> dict[str, object]:
        """What is sent with every question, without secrets; limits, budget and price are no part of it."""
        shown = self.settings.model_dump(mode="json", by_alias=True, include={"version", "preset", "request"})
        return {"kind": "chat", "request_sha256": self.request, **shown}

    def quote(
        self, images: int, asks: Sequence[Ask] = (), *, shown: int = 1, size: tuple[int, int] | None = None
    ) -> Quote:
        """The maximum cost of asking N new times all of the questions about `shown` images, without further tries."""
        asked = {ask_key(ask, self.settings.request): ask for ask in asks or (Ask("", ""),)}
        each = [bound(self.settings, [size or QUOTED_SIZE] * shown, ask) for ask in asked.values()]
        canary = self.settings.canary
        calls = images * len(each)
        again = calls // canary.every * canary.images if canary.every else 0
        most = max(each, key=lambda tokens: tokens.total)
        sent = images * sum(tokens.sent for tokens in each) + again * most.sent
        received = images * sum(tokens.received for tokens in each) + again * most.received
        named = hashlib.sha256(" ".join([self.request, *sorted(asked)]).encode()).hexdigest()
        return self.asker.quote(
            self.name, images, self.request, calls=calls + again, tokens=Tokens(sent, received), asked=named
        )

    def speak(self, shown: Sequence[tuple[Pixels, ...]], asks: Sequence[Sequence[Ask]]) -> list[list[Spoken]]:
        """What the model says: row i answers asks[i] about shown[i]. What was answered before an error is kept."""
        if len(shown) != len(asks):
            raise BadInput(f"expected questions for each of {len(shown)} images, got {len(asks)} rows: give each a row")
        pictures = [Shown(pixels, self.settings.request) for pixels in shown]
        rows = [[Question(one, ask) for ask in row] for one, row in zip(pictures, asks, strict=True)]
        questions = [question for row in rows for question in row]
        if not questions:
            return [[] for _ in rows]
        threads = self.settings.limits.concurrency
        self.canaries.choose(self.ledger, (row[0] for row in rows if row))
        if self.settings.batch and self._interface.batches:
            said = iter(self._in_batches(questions, self._interface.batches(self._filled)))
        else:
            with ThreadPoolExecutor(min(threads, len(questions))) as pool:
                said = iter(list(pool.map(self._one, questions)))
        self.ask_canaries(threads)
        return [list(islice(said, len(row))) for row in rows]

    def key(self, question: Question) -> str:
        """What names a question about images in the file of answers: images, then the question."""
        return f"{question.shown.key}:{ask_key(question.ask, self.settings.request)}"

    def ask(self, question: Question, again: int = 0) -> Reply:
        """The final reply to a question, from the file of answers or by calls. again: the round of a canary."""
        return self.asker.ask(
            round_key(self.request, again),
            self.key(question),
            lambda: self.message(question),
            tokens=self.bound(question),
        )

    def bound(self, question: Question) -> Tokens:
        """The most tokens that a call with this question takes."""
        return bound(self.settings, question.shown.sizes, question.ask)

    def message(self, question: Question) -> Message:
        """The request, secrets and all."""
        return self._interface.message(self._filled, question.shown.pictures, question.ask)

    def read(self, reply: Reply) -> Spoken:
        """What a reply says."""
        return spoken(reply, self._interface)

    def _one(self, question: Question) -> Spoken:
        try:
            return self.read(self.ask(question))
        except CallFailed as error:
            return Spoken(failure=error.reason)

    def _in_batches(self, questions: Sequence[Question], interface: BatchInterface) -> list[Spoken]:
        asked = [Asked(self.key(one), self.bound(one), partial(self.message, one)) for one in questions]
        settings = self.settings
        batcher = Batcher(self.asker, interface, settings, self.request, self.secrets)
        try:
            answers = batcher.ask(asked)
        finally:
            batcher.close()
        return [Spoken(failure=found) if isinstance(found, str) else self.read(found) for found in answers]


def _transport(settings: ChatSettings) -> Transport:
    request, limits = settings.request, settings.limits
    if settings.preset == BEDROCK:
        return AwsTransport(
            "bedrock-runtime", BEDROCK, _converse, region=request.region, endpoint=request.url, limits=limits
        )
    return HttpTransport(request.url, limits)


def _converse(client: Any, message: Message) -> Mapping[str, Any]:
    answer: Mapping[str, Any] = client.converse(**message.json)
    return answer


QUESTION: Final = Ask("", "What does this picture show? Answer in one sentence.", max_tokens=100)


def check(speaker: ChatSpeaker, pixels: Pixels, ask: Ask = QUESTION) -> dict[str, object]:
    """What one question about one image shows, as JSON values, without secrets.

    sent: address, headers as written, the image. reply: None where nothing came back. tokens_held: at most, as the
    budget held them. kept: the answer was there already and cost nothing. calls, cost: of this check.
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
