"""What a target's TOML file may say, and what is wrong with one that says something else, with line and key; presets
of interfaces; secrets, which are filled in from the environment and cleared from all that comes back.
"""

from __future__ import annotations

import base64
import ipaddress
import os
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, Literal, final
from urllib.parse import parse_qsl, urlsplit

from pydantic import BaseModel, ConfigDict, Field

from transect.errors import BadInput, did_you_mean
from transect.records import Task
from transect.runs import toml_files
from transect.targets.preprocess import Preprocess
from transect.texts import words_of

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SECRET_NAME = re.compile(
    r"auth(?!or(?!i[sz]))|bearer|session|jwt|(?:api|access|private|subscription)[-_]?key|[-_]key$|^key$|token$|secret"
    r"|password|passwd|passphrase|cookie|credential|signature|^sig$",
    re.IGNORECASE,
)
_NO_SECRET = re.compile(r"^idempotency-key$|(?:type|method|mode|scheme|version)$", re.IGNORECASE)
_CREDENTIALS = re.compile(r"\s*(?:bearer\s+\S|basic\s+\S+\s*$)", re.IGNORECASE)
SHORTEST = 8
"""Characters that a secret must have: shorter texts occur in answers by chance and could not be cleared from them."""


@final
class Secrets:
    """The environment variables that settings refer to. Raises BadInput for one that is unset or too short."""

    def __init__(self, settings: object, environment: Mapping[str, str] | None = None) -> None:
        known = os.environ if environment is None else environment
        self._values = {name: _value(name, known) for name in sorted(set(references(settings)))}
        spellings: dict[str, str] = {}
        for name, value in self._values.items():
            spellings |= dict.fromkeys({value, *_base64(value), *_inside_base64(value.encode())}, name)
        for text in _texts(settings):
            if names := _REFERENCE.findall(text):
                spellings.update(dict.fromkeys(_base64(self.fill(text)), names[0]))
        longest_first = sorted(spellings, key=lambda form: (-len(form), form))
        self._patterns = [(_pattern(form), f"[{spellings[form]}]".encode()) for form in longest_first]
        # At most four backslashes, u and four digits for each unit of UTF-16, or three for each byte; and padding.
        self._most_bytes = max((9 * len(form.encode("utf-16-be")) // 2 + 12 for form in spellings), default=0)

    def __repr__(self) -> str:
        return f"Secrets({', '.join(self._values) or 'none'})"

    def fill(self, settings: object) -> Any:
        """The settings with every ${NAME} replaced by its value."""
        if isinstance(settings, str):
            return _REFERENCE.sub(lambda match: self._values[match[1]], settings)
        if isinstance(settings, Mapping):
            return {key: self.fill(value) for key, value in settings.items()}
        return [self.fill(value) for value in settings] if isinstance(settings, list) else settings

    def redact(self, content: bytes) -> bytes:
        """The content with every secret, in any of its usual forms, replaced by [NAME]."""
        for pattern, shown in self._patterns:
            content = pattern.sub(shown, content)
        return content

    def redact_cut(self, content: bytes) -> bytes:
        """The same for the beginning of a longer content, without as many last bytes as a secret can take there.

        Its end may be a secret's beginning, which no form of it matches.

        >>> Secrets("${KEY}", {"KEY": "12345678"}).redact_cut(b"12345678" + b"." * 1000 + b"1234").endswith(b".")
        True
        """
        cleared = self.redact(content)
        return cleared[: max(0, len(cleared) - self._most_bytes)]

    def redact_text(self, text: str) -> str:
        """The same for text."""
        return self.redact(text.encode(errors="replace")).decode(errors="replace")


def references(settings: object) -> Iterable[str]:
    """Names of the variables that settings refer to, at any depth."""
    for text in _texts(settings):
        yield from _REFERENCE.findall(text)


def written_out(settings: object, path: str = "", named: bool = False) -> str:
    """The dotted path of the first setting that is a secret, by its name or as `Bearer …`, and not ${NAME}; "".

    >>> written_out({"headers": {"Authorization": "Token abc", "Accept": "*/*"}})
    'headers.Authorization'
    >>> written_out({"json": {"as": ["Bearer abc"]}})
    'json.as'
    >>> written_out({"headers": {"X-Api-Key": "${ACME_KEY}"}})
    ''
    """
    if isinstance(settings, str):
        is_secret = (named and settings) or _CREDENTIALS.match(settings)
        return path if is_secret and not _REFERENCE.search(settings) else ""
    if isinstance(settings, list):
        return next((place for value in settings if (place := written_out(value, path, named))), "")
    if not isinstance(settings, Mapping):
        return ""
    inside = (
        written_out(value, f"{path}.{key}".strip("."), bool(_SECRET_NAME.search(key)) and not _NO_SECRET.search(key))
        for key, value in settings.items()
    )
    return next((place for place in inside if place), "")


def _value(name: str, environment: Mapping[str, str]) -> str:
    value = environment.get(name, "")
    if not value:
        raise BadInput(f"environment variable {name}: expected a secret, found it unset or empty: set it and run again")
    if not value.isprintable():
        raise BadInput(
            f"environment variable {name}: expected printable characters, got a line break or control "
            "character: copy the key again"
        )
    if len(value) < SHORTEST:
        raise BadInput(
            f"environment variable {name}: expected a secret of {SHORTEST} characters or more, got "
            f"{len(value)}, too short to remove from answers: copy the whole key; write a value that is not "
            "secret into the file"
        )
    return value


def _texts(settings: object) -> Iterable[str]:
    if isinstance(settings, str):
        yield settings
    elif isinstance(settings, Mapping | list):
        for value in settings.values() if isinstance(settings, Mapping) else settings:
            yield from _texts(value)


def _base64(value: str) -> set[str]:
    """Without padding, which a pattern takes along."""
    raw = value.encode()
    return {encode(raw).decode().rstrip("=") for encode in (base64.b64encode, base64.urlsafe_b64encode)}


def _inside_base64(raw: bytes) -> set[str]:
    """What the base64 of any text with the secret in it shows of it: of each of three alignments the whole digits."""
    encodings = set()
    for before in range(3):
        digits = slice(-(-8 * before // 6), 8 * (before + len(raw)) // 6)
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            encodings.add(encode(bytes(before) + raw).decode()[digits])
    return encodings


def _pattern(form: str) -> re.Pattern[bytes]:
    """Each character as it is, percent-encoded or escaped as JSON may, whatever the others are; padding of base64 too.

    Backslashes are bounded, so that a content of nothing else takes no longer.
    """
    padding = rb"(?:=|%3[dD]|\\u003[dD]){0,2}"
    return re.compile(b"".join(_character(character) for character in form) + padding)


def _character(character: str) -> bytes:
    units = character.encode("utf-16-be").hex()
    raw = character.encode()
    percent = b"".join(b"%" + _digits(f"{byte:02x}") for byte in raw)
    escaped = b"".join(rb"\\{1,4}u" + _digits(units[i : i + 4]) for i in range(0, len(units), 4))
    plain = {"\\": rb"\\{1,4}", " ": rb"[ +]", '"': rb'\\{0,3}"', "/": rb"\\{0,3}/"}.get(character, re.escape(raw))
    return b"(?:" + b"|".join((plain, percent, escaped)) + b")"


def _digits(hexadecimal: str) -> bytes:
    return "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in hexadecimal).encode()


REKOGNITION: Final = "rekognition-detect-faces"

BEDROCK: Final = "bedrock-converse"

PRESETS: Final[Mapping[str, Mapping[str, object]]] = {
    "json": {
        "request": {"body": "json", "json": {"image": "{image_base64}"}},
        "response": {"score": "score", "scores": "scores", "boxes": "boxes", "embedding": "embedding"},
    },
    # Open Inference Protocol V2 (KServe, Triton, MLServer): one tensor in, one out, a batch of one image.
    "kserve-v2": {
        "request": {
            "body": "json",
            "json": {"inputs": [{"name": "input", "shape": "{tensor_shape}", "datatype": "FP32", "data": "{tensor}"}]},
        },
        "response": {
            "score": "outputs[0].data[0]",
            "scores": "outputs[0].data",
            "boxes": "outputs[0].data",
            "embedding": "outputs[0].data",
        },
    },
    # Boxes come as shares of the picture, confidences in percent.
    REKOGNITION: {
        "task": "detection",
        "request": {"body": "bytes"},
        "response": {
            "boxes": "FaceDetails",
            "box": "BoundingBox.[Left, Top, Width, Height]",
            "box_format": "xywh",
            "box_units": "relative",
            "score": "Confidence",
            "score_scale": 100,
        },
    },
}


def with_preset(table: Mapping[str, object]) -> dict[str, object]:
    """The settings of a file over those of the preset that it names; without a known preset the file's own."""
    return merged(PRESETS.get(str(table.get("preset", "")), {}), table)


def merged(low: Mapping[str, Any], high: Mapping[str, Any], whole: str = "json") -> dict[str, Any]:
    """Tables over others, key by key at any depth; the table `whole` as a whole."""
    both = dict(low)
    for key, value in high.items():
        nested = key != whole and isinstance(value, Mapping) and isinstance(both.get(key), Mapping)
        both[key] = merged(both[key], value, whole) if nested else value
    return both


class Table(BaseModel):
    """A table of a file: no unknown keys, no NaN."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=False, allow_inf_nan=False)


@final
class Request(Table):
    """What is sent. template: JSON with {image_base64}, {image_url}, {tensor}, {tensor_shape}, {width}, {height}."""

    url: str = ""
    method: Literal["POST", "PUT", "PATCH", "GET"] = "POST"
    headers: dict[str, str] = {}
    query: dict[str, str] = {}
    body: Literal["json", "multipart", "bytes", "none"] = "json"
    template: Any = Field(default=None, alias="json")
    field: str = "image"
    fields: dict[str, str] = {}
    image_format: Literal["png", "jpeg", "rgb"] = "png"
    jpeg_quality: int = Field(default=95, ge=1, le=100)
    preprocess: dict[str, object] = {}
    public_url: str = ""
    serve_port: int = Field(default=0, ge=0, le=65535)
    region: str = ""


@final
class Response(Table):
    """Where the answer is in the reply: JMESPaths; box, score and label are relative to an item of a list.

    yes: the label that means yes, where a binary target's reply has the winning label, and its score if any.
    """

    score: str = ""
    scores: str = ""
    label: str = "label"
    yes: str = ""
    boxes: str = ""
    box: str = "@"
    box_format: Literal["xyxy", "xywh"] = "xyxy"
    box_units: Literal["pixels", "relative"] = "pixels"
    score_scale: float = Field(default=1.0, gt=0)
    embedding: str = ""
    no_face: str = ""
    outcomes: dict[str, str] = {}


@final
class Limits(Table):
    """How it is asked. rate: calls a second, one a day at least; timeout (an hour at most), waits (a day at most):
    seconds; largest_answer: megabytes.
    """

    rate: float | None = Field(default=None, ge=1e-5)
    concurrency: int = Field(default=4, ge=1, le=256)
    timeout: float = Field(default=30.0, gt=0, le=3600)
    attempts: int = Field(default=4, ge=1, le=20)
    first_wait: float = Field(default=0.5, ge=0, le=86_400)
    longest_wait: float = Field(default=60.0, gt=0, le=86_400)
    largest_answer: float = Field(default=10.0, gt=0, le=10_000)


class Budget(Table):
    """The most that may ever be spent on this file of answers."""

    calls: int | None = Field(default=None, ge=1)
    money: Decimal | None = Field(default=None, gt=0)


class Price(Table):
    """What one call costs."""

    per_call: Decimal = Field(default=Decimal(0), ge=0, decimal_places=9)
    currency: str = "USD"


@final
class AnswerSettings(Table):
    """Where calls and answers are kept, and what becomes of calls that were under way when a program was killed."""

    file: str = ""
    unconfirmed: Literal["fail", "ask"] = "fail"


@final
class Canary(Table):
    """Images that are asked about again after every `every` answers, and paid for; none without it."""

    images: int = Field(default=8, ge=4, le=256)
    every: int | None = Field(default=None, ge=1)


@final
class Settings(Table):
    """A whole file."""

    name: str = ""
    task: Task
    version: str = "1"
    preset: Literal["json", "kserve-v2", "rekognition-detect-faces"] | None = None
    labels: tuple[str, ...] = ()
    positive: str | int | None = None
    threshold: float = 0.5
    output: Literal["probability", "logit"] = "probability"
    request: Request = Request()
    response: Response = Response()
    limits: Limits = Limits()
    budget: Budget = Budget()
    price: Price = Price()
    answers: AnswerSettings = AnswerSettings()
    canary: Canary = Canary()

    @property
    def is_rekognition(self) -> bool:
        """Whether boto3 sends the calls."""
        return self.preset == REKOGNITION

    @property
    def answers_to(self) -> str:
        """The key of the path that the task's answer is read from."""
        keys = {Task.DETECTION: "boxes", Task.EMBEDDING: "embedding", Task.BINARY: "score", Task.REGRESSION: "score"}
        return keys.get(self.task, "scores")


def read_settings(path: Path) -> Settings:
    """The settings of a file. Raises BadInput in one line, with the line and the key where the file has them."""
    from transect.targets.http.chat.interfaces import INTERFACES

    text = toml_files.read_text(path, "a target's TOML file")
    table = toml_files.parse(text, str(path))
    if (preset := table.get("preset")) in INTERFACES:
        raise BadInput(f"{path}: {preset} is the interface of a model that answers in words: add --questions FILE.toml")
    merged: dict[str, Any] = with_preset(table)
    if merged.get("preset") == REKOGNITION and merged.get("task") != Task.DETECTION:
        # The preset's score is that of a box: for another task only the file's own counts.
        stated = table.get("response", {})
        response = {key: value for key, value in merged["response"].items() if key not in ("score", "score_scale")}
        merged["response"] = {**response, **{key: stated[key] for key in ("score", "score_scale") if key in stated}}
    settings = toml_files.checked(Settings, merged, str(path), text, quotes=False)
    faults = (_address_fault, _kind_fault, _path_fault, _task_fault)
    refuse(path, text, secret_fault(table) or next((fault for find in faults if (fault := find(settings))), None))
    return settings


Fault = tuple[str, str]
"""The key of the first thing that is wrong between settings, and what it is."""


def refuse(path: Path, text: str, fault: Fault | None) -> None:
    """Raises BadInput for a fault of a file, in one line with its line and key."""
    if fault:
        key, message = fault
        raise BadInput(f"{path}{toml_files.line_words(text, key.split('.'))}: {key}: {message}")


def is_loopback(url: str) -> bool:
    """Whether an address is on this machine.

    >>> is_loopback("http://127.0.0.1:8000/x"), is_loopback("https://example.org")
    (True, False)
    """
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def secret_fault(table: Mapping[str, Any]) -> Fault | None:
    """A secret that a file holds itself, or refers to where none is filled in: its key and what is wrong."""
    request = table.get("request", {})
    place = written_out({key: request.get(key) for key in ("headers", "query", "fields", "json")})
    if place:
        advice = "write ${NAME} and set that environment variable"
        return f"request.{place}", f"expected a secret from the environment, got one written into the file: {advice}"
    allowed = {"headers", "query", "fields", "json"}
    elsewhere = [key for key, value in request.items() if key not in allowed and [*references(value)]]
    if elsewhere:
        return f"request.{elsewhere[0]}", "expected no ${NAME} here: put secrets into headers, query, fields or json"
    return None


def _address_fault(settings: Settings) -> Fault | None:
    request = settings.request
    if settings.is_rekognition and not request.url:
        return None if request.region else ("request.region", "expected the AWS region, e.g. 'eu-west-1': add it")
    public = url_fault("public_url", request.public_url) if request.public_url else None
    sent = [request.headers, request.query, request.fields, request.template]
    if fault := url_fault("url", request.url) or public or address_fault(request.url, sent):
        return fault
    budget = settings.budget.calls or settings.budget.money
    if not budget and (settings.price.per_call or not is_loopback(request.url)):
        return ("budget", "expected calls = N or money = X for a remote or paid target: add [budget]")
    if settings.budget.money and not settings.price.per_call:
        return "price.per_call", "expected the price of a call, since the budget is in money: add it"
    return None


def address_fault(url: str, sent: object) -> Fault | None:
    """What is wrong with a sound address as a place for secrets. sent: what goes there, with ${NAME} for secrets."""
    address = urlsplit(url)
    if address.username or address.password:
        return "request.url", "expected no user or password in the address: use a header with ${NAME}"
    if key := written_out(dict(parse_qsl(address.query))):
        advice = "write it as ${NAME} into request.query and set that environment variable"
        return "request.url", f"expected no secret in the address, got the key {key!r}: {advice}"
    if address.scheme == "http" and any(references(sent)) and not is_loopback(url):
        return "request.url", "expected https:// where secrets are sent, got http://: use https://"
    return None


def url_fault(key: str, url: str) -> Fault | None:
    """What is wrong with the address under a key of [request], if anything."""
    try:
        address = urlsplit(url)
        sound = address.scheme in ("http", "https") and address.hostname and url.isprintable() and " " not in url
    except ValueError:
        sound = False
    if not sound:
        return f"request.{key}", "expected an address such as 'https://api.example/v1/detect': add or fix it"
    try:
        port = address.port
    except ValueError:
        port = 0
    return (f"request.{key}", "expected a port from 1 to 65535 in the address: fix or drop it") if port == 0 else None


def _kind_fault(settings: Settings) -> Fault | None:
    """A header that says of the image's own bytes that they are something else."""
    for name, value in settings.request.headers.items():
        kind = value.partition(";")[0].strip().lower()
        an_image = kind.startswith("image/") or kind == "application/octet-stream"
        if settings.request.body == "bytes" and name.lower() == "content-type" and not an_image:
            bare = settings.request.image_format == "rgb"
            expected = "application/octet-stream" if bare else f"image/{settings.request.image_format}"
            return f"request.headers.{name}", f"expected {expected} of an image's bytes, got {value!r}: drop the header"
    return None


def _path_fault(settings: Settings) -> Fault | None:
    try:
        import jmespath
    except ModuleNotFoundError:
        return None  # the target says which part to install
    response = settings.response
    paths = {key: value for key, value in response.model_dump().items() if key in _PATHS and value}
    for key, value in {**paths, **{f"outcomes.{k}": v for k, v in response.outcomes.items()}}.items():
        try:
            functions = _functions(jmespath.compile(value).parsed)
        except RecursionError:
            return f"response.{key}", f"expected a JMESPath, got one of {len(value)} characters, nested too deeply"
        except jmespath.exceptions.JMESPathError as error:
            first = words_of(error).removesuffix(", for expression:").rstrip(":")
            return f"response.{key}", f"expected a JMESPath, got {value!r}: {first}"
        known = sorted(jmespath.functions.Functions.FUNCTION_TABLE)
        if unknown := next((name for name in functions if name not in known), None):
            return f"response.{key}", f"expected functions of JMESPath, got {unknown}(): {did_you_mean(unknown, known)}"
    return None


def _functions(parsed: Mapping[str, Any]) -> list[str]:
    """The functions that a parsed JMESPath calls. Raises RecursionError where it is nested too deeply for a search."""
    names, level = [], [parsed]
    for _ in range(_DEEPEST):
        names += [node["value"] for node in level if node["type"] == "function_expression"]
        level = [child for node in level for child in node["children"] if isinstance(child, Mapping)]
    if level:
        raise RecursionError
    return names


_DEEPEST = 100
"""Levels of a parsed JMESPath; each takes several of Python's own when an answer is searched."""
_PATHS = ("score", "scores", "boxes", "box", "embedding", "no_face")


def _task_fault(settings: Settings) -> Fault | None:
    task = settings.task
    if settings.response.yes and task is not Task.BINARY:
        return "response.yes", f"expected only for binary targets, got task {task}: use scores, or task = 'binary'"
    if not (getattr(settings.response, settings.answers_to) or settings.response.yes):
        return f"response.{settings.answers_to}", f"expected the path of a {task} target's answer: add it, or a preset"
    if task in (Task.MULTICLASS, Task.MULTILABEL) and not settings.labels:
        return "labels", f"no names for the classes of a {task} target: add labels = [...]"
    try:
        Preprocess.from_mapping(settings.request.preprocess)
    except BadInput as error:
        return "request.preprocess", str(error).removeprefix("preprocess: ")
    if settings.request.body == "json" and settings.request.template is None:
        return "request.json", "expected the JSON to send, with '{image_base64}' for the image: add it, or a preset"
    return None
