"""What a target may state besides its answers: optional members, how its boxes are drawn, and its description."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, is_dataclass
from numbers import Real
from typing import Any, Final, final

import numpy as np
from jaxtyping import Float

from transect.errors import BadInput
from transect.protocols import CountsCalls, DescribesItself, Metered, RepeatsCanaries, Target
from transect.records import CallCounts, Quote
from transect.runs.capabilities import description_faults
from transect.targets.python_objects import fingerprint

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
    """The threshold that the target states, as its attribute or in `describe()`; None without one."""
    threshold = _stated(target, "threshold")
    return None if threshold is None else float(threshold)


def labels_of(target: Target) -> tuple[str, ...]:
    """The labels that the target states, in the order of its scores; none where it states none."""
    return tuple(_stated(target, "labels") or ())


def positive_of(target: Target) -> str | int | None:
    """The class that counts as yes, where the target states one."""
    positive: str | int | None = _stated(target, "positive")
    return positive


def _stated(target: Target, key: str) -> Any:
    """The attribute, or else what `describe()` says; `describe` below refuses a target whose two differ."""
    value = getattr(target, key, None)
    if _says_nothing(value) and isinstance(target, DescribesItself):
        value = _described(target).get(key)
    if _says_nothing(value):
        return None
    expected, holds = _VALUES[key]
    if not holds(value):
        raise BadInput(_FAULT.format(target.name, key, expected, repr(value)[:60]))
    return value


def _described(target: DescribesItself) -> Mapping[str, Any]:
    """What the target says of itself. Raises BadInput where that is no dictionary."""
    said: object = target.describe()
    if not isinstance(said, Mapping):
        name = getattr(target, "name", type(target).__name__)
        raise BadInput(_FAULT.format(name, "describe()", "a dictionary", type(said).__name__))
    return said


def _says_nothing(value: object) -> bool:
    return value is None or (isinstance(value, list | tuple) and not value)


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
    """What is wrong with the optional members that a target has; nothing of those that it lacks."""
    members = {name: getattr(target, name) for name in (*_METHODS, *_VALUES) if hasattr(target, name)}
    for name, (expected, holds) in _VALUES.items():
        if name in members and not holds(members[name]):
            yield name, expected, repr(members[name])[:60]
    broken = [name for name in _METHODS if name in members and not callable(members[name])]
    yield from ((name, "a method", type(members[name]).__name__) for name in broken)
    if not broken:
        yield from _method_faults(target, members)


def _method_faults(target: Target, members: Mapping[str, object]) -> Iterator[Fault]:
    if isinstance(target, DescribesItself):
        yield from description_faults(target)
    if members.get("metered") and not isinstance(target, Metered):
        yield "metered", "quote and calls_made of a target that counts its calls", "none"
    elif isinstance(target, Metered):
        yield from _price_faults(target)
    if isinstance(target, CountsCalls) and not isinstance(counts := target.call_counts(), CallCounts | None):
        yield "call_counts", "None or a transect.records.CallCounts", repr(counts)[:60]
    if isinstance(target, RepeatsCanaries):
        record = target.asked_again()
        if record is not None and not (isinstance(record, Mapping) and set(_ROUNDS) <= record.keys()):
            yield "asked_again", f"None or a mapping with {', '.join(_ROUNDS)}", repr(record)[:60]
    if contradictions := list(_contradictions(target)):
        yield from contradictions
        return
    labels, positive = labels_of(target), positive_of(target)
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
    "box_convention": ("a BoxConvention or None", lambda value: value is None or isinstance(value, BoxConvention)),
}


@final
@dataclass(frozen=True, slots=True)
class BoxConvention:
    """A detector's box relative to the tight box of the visible face (hairline to chin, cheek to cheek).

    center_dx, center_dy: how far the detector's center lies right of and below the center of the tight box, in
    widths and heights of the tight box; width, height: its size in the same units.

    >>> BoxConvention(0.0, 0.25, 1.0, 0.5).expected_box(np.array([[10.0, 10.0, 20.0, 30.0]]))
    array([[10., 20., 20., 30.]])
    """

    center_dx: float
    center_dy: float
    width: float
    height: float

    def expected_box(self, face_boxes: Float[np.ndarray, "n 4"]) -> Float[np.ndarray, "n 4"]:
        """The box x0, y0, x1, y1 [pixels] that the detector would draw around each face; NaN where a face is NaN."""
        size = face_boxes[:, 2:] - face_boxes[:, :2]
        center = (face_boxes[:, 2:] + face_boxes[:, :2]) / 2 + size * np.array([self.center_dx, self.center_dy])
        half = size * np.array([self.width, self.height]) / 2
        return np.hstack([center - half, center + half])

    def face_box(self, boxes: Float[np.ndarray, "n 4"]) -> Float[np.ndarray, "n 4"]:
        """The tight box [pixels] of the face around which the detector draws each box: undoes `expected_box`."""
        size = (boxes[:, 2:] - boxes[:, :2]) / np.array([self.width, self.height])
        center = (boxes[:, 2:] + boxes[:, :2]) / 2 - size * np.array([self.center_dx, self.center_dy])
        return np.hstack([center - size / 2, center + size / 2])


def describe(target: Target) -> dict[str, Any]:
    """Name, task and settings of any target, as JSON values.

    A target's own `describe()` adds what it knows: library, file and its hash, preprocessing. For others the class and
    a digest of the code stand in. Threshold, labels and positive are what the attributes or `describe()` state,
    whichever does. `box_convention` is None where any box counts as found. Raises BadInput where a setting is no valid
    value, or where attribute and `describe()` state different ones.

    >>> class Coin:
    ...     name, task, threshold = "coin", "binary", 0.9
    ...     def predict(self, images): ...
    >>> describe(Coin())["threshold"]
    0.9
    """
    for fault in _contradictions(target):
        raise BadInput(_FAULT.format(target.name, *fault))
    if isinstance(target, DescribesItself):
        facts: dict[str, object] = dict(_described(target))
    else:
        facts = {"class": type(target).__qualname__, "code_sha256": fingerprint(target)}
    own = {key: getattr(target, key, None) for key in _SETTINGS}
    facts |= {key: value for key, value in own.items() if not _says_nothing(value) and _says_nothing(facts.get(key))}
    if target.task == "detection":
        facts["box_convention"] = box_convention_of(target)
    described: dict[str, object] = _plain({"name": target.name, "task": str(target.task), **facts})
    return described


_FAULT: Final = "target {}: {}: expected {}, got {}; correct the target"
_SETTINGS: Final = ("threshold", "labels", "positive")


def _contradictions(target: Target) -> Iterator[Fault]:
    """Settings that `describe()` states otherwise than the target's attributes, or not as a valid value."""
    described = dict(_described(target)) if isinstance(target, DescribesItself) else {}
    labels = list(getattr(target, "labels", None) or described.get("labels") or ())
    for key in ("task", *_SETTINGS):
        own, said = getattr(target, key, None), described.get(key)
        expected, holds = _VALUES.get(key, ("a task", lambda task: isinstance(task, str)))
        wrong = [value for value in (own, said) if value is not None and not holds(value)]
        if wrong:
            yield key, expected, repr(wrong[0])[:60]
        elif not (_says_nothing(own) or _says_nothing(said) or _meaning(own, labels) == _meaning(said, labels)):
            yield key, f"{str(own)[:60]!r} in describe() as in its attribute", f"{str(said)[:60]!r}"


def _meaning(value: object, labels: list[str]) -> Any:
    """A setting fit to be compared: sequences as lists, a class that is stated by its label as its column."""
    return list(value) if isinstance(value, list | tuple) else labels.index(value) if value in labels else value


def _plain(value: object) -> Any:
    """JSON's own kinds; what has none becomes the name of its class, since a repr may hold addresses or secrets."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        return [_plain(inner) for inner in (sorted(value) if isinstance(value, set | frozenset) else value)]
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, str | int | float):
        return str(value) if isinstance(value, str) else value
    return type(value).__qualname__
