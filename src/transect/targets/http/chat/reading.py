"""From a reply to what was said: which replies are answers, which are refusals, and which are faults.

Reasons are categories with few words behind them, the same for equal faults, so that tables can count them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, final

from transect.said import Ask, Spoken
from transect.targets.http.answers import NoAnswer, outline, parse
from transect.targets.http.aws import TOO_LONG
from transect.targets.http.chat.anthropic_messages import anthropic_message, anthropic_spoken
from transect.targets.http.chat.bedrock_converse import bedrock_message, bedrock_spoken
from transect.targets.http.chat.gemini import gemini_message, gemini_spoken
from transect.targets.http.chat.openai_chat import openai_chat_message, openai_chat_spoken
from transect.targets.http.chat.openai_responses import openai_responses_message, openai_responses_spoken
from transect.targets.http.chat.pictures import Picture
from transect.targets.http.chat.settings import ChatRequest
from transect.targets.http.ledger import Reply
from transect.targets.http.money import NO_TOKENS, Tokens
from transect.targets.http.transport import Message
from transect.texts import encodable, one_line, words_of

_LONGEST_REASON: Final = 200
_FAULT: Final = 400
_SERVER_FAULT: Final = 500
_STREAM: Final = re.compile(rb"\s*(?:data|event|id|retry):")
_DECLINES: Final = {
    "content_filter", "content_policy_violation", "image_content_policy_violation", "invalid_prompt",
    "moderation_blocked", "responsibleaipolicyviolation",
}  # fmt: skip
"""Codes of faults by which OpenAI and Azure say that they decline what was asked."""
_SAYS_DECLINED: Final = re.compile(
    r"content filtering policy|content management policy|safety system|usage polic", re.IGNORECASE
)
_SAYS_TOO_LONG: Final = re.compile(
    r"context (?:length|window|size)|prompt is too long|input is too long|token count.{0,40}exceeds|too many tokens"
    r"|exceeds the (?:available|maximum|model)",
    re.IGNORECASE,
)
_PASSING: Final = {"server_error", "rate_limit_exceeded", "overloaded_error", "429", "500", "502", "503", "529"}
_CODE: Final = re.compile(r"[A-Za-z][A-Za-z_.-]{0,59}")


@final
@dataclass(frozen=True, slots=True)
class Interface:
    """How one interface is spoken: the request about the images shown, and what an answer without a fault says."""

    message: Callable[[ChatRequest, Sequence[Picture], Ask], Message]
    spoken: Callable[[Mapping[str, Any]], Spoken]


INTERFACES: Final[Mapping[str, Interface]] = MappingProxyType(
    {
        "openai-chat": Interface(openai_chat_message, openai_chat_spoken),
        "openai-responses": Interface(openai_responses_message, openai_responses_spoken),
        "anthropic-messages": Interface(anthropic_message, anthropic_spoken),
        "gemini": Interface(gemini_message, gemini_spoken),
        "bedrock-converse": Interface(bedrock_message, bedrock_spoken),
    }
)


def spoken(reply: Reply, interface: Interface) -> Spoken:
    """What a reply says; never raises for a reply.

    A refusal by the provider, in an answer or as a fault, has `refusal` and the end "filter"; any other fault, a cut
    answer and one of another shape have a failure.
    """
    said = _read(reply, interface)
    return replace(said, text=encodable(said.text), failure=one_line(said.failure, _LONGEST_REASON))


def _read(reply: Reply, interface: Interface) -> Spoken:
    if reply.reason:
        return Spoken(failure=f"invalid answer: {reply.reason}")
    if reply.content_type.startswith("text/event-stream") or _STREAM.match(reply.body):
        return Spoken(failure="invalid answer: streamed, which nothing asked for")
    try:
        content = parse(reply.body)
    except NoAnswer as error:
        return Spoken(failure=f"refused: HTTP {reply.status}" if reply.status >= _FAULT else words_of(error))
    if reply.status >= _FAULT or _error(content):
        return _fault(reply.status, content)
    if not isinstance(content, Mapping):
        return Spoken(failure=f"invalid answer: expected an object, got {outline(content)}")
    return interface.spoken(content)


def used(reply: Reply, interface: Interface) -> Tokens | None:
    """The tokens that a reply counts; None where it counts none, so that all that was held stays spent.

    What was refused with a status of 4xx was not worked on and takes none.
    """
    if _FAULT <= reply.status < _SERVER_FAULT:
        return NO_TOKENS
    said = spoken(reply, interface)
    if said.tokens_sent is None or said.tokens_received is None:
        return None
    return Tokens(said.tokens_sent, said.tokens_received)


def passing(reply: Reply) -> str:
    """Why a reply with a good status says that another try has sense; "" where it does not.

    >>> passing(Reply(200, "application/json", b'{"status": "failed", "error": {"code": "server_error"}}'))
    'server_error within an answer'
    """
    if reply.reason or reply.status >= _FAULT or b'"error"' not in reply.body:
        return ""
    try:
        code = _code(_error(parse(reply.body)))
    except NoAnswer:
        return ""
    return f"{code} within an answer" if code in _PASSING else ""


def _error(content: object) -> Mapping[str, Any]:
    """The fault of an answer, which some servers give as a text; empty where there is none."""
    error = content.get("error") if isinstance(content, Mapping) else None
    if isinstance(error, str):
        return {"message": error} if error else {}
    return error if isinstance(error, Mapping) else {}


def _fault(status: int, content: object) -> Spoken:
    error = _error(content) or (content if isinstance(content, Mapping) else {})
    code, text = _code(error), str(error.get("message") or error.get("detail") or "")
    inner = error.get("innererror")
    codes = {code.lower(), str(inner.get("code")).lower() if isinstance(inner, Mapping) else ""}
    if codes & _DECLINES or _SAYS_DECLINED.search(text):
        return Spoken(end="filter", refusal=True)
    if code in ("context_length_exceeded", TOO_LONG) or _SAYS_TOO_LONG.search(text):
        return Spoken(failure=f"context too long: HTTP {status}")
    named = f": {code}" if _CODE.fullmatch(code) else ""
    return Spoken(failure=f"refused: HTTP {status}{named}")


def _code(error: Mapping[str, Any]) -> str:
    """The code of a fault, as one interface or another names it: a word before a number."""
    codes = [str(error[key]) for key in ("code", "status", "type") if error.get(key)]
    return next((code for code in codes if _CODE.fullmatch(code)), (codes or [""])[0])
