"""What the TOML file of a chat interface may say, and the form of an answer that an interface is asked to keep.

The form leaves a way out, null, which counts as a refusal.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, final

from pydantic import Field

from transect.errors import BadInput
from transect.runs import toml_files
from transect.spoken_answers import Ask
from transect.targets.http.settings import (
    BEDROCK,
    AnswerSettings,
    Budget,
    Canary,
    Fault,
    Limits,
    Price,
    Table,
    address_fault,
    is_loopback,
    merged,
    refuse,
    secret_fault,
    url_fault,
)

if TYPE_CHECKING:
    from transect.targets.http.chat.interfaces import Interface

OPENAI: Final = "api.openai.com"
"""Where openai-chat has structured answers for sure; other servers that speak it may not know them."""
_OURS: Final = {"model", "messages", "input", "contents", "stream", "system", "instructions", "modelId"}
"""Members of a body that are made for each question, or not supported: no file sets them."""


@final
class ChatRequest(Table):
    """What is sent with every question.

    url: the address that is posted to; of gemini its beginning, before /models/. body: further members of the body
    (`json` in the file). max_tokens_name: of openai-chat, what the limit is called. send_temperature: False for models
    that refuse one. send_seed: send the number of the repeat as the seed. reasoning_tokens: added to the limit of each
    question, for models that think first. structured: ask for JSON after a schema where a question has options or wants
    a number; the interface's default where the file says nothing. image_tokens: at most per image, where the documented
    rule does not hold.
    """

    url: str = ""
    model: str = Field(min_length=1)
    headers: dict[str, str] = Field(default_factory=dict)
    query: dict[str, str] = Field(default_factory=dict)
    body: dict[str, object] = Field(default_factory=dict, alias="json")
    image_format: Literal["png", "jpeg"] = "png"
    jpeg_quality: int = Field(default=95, ge=1, le=100)
    detail: Literal["auto", "low", "high"] | None = None
    max_tokens_name: Literal["max_tokens", "max_completion_tokens"] | None = None
    send_temperature: bool = True
    send_seed: bool = False
    reasoning_tokens: int = Field(default=0, ge=0, le=1_000_000)
    structured: bool = False
    image_tokens: int | None = Field(default=None, ge=1)
    region: str = ""


@final
class ChatBudget(Budget):
    """The most that may ever be spent on this file of answers; tokens: sent and received together."""

    tokens: int | None = Field(default=None, ge=1)


@final
class ChatPrice(Price):
    """What a call costs, and a million tokens of what is sent and of what comes back."""

    per_million_sent: Decimal = Field(default=Decimal(0), ge=0, decimal_places=9)
    per_million_received: Decimal = Field(default=Decimal(0), ge=0, decimal_places=9)

    @property
    def is_stated(self) -> bool:
        """Whether anything costs."""
        return bool(self.per_call or self.per_million_sent or self.per_million_received)


@final
class ChatBatch(Table):
    """Questions are handed over together and answered within hours, at the provider's price for batches.

    size: questions in one batch; poll: seconds between looks at whether it is done; hours: after which it is given up.
    """

    size: int = Field(default=1000, ge=1, le=50_000)
    poll: float = Field(default=60.0, gt=0, le=3600)
    hours: float = Field(default=25.0, gt=0, le=200)


@final
class ChatSettings(Table):
    """A whole file."""

    name: str = ""
    version: str = "1"
    preset: str
    request: ChatRequest
    limits: Limits = Limits()
    budget: ChatBudget = ChatBudget()
    price: ChatPrice = ChatPrice()
    answers: AnswerSettings = AnswerSettings()
    canary: Canary = Canary()
    batch: ChatBatch | None = None


def is_chat_file(path: str | Path) -> bool:
    """Whether a TOML file describes a model behind a chat interface; False for one that cannot be read."""
    from transect.targets.http.chat.interfaces import INTERFACES

    try:
        return toml_files.read(Path(path)).get("preset") in INTERFACES
    except BadInput:
        return False


def read_chat_settings(path: Path) -> ChatSettings:
    """The settings of a file. Raises BadInput in one line, with the line and the key where the file has them."""
    from transect.targets.http.chat.interfaces import INTERFACES

    text = toml_files.read_text(path, "a target's TOML file")
    table = toml_files.parse(text, str(path))
    if table.get("preset") not in INTERFACES:
        expected = f"a model that answers in words needs preset = one of {', '.join(INTERFACES)}"
        got = table.get("preset", "none")
        raise BadInput(f"{path}: {expected}, got {got!r}")
    usual = _defaults(table, INTERFACES[table["preset"]])
    settings = toml_files.checked(ChatSettings, merged(usual, table), str(path), text, quotes=False)
    found = (_address_fault(settings), _body_fault(settings, INTERFACES), _budget_fault(settings))
    refuse(path, text, secret_fault(table) or next(filter(None, found), None))
    return settings


def _defaults(table: Mapping[str, object], interface: Interface) -> dict[str, Any]:
    """An answer in words takes longer than a number, and waits for no processor here.

    It is structured where the interface is known to have that; Anthropic forces no tool on a model that thinks first.
    """
    limits = {"timeout": 120.0, "concurrency": 16}
    request = table.get("request")
    if not isinstance(request, Mapping):
        return {"limits": limits}
    body = request.get("json")
    has_form = bool(interface.url) or f"//{OPENAI}/" in str(request.get("url"))
    thinks = isinstance(body, Mapping) and "thinking" in body
    url = {"url": interface.url} if interface.url else {}
    return {"limits": limits, "request": {**url, "structured": has_form and not thinks}}


def _address_fault(settings: ChatSettings) -> Fault | None:
    request = settings.request
    if settings.preset == BEDROCK:  # which is called by region, or at another endpoint
        if not request.region:
            return "request.region", "expected the AWS region, e.g. 'eu-west-1': add it"
        return url_fault("url", request.url) if request.url else None
    sent = [request.headers, request.query, request.body]
    return url_fault("url", request.url) or address_fault(request.url, sent)


def _body_fault(settings: ChatSettings, interfaces: Mapping[str, Interface]) -> Fault | None:
    request, preset = settings.request, settings.preset
    if ours := sorted(_OURS & request.body.keys()):
        return "request.json", f"expected no {ours[0]} here: it is made for each question, and nothing is streamed"
    if settings.batch and interfaces[preset].batches is None:
        return "batch", f"expected none with {preset}, which batches differently: drop it"
    special = {key for interface in interfaces.values() for key in interface.keys}
    for key in sorted(special & request.model_fields_set - interfaces[preset].keys):
        known = " or ".join(name for name, interface in interfaces.items() if key in interface.keys)
        return f"request.{key}", f"expected only with {known}, got it with {preset}: drop it"
    return None


def _budget_fault(settings: ChatSettings) -> Fault | None:
    budget, price = settings.budget, settings.price
    local = bool(settings.request.url) and is_loopback(settings.request.url)
    if not (budget.calls or budget.money or budget.tokens) and (price.is_stated or not local):
        kinds = "calls = N, money = X or tokens = N"
        return "budget", f"expected {kinds} for a remote or paid model: add [budget]"
    if budget.money and not price.is_stated:
        prices = "per_million_sent and per_million_received"
        return "price", f"expected {prices}, since the budget is in money: add them under [price]"
    return None


NAME: Final = "answer"
"""Of the schema, of its member, and of the tool that stands for it where an interface has tools alone."""
DESCRIPTION: Final = "The answer; null if you do not give one."
FORM_TOKENS: Final = 32
"""Tokens of the answer for what the form puts around it."""
AROUND_FORM: Final = 400
"""Tokens sent for a tool, which a provider puts into words of its own; Anthropic documents up to 346."""


def form_of(request: ChatRequest, ask: Ask) -> dict[str, object] | None:
    """The JSON schema of an answer; None for a free text, and where the file of the interface asks for none."""
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


def limit(request: ChatRequest, ask: Ask) -> int:
    """The most tokens that may come back, as the request states it: for the answer, its form, and reasoning."""
    return ask.max_tokens + request.reasoning_tokens + (FORM_TOKENS if form_of(request, ask) else 0)
