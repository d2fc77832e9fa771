"""How does a number get onto the page? By naming where it stands in `results.json`, and in no other way.

A place is a JSON Pointer (RFC 6901). `Document.number` prints a rounding of what stands there inside a `<data>`
element that carries the raw value and the place, so that every printed number can be checked by a machine.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Literal, TypeVar, final

from markupsafe import Markup, escape

from transect.reports.columns import probability, table_decimals
from transect.reports.entries import JsonObject
from transect.reports.results import Results, tree

Shown_co = TypeVar("Shown_co", covariant=True)
Style = Literal["points", "percent", "p", "count", "plain", "name", "fixed"]
"""How a number is rounded.

points, percent: 100 x; fixed: as it is; p: p value; count: thousands apart; plain: three significant digits; name:
whole.
"""

NOT_ESTIMABLE = "not estimable"
PER_CENT = Markup("&nbsp;%")
"""What follows a number in per cent."""
_WITHIN_NAMES = re.compile(r"(?<=\w[_:/.])(?=[^\W\d])")


def pointer(*keys: str | int) -> str:
    """The JSON Pointer of a path."""
    return "".join("/" + str(key).replace("~", "~0").replace("/", "~1") for key in keys)


def follow(document: Any, place: str) -> object:
    """What stands at a JSON Pointer. Raises LookupError where nothing does."""
    for escaped in place.split("/")[1:]:
        key = escaped.replace("~1", "/").replace("~0", "~")
        document = document[int(key)] if isinstance(document, list) else document[key]
    return document


def rounded(value: float, style: Style, decimals: int = 1, *, signed: bool = False) -> str:
    """The text of a number: true minus sign, none before zero. decimals: of points, percent, fixed. signed: with plus.

    >>> rounded(-0.0004, "points"), rounded(0.0004, "points", signed=True), rounded(0.3, "points", 0, signed=True)
    ('0.0', '0.0', '+30')
    """
    if style == "p":
        return probability(value)
    if style == "count":
        text = f"{value:z,.0f}"
    elif style == "name":
        text = f"{value:z.0f}"
    elif style == "plain":
        text = f"{value:,.0f}" if abs(value) >= 1000 and float(value).is_integer() else f"{value:z.3g}"
    else:
        text = f"{value if style == 'fixed' else 100 * value:z.{decimals}f}"
    plus = "+" if signed and value > 0 and text.strip("0.") else ""
    return plus + text.replace("-", "−")


@final
@dataclass(frozen=True)
class Entry(Generic[Shown_co]):
    """An object of a document: the record, and where it stands, from which its numbers and texts are printed."""

    document: Printer
    place: str
    row: Shown_co

    def number(self, key: str, style: Style = "plain", decimals: int = 1, **shown: Any) -> Markup:
        """The number at a key, as `Printer.number` prints it."""
        return self.document.number(f"{self.place}/{key}", style, decimals, **shown)

    def text(self, key: str) -> Markup:
        """The text at a key."""
        return self.document.text(f"{self.place}/{key}")

    def count(self, key: str) -> Markup:
        """The count at a key."""
        return self.number(key, "count")

    def counted(self, key: str, noun: str, plural: str = "") -> Markup:
        """The count at a key with its noun."""
        return self.document.counted(f"{self.place}/{key}", noun, plural)

    def level(self, key: str) -> Markup:
        """The confidence level at a key, in per cent."""
        return self.document.level(f"{self.place}/{key}")

    def estimate(self, style: Style, key: str = "estimate", *, signed: bool = True) -> Markup:
        """The estimate with its sign, or why there is none."""
        shown = self.number(key, style, self._decimals(style), signed=signed)
        if getattr(self.row, key) is not None:
            return shown + (PER_CENT if style == "percent" else "")
        return shown + (Markup(": {}").format(self.text("reason")) if getattr(self.row, "reason", "") else "")

    def interval(self, style: Style, prefix: str = "", *, signed: bool = False) -> Markup:
        """The ends of the interval, or that there is none."""
        if getattr(self.row, f"{prefix}low") is None:
            return Markup('<span class="none">no interval</span>')
        digits = self._decimals(style, prefix)
        low, high = (self.number(f"{prefix}{end}", style, digits, signed=signed) for end in ("low", "high"))
        return Markup("{} to {}").format(low, high)

    def _decimals(self, style: Style, prefix: str = "") -> int:
        low, high = (getattr(self.row, f"{prefix}{end}", None) for end in ("low", "high"))
        return table_decimals(low, high) if style in ("points", "percent") else 1

    def tally(self, key: str) -> Markup:
        """The counts of an object by their names."""
        counts = getattr(self.row, key)
        at = {name: f"{self.place}/{key}{pointer(name)}" for name, count in counts.items() if count}
        shown = [Markup("{}: {}").format(self.document.key(x), self.document.number(x, "count")) for x in at.values()]
        return Markup("; ").join(shown) or Markup("none")


class Printer(ABC):
    """The only printer of the numbers and names of a JSON document."""

    @property
    @abstractmethod
    def tree(self) -> JsonObject:
        """The document as it is written."""

    def value(self, place: str) -> Any:
        """What stands at a place of `results.json`."""
        return follow(self.tree, place)

    def places(self, place: str) -> list[str]:
        """The places of the items of a list, or of the values of an object."""
        items = self.value(place)
        keys = items if isinstance(items, dict) else range(len(items))
        return [place + pointer(key) for key in keys]

    def texts(self, place: str) -> list[Markup]:
        """The texts of a list."""
        return [self.text(item) for item in self.places(place)]

    def listed(self, place: str, separator: str = ", ") -> Markup:
        """The texts of a list, one after the other."""
        return escape(separator).join(self.texts(place))

    def number(
        self,
        place: str,
        style: Style = "plain",
        decimals: int = 1,
        *,
        signed: bool = False,
        negated: bool = False,
        none: str = NOT_ESTIMABLE,
    ) -> Markup:
        """A number of `results.json`, rounded; the text of `none` where null stands there."""
        value = self.value(place)
        if value is None:
            return Markup('<span class="none" data-source="{}">{}</span>').format(place, none)
        text = rounded(-value if negated else value, style, decimals, signed=signed)
        mark = ' data-shown="negated"' if negated else ""
        source = f'value="{escape(repr(value))}" data-source="{escape(place)}"{mark}'
        return Markup(f"<data {source}>{escape(text)}</data>")  # noqa: S704 - its values are escaped

    def level(self, place: str) -> Markup:
        """A confidence level in per cent, with a decimal where it has one: 95, 98.8."""
        return self.number(place, "percent", 1 if round(1000 * self.value(place)) % 10 else 0)

    def counted(self, place: str, noun: str, plural: str = "") -> Markup:
        """A count with its noun: "1 image", "2,000 images"."""
        words = noun if self.value(place) == 1 else plural or f"{noun}s"
        return Markup("{} {}").format(self.number(place, "count"), words)

    def interval(
        self,
        place: str,
        key: str = "estimate",
        style: Style = "fixed",
        unit: str = "",
        level: str = "",
        *,
        signed: bool = False,
    ) -> Markup:
        """An estimate and its interval: `key`, `low` and `high` of a place; the reason where it has none."""
        entry = self.value(place)
        if entry[key] is None:
            reason = Markup(": {}").format(self.text(f"{place}/reason")) if entry.get("reason") else Markup()
            return Markup('<span class="none">{}</span>{}').format(NOT_ESTIMABLE, reason)
        estimate = Markup('<b class="estimate">{}{}</b>').format(
            self.number(f"{place}/{key}", style, signed=signed), unit
        )
        if entry["low"] is None:
            return estimate
        low, high = (self.number(f"{place}/{end}", style, signed=signed) for end in ("low", "high"))
        words = f", {level} interval" if level else ""
        return Markup('{} <span class="range">({} to {}{})</span>').format(estimate, low, high, words)

    def key(self, place: str) -> Markup:
        """The name of a place: the last key of its pointer, verbatim and escaped."""
        self.value(place)
        name = place.rsplit("/", 1)[1].replace("~1", "/").replace("~0", "~")
        return Markup('<span data-key="{}">{}</span>').format(place, name)

    def text(self, place: str) -> Markup:
        """A text of `results.json`, verbatim and escaped."""
        text = breakable(self.value(place))
        return Markup(f'<span data-source="{escape(place)}">{text}</span>')  # noqa: S704 - escaped


@final
@dataclass(frozen=True)
class WrittenDocument(Printer):
    """The printer of a document that is JSON already: that of a leakage analysis, a search, a mitigation."""

    content: JsonObject

    @property
    def tree(self) -> JsonObject:
        """The document as it is written."""
        return self.content


@final
@dataclass(frozen=True)
class Document(Printer):
    """The results of one page, and the only printer of its numbers and names."""

    results: Results

    def study(self, name: str) -> int:
        """The number of the study of this name, which `results.read` has checked to be there."""
        return next(number for number, study in enumerate(self.results.studies) if study.name == name)

    def entries(self, name: str, study: str | None = None) -> list[Entry[Any]]:
        """The entries of a list of the results; study: those about it alone."""
        rows = enumerate(getattr(self.results, name))
        return [Entry(self, pointer(name, k), row) for k, row in rows if study is None or row.study == study]

    def entry(self, name: str, index: int) -> Entry[Any]:
        """One entry of a list of the results."""
        return Entry(self, pointer(name, index), getattr(self.results, name)[index])

    @cached_property
    def tree(self) -> JsonObject:
        """`results.json` as it is written."""
        return tree(self.results)


def breakable(text: str) -> Markup:
    """The escaped text, in which a line may break after the signs within long names."""
    return Markup("<wbr>").join(_WITHIN_NAMES.split(text))


def finite(values: Sequence[float | None]) -> list[float]:
    """The values that are there."""
    return [value for value in values if value is not None and math.isfinite(value)]
