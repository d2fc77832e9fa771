"""dlib's landmark predictor and recognition network, measured on the world; their files are the user's own.

Neither ships with Transect. Sources: Kazemi and Sullivan 2014, One millisecond face alignment with an ensemble of
regression trees, doi:10.1109/CVPR.2014.241; King 2017, dlib's face recognition model.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from transect.effects.overlap import matching_boxes
from transect.errors import MissingExtra
from transect.jobs.verify.cache import Figures
from transect.jobs.verify.pictures import Sample, face_boxes, landmarks
from transect.records import Images
from transect.targets import resolve
from transect.targets.dlib_face import read_model

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


def landmark_errors(pictures: Sample, model: Path) -> Figures:
    """Distance of dlib's 68 points from the world's own, by region, in shares of the outer eye corners' distance.

    dlib looks where its own detector found the face; faces that it does not find are counted and not measured.
    Returns n, not_found and, by region, mean, median and the mean vector [x, y] from the world's points to dlib's.
    """
    predicted = _predicted(pictures, model)
    true_points = landmarks(pictures)
    detected = np.isfinite(predicted).all(axis=(1, 2))
    apart = true_points[detected][:, _OUTER_CORNERS[1]] - true_points[detected][:, _OUTER_CORNERS[0]]
    offset = (predicted[detected] - true_points[detected]) / np.linalg.norm(apart, axis=1)[:, None, None]
    regions: Figures = {}
    figures: Figures = {"n": int(detected.sum()), "not_found": int((~detected).sum()), "regions": regions}
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


def _predicted(pictures: Sample, model: Path) -> Float[np.ndarray, "n 68 2"]:
    """Dlib's points in pixels, NaN where its detector has no box on the face."""
    dlib = _dlib()
    predictor = read_model(dlib.shape_predictor, model)
    detector: Any = resolve("dlib:hog-face")
    points = np.full((len(pictures), 68, 2), np.nan)
    expected = detector.box_convention.expected_box(face_boxes(pictures))
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


def descriptors(pictures: Sample, model: Path) -> Float[np.ndarray, "n 128"]:
    """Dlib's descriptors of the faces, cut out by the world's own landmarks, so that none is missed."""
    dlib = _dlib()
    recognizer = read_model(dlib.face_recognition_model_v1, model)
    points, boxes = landmarks(pictures) * _ENLARGED, face_boxes(pictures) * _ENLARGED
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
