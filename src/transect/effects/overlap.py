"""Was the face found? Boxes are x0, y0, x1, y1 in pixels; one counts when it overlaps the expected face enough."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

from transect.errors import BadInput

IOU = 0.4
"""Overlap from which a box counts as the face; detectors draw their boxes by conventions that differ."""


def intersection_over_union(
    boxes: Float[np.ndarray, "m 4"], other: Float[np.ndarray, "k 4"]
) -> Float[np.ndarray, "m k"]:
    """Overlap of every box with every other box, in [0, 1]; 0 where neither has an area.

    >>> intersection_over_union(np.array([[0.0, 0, 2, 2]]), np.array([[1.0, 0, 3, 2]])).round(3)
    array([[0.333]])
    """
    return _overlap(boxes[:, None, :], other[None, :, :])


def _overlap(a: Float[np.ndarray, "*#n 4"], b: Float[np.ndarray, "*#n 4"]) -> Float[np.ndarray, "*n"]:
    sides = np.minimum(a[..., 2:], b[..., 2:]) - np.maximum(a[..., :2], b[..., :2])
    intersection = np.prod(np.clip(sides, 0, None), axis=-1)
    union = _area(a) + _area(b) - intersection
    return np.asarray(np.divide(intersection, union, out=np.zeros_like(intersection), where=union > 0))


def matching_boxes(
    boxes: Sequence[Float[np.ndarray, "_ 5"]], expected: Float[np.ndarray, "n 4"] | None, iou: float = IOU
) -> list[Float[np.ndarray, "_ 5"]]:
    """Per image the boxes that count as the face: those with at least `iou` overlap, or all without `expected`."""
    if expected is None:
        return list(boxes)
    if len(expected) != len(boxes):
        raise BadInput(
            f"expected one face box per image, got {len(expected)} for {len(boxes)} images; pass one row for each image"
        )
    lengths = [len(detected) for detected in boxes]
    if not sum(lengths):
        return list(boxes)
    each = np.concatenate([detected[:, :4] for detected in boxes])
    counts = _overlap(each, np.repeat(expected, lengths, axis=0)) >= iou
    ends = np.cumsum(lengths).tolist()
    return [detected[counts[start:end]] for detected, start, end in zip(boxes, [0, *ends[:-1]], ends, strict=True)]


def detected(
    boxes: Sequence[Float[np.ndarray, "_ 5"]], expected: Float[np.ndarray, "n 4"] | None = None, iou: float = IOU
) -> Bool[np.ndarray, " n"]:
    """Whether each image has a box that counts: overlap >= `iou` with the expected face, or any box without one.

    boxes: per image float64 [m, 5], the fifth column the confidence, which plays no part. An expected box of NaN is
    never found.

    Raises BadInput when there is not one expected box per image.

    >>> box = np.array([[0.0, 0, 10, 10, 0.9]])
    >>> detected([box, np.empty((0, 5))])
    array([ True, False])
    >>> detected([box, box], np.array([[0.0, 0, 10, 4], [0.0, 0, 10, 3]]))
    array([ True, False])
    """
    return np.array([len(matches) > 0 for matches in matching_boxes(boxes, expected, iou)], dtype=bool)


def _area(boxes: Float[np.ndarray, "... 4"]) -> Float[np.ndarray, " ..."]:
    return np.asarray(np.prod(np.clip(boxes[..., 2:] - boxes[..., :2], 0, None), axis=-1))
