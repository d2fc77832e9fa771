"""The frontal face detector of dlib: HOG and a linear SVM (Dalal and Triggs 2005; King 2015)."""

from __future__ import annotations

import importlib.metadata

import numpy as np
from jaxtyping import Float, UInt8

from transect.errors import BadInput, MissingExtra, UnknownName
from transect.targets.capabilities import BoxConvention
from transect.targets.detectors import Detector, Find, enlarged

HOG_FACE = BoxConvention(center_dx=-0.013, center_dy=0.074, width=0.97, height=0.71)
"""A square as wide as the face, from above the brows to the chin: median relation of 396 found faces among 400 rendered
ones (128 px, balanced population)."""


def load(
    name: str, *, enlarge: int = 256, adjust_threshold: float = 0.0, upsample: int = 0, threads: int | None = None
) -> Detector:
    """The detection target of dlib; `name` is hog-face. The confidence is dlib's own, above `adjust_threshold`.

    enlarge: shorter side to which smaller images are enlarged (boxes are mapped back), since the smallest face that it
    finds is 80 pixels wide. adjust_threshold: added to the detector's threshold. upsample: times that dlib doubles it.
    """
    if name != "hog-face":
        raise UnknownName("target", f"dlib:{name}", ["dlib:hog-face"])
    try:
        import dlib
    except ModuleNotFoundError:
        raise MissingExtra("dlib", "dlib:hog-face") from None
    if enlarge < 1 or upsample < 0:
        raise BadInput(f"dlib:hog-face: expected enlarge >= 1 and upsample >= 0, got {enlarge} and {upsample}")

    def make_find() -> Find:
        detector = dlib.get_frontal_face_detector()

        def find(image: UInt8[np.ndarray, "h w 3"]) -> Float[np.ndarray, "m 5"]:
            large, factor = enlarged(image, enlarge)
            rectangles, scores, _ = detector.run(np.ascontiguousarray(large), upsample, adjust_threshold)
            # dlib's right and bottom are the last pixel inside the box, hence the 1.
            corners = [(box.left(), box.top(), box.right() + 1, box.bottom() + 1) for box in rectangles]
            boxes = np.array(corners, dtype=np.float64).reshape(-1, 4) / factor
            return np.column_stack([boxes, np.asarray(scores, dtype=np.float64)])

        return find

    settings = {
        "library": f"dlib {version()}",
        "enlarge": enlarge,
        "adjust_threshold": adjust_threshold,
        "upsample": upsample,
        "confidence": "dlib's detection score",
    }
    return Detector(
        "dlib:hog-face", make_find, kind="face", box_convention=HOG_FACE, settings=settings, threads=threads
    )


def version() -> str:
    """The installed dlib's version, whichever distribution brings it."""
    for distribution in ("dlib-bin", "dlib"):
        try:
            return importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
    return "of unknown version"
