"""OpenAI's Chat Completions, which vLLM, Ollama, llama.cpp, LM Studio and `transformers serve` speak too.

Source: https://platform.openai.com/docs/api-reference/chat/create and .../chat/object
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from transect.said import Ask, End, Spoken
from transect.targets.http.chat.answer_forms import named_form
from transect.targets.http.chat.pictures import Picture
from transect.targets.http.chat.settings import OPENAI, ChatRequest
from transect.targets.http.chat.shapes import at, count, items, no_answer, post, stated, texts
from transect.targets.http.chat.tokens import limit
from transect.targets.http.transport import Message

_ENDS: Final[Mapping[str, End]] = {
    "stop": "end",
    "length": "length",
    "content_filter": "filter",
    "tool_calls": "tool",
    "function_call": "tool",
}


def openai_chat_message(request: ChatRequest, shown: Sequence[Picture], ask: Ask) -> Message:
    """The request: images before the question, in order."""
    images = [{"type": "image_url", "image_url": stated(url=one.data_url, detail=request.detail)} for one in shown]
    asked = {"role": "user", "content": [*images, {"type": "text", "text": ask.prompt}]}
    system = [{"role": "system", "content": ask.system}] if ask.system else []
    official = (
        urlsplit(request.url).hostname == OPENAI
    )  # newer models there refuse max_tokens, others know no other name
    name = request.max_tokens_name or ("max_completion_tokens" if official else "max_tokens")
    form = named_form(request, ask)
    body = stated(
        model=request.model,
        messages=[*system, asked],
        temperature=ask.temperature if request.send_temperature else None,
        seed=ask.repeat if request.send_seed else None,
        response_format=form and {"type": "json_schema", "json_schema": form},
    )
    return post(request, request.url, {**body, name: limit(request, ask)})


def openai_chat_spoken(content: Mapping[str, Any]) -> Spoken:
    """The first choice. A refusal stands in a member of its own, or the filter has cut the text."""
    choice = at(content, "choices", 0)
    said = at(choice, "message")
    if not isinstance(said, Mapping):
        return no_answer(content, "choices[0].message")
    text, declined = _text(said.get("content")), said.get("refusal")
    refusal = declined if isinstance(declined, str) else ""
    reason = at(choice, "finish_reason")
    end: End = "tool" if said.get("tool_calls") and not text else _ENDS.get(str(reason), "other")
    return Spoken(
        text=text or refusal,
        end=end,
        refusal=bool(refusal) or end == "filter",
        tokens_sent=count(at(content, "usage"), "prompt_tokens"),
        tokens_received=count(at(content, "usage"), "completion_tokens"),
    )


def _text(content: object) -> str:
    """A text, or the texts of parts."""
    return content if isinstance(content, str) else texts(items(content))
