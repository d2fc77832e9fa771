"""The page of a leakage analysis: `leakage.html`, and `leakage.json` with every number on it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from transect.attacks.numbers import LeakageNumbers
from transect.reports.document import WrittenDocument
from transect.reports.drawing.scales import Scale
from transect.reports.drawing.svg import Interval, Tick
from transect.reports.environment import render
from transect.runs.folder import write_atomically
from transect.runs.plain_json import dumps, plain

LEANING_SHOWN: Final = 30


@final
@dataclass(frozen=True)
class Row:
    """One figure on the common axis: its place in the JSON, its kind, and its mark."""

    place: str
    kind: str
    mark: Interval


def write(numbers: LeakageNumbers, folder: Path) -> Path:
    """Write `leakage.html` and `leakage.json` and return the path of the page.

    The same analysis gives the same bytes. Raises RunFolderError when the folder cannot be written.
    """
    write_atomically(folder / "leakage.json", (dumps(numbers) + "\n").encode())
    write_atomically(folder / "leakage.html", build(numbers).encode())
    return folder / "leakage.html"


def build(numbers: LeakageNumbers) -> str:
    """The whole page as one HTML text: no network, no script, no other file."""
    content = plain(numbers)
    axis = _axis(content)
    return render(
        "leakage",
        doc=WrittenDocument(content),
        found=content,
        rows=list(_rows(content, axis)),
        null=_null(content, axis),
        axis=[Tick(100 * axis.fraction(tick), f"{tick:g}", tick) for tick in axis.ticks],
        leaning=_leaning(content),
    )


def _figures(content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Place and kind of every leakage that the page draws on its common axis."""
    yield "/dataset_leakage", "dataset"
    for i in range(len(content["at_accuracy"])):
        yield f"/at_accuracy/{i}", "level"
    for i in range(len(content["comparisons"])):
        yield f"/comparisons/{i}/model_leakage", "model"
        yield f"/comparisons/{i}/dataset_leakage", "chance"
    for i in range(len(content["learning_curve"])):
        yield f"/learning_curve/{i}", "share"


def _axis(content: dict[str, Any]) -> Scale:
    """From a multiple of ten below everything drawn to one above, within 0 and 100."""
    printer = WrittenDocument(content)
    ends = [content["chance"], content["null"]["low"], content["null"]["high"]]
    for place, _ in _figures(content):
        ends += [printer.value(f"{place}/low"), printer.value(f"{place}/high")]
    drawn = [end for end in ends if end is not None]
    low = max(0, 10 * math.floor(min(drawn) / 10))
    high = min(100, 10 * math.ceil(max(drawn) / 10))
    high = max(high, low + 10)
    step = 10 if high - low <= 60 else 20
    return Scale(float(low), float(high), tuple(float(tick) for tick in range(low, high + 1, step)))


def _rows(content: dict[str, Any], axis: Scale) -> Iterator[Row]:
    printer = WrittenDocument(content)
    for place, kind in _figures(content):
        ends = [printer.value(f"{place}/{key}") for key in ("estimate", "low", "high")]
        if None not in ends:
            at, low, high = (100 * axis.fraction(end) for end in ends)
            yield Row(place, kind, Interval(at, low, high, filled=kind in ("dataset", "model")))


def _null(content: Mapping[str, Any], axis: Scale) -> tuple[float, float] | None:
    """Left edge and width, in percent, of where estimates lie if labels carry no information."""
    low, high = content["null"]["low"], content["null"]["high"]
    if low is None:
        return None
    left, right = (max(0.0, min(1.0, axis.fraction(end))) for end in (low, high))
    return 100 * left, 100 * (right - left)


def _leaning(content: Mapping[str, Any]) -> list[tuple[int, float]]:
    """The labels that lean most: their position in the overview, and the first class's share as a place on 0 to 100."""
    labels = content["overview"]["labels"]
    with_share = [(i, label["share"][0]) for i, label in enumerate(labels) if label["share"][0] is not None]
    return sorted(with_share[:LEANING_SHOWN], key=lambda place: (-place[1], place[0]))
