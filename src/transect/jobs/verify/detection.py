"""What do two stock face detectors find in the world, and in photographs? Reported for both, fitted to neither.

The renderer's constants never followed a detector's answers: these shares are consequences, not targets.
"""

from __future__ import annotations

import csv
import functools
import itertools
from collections.abc import Iterator
from importlib import resources
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from transect.effects.intervals import wilson
from transect.effects.overlap import IOU, detected
from transect.errors import TransectError
from transect.jobs.verify.cache import Figures
from transect.jobs.verify.pictures import Sample, face_boxes
from transect.records import Images
from transect.targets import resolve

TARGETS = ("opencv:haarcascade_frontalface_default", "dlib:hog-face")
_BATCH = 128

RULE = f"a box that overlaps the rendered face, in the detector's own convention, by at least {IOU:g} (IoU)"
"""What counts as found."""


@functools.cache
def detected_photographs() -> tuple[Figures, ...]:
    """Shares found among 700 adults of each of four groups of UTKFace, by target.

    >>> min(row["share"] for row in detected_photographs())
    0.953
    """
    file = resources.files("transect.jobs.verify").joinpath("facts/detected_photographs.csv")
    return tuple(
        {**row, "n": int(row["n"]), "share": float(row["share"])}
        for row in csv.DictReader(file.read_text(encoding="utf-8").splitlines())
    )


def shares_found(pictures: Sample, targets: tuple[str, ...] = TARGETS) -> list[Figures]:
    """One row per target and group: n, found, share with its Wilson interval; None with the reason where there is none.

    Groups: all; thirds of the Monk scale; bands of age; glasses, hat, bangs.
    """
    return [row for target in targets for row in _of_target(target, pictures)]


def _of_target(name: str, pictures: Sample) -> Iterator[Figures]:
    try:
        is_found = _found(name, pictures)
    except TransectError as error:
        nothing = dict.fromkeys(("n", "found", "share", "low", "high"))
        yield {"target": name, "by": "", "group": "all", **nothing, "reason": str(error)}
        return
    for by, group, rows in groups(pictures):
        yield {"target": name, "by": by, "group": group, **_share(is_found[rows]), "reason": ""}


def _found(name: str, pictures: Sample) -> Bool[np.ndarray, " n"]:
    target: Any = resolve(name)
    expected = target.box_convention.expected_box(face_boxes(pictures))
    parts = []
    for start in range(0, len(pictures), _BATCH):
        rows = np.arange(start, min(start + _BATCH, len(pictures)))
        boxes = target.predict(Images(pictures.pixels(rows))).boxes
        parts.append(detected(boxes, expected[rows]))
    return np.concatenate(parts)


def _share(is_found: Bool[np.ndarray, " n"]) -> Figures:
    n, hits = len(is_found), int(is_found.sum())
    if not n:
        return {"n": 0, "found": 0, "share": None, "low": None, "high": None}
    low, high = wilson(hits, n)
    return {"n": n, "found": hits, "share": hits / n, "low": float(low), "high": float(high)}


def groups(pictures: Sample) -> Iterator[tuple[str, str, Bool[np.ndarray, " n"]]]:
    """By what, which group, and the rows that belong to it."""
    yield "", "all", np.ones(len(pictures), dtype=bool)
    yield from _bands("skin tone (Monk scale)", pictures.column("skin_tone"), (1, 4, 7, 10))
    yield from _bands("age (years)", pictures.column("age"), (18, 30, 45, 60, 85))
    for name in ("glasses", "hat"):
        worn = pictures.column(name) > 0
        yield name, "none", ~worn
        yield name, "worn", worn
    bangs = pictures.column("bangs")
    yield "bangs", "none", bangs == 0
    yield "bangs", "up to half", (bangs > 0) & (bangs <= 0.5)
    yield "bangs", "over half", bangs > 0.5


def _bands(
    by: str, values: Float[np.ndarray, " n"], edges: tuple[float, ...]
) -> Iterator[tuple[str, str, Bool[np.ndarray, " n"]]]:
    for low, high in itertools.pairwise(edges):
        last = high == edges[-1]
        yield by, f"{low} to {high}", (values >= low) & ((values <= high) if last else (values < high))
