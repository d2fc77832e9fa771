"""Secrets come from environment variables, as ${NAME}, and go nowhere but into the request.

What came back is cleared of them before it is kept or shown, also where the other side echoed them in base64, percent
encoding or as JSON writes them.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, final
from urllib.parse import quote, quote_plus

from transect.errors import BadInput

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SECRET_NAME = re.compile(
    r"authorization|api[-_]?key|[-_]key$|^key$|token$|secret|password|passwd|cookie|credential|signature", re.IGNORECASE
)
_NO_SECRET = {"idempotency-key"}
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
        self._forms = sorted(
            ((form, name) for name, value in self._values.items() for form in _forms(value)),
            key=lambda pair: (-len(pair[0]), pair),
        )

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
        for form, name in self._forms:
            content = content.replace(form, f"[{name}]".encode())
        return content

    def redact_text(self, text: str) -> str:
        """The same for text."""
        return self.redact(text.encode(errors="replace")).decode(errors="replace")


def references(settings: Any) -> Iterable[str]:
    """Names of the variables that settings refer to, at any depth."""
    if isinstance(settings, str):
        yield from _REFERENCE.findall(settings)
    elif isinstance(settings, Mapping):
        for value in settings.values():
            yield from references(value)
    elif isinstance(settings, list):
        for value in settings:
            yield from references(value)


def written_out(settings: Any, path: str = "") -> str:
    """The dotted path of the first setting that is named like a secret and does not come from the environment; "".

    >>> written_out({"headers": {"Authorization": "Bearer abc", "Accept": "*/*"}})
    'headers.Authorization'
    >>> written_out({"headers": {"X-Api-Key": "${ACME_KEY}"}})
    ''
    """
    if isinstance(settings, list):
        return next((found for value in settings if (found := written_out(value, path))), "")
    if not isinstance(settings, Mapping):
        return ""
    for key, value in settings.items():
        here = f"{path}.{key}".strip(".")
        named = _SECRET_NAME.search(str(key)) and str(key).lower() not in _NO_SECRET
        if named and isinstance(value, str) and value and not _REFERENCE.search(value):
            return here
        if found := written_out(value, here):
            return found
    return ""


def _value(name: str, environment: Mapping[str, str]) -> str:
    value = environment.get(name, "")
    if not value:
        raise BadInput(f"environment variable {name}: expected a secret, found it unset or empty: set it and run again")
    if len(value) < SHORTEST or not value.isprintable():
        raise BadInput(
            f"environment variable {name}: expected a printable secret of at least {SHORTEST} characters, got "
            f"{len(value)}: write what is no secret into the file itself"
        )
    return value


def _forms(value: str) -> set[bytes]:
    raw = value.encode()
    texts = {value, quote(value, safe=""), quote_plus(value), json.dumps(value)[1:-1]}
    return {raw, base64.b64encode(raw), base64.urlsafe_b64encode(raw), *(text.encode() for text in texts)}
