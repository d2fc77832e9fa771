"""Did the target answer alike to the end? Images that were asked about again at intervals, and a test for change."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from jaxtyping import Float

from transect.analysis.sections.answers import point, table
from transect.effects.change_point import SOURCE, Change, change_point
from transect.effects.sequential_change import SOURCE as ONLINE
from transect.effects.sequential_change import evidence_of_change

FALSE_ALARMS: Final = 0.01
"""Share of targets that never change and are said to have changed in a run, at the most."""
_EACH: Final = FALSE_ALARMS / 2
"""What each of two tests may spend: one after every round, while the run goes on, and one at its end."""
LIMIT: Final = 1 / _EACH
_TEXT: Final = (
    "The first images of the audit were asked about again after every {every} answers, past the answers that are kept. "
    "While the run went on, evidence for a change was counted after every round: a target that never changes ever "
    f"reaches {LIMIT:g} with a probability of at most {_EACH:.1%}, however many rounds there are. At the end another "
    f"test takes the likeliest point of change and asks how often calls in a random order would show one as clear; "
    f"p of at most {_EACH:g} counts. So of targets that never change, also of those whose answers vary by chance, at "
    f"most {FALSE_ALARMS:.0%} are said to have changed.",
    "Both presume that chance calls are independent of each other. A change within the last round, or of answers to "
    "other images alone, can stay unseen; so can any change behind a provider's own store of answers.",
)


def alarm(kept: Mapping[str, Any]) -> str:
    """One line where the rounds until now say that the target changed, for standard error; "" otherwise."""
    evidence = _evidence(kept)
    if evidence.max() < LIMIT:
        return ""
    number = int(kept["rounds"][int(np.argmax(evidence >= LIMIT))]) * int(kept["every"])
    return (
        f"{kept['target']} seems to have changed its behaviour: asked again after {number} answers, it answers the "
        f"same images otherwise (evidence {evidence.max():.3g}, {LIMIT:g} is the limit); the run goes on"
    )


def warnings(kept: Mapping[str, Any]) -> list[str]:
    """One line where the target's behaviour changed; nothing otherwise."""
    found, evidence = _tested(kept), _evidence(kept)
    at_once = evidence.max() >= LIMIT
    if not (found.p <= _EACH or at_once):
        return []
    rounds, every = kept["rounds"], int(kept["every"])
    before, since = (int(rounds[place]) * every for place in (found.after - 1, found.after))
    seen = int(rounds[int(np.argmax(evidence >= LIMIT))]) * every
    when = f", seen after {seen}" if at_once else ""
    return [
        f"{kept['target']} changed its behaviour between its answers number {before} and {since} (p = {found.p:.2g}"
        f"{when}): answers from before and after are not of one model; set another version in its file and run again"
    ]


def section(kept: Mapping[str, Any]) -> dict[str, Any]:
    """The section of one target, from what a run keeps of its canaries."""
    found, said = _tested(kept), warnings(kept)
    return {
        "key": "steady",
        "target": kept["target"],
        "title": f"Did it answer alike to the end? {kept['target']}",
        "text": [*([] if said else [_verdict(kept, found)]), _TEXT[0].format(every=kept["every"]), _TEXT[1]],
        "warnings": said,
        "figures": [_figure(kept)],
        "tables": [_test(kept, found, changed=bool(said)), _rounds(kept)],
        "sources": [SOURCE, ONLINE],
    }


def _verdict(kept: Mapping[str, Any], found: Change) -> str:
    if found.reason:
        return f"That cannot be told: {found.reason}."
    other, _ = _otherwise(kept)
    if not other.any():
        return "Nothing speaks against it: every image that was asked about again was answered as at first."
    return "No change can be told from chance, though some answers differed from the first."


def _distances(kept: Mapping[str, Any]) -> Float[np.ndarray, "images t t"]:
    return np.array(kept["distances"], dtype=np.float64)


def _tested(kept: Mapping[str, Any]) -> Change:
    distances = _distances(kept)
    return _remembered(distances.tobytes(), distances.shape)


def _evidence(kept: Mapping[str, Any]) -> Float[np.ndarray, " t"]:
    return evidence_of_change(_distances(kept))


@functools.lru_cache(maxsize=8)
def _remembered(distances: bytes, shape: tuple[int, int, int]) -> Change:
    return change_point(np.frombuffer(distances).reshape(shape))


def _otherwise(kept: Mapping[str, Any]) -> tuple[Float[np.ndarray, " t"], Float[np.ndarray, " t"]]:
    """Per round: images answered otherwise than in the first round, and images that both answered."""
    first = _distances(kept)[:, 0, :]
    return (first > 0).sum(axis=0).astype(np.float64), np.isfinite(first).sum(axis=0).astype(np.float64)


def _test(kept: Mapping[str, Any], found: Change, *, changed: bool) -> dict[str, Any]:
    rows = [
        ["evidence for a change, the largest while the run went on", float(_evidence(kept).max())],
        ["p of a change at the likeliest point, at the end", found.p],
        *([["rounds before that point", found.after]] if changed else []),
        ["rounds", len(kept["rounds"])],
        ["images asked about again", kept["images"]],
    ]
    title = f"Tests for a change ({found.reason})" if found.reason else "Tests for a change"
    return table(title, [("what", "text"), ("value", "number")], rows)


def _rounds(kept: Mapping[str, Any]) -> dict[str, Any]:
    distances, (other, known), evidence = _distances(kept), _otherwise(kept), _evidence(kept)
    heads = [("after so many answers", "count"), ("answered otherwise than at first", "count")]
    heads += [("answered then and at first", "count"), ("mean distance from the first", "number")]
    heads += [("evidence until then", "number")]
    rows = [
        [number * kept["every"], other[place], known[place], _mean(distances[:, 0, place]), float(evidence[place])]
        for place, number in enumerate(kept["rounds"])
    ]
    return table("Rounds", heads, rows)


def _mean(values: Float[np.ndarray, " images"]) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")


def _figure(kept: Mapping[str, Any]) -> dict[str, Any]:
    """Shares of the images themselves, so that there is no interval."""
    other, known = _otherwise(kept)
    shares = np.divide(other, known, out=np.full(len(known), np.nan), where=known > 0)
    places = [float(number * kept["every"]) for number in kept["rounds"]]
    points = [point(share, x=x, n=int(n)) for x, share, n in zip(places, shares, known, strict=True)]
    panel = {
        "heading": "Images asked about again",
        "x_words": "answers before",
        "y_words": "answered otherwise than at first",
        "unit": "proportion",
        "series": [{"name": "share of images", "points": points}],
    }
    caption = "(of the same images in every round)"
    return {"kind": "curves", "title": "How many answers differ from the first?", "caption": caption, "panels": [panel]}
