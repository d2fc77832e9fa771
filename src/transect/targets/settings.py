"""What users may state of a target. Each setting is declared once; a kind's `Options` says which of them it takes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, final

from transect.options import Option

_PANEL: Final = "Model"


def _split(text: str | None) -> tuple[str, ...] | None:
    return tuple(name.strip() for name in text.split(",")) if text else None


TASK: Final = Option(
    "The model's task: binary, multiclass, multilabel, detection, regression or embedding.", panel=_PANEL, opens="value"
)
PREPROCESS: Final = Option(
    "TOML file with the model's preprocessing.", kind=Path | None, panel=_PANEL, opens="data", rare=True
)
LABELS: Final = Option(
    "Names of the model's classes, separated by commas.", kind=str | None, read=_split, panel=_PANEL, opens="value"
)
POSITIVE: Final = Option(
    "The class or label that counts as yes; for a detector, one or more, separated by commas.",
    panel=_PANEL,
    opens="value",
)
THRESHOLD: Final = Option(
    "Smallest score that counts as yes; for embeddings, smallest cosine distance that counts as no match.", panel=_PANEL
)
OUTPUT: Final = Option(
    "What the model returns: probability, logit, or the head of a detector, such as yolov8.",
    panel=_PANEL,
    rare=True,
    opens="value",
)
OUTPUT_NAME: Final = Option(
    "For an ONNX or TensorFlow Lite model with several outputs: the one to read, or for a detector all it needs, such "
    "as A,B.",
    panel=_PANEL,
    rare=True,
    opens="value",
)
ISOLATE: Final = Option(
    "Run the model in a separate process: a crash or a call that hangs then fails one image and not the run. Default "
    "for Python, PyTorch and ONNX models and plug-ins.",
    names=("--isolate/--no-isolate",),
    panel=_PANEL,
    rare=True,
)
TEMPLATES: Final = Option(
    "For an open model with --labels: a sentence with {} for the label; repeatable, and scores are averaged over "
    "them. hf:FOLDER#2 uses only the second.",
    names=("--template",),
    panel=_PANEL,
    rare=True,
    opens="value",
)
DTYPE: Final = Option(
    "Number format of an open model: float32 (default), float16 or bfloat16.", panel=_PANEL, rare=True, opens="value"
)
DEVICE: Final = Option(
    "Where an open or PyTorch model runs: cpu (default), cuda, cuda:1, …", panel=_PANEL, rare=True, opens="value"
)
ALLOW_DOWNLOAD: Final = Option(
    "Download the model of hf:ID if it is not in the local cache; default: download nothing.",
    names=("--allow-download/--no-download",),
    panel=_PANEL,
    rare=True,
)


@final
@dataclass(frozen=True, slots=True)
class ModelSettings:
    """How the answers of a target given by name or as a function are read; None leaves each at its default.

    task: binary, multiclass, multilabel, detection, regression or embedding. preprocess: a TOML file, or its content.
    positive: the class that counts as yes. threshold: the score from which the answer is yes; of embeddings the cosine
    distance from which two images do not match. output: "probability" or "logit". output_name: which of an ONNX
    model's outputs is read. isolate: whether a target given by name runs in a separate process; by default those that
    run the code of others do. templates: sentences with {} for the label, of a model with labels in words. dtype,
    model_device: numbers of an open model, and where it or a PyTorch model is computed. allow_download: whether the
    model of an id may be downloaded.
    """

    task: Annotated[str | None, TASK] = None
    preprocess: Annotated[Path | Mapping[str, object] | None, PREPROCESS] = None
    labels: Annotated[Sequence[str] | None, LABELS] = None
    positive: Annotated[str | None, POSITIVE] = None
    threshold: Annotated[float | None, THRESHOLD] = None
    output: Annotated[str | None, OUTPUT] = None
    output_name: Annotated[str | None, OUTPUT_NAME] = None
    isolate: Annotated[bool | None, ISOLATE] = None
    templates: Annotated[Sequence[str] | None, TEMPLATES] = None
    dtype: Annotated[str | None, DTYPE] = None
    model_device: Annotated[str | None, DEVICE] = None
    allow_download: Annotated[bool | None, ALLOW_DOWNLOAD] = None

    def options(self) -> dict[str, object]:
        """The settings that are not None, as `resolve_targets` takes them."""
        settings = {entry.name: getattr(self, entry.name) for entry in dataclasses.fields(self)}
        settings["device"] = settings.pop("model_device")
        return {name: value for name, value in settings.items() if value is not None}
