"""Counts in words."""

from __future__ import annotations


def counted(n: int, noun: str) -> str:
    """A count with its noun, in the plural unless it is 1.

    >>> counted(1, "image"), counted(1200, "image")
    ('1 image', '1,200 images')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
