"""Counts and names in words."""

from __future__ import annotations

import re
from collections.abc import Sequence


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
    ('+0.250', '-0.00042', '+0.000')
    """
    if abs(value) < 1e-9:
        return "+0.000"
    return f"{value:+.2g}" if abs(value) < 0.0005 else f"{value:+.3f}"


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
