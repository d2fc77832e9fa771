"""An extension of Griffe: docstrings as Markdown, which knows no doctests, and takes <words> for tags of HTML."""

from __future__ import annotations

import re
from typing import Any, Final

import griffe

_EXAMPLE: Final = re.compile(r"^( *)>>> .*(?:\n(?!\s*$).*)*", re.M)
"""A doctest: from its prompt to the next empty line."""
_CODE: Final = re.compile(r"(```.*?```|`[^`\n]*`)", re.S)
"""A block of code, or code in a line."""


class Doctests(griffe.Extension):
    """Fences the examples of every docstring, and keeps its angle brackets."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for each object once it is read."""
        if obj.docstring is not None:
            obj.docstring.value = with_brackets(fenced(obj.docstring.value))


def fenced(text: str) -> str:
    r"""The text with each example in a block of its own.

    >>> fenced("What it does.\n\n>>> 1 + 1\n2")
    'What it does.\n\n```pycon\n>>> 1 + 1\n2\n```'
    """
    return _EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", text)


def with_brackets(text: str) -> str:
    """The text with angle brackets that are shown: outside code Markdown would drop what stands between them.

    >>> with_brackets("default runs/<target>, as `audit <target>` has it")
    'default runs/&lt;target>, as `audit <target>` has it'
    """
    return "".join(part if _CODE.fullmatch(part) else part.replace("<", "&lt;") for part in _CODE.split(text))
