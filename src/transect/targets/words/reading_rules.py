"""By which rules answers are read: a digest, so that a resumed run never mixes two ways of reading."""

from __future__ import annotations

import functools
import hashlib
from importlib import resources
from typing import Final

VERSION: Final = 2
"""Raise it with every change of what an answer is read as: in `reading` or a module that they use."""
LISTS: Final = ("hedges", "neutral", "refusals")
"""Files of words, in `lists/`, by which an answer is read. Wordlists are counted later, for all answers alike."""


@functools.cache
def digest() -> str:
    """SHA-256 of the version and of the lists that ship, as 64 hexadecimal digits."""
    content = {name: (resources.files(__package__) / "lists" / f"{name}.toml").read_bytes() for name in LISTS}
    return digest_of(VERSION, content)


def digest_of(version: int, lists: dict[str, bytes]) -> str:
    """The digest of other rules."""
    told = hashlib.sha256(str(version).encode())
    for name in sorted(lists):
        told.update(f"\0{name}\0{len(lists[name])}\0".encode() + lists[name])
    return told.hexdigest()
