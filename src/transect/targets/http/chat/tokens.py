"""How many tokens can one call take at most? Held of the budget until the reply says how many there were.

Text: one token for each byte of UTF-8, since no tokenizer in use makes more of it, and 100 for what the interface puts
around it. Images: the provider's documented rule, of several rules for its models the one that gives most; see
`RULES`. What comes back: the question's limit, with the tokens for reasoning.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from math import ceil
from typing import Final

from transect.said import Ask
from transect.targets.http.chat.answer_forms import AROUND_FORM, FORM_TOKENS, form_of
from transect.targets.http.chat.settings import ChatRequest, ChatSettings
from transect.targets.http.money import Tokens

AROUND: Final = 100
"""Tokens of roles, templates and marks around texts and images."""
LEAST_OF_RESPONSES: Final = 16
"""The least limit that OpenAI's Responses interface takes."""


def _openai(width: int, height: int) -> int:
    """Patches of 32 pixels, 2.46 tokens each, or 85 and 170 for each tile of 512 once the short side is 768.

    Source: https://platform.openai.com/docs/guides/images-vision
    """
    patches = ceil(width / 32) * ceil(height / 32) * 2.46
    scale = 768 / min(width, height)
    tiles = ceil(width * scale / 512) * ceil(height * scale / 512)
    return ceil(max(patches, 85 + 170 * tiles))


def _anthropic(width: int, height: int) -> int:
    """A token for each patch of 28 pixels, or for each 750 pixels.

    Source: https://platform.claude.com/docs/en/build-with-claude/vision
    """
    return max(ceil(width / 28) * ceil(height / 28), ceil(width * height / 750))


def _gemini(width: int, height: int) -> int:
    """258 for each tile of two thirds of the short side, from 256 to 768 pixels; 1,120 at least, as of Gemini 3.

    Source: https://ai.google.dev/gemini-api/docs/image-understanding and .../media-resolution
    """
    side = min(max(min(width, height) // 1.5, 256), 768)
    return max(1120, 258 * ceil(width / side) * ceil(height / side))


def _bedrock(width: int, height: int) -> int:
    """A token for each patch of 16 pixels, and 1,601 at least: models of several makers are behind it."""
    return max(1601, ceil(width / 16) * ceil(height / 16))


RULES: Final[Mapping[str, Callable[[int, int], int]]] = {
    "openai-chat": _openai,
    "openai-responses": _openai,
    "anthropic-messages": _anthropic,
    "gemini": _gemini,
    "bedrock-converse": _bedrock,
}
"""Tokens of an image of that width and height in pixels, by interface."""


def limit(request: ChatRequest, ask: Ask) -> int:
    """The most tokens that may come back, as the request states it: for the answer, its form, and reasoning."""
    return ask.max_tokens + request.reasoning_tokens + (FORM_TOKENS if form_of(request, ask) else 0)


def bound(settings: ChatSettings, sizes: Iterable[tuple[int, int]], ask: Ask) -> Tokens:
    """The most that one call can take. sizes: width and height of each image in pixels.

    >>> from transect.targets.http.chat.settings import ChatRequest
    >>> settings = ChatSettings(preset="anthropic-messages", request=ChatRequest(model="m"))
    >>> bound(settings, [(280, 280)], Ask("", "Smiling?", max_tokens=5))
    Tokens(sent=213, received=5)
    """
    rule, request = RULES[settings.preset], settings.request
    images = sum(request.image_tokens or rule(width, height) for width, height in sizes)
    form = form_of(request, ask)
    text = len(ask.system.encode()) + len(ask.prompt.encode()) + (len(json.dumps(form)) + AROUND_FORM if form else 0)
    received = limit(request, ask)
    least = LEAST_OF_RESPONSES if settings.preset == "openai-responses" else 0
    return Tokens(images + text + AROUND, max(received, least))
