"""The optional members of targets, with the default of each, and what is wrong with those of a plug-in."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from numbers import Real
from typing import Any, Final

from transect.protocols import CountsCalls, DescribesItself, Metered, RepeatsCanaries, Target
from transect.records import CallCounts, Quote
from transect.runs.capabilities import description_faults
from transect.targets.boxes import BoxConvention

_ROUNDS: Final = ("rounds", "every", "distances")
_METHODS: Final = (
    "describe", "quote", "quote_of", "calls_made", "call_counts", "asked_again", "ready", "stop", "close",
)  # fmt: skip

Fault = tuple[str, str, str]
"""A clause, what it expects, and what the plug-in has."""


def is_metered(target: Target) -> bool:
    """Whether calls of the target cost something, so that it is never called as a trial."""
    return bool(getattr(target, "metered", False))


def answers_in_words(target: Target) -> bool:
    """Whether the target is a question asked of a model in words, whose answers have a table of their own."""
    return getattr(target, "in_words", False) is True


def has_coded_texts(target: Target) -> bool:
    """Whether a judge model or a user's functions look at its texts, which has a table of its own."""
    return getattr(target, "coded", False) is True


def threshold_of(target: Target) -> float | None:
    """The threshold that the target states; None without one."""
    threshold: float | None = getattr(target, "threshold", None)
    return threshold


def labels_of(target: Target) -> tuple[str, ...]:
    """The labels that the target states, in the order of its scores; none where it states none."""
    return tuple(getattr(target, "labels", None) or ())


def positive_of(target: Target) -> str | int | None:
    """The class that counts as yes, where the target states one."""
    positive: str | int | None = getattr(target, "positive", None)
    return positive


def box_convention_of(target: Target) -> BoxConvention | None:
    """How a detector draws its box around a face; None where any box counts."""
    convention: BoxConvention | None = getattr(target, "box_convention", None)
    return convention


def wants_landmarks(target: Target) -> bool:
    """Whether the landmarks of faces must come with the images that the target is asked about."""
    return bool(getattr(target, "wants_landmarks", False))


def patience_of(target: Target) -> float:
    """Seconds that the target itself may take for a call, retries included; 0 where it states none."""
    return float(getattr(target, "patience", 0.0))


def faults(target: Target) -> Iterator[Fault]:
    """What is wrong with the optional members that a target has; nothing of those that it lacks.

    >>> class Coin:
    ...     name, task, threshold = "coin", "binary", "half"
    ...     def predict(self, images): ...
    >>> list(faults(Coin()))
    [('threshold', 'a finite number or None', "'half'")]
    """
    members = {name: getattr(target, name) for name in (*_METHODS, *_VALUES) if hasattr(target, name)}
    for name, (expected, holds) in _VALUES.items():
        if name in members and not holds(members[name]):
            yield name, expected, repr(members[name])[:60]
    broken = [name for name in _METHODS if name in members and not callable(members[name])]
    yield from ((name, "a method", type(members[name]).__name__) for name in broken)
    if not broken:
        yield from _method_faults(target, members)


def _method_faults(target: Target, members: Mapping[str, Any]) -> Iterator[Fault]:
    if isinstance(target, DescribesItself):
        yield from description_faults(target)
    if members.get("metered") and not isinstance(target, Metered):
        yield "metered", "quote and calls_made of a target that counts its calls", "none"
    elif isinstance(target, Metered):
        yield from _price_faults(target)
    if isinstance(target, CountsCalls) and not isinstance(counts := target.call_counts(), CallCounts | None):
        yield "call_counts", "None or a transect.records.CallCounts", repr(counts)[:60]
    if "on_round" in members and not isinstance(target, RepeatsCanaries):
        yield "on_round", "asked_again next to it", "none"
    if isinstance(target, RepeatsCanaries):
        record = target.asked_again()
        if record is not None and not (isinstance(record, Mapping) and set(_ROUNDS) <= record.keys()):
            yield "asked_again", f"None or a mapping with {', '.join(_ROUNDS)}", repr(record)[:60]
    labels, positive = members.get("labels"), members.get("positive")
    if labels and isinstance(positive, str) and positive not in labels:
        yield "positive", f"one of the labels {', '.join(labels)}", repr(positive)


def _price_faults(target: Metered) -> Iterator[Fault]:
    quote, spent = target.quote(3), target.calls_made()
    if not (isinstance(quote, Quote) and quote.metered and _number(quote.calls) and _number(quote.cost)):
        yield "quote", "a transect.records.Quote of a metered target, calls and cost as numbers", repr(quote)[:60]
    if not (isinstance(spent, tuple) and len(spent) == 2 and all(_number(value) for value in spent)):
        yield "calls_made", "calls and cost, two numbers", repr(spent)[:60]


def _number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def _names(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(name, str) for name in value)


_VALUES: Final[Mapping[str, tuple[str, Callable[[Any], bool]]]] = {
    "metered": ("True or False", lambda value: isinstance(value, bool)),
    "threshold": ("a finite number or None", lambda value: value is None or _number(value)),
    "labels": ("a sequence of names", lambda value: value is None or _names(value)),
    "positive": ("a label, its index or None", lambda value: value is None or isinstance(value, str | int)),
    "patience": ("seconds, 0 or more", lambda value: _number(value) and value >= 0),
    "wants_landmarks": ("True or False", lambda value: isinstance(value, bool)),
    "on_round": ("a function or None", lambda value: value is None or callable(value)),
    "box_convention": ("a BoxConvention or None", lambda value: value is None or isinstance(value, BoxConvention)),
}
