"""What people were asked, kept in the metadata of a Parquet file of ratings: question by column.

Files without it (written before, or by hand, or CSV, which has no room for it) are read as they always were: a column
is about the attribute of its name, and its answers are the scale.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, Literal, final, get_args

from transect.errors import BadInput
from transect.records import Attribute

KEY: Final = b"transect.questions"
"""Metadata of a table of ratings: column -> question, as JSON."""
Scale = Literal["nominal", "ordinal", "interval"]


@final
@dataclass(frozen=True, slots=True)
class RatedQuestion:
    """What a column's numbers are answers to.

    attribute: what it is about, "" if nothing named. scale: whether levels have an order. levels, values: what each
    answer is called, and its number in the column. places: where each lies from 0 to 1. unsure: answers that say so,
    by study ("" where there is one); empty: not known.
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


def kept_in(table: Any, questions: Mapping[str, RatedQuestion]) -> Any:
    """The table with the questions in its metadata, beside what is there."""
    told = json.dumps({name: asdict(one) for name, one in questions.items()}, ensure_ascii=False).encode()
    return table.replace_schema_metadata({**(table.schema.metadata or {}), KEY: told})


def questions_of(table: Any) -> dict[str, RatedQuestion]:
    """The questions in a table's metadata, by column; none where it says nothing. Raises BadInput for other content.

    >>> import pyarrow as pa
    >>> smile = RatedQuestion("Does it smile?", "smile", "ordinal", ("no", "yes"), (0.0, 1.0), (0.0, 1.0), {"": 3})
    >>> made = kept_in(pa.table({"id": ["0-0000"], "joy": [1.0]}), {"joy": smile})
    >>> questions_of(made)["joy"] == smile, questions_of(pa.table({"id": ["0-0000"]}))
    (True, {})
    """
    told = (table.schema.metadata or {}).get(KEY, b"{}")
    try:
        return {str(name): _question(fields) for name, fields in json.loads(told).items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise BadInput(
            f"ratings: expected questions as transect annotate export writes them into {KEY.decode()}, got others "
            f"({reason:.80}); export them again"
        ) from None


def _question(fields: Any) -> RatedQuestion:
    made = RatedQuestion(
        str(fields["text"]),
        str(fields["attribute"]),
        fields["scale"],
        tuple(str(one) for one in fields["levels"]),
        tuple(float(one) for one in fields["values"]),
        tuple(float(one) for one in fields["places"]),
        {str(study): int(n) for study, n in fields["unsure"].items()},
    )
    if made.scale not in get_args(Scale):
        raise ValueError(f"scale {made.scale!r}")
    if not 1 <= len(made.levels) == len(made.values) == len(made.places):
        raise ValueError("a level without its value")
    return made


def of_study(table: Any, study: str) -> Any:
    """The table with the questions as one study of several has them."""
    said = questions_of(table)
    mine = {
        name: replace(one, unsure={"": one.unsure.get(study, 0)} if one.unsure else {}) for name, one in said.items()
    }
    return kept_in(table, mine) if said else table


def names_by_attribute(
    columns: Mapping[str, Any], asked: Mapping[str, RatedQuestion], known: Mapping[str, Attribute]
) -> dict[str, str]:
    """Column -> the run's attribute that it is about, for columns that have another name.

    Of several the first; none where a column has the attribute's own name, nor where levels in no order are about an
    attribute that has an order.

    >>> gender = RatedQuestion("Which?", "face_shape", "ordinal", ("f", "m"), (0.0, 1.0), (0.0, 1.0))
    >>> face = Attribute("face_shape", "continuous", "feminine to masculine", low=0.0, high=1.0)
    >>> names_by_attribute({"gender": 0, "smile": 0}, {"gender": gender}, {"face_shape": face})
    {'gender': 'face_shape'}
    """
    made: dict[str, str] = {}
    for name in columns:
        one = asked.get(name)
        if one is None or name in known or one.attribute not in known or one.attribute in columns:
            continue
        if one.attribute not in made.values() and (known[one.attribute].nominal or not one.unordered):
            made[name] = one.attribute
    return made
