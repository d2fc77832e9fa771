"""Tables of records: what each column shows of a record, and how, once for terminal, page and data files.

Rates and their differences have one precision policy: tables print one decimal, sentences those of `decimals_for`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar, final

import pyarrow as pa

Item = TypeVar("Item")
Shown_contra = TypeVar("Shown_contra", contravariant=True)
Form = Literal[
    "text", "figure", "count", "number", "percent", "tenths", "p",
    "interval", "percent interval", "tenths interval", "points interval",
]  # fmt: skip
"""How a column shows its values: text as it is, figure too but aligned as numbers are, count with thousands apart,
number to three digits, percent a share, tenths a number with one decimal, points with the sign of a
difference, p as a p value; intervals are of records with `estimate`, `low`, `high` and `reason`."""
_NARROW: Final = 0.05
_TABLE: Final = 1
"""Decimals of a rate in a table, at least."""


@final
@dataclass(frozen=True, slots=True)
class Column(Generic[Shown_contra]):
    """A column of a table of records. value: of a record, the name of a field or a function. key: in data files."""

    heading: str
    value: str | Callable[[Shown_contra], object]
    form: Form = "text"
    key: str = ""

    def of(self, record: Shown_contra) -> Any:
        """The value of a record, as it is."""
        return self.value(record) if callable(self.value) else getattr(record, self.value)

    def text(self, record: Shown_contra) -> str:
        """The value as terminal, page and CSV show it."""
        return shown(self.of(record), self.form)


@final
@dataclass(frozen=True, slots=True)
class Table(Generic[Item]):
    """A table of records. caption: shown above the table; names: the column that names the row."""

    title: str
    records: Sequence[Item]
    columns: Sequence[Column[Item]]
    caption: str = ""
    names: int = 0

    def texts(self) -> tuple[list[str], list[list[str]]]:
        """The headings, and the values of each record as texts."""
        return [c.heading for c in self.columns], [[c.text(record) for c in self.columns] for record in self.records]

    @property
    def numbers(self) -> tuple[int, ...]:
        """The columns of numbers, which are aligned to the right."""
        return tuple(place for place, column in enumerate(self.columns) if column.form != "text")

    def arrow(self) -> pa.Table:
        """The values as they are, a column for each; an interval is three: itself, _low and _high."""
        rows = [dict(pair for column in self.columns for pair in _values(column, r)) for r in self.records]
        return pa.Table.from_pylist(rows)


AnyTable: TypeAlias = Table[Any]
"""A table of whatever records."""


def _values(column: Column[Item], record: Item) -> Iterator[tuple[str, object]]:
    key, value = column.key or column.heading.lower().replace(" ", "_"), column.of(record)
    yield key, getattr(value, "estimate", None) if "interval" in column.form else value
    if "interval" in column.form:
        yield from ((f"{key}_{end}", getattr(value, end, None)) for end in ("low", "high"))


def shown(value: Any, form: Form) -> str:
    """A value as its form shows it; nothing for None.

    >>> shown(0.12345, "percent"), shown(1200, "count"), shown(math.nan, "number"), shown(None, "p")
    ('12.3', '1,200', 'unknown', '')
    """
    match form:
        case _ if value is None:
            return ""
        case "count":
            return f"{value:,}".replace("-", "−")
        case "number":
            return significant(value)
        case "percent" | "tenths":
            return decimals(100 * value, table_decimals(value, value)) if form == "percent" else decimals(value, _TABLE)
        case "p":
            return probability(value)
        case "interval":
            return _with_ends(value, significant)
        case "percent interval":
            return in_percent(value, 100, least=_TABLE)
        case "tenths interval":
            return in_percent(value, least=_TABLE)
        case "points interval":
            return in_percent(value, sign="+", least=_TABLE)
        case _:
            return value if isinstance(value, str) else str(value)  # also what is printed of a document, with its place


def in_percent(value: Any, times: float = 1, *, sign: str = "", least: int = 0) -> str:
    """An estimate in percent or points and its interval, as a sentence prints them. times: 100 where it is a share.

    least: decimals that it has at least.
    """
    low, high = (None if end is None else times * end / 100 for end in (value.low, value.high))
    digits = max(least, decimals_for(low, high))
    return _with_ends(value, lambda number: decimals(times * number, digits, sign))


def decimals_for(low: float | None, high: float | None) -> int:
    """Decimals in percent that an interval of shares bears in a sentence: none where it is wider than five points.

    One more, up to three, where an end that is not 0 would print as 0, so that what excludes 0 also says so.

    >>> decimals_for(0.02, 0.31), decimals_for(0.002, 0.31), decimals_for(0.0, 0.02), decimals_for(None, None)
    (0, 1, 1, 1)
    """
    if low is None or high is None or not math.isfinite(high - low):
        return 1
    smallest = min((abs(end) for end in (low, high) if end), default=1.0)
    return next((d for d in range(int(high - low <= _NARROW), 3) if 100 * smallest >= 0.5 * 10.0**-d), 3)


def table_decimals(low: float | None, high: float | None) -> int:
    """Decimals in percent that a table prints of an interval of shares: one, or more where an end would print as 0.

    >>> table_decimals(0.02, 0.31), table_decimals(0.0004, 0.31), table_decimals(None, None)
    (1, 2, 1)
    """
    return max(_TABLE, decimals_for(low, high))


def _with_ends(value: Any, text: Callable[[float], str]) -> str:
    """An estimate and its interval, or why there is none; an end that is missing is NaN, or None as in JSON."""
    if value.estimate is None or math.isnan(value.estimate):
        return value.reason or "not estimable"
    number = text(value.estimate)
    if value.low is None or math.isnan(value.low):
        return f"{number} ({value.reason})" if value.reason else number
    return f"{number} ({text(value.low)} to {text(value.high)})"


def decimals(value: float | None, digits: int = 3, sign: str = "") -> str:
    """A number with this many decimals, a true minus sign, "unknown" for None and NaN. sign: before one above 0."""
    if value is None or not math.isfinite(value):
        return "unknown"
    text = f"{value:z.{digits}f}".replace("-", "−")
    return f"{sign if value > 0 and text.strip('0.') else ''}{text}"


def significant(value: float | None, digits: int = 3) -> str:
    """A number with this many significant digits, a true minus sign, "−∞" and "∞", "unknown" for None and NaN."""
    if value is None or math.isnan(value):
        return "unknown"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:z.{digits}g}".replace("-", "−")


def probability(p: float | None) -> str:
    """A p value to three decimals.

    >>> probability(0.00042), probability(0.0321)
    ('< 0.001', '0.032')
    """
    return "< 0.001" if p is not None and p < 0.001 else decimals(p, 3)
