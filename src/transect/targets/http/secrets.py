"""Secrets come from environment variables, as ${NAME}, and go nowhere but into the request.

What came back is cleared of them before it is kept or shown, also where the other side echoed them in base64 (alone or
within a text that was sent), percent encoding or as JSON writes them, in either case of hexadecimal digits.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, final

from transect.errors import BadInput

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
    """The values of the environment variables that some settings refer to.

    Raises BadInput naming a variable that is not set, or too short to be a secret.
    """

    def __init__(self, settings: Any, environment: Mapping[str, str] | None = None) -> None:
        known = os.environ if environment is None else environment
        self._values = {name: _value(name, known) for name in sorted(set(references(settings)))}
        spellings = {form: name for name, value in self._values.items() for form in _spellings(value)}
        for text in _texts(settings):
            if names := _REFERENCE.findall(text):
                spellings.update(dict.fromkeys(_base64(self.fill(text)), names[0]))
        longest_first = sorted(spellings, key=lambda form: (-len(form), form))
        self._patterns = [(_pattern(form), f"[{spellings[form]}]".encode()) for form in longest_first]
        self._most_bytes = max((_most_bytes(form) for form in spellings), default=0)

    def __repr__(self) -> str:
        return f"Secrets({', '.join(self._values) or 'none'})"

    def fill(self, settings: Any) -> Any:
        """The settings with every ${NAME} replaced by its value.

        >>> Secrets("Bearer ${KEY}", {"KEY": "12345678"}).fill({"Authorization": "Bearer ${KEY}"})
        {'Authorization': 'Bearer 12345678'}
        """
        if isinstance(settings, str):
            return _REFERENCE.sub(lambda match: self._values[match[1]], settings)
        if isinstance(settings, Mapping):
            return {key: self.fill(value) for key, value in settings.items()}
        return [self.fill(value) for value in settings] if isinstance(settings, list) else settings

    def redact(self, content: bytes) -> bytes:
        """The content with every secret, in any of its usual forms, replaced by [NAME].

        >>> Secrets("${KEY}", {"KEY": "12345678"}).redact(b'{"you sent": "12345678"}')
        b'{"you sent": "[KEY]"}'
        """
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


def references(settings: Any) -> Iterable[str]:
    """Names of the variables that settings refer to, at any depth."""
    for text in _texts(settings):
        yield from _REFERENCE.findall(text)


def written_out(settings: Any, path: str = "", named: bool = False) -> str:
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
    inside = (written_out(value, f"{path}.{key}".strip("."), _names_a_secret(key)) for key, value in settings.items())
    return next((place for place in inside if place), "")


def _names_a_secret(key: str) -> bool:
    return bool(_SECRET_NAME.search(key)) and not _NO_SECRET.search(key)


def _value(name: str, environment: Mapping[str, str]) -> str:
    value = environment.get(name, "")
    if not value:
        raise BadInput(f"environment variable {name}: expected a secret, found it unset or empty: set it and run again")
    if not value.isprintable():
        raise BadInput(
            f"environment variable {name}: expected a secret of printable characters, got a line break or another that "
            "is not: copy the key again, without what stands around it"
        )
    if len(value) < SHORTEST:
        raise BadInput(
            f"environment variable {name}: expected a secret of {SHORTEST} characters or more, got {len(value)}, too "
            f"few to clear it from answers: copy the whole key; what is no secret belongs into the file itself"
        )
    return value


def _texts(settings: object) -> Iterable[str]:
    if isinstance(settings, str):
        yield settings
    elif isinstance(settings, Mapping | list):
        for value in settings.values() if isinstance(settings, Mapping) else settings:
            yield from _texts(value)


def _spellings(value: str) -> set[str]:
    return {value, *_base64(value), *_inside_base64(value.encode())}


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


def _most_bytes(form: str) -> int:
    """At most four backslashes, u and four digits for each unit of UTF-16, or three for each byte; and padding."""
    return 9 * len(form.encode("utf-16-be")) // 2 + 12
