"""Which columns the stored parts of a run have: a part of another schema is as good as damaged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import pyarrow as pa

from transect.errors import CorruptedPart
from transect.runs.answer_tables import ANSWERS
from transect.runs.coded_tables import CODED
from transect.runs.tables import PICTURE, PREDICTIONS

_Check = Callable[[pa.DataType], bool]


def _is(kind: pa.DataType) -> _Check:
    return lambda found: bool(found.equals(kind))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind))


_IMAGES: Final[Mapping[str, _Check]] = {
    "id": pa.types.is_string,
    "subject": pa.types.is_integer,
    "cell": pa.types.is_integer,
    "face_box": _is(pa.list_(pa.float64())),
    "image": lambda kind: pa.types.is_binary(kind) or kind.equals(PICTURE),
}
_PREDICTIONS: Final[Mapping[str, _Check]] = {field.name: _is(field.type) for field in PREDICTIONS}
_ANSWERS: Final[Mapping[str, _Check]] = {field.name: _is(field.type) for field in ANSWERS}
_CODED: Final[Mapping[str, _Check]] = {field.name: _is(field.type) for field in CODED}
_NUMBERS: Final = ("intended.", "true.")
_COMPLETE: Final = (
    *("id", "subject", "cell", "image", "failed", "reason"),
    *("paraphrase", "repeat", "system", "prompt", "text", "status", "by", "name"),
)


def check_part(table: str, rows: pa.Table, wanted: Callable[[str], bool] = lambda _: True) -> None:
    """Raises CorruptedPart, with what is wrong, for rows of another schema than the table has.

    wanted: whether the column of that name was read.
    """
    checks = _checks(table)
    for name, check in checks.items():
        if not wanted(name):
            continue
        if rows.column_names.count(name) != 1:
            raise CorruptedPart(f"no column {name}")
        if not check(rows.schema.field(name).type):
            raise CorruptedPart(f"values of another type in {name}")
        if name in _COMPLETE and rows[name].null_count:
            raise CorruptedPart(f"no value in {name}")
    named = rows.schema if checks else ()
    if any(field.name.startswith(_NUMBERS) and not _is_number(field.type) for field in named):
        raise CorruptedPart("an attribute that is no number")


def _checks(table: str) -> Mapping[str, _Check]:
    if table == "images":
        return _IMAGES
    folders: Mapping[str, Mapping[str, _Check]] = {"predictions": _PREDICTIONS, "answers": _ANSWERS, "coded": _CODED}
    return folders.get(table.partition("/")[0], {}) if "/" in table else {}
