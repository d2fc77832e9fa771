"""Anthropic's Messages.

Source: https://platform.claude.com/docs/en/api/messages and
https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from transect.said import Ask, End, Spoken
from transect.targets.http.chat.answer_forms import DESCRIPTION, NAME, form_of, said_by_tool
from transect.targets.http.chat.pictures import Picture
from transect.targets.http.chat.settings import ChatRequest
from transect.targets.http.chat.shapes import at, count, items, no_answer, post, stated, texts
from transect.targets.http.chat.tokens import limit
from transect.targets.http.transport import Message

VERSION: Final = {"anthropic-version": "2023-06-01"}
_ENDS: Final[Mapping[str, End]] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool",
    "refusal": "filter",
}


def anthropic_message(request: ChatRequest, shown: Sequence[Picture], ask: Ask) -> Message:
    """The request: images before the question, as the provider advises."""
    images = [
        {"type": "image", "source": {"type": "base64", "media_type": one.media_type, "data": one.base64}}
        for one in shown
    ]
    form = form_of(request, ask)
    body = stated(
        model=request.model,
        max_tokens=limit(request, ask),
        system=ask.system,
        messages=[{"role": "user", "content": [*images, {"type": "text", "text": ask.prompt}]}],
        temperature=ask.temperature if request.send_temperature else None,
        tools=form and [{"name": NAME, "description": DESCRIPTION, "input_schema": form}],
        tool_choice=form and {"type": "tool", "name": NAME},
    )
    return post(request, request.url, body, VERSION)


def anthropic_spoken(content: Mapping[str, Any]) -> Spoken:
    """The texts of the content; thinking is none of them. Its stop reason says where the provider declines."""
    if not isinstance(content.get("content"), list):
        return no_answer(content, "content")
    parts = items(content["content"])
    answered = next((said_by_tool(part.get("input")) for part in parts if part.get("name") == NAME), "")
    end = _ENDS.get(str(content.get("stop_reason")), "other")
    usage = at(content, "usage")
    return Spoken(
        text=answered or texts([part for part in parts if part.get("type") == "text"]),
        end="end" if answered and end == "tool" else end,
        refusal=end == "filter",
        tokens_sent=count(usage, "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
        tokens_received=count(usage, "output_tokens"),
    )
