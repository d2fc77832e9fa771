"""What was audited, in words and numbers that go into the run's spec and the report."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

import numpy as np

from transect.protocols import DescribesItself, Target
from transect.targets.capabilities import box_convention_of
from transect.targets.fingerprint import fingerprint


def describe(target: Target) -> dict[str, Any]:
    """Name, task and settings of any target, as JSON values.

    A target's own `describe()` adds what it knows: library, file and its hash, preprocessing, threshold, labels. For
    others the attributes threshold, labels, positive and the class stand in. `box_convention` is None where any box
    counts as found.

    >>> class Coin:
    ...     name, task = "coin", "binary"
    ...     def predict(self, images): ...
    >>> describe(Coin())["class"]
    'Coin'
    """
    facts = target.describe() if isinstance(target, DescribesItself) else _attributes(target)
    if target.task == "detection":
        facts = {**facts, "box_convention": box_convention_of(target)}
    described: dict[str, Any] = _plain({"name": target.name, "task": str(target.task), **facts})
    return described


def _attributes(target: Target) -> dict[str, object]:
    known = {key: getattr(target, key) for key in ("threshold", "labels", "positive") if hasattr(target, key)}
    return {"class": type(target).__qualname__, "code_sha256": fingerprint(target), **known}


def _plain(value: Any) -> Any:
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
