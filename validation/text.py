"""Tables as text: in columns for a terminal, in Markdown for a page."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
"""The pages of the documentation, into which some commands write."""

FACTS = Path(__file__).parent / "facts"

Table = tuple[str, Sequence[str], Sequence[Sequence[str]]]
"""Title, headings and rows."""


def facts(name: str) -> list[dict[str, str]]:
    """The rows of a file of facts about photographs."""
    return list(csv.DictReader((FACTS / f"{name}.csv").read_text(encoding="utf-8").splitlines()))


def columns(table: Table) -> str:
    """A table in columns, below its title.

    >>> print(columns(("Shares", ["group", "n"], [["all", "9"], ["dark skin", "4"]])))
    Shares
    group      n
    all        9
    dark skin  4
    """
    title, head, rows = table
    widths = [max(len(str(line[place])) for line in (head, *rows)) for place in range(len(head))]
    lines = ["  ".join(str(cell).ljust(w) for cell, w in zip(line, widths, strict=True)) for line in (head, *rows)]
    return "\n".join([title, *(line.rstrip() for line in lines)])


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, ["---"] * len(head), *rows))


def replaced(text: str, start: str, end: str, made: str) -> str:
    """The text with what stands between two marks replaced."""
    return re.sub(f"{start}.*{end}", lambda _: f"{start}\n\n{made}\n{end}", text, flags=re.S)
