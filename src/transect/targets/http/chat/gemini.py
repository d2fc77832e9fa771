"""Google's Gemini: generateContent, of the Gemini API and of Vertex AI.

Source: https://ai.google.dev/api/generate-content
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from transect.said import Ask, End, Spoken
from transect.targets.http.chat.answer_forms import DESCRIPTION, NAME, form_of
from transect.targets.http.chat.pictures import Picture
from transect.targets.http.chat.settings import ChatRequest
from transect.targets.http.chat.shapes import at, count, items, no_answer, post, stated, texts
from transect.targets.http.chat.tokens import limit
from transect.targets.http.transport import Message

_FILTERS: Final = ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "MODEL_ARMOR")
_TOOLS: Final = ("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS")
_ENDS: Final[Mapping[str, End]] = {
    "STOP": "end",
    "MAX_TOKENS": "length",
    **dict.fromkeys(_FILTERS, "filter"),
    **dict.fromkeys(_TOOLS, "tool"),
}


def gemini_message(request: ChatRequest, shown: Sequence[Picture], ask: Ask) -> Message:
    """The request: images before the question, in order."""
    images = [{"inlineData": {"mimeType": one.media_type, "data": one.base64}} for one in shown]
    body = stated(
        systemInstruction={"parts": [{"text": ask.system}]} if ask.system else None,
        contents=[{"role": "user", "parts": [*images, {"text": ask.prompt}]}],
        generationConfig=stated(
            maxOutputTokens=limit(request, ask),
            temperature=ask.temperature if request.send_temperature else None,
            seed=ask.repeat if request.send_seed else None,
            **_gemini_form(request, ask),
        ),
    )
    return post(request, gemini_address(request, "generateContent"), body)


def _gemini_form(request: ChatRequest, ask: Ask) -> dict[str, Any]:
    """The form of the answer in the dialect of the interface, which is OpenAPI's."""
    if form_of(request, ask) is None:
        return {}
    kept = {"type": "STRING", "enum": [*ask.options]} if ask.options else {"type": "NUMBER"}
    member = {**kept, "nullable": True, "description": DESCRIPTION}
    schema = {"type": "OBJECT", "properties": {NAME: member}, "required": [NAME]}
    return {"responseMimeType": "application/json", "responseSchema": schema}


def gemini_address(request: ChatRequest, method: str) -> str:
    """The address of a method of the model, which may be stated with its folder or without.

    >>> gemini_address(ChatRequest(model="gemini-x", url="https://example.org/v1beta/"), "generateContent")
    'https://example.org/v1beta/models/gemini-x:generateContent'
    """
    model = request.model if "/" in request.model else f"models/{request.model}"
    return f"{request.url.rstrip('/')}/{quote(model)}:{method}"


def gemini_spoken(content: Mapping[str, Any]) -> Spoken:
    """The first candidate; thoughts are none of its texts. A blocked question has no candidate and says why."""
    usage = at(content, "usageMetadata")
    sent = count(usage, "promptTokenCount")
    candidate = at(content, "candidates", 0)
    if not isinstance(candidate, Mapping):
        if not at(content, "promptFeedback", "blockReason"):
            return no_answer(content, "candidates[0]")
        received = None if sent is None else count(usage, "candidatesTokenCount") or 0
        return Spoken(end="filter", refusal=True, tokens_sent=sent, tokens_received=received)
    parts = items(at(candidate, "content", "parts"))
    text = texts([part for part in parts if not part.get("thought")])
    calls = any("functionCall" in part for part in parts)
    end: End = "tool" if calls and not text else _ENDS.get(str(candidate.get("finishReason")), "other")
    return Spoken(text, end, end == "filter", tokens_sent=sent, tokens_received=_received(usage))


def _received(usage: object) -> int | None:
    """Tokens of the answer and of thoughts; the answer's are left out where it is empty."""
    answered = count(usage, "candidatesTokenCount", "thoughtsTokenCount")
    if answered is None and count(usage, "promptTokenCount") is not None:
        return count(usage, "thoughtsTokenCount") or 0
    return answered
