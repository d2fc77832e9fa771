"""OpenAI's Responses.

Source: https://platform.openai.com/docs/api-reference/responses/create and .../responses/object
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from transect.said import Ask, End, Spoken
from transect.targets.http.chat.answer_forms import named_form
from transect.targets.http.chat.pictures import Picture
from transect.targets.http.chat.settings import ChatRequest
from transect.targets.http.chat.shapes import at, count, items, no_answer, post, stated, texts
from transect.targets.http.chat.tokens import LEAST_OF_RESPONSES, limit
from transect.targets.http.transport import Message

_CUT: Final[Mapping[str, End]] = {"max_output_tokens": "length", "content_filter": "filter"}


def openai_responses_message(request: ChatRequest, shown: Sequence[Picture], ask: Ask) -> Message:
    """The request, which the provider is asked not to store. Its least limit of tokens is 16."""
    images = [stated(type="input_image", image_url=one.data_url, detail=request.detail or "auto") for one in shown]
    asked = {"role": "user", "content": [*images, {"type": "input_text", "text": ask.prompt}]}
    form = named_form(request, ask)
    body = stated(
        model=request.model,
        instructions=ask.system,
        input=[asked],
        max_output_tokens=max(limit(request, ask), LEAST_OF_RESPONSES),
        temperature=ask.temperature if request.send_temperature else None,
        text=form and {"format": {"type": "json_schema", **form}},
        store=False,
    )
    return post(request, request.url, body)


def openai_responses_spoken(content: Mapping[str, Any]) -> Spoken:
    """The texts of all messages of the output; reasoning is none of them."""
    output = content.get("output")
    if not isinstance(output, list):
        return no_answer(content, "output")
    parts = [part for item in items(output) if item.get("type") == "message" for part in items(item.get("content"))]
    text = texts([part for part in parts if part.get("type") == "output_text"])
    refusal = texts([part for part in parts if part.get("type") == "refusal"], "refusal")
    calls = any(str(item.get("type")).endswith("_call") for item in items(output))
    end: End = _CUT.get(str(at(content, "incomplete_details", "reason")), "other")
    if content.get("status") == "completed":
        end = "tool" if calls and not text and not refusal else "end"
    return Spoken(
        text=text or refusal,
        end=end,
        refusal=bool(refusal) or end == "filter",
        tokens_sent=count(at(content, "usage"), "input_tokens"),
        tokens_received=count(at(content, "usage"), "output_tokens"),
    )
