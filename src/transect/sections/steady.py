"""Did the target answer alike to the end? Images that were asked about again at intervals, and a test for change."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from jaxtyping import Float

from transect.effects.change_point import SOURCE, Change, change_point
from transect.effects.intervals import SOURCES, WILSON, wilson
from transect.sections.answers import point, table

FALSE_ALARMS: Final = 0.01
"""Share of targets that never change and are said to have changed, at the most."""
_TEXT: Final = (
    "The first images of the audit were asked about again after every {every} answers, past the answers that are kept. "
    "The test takes the likeliest point of change and asks how often calls in a random order would show one as clear: "
    f"of targets that never change, also of those whose answers vary by chance, at most {FALSE_ALARMS:.0%} are said to "
    "have changed. It presumes that chance calls are independent of each other. A change within the last round or two, "
    "or of answers to other images alone, can stay unseen; so can any change behind a provider's own store of answers."
)


def warnings(kept: Mapping[str, Any]) -> list[str]:
    """One line where the target's behaviour changed; nothing otherwise."""
    found = _tested(kept)
    if not found.p <= FALSE_ALARMS:
        return []
    rounds, every = kept["rounds"], int(kept["every"])
    before, since = (int(rounds[place]) * every for place in (found.after - 1, found.after))
    return [
        f"{kept['target']} changed its behaviour between its answers number {before} and {since} (p = {found.p:.2g}): "
        "answers from before and after are not of one model; set another `version` and run again"
    ]


def section(kept: Mapping[str, Any]) -> dict[str, Any]:
    """The section of one target, from what a run keeps of its canaries."""
    found = _tested(kept)
    return {
        "key": "steady",
        "target": kept["target"],
        "title": f"Did it answer alike to the end? {kept['target']}",
        "text": [_TEXT.format(every=kept["every"])],
        "warnings": warnings(kept),
        "figures": [_figure(kept)],
        "tables": [_test(kept, found), _rounds(kept)],
        "sources": [SOURCE, SOURCES[WILSON]],
    }


def _distances(kept: Mapping[str, Any]) -> Float[np.ndarray, "images t t"]:
    return np.array(kept["distances"], dtype=np.float64)


def _tested(kept: Mapping[str, Any]) -> Change:
    distances = _distances(kept)
    return _remembered(distances.tobytes(), distances.shape)


@functools.lru_cache(maxsize=8)
def _remembered(distances: bytes, shape: tuple[int, int, int]) -> Change:
    return change_point(np.frombuffer(distances).reshape(shape))


def _otherwise(kept: Mapping[str, Any]) -> tuple[Float[np.ndarray, " t"], Float[np.ndarray, " t"]]:
    """Per round: images answered otherwise than in the first round, and images that both answered."""
    first = _distances(kept)[:, 0, :]
    return (first > 0).sum(axis=0).astype(np.float64), np.isfinite(first).sum(axis=0).astype(np.float64)


def _test(kept: Mapping[str, Any], found: Change) -> dict[str, Any]:
    rows = [
        ["p of a change at the likeliest point", found.p],
        ["rounds before that point", found.after],
        ["rounds", len(kept["rounds"])],
        ["images asked about again", kept["images"]],
    ]
    title = f"Test for a change ({found.reason})" if found.reason else "Test for a change"
    return table(title, [("what", "text"), ("value", "number")], rows)


def _rounds(kept: Mapping[str, Any]) -> dict[str, Any]:
    distances, (other, known) = _distances(kept), _otherwise(kept)
    heads = [("after so many answers", "count"), ("images answered otherwise than at first", "count")]
    heads += [("images with an answer then and at first", "count"), ("mean distance from the first answers", "number")]
    rows = [
        [number * kept["every"], other[place], known[place], _mean(distances[:, 0, place])]
        for place, number in enumerate(kept["rounds"])
    ]
    return table("Rounds", heads, rows)


def _mean(values: Float[np.ndarray, " images"]) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")


def _figure(kept: Mapping[str, Any]) -> dict[str, Any]:
    other, known = _otherwise(kept)
    low, high = wilson(other, known)
    shares = np.divide(other, known, out=np.full(len(known), np.nan), where=known > 0)
    places = [float(number * kept["every"]) for number in kept["rounds"]]
    columns = zip(places, shares, low, high, known, strict=True)
    points = [point(v, low=lo, high=hi, x=x, n=int(n)) for x, v, lo, hi, n in columns]
    panel = {
        "heading": "Images asked about again",
        "x_words": "answers before",
        "y_words": "answered otherwise than at first",
        "unit": "proportion",
        "series": [{"name": "share of images", "points": points}],
    }
    caption = "(the numbers are images)"
    return {"kind": "curves", "title": "How many answers differ from the first?", "caption": caption, "panels": [panel]}
