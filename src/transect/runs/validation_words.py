"""What pydantic found wrong with a value, in the words that all messages of Transect use: expected, got."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from transect.texts import one_line

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_KINDS: Final = {
    "string": "text",
    "int": "a whole number",
    "float": "a number",
    "decimal": "a number",
    "bool": "true or false",
    "list": "a list",
    "tuple": "a list",
    "set": "a list",
    "dict": "a table of keys and values",
    "mapping": "a table of keys and values",
    "model": "a table of keys and values",
    "dataclass": "a table of keys and values",
    "path": "a path",
}
"""By the first part of the error's type: `string_type`, `int_parsing`, ..."""
_PATTERNS: Final = {
    "match pattern '^[A-Za-z_][A-Za-z0-9_]{0,62}$'": "up to 63 letters, digits and underscores, a digit not first",
    "match pattern '^[A-Za-z0-9]$'": "one letter or digit",
}
_NOT_THE_KIND: Final = ("_type", "_parsing", "_attributes_type", "_from_float")
_LONGEST: Final = 60


def expectation(fault: ErrorDetails) -> str:
    """One fault as "expected ..."; the text of a validator of our own as it is.

    >>> import pydantic
    >>> class Plan(pydantic.BaseModel):
    ...     ratings: int = pydantic.Field(ge=1)
    ...     title: str = pydantic.Field(min_length=1)
    >>> for ratings, title in (("many", "x"), (0, "x"), (1, ""), (1, 3)):
    ...     try:
    ...         Plan.model_validate({"ratings": ratings, "title": title})
    ...     except pydantic.ValidationError as error:
    ...         print(expectation(error.errors()[0]))
    expected a whole number
    expected 1 or more
    expected 1 character or more
    expected text
    """
    kind, message = fault["type"], fault["msg"]
    if kind in ("value_error", "assertion_error"):
        return one_line(re.sub(r"^(Value|Assertion) error, ", "", message))
    if kind == "missing":
        return "expected it, found none"
    if kind == "extra_forbidden":
        return "expected no such key"
    stem = kind.removesuffix(next((end for end in _NOT_THE_KIND if kind.endswith(end)), ""))
    if stem != kind and stem in _KINDS:
        return f"expected {_KINDS[stem]}"
    words = re.sub(r"^[A-Z][a-z]+( input)? should (be |have |(?=match))", "", message)
    words = re.sub(r"^greater than or equal to (\S+)$", r"\1 or more", words)
    words = re.sub(r"^less than or equal to (\S+)$", r"\1 or less", words)
    words = re.sub(r"^(greater|less) than", r"a number \1 than", words)
    words = re.sub(r"^at (least|most) (\d+ \w+)(?: after validation, not (\d+))?$", _count, words)
    words = _PATTERNS.get(words, words)
    return f"expected {one_line(words)}"


def in_words(value: object) -> str:
    """A value as messages show it, at most 60 characters.

    >>> in_words("many"), in_words({"a": 1})
    ("'many'", "{'a': 1}")
    """
    text = one_line(repr(value))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _count(match: re.Match[str]) -> str:
    got = f", got {match[3]}" if match[3] else ""
    return f"{match[2]} or {'more' if match[1] == 'least' else 'fewer'}{got}"
