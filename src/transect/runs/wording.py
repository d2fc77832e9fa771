"""Numbers, names and values in the words of messages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from transect.texts import one_line, words_of

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


def counted(n: int, noun: str, plural: str = "") -> str:
    """A count with its noun, in the plural unless it is 1.

    >>> counted(1, "image"), counted(1200, "image"), counted(2, "subject's box", "subjects' boxes")
    ('1 image', '1,200 images', "2 subjects' boxes")
    """
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def spaced(name: str) -> str:
    """An identifier as words.

    >>> spaced("skin_tone")
    'skin tone'
    """
    return name.replace("_", " ")


def readable(sentence: str) -> str:
    """A sentence in which identifiers are words."""
    return re.sub(r"\b[a-z]+(?:_[a-z]+)+\b", lambda found: spaced(found.group()), sentence)


def signed(value: float) -> str:
    """A number with its sign and three decimals, or two significant digits where these would be zeros.

    Below 1e-9, which is an error of rounding, it is 0.

    >>> signed(0.25), signed(-0.00042), signed(-1e-17)
    ('+0.250', '−0.00042', '+0.000')
    """
    if abs(value) < 1e-9:
        return "+0.000"
    return (f"{value:+z.2g}" if abs(value) < 0.0005 else f"{value:+z.3f}").replace("-", "−")


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """A line for each row, with its texts in columns two spaces apart.

    >>> aligned([["name", "n"], ["a", "10"]])
    ['name  n', 'a     10']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def shortened(text: str, most: int = 160) -> str:
    """The text, or its beginning up to a word's end, with an ellipsis.

    >>> shortened("one two three", 8)
    'one two …'
    """
    return text if len(text) <= most else f"{text[:most].rpartition(' ')[0]} …"


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
_LONGEST_REASON: Final = 100


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
        return "it is missing"
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
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


def reason_of(error: BaseException) -> str:
    """The first line of an exception's text; of a pydantic ValidationError its first fault, with its place."""
    if not callable(faults := getattr(error, "errors", None)):
        return words_of(error, _LONGEST_REASON)
    first = faults()[0]
    place = ".".join(map(str, first["loc"]))
    return f"{f'{place}: ' if place else ''}{expectation(first)}, got {in_words(first['input'])}"


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
