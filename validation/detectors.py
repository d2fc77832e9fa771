"""What stock detectors and dlib's models make of the world. Reported for photographs too, fitted to neither.

The renderer's constants never followed a detector's answers: these shares are consequences, not targets. dlib's
landmark predictor and recognition network do not ship. Sources: Kazemi and Sullivan 2014, One millisecond face
alignment with an ensemble of regression trees, doi:10.1109/CVPR.2014.241; King 2017, dlib's face recognition model.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from transect.effects.intervals import wilson
from transect.effects.outcomes import IOU, detected, matching_boxes
from transect.errors import MissingExtra, TransectError
from transect.records import Images
from transect.targets import resolve
from transect.targets.dlib_face import read_model
from validation.pictures import Pictures
from validation.text import facts

TARGETS = ("opencv:haarcascade_frontalface_default", "dlib:hog-face")
_BATCH = 128

RULE = f"a box that overlaps the rendered face, in the detector's own convention, by at least {IOU:g} (IoU)"
"""What counts as found."""


@functools.cache
def detected_photographs() -> tuple[dict[str, object], ...]:
    """Shares found among 700 adults of each of four groups of UTKFace, by target.

    >>> min(row["share"] for row in detected_photographs())
    0.953
    """
    return tuple({**row, "n": int(row["n"]), "share": float(row["share"])} for row in facts("detected_photographs"))


def shares_found(pictures: Pictures, targets: tuple[str, ...] = TARGETS) -> list[dict[str, object]]:
    """One row per target and group: n, found, share with its Wilson interval; None with the reason where there is none.

    Groups: all; thirds of the Monk scale; bands of age; glasses, hat, bangs.
    """
    return [row for target in targets for row in _of_target(target, pictures)]


def _of_target(name: str, pictures: Pictures) -> Iterator[dict[str, object]]:
    try:
        is_found = _found(name, pictures)
    except TransectError as error:
        nothing = dict.fromkeys(("n", "found", "share", "low", "high"))
        yield {"target": name, "by": "", "group": "all", **nothing, "reason": str(error)}
        return
    for by, group, rows in groups(pictures):
        yield {"target": name, "by": by, "group": group, **_share(is_found[rows]), "reason": ""}


def _found(name: str, pictures: Pictures) -> Bool[np.ndarray, " n"]:
    target: Any = resolve(name)
    expected = target.box_convention.expected_box(pictures.face_boxes())
    parts = []
    for start in range(0, len(pictures), _BATCH):
        rows = np.arange(start, min(start + _BATCH, len(pictures)))
        boxes = target.predict(Images(pictures.pixels(rows))).boxes
        parts.append(detected(boxes, expected[rows]))
    return np.concatenate(parts)


def _share(is_found: Bool[np.ndarray, " n"]) -> dict[str, object]:
    n, hits = len(is_found), int(is_found.sum())
    if not n:
        return {"n": 0, "found": 0, "share": None, "low": None, "high": None}
    low, high = wilson(hits, n)
    return {"n": n, "found": hits, "share": hits / n, "low": float(low), "high": float(high)}


def groups(pictures: Pictures) -> Iterator[tuple[str, str, Bool[np.ndarray, " n"]]]:
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


REGIONS = {
    "all": slice(0, 68),
    "jaw": slice(0, 17),
    "brows": slice(17, 27),
    "nose": slice(27, 36),
    "eyes": slice(36, 48),
    "mouth": slice(48, 68),
}
_OUTER_CORNERS = (36, 45)
_ENLARGED = 4


def landmark_errors(pictures: Pictures, model: Path) -> dict[str, object]:
    """Distance of dlib's 68 points from the world's own, by region, in shares of the outer eye corners' distance.

    dlib looks where its own detector found the face; faces that it does not find are counted and not measured.
    Returns n, not_found and, by region, mean, median and the mean vector [x, y] from the world's points to dlib's.
    """
    predicted = _predicted(pictures, model)
    true_points = pictures.landmarks()
    detected = np.isfinite(predicted).all(axis=(1, 2))
    apart = true_points[detected][:, _OUTER_CORNERS[1]] - true_points[detected][:, _OUTER_CORNERS[0]]
    offset = (predicted[detected] - true_points[detected]) / np.linalg.norm(apart, axis=1)[:, None, None]
    regions: dict[str, object] = {}
    figures: dict[str, object] = {"n": int(detected.sum()), "not_found": int((~detected).sum()), "regions": regions}
    if not detected.any():
        return {**figures, "reason": "dlib found no face"}
    for name, points in REGIONS.items():
        distance = np.linalg.norm(offset[:, points], axis=2).mean(1)
        regions[name] = {
            "mean": float(distance.mean()),
            "median": float(np.median(distance)),
            "offset": [float(v) for v in offset[:, points].mean((0, 1))],
        }
    return figures


def _predicted(pictures: Pictures, model: Path) -> Float[np.ndarray, "n 68 2"]:
    """Dlib's points in pixels, NaN where its detector has no box on the face."""
    dlib = _dlib()
    predictor = read_model(dlib.shape_predictor, model)
    detector: Any = resolve("dlib:hog-face")
    points = np.full((len(pictures), 68, 2), np.nan)
    expected = detector.box_convention.expected_box(pictures.face_boxes())
    for row in range(len(pictures)):
        image = pictures.pixels(np.array([row]))
        boxes = matching_boxes(detector.predict(Images(image)).boxes, expected[row : row + 1])[0]
        if not len(boxes):
            continue
        large = _enlarged(image[0])
        box = dlib.rectangle(*(round(float(side) * _ENLARGED) for side in boxes[0, :4]))
        shape = predictor(large, box)
        # dlib numbers pixels, whose middles are then at + .5.
        points[row] = [((p.x + 0.5) / _ENLARGED, (p.y + 0.5) / _ENLARGED) for p in shape.parts()]
    return points


def descriptors(pictures: Pictures, model: Path) -> Float[np.ndarray, "n 128"]:
    """Dlib's descriptors of the faces, cut out by the world's own landmarks, so that none is missed."""
    dlib = _dlib()
    recognizer = read_model(dlib.face_recognition_model_v1, model)
    points, boxes = pictures.landmarks() * _ENLARGED, pictures.face_boxes() * _ENLARGED
    table = np.empty((len(pictures), 128))
    for row in range(len(pictures)):
        parts = dlib.points([dlib.point(int(x), int(y)) for x, y in points[row]])
        shape = dlib.full_object_detection(dlib.rectangle(*(int(side) for side in boxes[row])), parts)
        large = _enlarged(pictures.pixels(np.array([row]))[0])
        table[row] = np.asarray(recognizer.compute_face_descriptor(large, shape))
    return table


def _enlarged(image: np.ndarray) -> np.ndarray:
    from PIL import Image

    size = image.shape[1] * _ENLARGED, image.shape[0] * _ENLARGED
    return np.ascontiguousarray(Image.fromarray(image).resize(size, Image.Resampling.BICUBIC))


def _dlib() -> Any:
    try:
        import dlib
    except ModuleNotFoundError:
        raise MissingExtra("dlib", "a model of dlib's") from None
    return dlib
