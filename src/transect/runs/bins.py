"""Cut points of observed attributes, where the user states them; without, ranges are cut at their terciles.

DIR/bins.json   cut points by attribute, in a run or a folder of studies; changes no image and no answer
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from transect.errors import BadInput, UnknownName
from transect.records import Attribute
from transect.runs import mounts
from transect.runs.folder import write_atomically
from transect.runs.setting_files import SettingFile

Bins: TypeAlias = Mapping[str, tuple[float, ...]]
"""Cut points by attribute, rising; each is the low end of the range above it."""


def parse(texts: Sequence[str], observed: Mapping[str, Attribute]) -> dict[str, tuple[float, ...]]:
    """Cut points by attribute from texts such as "age=30,50". observed: attributes of images that set no level."""
    bins: dict[str, tuple[float, ...]] = {}
    for text in texts:
        name, _, values = text.partition("=")
        if name in bins:
            raise BadInput(f"--bins {name}: expected the attribute once, got it twice; write for example age=30,50")
        if name not in observed:
            raise UnknownName("attribute", name, observed, hint="--bins takes observed attributes; set levels stay")
        bins[name] = _checked(observed[name], _numbers(text, values))
    return bins


def _numbers(text: str, values: str) -> tuple[float, ...]:
    try:
        return tuple(float(value) for value in values.split(","))
    except ValueError:
        raise BadInput(f"--bins {text!r}: expected NAME=A,B,… with numbers; write for example age=30,50") from None


def _checked(attribute: Attribute, points: tuple[float, ...]) -> tuple[float, ...]:
    if attribute.discrete:
        raise BadInput(f"--bins {attribute.name}: expected an attribute with a range, got one of levels; leave it out")
    low, high = attribute.bounds
    inside = all(math.isfinite(point) and low < point <= high for point in points)
    if not inside or any(after <= before for before, after in itertools.pairwise(points)):
        listed = ",".join(f"{point:g}" for point in points)
        raise BadInput(
            f"--bins {attribute.name}={listed}: expected rising numbers above {low:g} and up to {high:g}; change them"
        )
    return points


def _read(stored: Any) -> dict[str, tuple[float, ...]]:
    return {str(name): tuple(float(point) for point in points) for name, points in stored.items()}


STORED: Final = SettingFile[Bins]("bins.json", "cut points by attribute", "--bins", {}, _read)
FILE: Final = STORED.name
read = STORED.read


def write(folder: Path, bins: Bins) -> None:
    """As `SettingFile.write`, without a line break at the end, as every version wrote the file."""
    if bins:
        write_atomically(folder / FILE, json.dumps({name: list(points) for name, points in bins.items()}))
    else:
        mounts.discard(folder / FILE)
