"""OpenCV's cascades (Viola and Jones 2001; Lienhart and Maydt 2002), as the OpenCV 4 wheel ships them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Final, final

import numpy as np
from jaxtyping import Float, UInt8

from transect.errors import BadInput, UnknownName
from transect.options import Option
from transect.targets.capabilities import BoxConvention
from transect.targets.detectors import Detector, Find, enlarged
from transect.targets.kinds import Kind
from transect.texts import words_of

KIND: Final = Kind(
    prefix="opencv",
    trust="shipped",
    listed=(
        ("opencv:haarcascade_eye", "detection", "one eye"),
        ("opencv:haarcascade_eye_tree_eyeglasses", "detection", "one eye, also behind glasses"),
        ("opencv:haarcascade_frontalcatface", "detection", "a cat's face, frontal"),
        ("opencv:haarcascade_frontalcatface_extended", "detection", "a cat's face, frontal, more poses"),
        ("opencv:haarcascade_frontalface_alt", "detection", "a frontal face (stumps)"),
        ("opencv:haarcascade_frontalface_alt2", "detection", "a frontal face (two-split trees)"),
        ("opencv:haarcascade_frontalface_alt_tree", "detection", "a frontal face (tree of stages)"),
        ("opencv:haarcascade_frontalface_default", "detection", "a frontal face (the default)"),
        ("opencv:haarcascade_fullbody", "detection", "a standing person"),
        ("opencv:haarcascade_lefteye_2splits", "detection", "a left eye, open or closed"),
        ("opencv:haarcascade_license_plate_rus_16stages", "detection", "a Russian license plate"),
        ("opencv:haarcascade_lowerbody", "detection", "legs of a person"),
        ("opencv:haarcascade_profileface", "detection", "a face in profile"),
        ("opencv:haarcascade_righteye_2splits", "detection", "a right eye, open or closed"),
        ("opencv:haarcascade_russian_plate_number", "detection", "a Russian license plate"),
        ("opencv:haarcascade_smile", "detection", "a smiling mouth"),
        ("opencv:haarcascade_upperbody", "detection", "head and shoulders"),
    ),
    extra="opencv",
    needs=("cv2",),
    ships=("cv2", "data/*cascade*_*.xml"),
)

FRONTAL_FACE = BoxConvention(center_dx=0.011, center_dy=-0.022, width=1.15, height=0.94)
"""A square a little wider than the face, from mid-forehead to below the lips: mean of the median relations of three
frontal cascades to 400 rendered faces (128 px, balanced population; 395 to 398 found), which differ by .03."""

PROFILE_FACE = BoxConvention(center_dx=0.111, center_dy=-0.047, width=1.29, height=1.077)
"""The same for the profile cascade, on faces that look about straight ahead (166 of 400)."""

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


@final
@dataclass(frozen=True, slots=True)
class Options:
    """How a cascade searches."""

    scale_factor: Annotated[float, Option("Ratio of neighboring scales, above 1.")] = 1.05
    min_neighbors: Annotated[int, Option("Raw hits needed for a box.", least=1)] = 3
    min_size: Annotated[int, Option("Smallest side of a box in pixels.", least=0)] = 0
    equalize: Annotated[bool, Option("Equalize the histogram first.")] = False
    enlarge: Annotated[
        int | None,
        Option("Shorter side in pixels to which smaller images are enlarged; boxes are mapped back.", least=1),
    ] = None
    threads: Annotated[int | None, Option("Images searched at the same time; by default one for each core.")] = None


def load(name: str, options: Options) -> Detector:
    """The cascade `name` (haarcascade_frontalface_default ...) as a detection target.

    The confidence of a box is OpenCV's level weight minus the threshold of the last stage: how far the best window
    passed it; at least 0, in votes, no probability.
    """
    try:
        import cv2
    except ImportError as error:
        raise BadInput(f"opencv:{name}: the installed OpenCV does not load ({words_of(error)}); reinstall it") from None
    files = KIND.files()
    if not hasattr(cv2, "CascadeClassifier") or not files:
        raise BadInput(f"OpenCV {cv2.__version__} has no cascades: pip install 'opencv-python-headless>=4.8,<5'")
    if name not in files:
        raise UnknownName("target", f"opencv:{name}", [f"opencv:{known}" for known in files])
    if not options.scale_factor > 1:
        raise BadInput(f"scale_factor: expected a number above 1, got {options.scale_factor:g}")
    stated = asdict(options)
    threads = stated.pop("threads")
    confidence = "level weight minus the last stage's threshold"
    settings = {"library": f"OpenCV {cv2.__version__}", **stated, "confidence": confidence}
    finder = _finder(files[name], options)
    kind = next((kind for part, kind in _KINDS if part in name), "object")
    return Detector(
        f"opencv:{name}",
        finder,
        kind=kind,
        box_convention=next((convention for part, convention in _CONVENTIONS.items() if part in name), None),
        settings=settings,
        threads=threads,
    )


def _finder(file: Path, options: Options) -> Callable[[], Find]:
    def make_find() -> Find:
        import cv2

        classifier = cv2.CascadeClassifier(str(file))
        last_stage = _last_stage_threshold(file)

        def find(image: UInt8[np.ndarray, "h w 3"]) -> Float[np.ndarray, "m 5"]:
            image, factor = enlarged(image, options.enlarge or 0)
            gray = cv2.cvtColor(np.ascontiguousarray(image), cv2.COLOR_RGB2GRAY)
            gray = cv2.equalizeHist(gray) if options.equalize else gray
            smallest = (round(options.min_size * factor),) * 2
            rectangles, _, weights = classifier.detectMultiScale3(
                gray, options.scale_factor, options.min_neighbors, 0, smallest, outputRejectLevels=True
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
