"""The form of an answer that an interface is asked to keep: JSON with one member, as a JSON schema.

A question with options, or for a number, has one; a free text has none. The form leaves a way out, null, which counts
as a refusal, so that a model which declines is not made to answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from transect.said import Ask
from transect.targets.http.chat.settings import ChatRequest

NAME: Final = "answer"
"""Of the schema, of its member, and of the tool that stands for it where an interface has tools alone."""
DESCRIPTION: Final = "The answer; null if you do not give one."
FORM_TOKENS: Final = 32
"""Tokens of the answer for what the form puts around it."""
AROUND_FORM: Final = 400
"""Tokens sent for a tool, which a provider puts into words of its own; Anthropic documents up to 346."""


def form_of(request: ChatRequest, ask: Ask) -> dict[str, Any] | None:
    """The JSON schema of an answer; None for a free text, and where the file of the interface asks for none.

    >>> form_of(ChatRequest(model="m", structured=True), Ask("", "?", options=("No", "Yes")))["properties"]
    {'answer': {'type': ['string', 'null'], 'enum': ['No', 'Yes', None], 'description': 'The answer; null if ...'}}
    """
    if not request.structured or not (ask.options or ask.number):
        return None
    kept = {"type": ["string", "null"], "enum": [*ask.options, None]} if ask.options else {"type": ["number", "null"]}
    return {
        "type": "object",
        "properties": {NAME: {**kept, "description": DESCRIPTION}},
        "required": [NAME],
        "additionalProperties": False,
    }


def named_form(request: ChatRequest, ask: Ask) -> dict[str, Any] | None:
    """The schema with its name, as OpenAI's interfaces take it."""
    form = form_of(request, ask)
    return form and {"name": NAME, "strict": True, "schema": form}


def said_by_tool(called: object) -> str:
    """What a call of the tool says, as the JSON that other interfaces give; "" where it is no object."""
    return json.dumps(called) if isinstance(called, Mapping) else ""
