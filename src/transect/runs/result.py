"""What public functions return: rows as an Arrow table, a page, a view for notebooks, and of a job its numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar, get_args

import pyarrow as pa

from transect.runs.plain_json import plain
from transect.runs.schema import json_schema
from transect.runs.wording import aligned

Numbers_co = TypeVar("Numbers_co", covariant=True)


class Result(ABC):
    """A frozen result of a public function."""

    @property
    @abstractmethod
    def table(self) -> pa.Table:
        """The rows of the result."""

    @abstractmethod
    def report(self, path: str | Path) -> Path:
        """Write the page into the folder `path`, which is made where it is missing; return the page's path."""

    @abstractmethod
    def headline(self) -> str:
        """The answer in one sentence."""

    @abstractmethod
    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """Headings and rows of the short table that a terminal or a notebook shows."""

    def warning_lines(self) -> Sequence[str]:
        """What you have to know before you use the numbers; the terminal prints it below the table."""
        return ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        type.__setattr__(cls, "__repr__", Result.__str__)  # in place of a dataclass's, which shows everything

    def __str__(self) -> str:
        headings, rows = self.rows()
        return "\n".join([self.headline(), "", *aligned([headings, *rows])])

    def _repr_html_(self) -> str:
        headings, rows = self.rows()
        head = "".join(f"<th>{escape(text)}</th>" for text in headings)
        body = "".join("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in rows)
        return f"<p>{escape(self.headline())}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


@dataclass(frozen=True)
class JobResult(Result, Generic[Numbers_co]):
    """The result of a job. Subclasses are frozen dataclasses that name the type of their numbers, a record.

    JOB: the job's name, as "match". VERSION: of the JSON that `to_json` makes. NUMBERS: the type that the JSON Schema
    describes, by default that of `numbers`.
    """

    JOB: ClassVar[str]
    VERSION: ClassVar[int] = 1
    NUMBERS: ClassVar[Any]

    numbers: Numbers_co
    """The numbers, as a record."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        types = [kind for base in getattr(cls, "__orig_bases__", ()) for kind in get_args(base)]
        if types and not isinstance(types[0], TypeVar) and "NUMBERS" not in cls.__dict__:
            cls.NUMBERS = types[0]

    def to_json(self) -> dict[str, Any]:
        """The numbers in JSON's types, as `--json` prints them and the job's JSON Schema describes them."""
        return dict(plain(self.numbers))

    @classmethod
    def schema(cls) -> dict[str, object]:
        """The JSON Schema of `to_json`."""
        return json_schema(cls.NUMBERS, cls.JOB, cls.VERSION)
