"""What the interfaces' modules share: the message to send, and ways through an answer of any shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from transect.said import Spoken
from transect.targets.http.answers import outline
from transect.targets.http.chat.settings import ChatRequest
from transect.targets.http.transport import Message


def post(request: ChatRequest, url: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Message:
    """A message with that body and the file's further members of it, headers and query.

    headers: those of the interface; the file's go before them.
    """
    named = {name.lower() for name in request.headers}
    own = {name: value for name, value in (headers or {}).items() if name.lower() not in named}
    return Message("POST", url, {**own, **request.headers}, request.query, json=over(body, request.body))


def over(low: Mapping[str, Any], high: Mapping[str, Any]) -> dict[str, Any]:
    """Members of an object over others, key by key at any depth.

    >>> over({"a": {"b": 1, "c": 2}}, {"a": {"c": 3}, "d": 4})
    {'a': {'b': 1, 'c': 3}, 'd': 4}
    """
    both = dict(low)
    for key, value in high.items():
        nested = isinstance(value, Mapping) and isinstance(both.get(key), Mapping)
        both[key] = over(both[key], value) if nested else value
    return both


def stated(**members: Any) -> dict[str, Any]:
    """The members that are not None or "".

    >>> stated(system="", temperature=0.0, seed=None)
    {'temperature': 0.0}
    """
    return {key: value for key, value in members.items() if value is not None and value != ""}


def at(content: object, *path: str | int) -> Any:
    """What is there in an answer; None where the path leads nowhere.

    >>> at({"choices": [{"text": "yes"}]}, "choices", 0, "text"), at({"choices": []}, "choices", 0, "text")
    ('yes', None)
    """
    for step in path:
        if isinstance(step, int) and isinstance(content, list) and step < len(content):
            content = content[step]
        elif isinstance(step, str) and isinstance(content, Mapping):
            content = content.get(step)
        else:
            return None
    return content


def items(value: object) -> list[Mapping[str, Any]]:
    """The objects of a list; none where it is no list."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def texts(parts: Sequence[Mapping[str, Any]], key: str = "text") -> str:
    """The texts of parts, joined."""
    return "".join(part[key] for part in parts if isinstance(part.get(key), str))


def count(usage: object, *keys: str) -> int | None:
    """The sum of an answer's counts of tokens; None where the first of them is none, others count 0 then.

    >>> count({"input_tokens": 9, "cache_read_input_tokens": 3}, "input_tokens", "cache_read_input_tokens", "other")
    12
    """
    values = [at(usage, key) for key in keys]
    sound = [value if type(value) is int and value >= 0 else None for value in values]  # True is no count
    return None if sound[0] is None else sum(value or 0 for value in sound)


def no_answer(content: object, where: str) -> Spoken:
    """What is made of an answer without the part that holds the text. where: its name in the interface."""
    return Spoken(failure=f"invalid answer: no {where}: it has {outline(content)}")
