"""Canaries of a model that answers in words: the first images with their questions, asked again at intervals."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import final

from transect.runs.folder import canonical_json
from transect.runs.picture_files import pixels_of_png
from transect.said import Ask, Pixels, Spoken
from transect.targets.http.canaries import Kind, png
from transect.targets.http.chat.pictures import Shown
from transect.targets.http.chat.settings import ChatRequest
from transect.targets.http.ledger import Reply


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
    images = [base64.b64encode(png(pixels)).decode() for pixels in question.shown.pixels]
    return canonical_json({"ask": asdict(question.ask), "images": images}).encode()


def apart(first: Spoken | None, other: Spoken | None) -> float:
    """0 for the same text, end and reason for none, 1 for others, NaN where one is missing.

    >>> apart(Spoken("yes"), Spoken("yes", tokens_sent=3)), apart(Spoken("a"), Spoken("b")), apart(Spoken("a"), None)
    (0.0, 1.0, nan)
    """
    if first is None or other is None:
        return float("nan")
    return float(_compared(first) != _compared(other))


def _compared(said: Spoken) -> tuple[str, str, bool, str]:
    return said.text, said.end, said.refusal, said.failure
