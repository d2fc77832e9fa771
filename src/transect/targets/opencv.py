"""OpenCV's cascades (Viola and Jones 2001; Lienhart and Maydt 2002), as the OpenCV 4 wheel ships them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8

from transect.errors import BadInput, MissingExtra, UnknownName
from transect.targets.capabilities import BoxConvention
from transect.targets.catalogue import cascade_files
from transect.targets.detectors import Detector, Find, enlarged
from transect.texts import words_of

FRONTAL_FACE = BoxConvention(center_dx=0.0, center_dy=0.005, width=1.08, height=0.79)
"""A square a little wider than the face, from mid-forehead to below the lips: mean of the median relations of two
frontal cascades to 400 rendered faces (128 px, balanced population; 395 and 399 found), which differ by .05."""

PROFILE_FACE = BoxConvention(center_dx=0.14, center_dy=-0.025, width=1.16, height=0.865)
"""The same for the profile cascade, on faces that look about straight ahead (376 of 900, an earlier renderer)."""

_KINDS = (
    ("catface", "cat face"),
    ("frontalface", "face"),
    ("profileface", "face"),
    ("eye", "eye"),
    ("smile", "smile"),
    ("plate", "license plate"),
    ("body", "body"),
)

_CONVENTIONS = {"frontalface": FRONTAL_FACE, "profileface": PROFILE_FACE}


def load(
    name: str,
    *,
    scale_factor: float = 1.05,
    min_neighbors: int = 3,
    min_size: int = 0,
    equalize: bool = False,
    enlarge: int | None = None,
    threads: int | None = None,
) -> Detector:
    """The cascade `name` (haarcascade_frontalface_default ...) as a detection target.

    scale_factor: ratio of neighboring scales, above 1. min_neighbors: raw hits that make a box. min_size: smallest
    side of a box in pixels. equalize: histogram equalization first. enlarge: shorter side in pixels to which smaller
    images are enlarged (Pillow, bicubic), boxes mapped back. The confidence of a box is OpenCV's level weight minus the
    threshold of the last stage: how far the best window passed it; at least 0, in votes, no probability.
    """
    try:
        import cv2
    except ModuleNotFoundError:
        raise MissingExtra("opencv", f"opencv:{name}") from None
    except ImportError as error:
        raise BadInput(f"opencv:{name}: the installed OpenCV does not load ({words_of(error)}); reinstall it") from None
    files = cascade_files()
    if not hasattr(cv2, "CascadeClassifier") or not files:
        raise BadInput(f"OpenCV {cv2.__version__} ships no cascades: pip install 'opencv-python-headless>=4.8,<5'")
    if name not in files:
        raise UnknownName("target", f"opencv:{name}", [f"opencv:{known}" for known in files])
    _check(scale_factor, min_neighbors, min_size, enlarge)
    settings = {
        "library": f"OpenCV {cv2.__version__}",
        "scale_factor": scale_factor,
        "min_neighbors": min_neighbors,
        "min_size": min_size,
        "equalize": equalize,
        "enlarge": enlarge,
        "confidence": "level weight minus the last stage's threshold",
    }
    finder = _finder(files[name], settings)
    kind = next((kind for part, kind in _KINDS if part in name), "object")
    return Detector(
        f"opencv:{name}",
        finder,
        kind=kind,
        box_convention=next((convention for part, convention in _CONVENTIONS.items() if part in name), None),
        settings=settings,
        threads=threads,
    )


def _check(scale_factor: float, min_neighbors: int, min_size: int, enlarge: int | None) -> None:
    if not scale_factor > 1:
        raise BadInput(f"scale_factor: expected a number above 1, got {scale_factor:g}")
    if min_neighbors < 1:
        raise BadInput(f"min_neighbors: expected at least 1, got {min_neighbors}")
    if min_size < 0:
        raise BadInput(f"min_size: expected 0 pixels or more, got {min_size}")
    if enlarge is not None and enlarge < 1:
        raise BadInput(f"enlarge: expected a side of 1 pixel or more, got {enlarge}")


def _finder(file: Path, settings: dict[str, Any]) -> Callable[[], Find]:
    def make_find() -> Find:
        import cv2

        classifier = cv2.CascadeClassifier(str(file))
        last_stage = _last_stage_threshold(file)

        def find(image: UInt8[np.ndarray, "h w 3"]) -> Float[np.ndarray, "m 5"]:
            image, factor = enlarged(image, settings["enlarge"] or 0)
            gray = cv2.cvtColor(np.ascontiguousarray(image), cv2.COLOR_RGB2GRAY)
            gray = cv2.equalizeHist(gray) if settings["equalize"] else gray
            smallest = (round(settings["min_size"] * factor),) * 2
            rectangles, _, weights = classifier.detectMultiScale3(
                gray, settings["scale_factor"], settings["min_neighbors"], 0, smallest, outputRejectLevels=True
            )
            corner = np.reshape(rectangles, (-1, 4)).astype(np.float64)
            margin = np.reshape(weights, (-1, 1)).astype(np.float64) - last_stage
            return np.hstack([corner[:, :2] / factor, (corner[:, :2] + corner[:, 2:]) / factor, margin])

        return find

    return make_find


def _last_stage_threshold(file: Path) -> float:
    import cv2

    storage = cv2.FileStorage(str(file), cv2.FILE_STORAGE_READ)
    stages = storage.getFirstTopLevelNode().getNode("stages")
    return float(stages.at(stages.size() - 1).getNode("stageThreshold").real())
