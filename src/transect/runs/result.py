"""What every job returns: numbers as records, rows as an Arrow table, a page, and a view for notebooks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from transect.runs.plain_json import plain
from transect.runs.schema import json_schema


class JobResult(ABC):
    """A frozen result. Subclasses are frozen dataclasses with a field `numbers`, a record of type `NUMBERS`.

    JOB: the job's name, as "match". VERSION: of the JSON that `to_json` makes. NUMBERS: the record type behind it.
    """

    JOB: ClassVar[str]
    VERSION: ClassVar[int] = 1
    NUMBERS: ClassVar[type]

    numbers: Any
    """The numbers, as a record of type `NUMBERS`."""

    @property
    @abstractmethod
    def table(self) -> pa.Table:
        """The rows of the result."""

    @abstractmethod
    def report(self, path: str | Path) -> Path:
        """Write the page at `path`, a folder, and return the page's own path."""

    @abstractmethod
    def headline(self) -> str:
        """The answer in one sentence."""

    @abstractmethod
    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """Headings and rows of the short table that a terminal or a notebook shows."""

    def to_json(self) -> dict[str, Any]:
        """The numbers in JSON's types, as `--json` prints them and the job's JSON Schema describes them."""
        return dict(plain(self.numbers))

    @classmethod
    def schema(cls) -> dict[str, object]:
        """The JSON Schema of `to_json`."""
        return json_schema(cls.NUMBERS, cls.JOB, cls.VERSION)

    def _repr_html_(self) -> str:
        headings, rows = self.rows()
        head = "".join(f"<th>{escape(text)}</th>" for text in headings)
        body = "".join("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in rows)
        return f"<p>{escape(self.headline())}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
