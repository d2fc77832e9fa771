"""The frontal face detector of dlib: HOG and a linear SVM (Dalal and Triggs 2005; King 2015)."""

from __future__ import annotations

import importlib.metadata
from dataclasses import asdict, dataclass
from typing import Annotated, Final, final

import numpy as np
from jaxtyping import Float, UInt8

from transect.errors import UnknownName
from transect.options import Option
from transect.targets.capabilities import BoxConvention
from transect.targets.detectors import Detector, Find, enlarged
from transect.targets.kinds import Kind

KIND: Final = Kind(
    prefix="dlib:hog-face",
    trust="shipped",
    listed=(("dlib:hog-face", "detection", "dlib's frontal face detector (HOG and linear SVM)"),),
    extra="dlib",
    needs=("dlib",),
)

HOG_FACE = BoxConvention(center_dx=-0.005, center_dy=0.032, width=1.01, height=0.775)
"""A square as wide as the face, from above the brows to the chin: median relation of 395 found faces among 400 rendered
ones (128 px, balanced population)."""


ENLARGE: Final = Option(
    "Shorter side in pixels to which smaller images are enlarged, since the smallest face that it finds is 80 pixels "
    "wide; boxes are mapped back.",
    least=1,
)
ADJUST: Final = Option("Added to the detector's threshold.")


@final
@dataclass(frozen=True, slots=True)
class Options:
    """How the detector searches."""

    enlarge: Annotated[int, ENLARGE] = 256
    adjust_threshold: Annotated[float, ADJUST] = 0.0
    upsample: Annotated[int, Option("Times that dlib doubles the image.", least=0)] = 0
    threads: Annotated[int | None, Option("Images searched at the same time; by default one for each core.")] = None


def load(place: str, options: Options) -> Detector:
    """The detection target of dlib, without a place. The confidence is dlib's own, above `adjust_threshold`."""
    import dlib

    if place:
        raise UnknownName("target", f"{KIND.prefix}@{place}", [KIND.prefix])

    def make_find() -> Find:
        detector = dlib.get_frontal_face_detector()

        def find(image: UInt8[np.ndarray, "h w 3"]) -> Float[np.ndarray, "m 5"]:
            large, factor = enlarged(image, options.enlarge)
            rectangles, scores, _ = detector.run(
                np.ascontiguousarray(large), options.upsample, options.adjust_threshold
            )
            # dlib's right and bottom are the last pixel inside the box, hence the 1.
            corners = [(box.left(), box.top(), box.right() + 1, box.bottom() + 1) for box in rectangles]
            boxes = np.array(corners, dtype=np.float64).reshape(-1, 4) / factor
            return np.column_stack([boxes, np.asarray(scores, dtype=np.float64)])

        return find

    stated = asdict(options)
    threads = stated.pop("threads")
    settings = {"library": f"dlib {version()}", **stated, "confidence": "dlib's detection score"}
    return Detector(KIND.prefix, make_find, kind="face", box_convention=HOG_FACE, settings=settings, threads=threads)


def version() -> str:
    """The installed dlib's version, whichever distribution brings it."""
    for distribution in ("dlib-bin", "dlib"):
        try:
            return importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
    return "of unknown version"
