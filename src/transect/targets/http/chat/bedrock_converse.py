"""Amazon Bedrock's Converse, signed (SigV4) and sent by boto3.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, final

from transect.said import Ask, End, Spoken
from transect.targets.http.aws import AwsService
from transect.targets.http.chat.answer_forms import DESCRIPTION, NAME, form_of, said_by_tool
from transect.targets.http.chat.pictures import Picture
from transect.targets.http.chat.settings import ChatRequest
from transect.targets.http.chat.shapes import at, count, items, no_answer, post, stated, texts
from transect.targets.http.chat.tokens import limit
from transect.targets.http.ledger import Reply
from transect.targets.http.presets import BEDROCK
from transect.targets.http.settings import Limits
from transect.targets.http.transport import Message

_ENDS: Final[Mapping[str, End]] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool",
    "malformed_tool_use": "tool",
    "guardrail_intervened": "filter",
    "content_filtered": "filter",
}


def bedrock_message(request: ChatRequest, shown: Sequence[Picture], ask: Ask) -> Message:
    """What boto3's `converse` takes, as the body; images are bytes, which boto3 encodes."""
    images = [{"image": {"format": one.format, "source": {"bytes": one.content}}} for one in shown]
    form = form_of(request, ask)
    tool = {"name": NAME, "description": DESCRIPTION, "inputSchema": {"json": form}}
    body = stated(
        modelId=request.model,
        system=[{"text": ask.system}] if ask.system else None,
        messages=[{"role": "user", "content": [*images, {"text": ask.prompt}]}],
        inferenceConfig=stated(
            maxTokens=limit(request, ask), temperature=ask.temperature if request.send_temperature else None
        ),
        toolConfig=form and {"tools": [{"toolSpec": tool}], "toolChoice": {"tool": {"name": NAME}}},
    )
    return post(request, request.url, body)


def bedrock_spoken(content: Mapping[str, Any]) -> Spoken:
    """The texts of the message; where a guardrail intervened they are the guardrail's."""
    said = at(content, "output", "message", "content")
    if not isinstance(said, list):
        return no_answer(content, "output.message.content")
    calls = [at(part, "toolUse") for part in items(said)]
    answered = next((said_by_tool(at(call, "input")) for call in calls if at(call, "name") == NAME), "")
    end = _ENDS.get(str(content.get("stopReason")), "other")
    usage = at(content, "usage")
    return Spoken(
        text=answered or texts(items(said)),
        end="end" if answered and end == "tool" else end,
        refusal=end == "filter",
        tokens_sent=count(usage, "inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens"),
        tokens_received=count(usage, "outputTokens"),
    )


@final
class BedrockTransport:
    """Sends messages to Converse; safe to share between threads. Raises MissingExtra without boto3."""

    def __init__(self, request: ChatRequest, limits: Limits) -> None:
        self._service = AwsService(
            "bedrock-runtime", BEDROCK, region=request.region, endpoint=request.url, limits=limits
        )

    def send(self, message: Message) -> Reply:
        """Converse's answer as JSON. Raises CallFailed where there is none."""
        return self._service.call(lambda client: client.converse(**message.json))

    def close(self) -> None:
        """Close all connections."""
        self._service.close()
