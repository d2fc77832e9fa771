"""What public functions return: rows as an Arrow table, a page, a view for notebooks; of a job its numbers and their
JSON Schema.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Annotated, Any, Final, Generic, TypeAlias, TypeVar, get_type_hints

import pyarrow as pa
from pydantic import BeforeValidator, ConfigDict, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from transect.runs.json_records import hidden_fields, keys_of, plain
from transect.runs.wording import aligned

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


Number: TypeAlias = Annotated[float, BeforeValidator(lambda value: math.nan if value is None else value)]
"""A float that is NaN where JSON has null, for records that are read back from JSON."""


class Unwritten:
    """Marks the type of a hidden field, of which there is no JSON: Annotated[FittedDirections, Unwritten()]."""

    def __get_pydantic_core_schema__(self, *_: object) -> core_schema.CoreSchema:
        return core_schema.any_schema()


HiddenTable: TypeAlias = Annotated[pa.Table, Unwritten()]
"""A table in a record, as a field that its JSON leaves out."""


class _Nullable(GenerateJsonSchema):
    """A number that is not finite is written as null, so every float that may be NaN may be null."""

    def float_schema(self, schema: core_schema.FloatSchema) -> JsonSchemaValue:
        """Number or null; a number where the type itself admits only finite ones."""
        if schema.get("allow_inf_nan") is False:
            return super().float_schema(schema)
        return {"anyOf": [super().float_schema(schema), {"type": "null"}]}

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        """The object, without the fields that the JSON leaves out."""
        found = super().dataclass_schema(schema)
        for name in hidden_fields(schema["cls"]):
            found.get("properties", {}).pop(name, None)
        if properties := found.get("properties"):
            keys = keys_of(schema["cls"])
            found["properties"] = {keys.get(name, name): value for name, value in properties.items()}
            found["required"] = list(found["properties"])
        return found

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """The type alone: a document has every field, and JSON cannot write a default of NaN."""
        return self.generate_inner(schema["schema"])

    def field_is_required(
        self,
        field: core_schema.ModelField | core_schema.DataclassField | core_schema.TypedDictField,
        total: bool,
    ) -> bool:
        """Every field of a record is written, with its default too; keys of a dictionary may be absent."""
        return super().field_is_required(field, total) if field["type"] == "typed-dict-field" else True


def json_schema(record: Any, name: str, version: int) -> dict[str, object]:
    """The JSON Schema (draft 2020-12) of what `plain` makes of a record type.

    name: of the document, as "match"; version: raised whenever a reader of the earlier one would fail.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Rate:
    ...     group: str
    ...     rate: float = math.nan
    >>> json_schema(Rate, "rate", 1)["required"]
    ['group', 'rate']
    """
    record = _without_hidden(record)
    adapter = TypeAdapter(record, config=None if isinstance(record, type) else ConfigDict(arbitrary_types_allowed=True))
    schema = adapter.json_schema(schema_generator=_Nullable, mode="serialization")
    return {"$schema": DIALECT, "$id": f"transect/{name}/{version}", **schema}


def _without_hidden(record: object) -> Any:
    """A record without the fields that its JSON leaves out, whose types no schema may be able to describe."""
    if not (isinstance(record, type) and dataclasses.is_dataclass(record) and hidden_fields(record)):
        return record
    left_out, hints = hidden_fields(record), get_type_hints(record, include_extras=True)
    kept = [each for each in dataclasses.fields(record) if each.name not in left_out]
    defaults = [dataclasses.field(default=each.default, default_factory=each.default_factory) for each in kept]
    named = [(each.name, hints[each.name], default) for each, default in zip(kept, defaults, strict=True)]
    made = dataclasses.make_dataclass(record.__name__, named, kw_only=True)
    made.__doc__ = record.__doc__
    return made


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
    """The result of a job: its numbers, as a record."""

    numbers: Numbers_co
    """The numbers, as a record."""

    def to_json(self) -> dict[str, Any]:
        """The numbers in JSON's types, as `--json` prints them and the job's JSON Schema describes them."""
        return dict(plain(self.numbers))
