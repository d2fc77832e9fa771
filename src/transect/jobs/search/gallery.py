"""The pictures of failures that a page shows: those far apart first, so that a cluster does not fill the gallery."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from jaxtyping import Float, UInt8
from markupsafe import Markup

from transect.designs.search import History, apart
from transect.designs.search.space import Space
from transect.jobs.search.numbers import FailurePicture
from transect.reports.album import reduced
from transect.reports.blocks import Block, Paragraph
from transect.reports.drawing.svg import joined, tag
from transect.reports.environment import data_address
from transect.runs.wording import spaced

SHOWN: Final = 24
"""Failures of one search that its page shows."""
STRIP: Final = 6
"""Failures on the first screen."""
_NAMED: Final = 4
"""Attributes that the caption of a picture names."""


def failure_pictures(
    space: Space, history: History, parts: int, pixels: Callable[[int], UInt8[np.ndarray, "m h w 3"]]
) -> list[FailurePicture]:
    """Up to `SHOWN` failures in the order of the calls: those far apart, then others. pixels: of a part, in order."""
    rows = np.flatnonzero(history.failed)
    first = rows[apart(history.found)]
    chosen = np.sort(np.concatenate([first, np.setdiff1d(rows, first)])[:SHOWN])
    places = dict(zip(chosen[farthest(history.points[chosen])].tolist(), range(len(chosen)), strict=True))
    pictures: list[FailurePicture] = []
    values, start = space.values(history.points), 0
    for part in range(parts):
        if len(pictures) == len(chosen):
            break
        shown = pixels(part)
        for row in chosen[(chosen >= start) & (chosen < start + len(shown))]:
            named = {name: float(column[row]) for name, column in values.items()}
            pictures.append(FailurePicture(int(row) + 1, _labels(space, named), _png(shown[row - start]), places[row]))
        start += len(shown)
    return pictures


def farthest(points: Float[np.ndarray, "n d"]) -> list[int]:
    """Points in an order in which each is the one that is farthest from those before it; the first stays first.

    >>> farthest(np.array([[0.0], [0.1], [1.0], [0.6]]))
    [0, 2, 3, 1]
    """
    order: list[int] = []
    distance = np.full(len(points), np.inf)
    for _ in range(len(points)):
        order.append(int(distance.argmax()))
        distance = np.minimum(distance, np.linalg.norm(points - points[order[-1]], axis=1))
        distance[order] = -1.0
    return order


def gallery(pictures: Sequence[FailurePicture], failures: int) -> list[Block]:
    """The block of a gallery; nothing without a picture. failures: how many there are in all."""
    if not pictures:
        return []
    chosen = f"{len(pictures)} of {failures} failures, far apart where possible"
    shown = chosen if len(pictures) < failures else "All failures"
    text = f"{shown}, in the order of the calls; below each picture is its call."
    return [Paragraph(text), tag("div", joined(_figure(picture) for picture in pictures), class_="shots")]


def strip(pictures: Sequence[FailurePicture], failures: int) -> list[Block]:
    """Failures for the first screen, spread over the space, with how many there are; nothing without a picture."""
    if not pictures:
        return []
    shown = sorted(sorted(pictures, key=lambda picture: picture.place)[:STRIP], key=lambda picture: picture.call)
    count = f"{len(shown)} of {failures:,} failures, spread as far as they lie, each of another subject:"
    every = "The one failure:" if failures == 1 else f"All {failures} failures:"
    words = Paragraph(count if len(shown) < failures else every, "key")
    return [words, tag("div", joined(_figure(picture) for picture in shown), class_="shots row")]


def _figure(picture: FailurePicture) -> Markup:
    named = [f"{spaced(name)} {value}" for name, value in picture.values[:_NAMED]]
    more = len(picture.values) - _NAMED
    words = ", ".join([*named, *([f"and {more} more"] if more > 0 else [])])
    image = tag("img", src=data_address(picture.png), alt=f"Failure at call {picture.call}: {words}")
    caption = tag("figcaption", f"call {picture.call}: {words}")
    return tag("figure", tag("div", image, class_="frame") + caption, class_="shot")


def _labels(space: Space, values: dict[str, float]) -> tuple[tuple[str, str], ...]:
    """The searched attributes, and their values as text."""
    return tuple(
        (attribute.name, space.rounded(j, values[attribute.name])) for j, attribute in enumerate(space.attributes)
    )


def _png(pixels: UInt8[np.ndarray, "h w 3"]) -> bytes:
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return reduced(buffer.getvalue())
