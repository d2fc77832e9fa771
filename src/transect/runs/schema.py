"""JSON Schemas of what jobs write, generated from the records themselves."""

from __future__ import annotations

import math
from typing import Annotated, Any, Final, TypeAlias

from pydantic import BeforeValidator, ConfigDict, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


Number: TypeAlias = Annotated[float, BeforeValidator(lambda value: math.nan if value is None else value)]
"""A float that is NaN where JSON has null, for records that are read back from JSON."""


class _Nullable(GenerateJsonSchema):
    """A number that is not finite is written as null, so every float that may be NaN may be null."""

    def float_schema(self, schema: core_schema.FloatSchema) -> JsonSchemaValue:
        """Number or null; a number where the type itself admits only finite ones."""
        if schema.get("allow_inf_nan") is False:
            return super().float_schema(schema)
        return {"anyOf": [super().float_schema(schema), {"type": "null"}]}


def json_schema(record: Any, name: str, version: int) -> dict[str, object]:
    """The JSON Schema (draft 2020-12) of what `plain` makes of a record type.

    name: of the document, as "match"; version: raised whenever a reader of the earlier one would fail.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Rate:
    ...     group: str
    ...     rate: float
    >>> sorted(json_schema(Rate, "rate", 1)["properties"])
    ['group', 'rate']
    """
    adapter = TypeAdapter(record, config=None if isinstance(record, type) else ConfigDict(arbitrary_types_allowed=True))
    schema = adapter.json_schema(schema_generator=_Nullable, mode="serialization")
    return {"$schema": DIALECT, "$id": f"transect/{name}/{version}", **schema}
