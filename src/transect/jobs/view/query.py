"""The state of the page as its address holds it: from the parameters of a request to what is looked for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from transect.errors import BadInput, UnknownName
from transect.jobs.view.index import Index
from transect.jobs.view.pairs import RUNS, Sides
from transect.jobs.view.selection import Wanted

WHERE: Final = "where."
FROM: Final = "from."
TO: Final = "to."
_LISTS: Final = ("run", "answer", "verdict")
_SINGLE: Final = ("target", "subject", "sort", "down")
_LARGEST: Final = 1 << 63

Parameters = Sequence[tuple[str, str]]
"""Names and values, in the order of the address; a name may come several times."""


def wanted_of(parameters: Parameters, targets: Sequence[str]) -> Wanted:
    """What is looked for. Names that the page uses for something else are passed over; the first target is the default.

    >>> wanted_of([("where.smile", "1"), ("where.smile", "0"), ("down", "1")], ["a", "b"])
    Wanted(runs=(), levels={'smile': (1.0, 0.0)}, ranges={}, target='a', ..., sort='order', descending=True)
    """
    several = {name: tuple(value for key, value in parameters if key == name) for name in _LISTS}
    one = {name: next((value for key, value in parameters if key == name), "") for name in _SINGLE}
    return Wanted(
        runs=several["run"],
        levels=_levels(parameters),
        ranges=_ranges(parameters),
        target=one["target"] or next(iter(targets), ""),
        answers=several["answer"],
        verdicts=several["verdict"],
        subject=whole("subject", one["subject"]) if one["subject"] else None,
        sort=one["sort"] or "order",
        descending=one["down"] == "1",
    )


def sides_of(parameters: Parameters, index: Index) -> Sides:
    """What stands side by side. Raises UnknownName or BadInput where the address does not say."""
    given = dict(parameters)
    by, left, right, target = (given.get(name, "") for name in ("by", "left", "right", "beside"))
    if by == RUNS:
        return Sides(by, left, right, target)
    if by not in index.values:
        raise UnknownName("attribute", by, (RUNS, *index.values))
    return Sides(by, number(by, left), number(by, right), target)


def whole(name: str, text: str) -> int:
    """A whole number. Raises BadInput for another text, or one of more than 64 bits."""
    try:
        value = int(text)
    except ValueError:
        value = _LARGEST
    if not -_LARGEST <= value < _LARGEST or len(text) > 20:
        raise BadInput(f"{name}: expected a whole number, got {text[:40]!r}; correct it")
    return value


def number(name: str, text: str) -> float:
    """A finite number. Raises BadInput for another text."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise BadInput(f"{name}: expected a number, got {text[:40]!r}; correct it")
    return value


def _levels(parameters: Parameters) -> dict[str, tuple[float, ...]]:
    levels: dict[str, tuple[float, ...]] = {}
    for key, value in parameters:
        if key.startswith(WHERE):
            name = key.removeprefix(WHERE)
            levels[name] = (*levels.get(name, ()), number(name, value))
    return levels


def _ranges(parameters: Parameters) -> dict[str, tuple[float, float]]:
    ranges: dict[str, tuple[float, float]] = {}
    for key, value in parameters:
        if key.startswith((FROM, TO)) and value:
            name = key.partition(".")[2]
            low, high = ranges.get(name, (math.nan, math.nan))
            bound = number(name, value)
            ranges[name] = (bound, high) if key.startswith(FROM) else (low, bound)
    return ranges
