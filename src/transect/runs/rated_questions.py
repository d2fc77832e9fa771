"""The questions behind ratings, by column, stored in the metadata of a Parquet file of ratings.

Files without it (written before, or by hand, or CSV, which has no room for it) are read without it: a column is
about the attribute of its name, and its answers are the scale.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, Literal, final, get_args

import pyarrow as pa

from transect.errors import BadInput
from transect.records import Attribute
from transect.runs.plain_json import loads
from transect.texts import words_of

KEY: Final = b"transect.questions"
"""Metadata of a table of ratings: column -> question, as JSON."""
Scale = Literal["nominal", "ordinal", "interval"]


@final
@dataclass(frozen=True, slots=True)
class RatedQuestion:
    """What a column's numbers are answers to.

    attribute: what it is about, "" if nothing named. scale: whether levels have an order. levels, values: what each
    answer is called, and its number in the column. places: where each lies from 0 to 1. unsure: the number of unsure
    answers by study ("" where there is one); empty: not known.
    """

    text: str
    attribute: str
    scale: Scale
    levels: tuple[str, ...]
    values: tuple[float, ...]
    places: tuple[float, ...]
    unsure: Mapping[str, int] = field(default_factory=dict)

    def as_attribute(self, name: str) -> Attribute | None:
        """Levels in no order as an attribute of those values; None where they have an order, or other values."""
        if not self.unordered or self.values != tuple(range(len(self.levels))):
            return None
        return Attribute(name, "categorical", self.text, levels=self.levels)

    @property
    def unordered(self) -> bool:
        """Whether the numbers have no mean; that of two levels is the share of the second."""
        return self.scale == "nominal" and len(self.levels) > 2


def kept_in(table: pa.Table, questions: Mapping[str, RatedQuestion]) -> pa.Table:
    """The table with the questions added to its metadata."""
    content = json.dumps({name: asdict(question) for name, question in questions.items()}, ensure_ascii=False).encode()
    return table.replace_schema_metadata({**(table.schema.metadata or {}), KEY: content})


def questions_of(table: pa.Table) -> dict[str, RatedQuestion]:
    """The questions in a table's metadata, by column; none where there is none. Raises BadInput for other content."""
    content = (table.schema.metadata or {}).get(KEY, b"{}")
    try:
        return {str(name): _question(fields) for name, fields in loads(content).items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        reason = words_of(error)
        raise BadInput(
            f"ratings: expected questions as transect annotate export writes them into {KEY.decode()}, got others "
            f"({reason:.80}); export them again"
        ) from None


def _question(fields: Any) -> RatedQuestion:
    question = RatedQuestion(
        str(fields["text"]),
        str(fields["attribute"]),
        fields["scale"],
        tuple(str(item) for item in fields["levels"]),
        tuple(float(item) for item in fields["values"]),
        tuple(float(item) for item in fields["places"]),
        {str(study): int(n) for study, n in fields["unsure"].items()},
    )
    if question.scale not in get_args(Scale):
        raise ValueError(f"scale {question.scale!r}")
    if not 1 <= len(question.levels) == len(question.values) == len(question.places):
        raise ValueError("a level without its value")
    return question


def of_study(table: pa.Table, study: str) -> pa.Table:
    """The table with the questions as one study of several has them."""
    questions = questions_of(table)
    mine = {
        name: replace(question, unsure={"": question.unsure.get(study, 0)} if question.unsure else {})
        for name, question in questions.items()
    }
    return kept_in(table, mine) if questions else table


def names_by_attribute(
    columns: Collection[str], questions: Mapping[str, RatedQuestion], known: Mapping[str, Attribute]
) -> dict[str, str]:
    """Column -> the run's attribute that it is about, for columns that have another name.

    Of several the first; none where a column has the attribute's own name, nor where levels in no order are about an
    attribute that has an order.
    """
    names: dict[str, str] = {}
    for name in columns:
        question = questions.get(name)
        if question is None or name in known or question.attribute not in known or question.attribute in columns:
            continue
        if question.attribute not in names.values() and (known[question.attribute].nominal or not question.unordered):
            names[name] = question.attribute
    return names
