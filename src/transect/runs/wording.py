"""Counts and names in words."""

from __future__ import annotations


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
