"""Markdown and YAML that texts of others cannot break."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

_OTHER_KEYS: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
"""Words that YAML reads as something else unless they are quoted."""
_MARKUP: Final = re.compile(r"([\\`*_\[\]<>|#])")


def yaml(value: object, indent: int = 0) -> str:
    """Mappings, lists and scalars as YAML in block style; texts are quoted as in JSON, which YAML reads alike."""
    pad = " " * indent
    if isinstance(value, Mapping):
        return "\n".join(f"{pad}{_key(str(key))}:{_after(item, indent)}" for key, item in value.items())
    if isinstance(value, list):
        return "\n".join(f"{pad}- {yaml(item, indent + 2).lstrip()}" for item in value)
    return pad + json.dumps(value, ensure_ascii=False)


def _key(name: str) -> str:
    plain = re.fullmatch(r"[A-Za-z][\w-]*", name) and name.lower() not in _OTHER_KEYS
    return name if plain else json.dumps(name, ensure_ascii=False)


def _after(item: object, indent: int) -> str:
    if isinstance(item, Mapping | list) and item:
        return "\n" + yaml(item, indent + 2)
    return " " + json.dumps(item, ensure_ascii=False)


def plain_text(text: str) -> str:
    """A text of others in a line or in a cell of a table: one line in which nothing is markup."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], absent: str) -> list[str]:
    """The lines of a table between empty lines, or the sentence `absent` where there is no row."""
    if not rows:
        return ["", absent, ""]
    lines = [list(headings), ["---"] * len(headings), *([plain_text(text) for text in row] for row in rows)]
    return ["", *(f"| {' | '.join(line)} |" for line in lines), ""]


def bullets(items: Sequence[str]) -> list[str]:
    """The lines of a list between empty lines."""
    return ["", *(f"- {plain_text(item)}" for item in items), ""]


def to_state(*items: str) -> list[str]:
    """What a run cannot know, as places that the reader fills in.

    >>> to_state("who trained the model")
    ['', '- **To state:** who trained the model.', '']
    """
    return ["", *(f"- **To state:** {item}." for item in items), ""]


def document(lines: Sequence[str]) -> str:
    """The text of all lines, with one empty line where there are several."""
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"
