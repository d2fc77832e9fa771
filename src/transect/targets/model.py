"""A model under audit, whatever runs it: what goes in (Preprocess), what runs, what comes out (OutputSpec), and what
users may state of either.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar, final

import numpy as np

from transect.errors import BadInput, UnknownName
from transect.options import settings
from transect.records import Images, Predictions, Task
from transect.runs.table_inputs import as_names
from transect.targets.output import AUTOMATIC, OutputSpec
from transect.targets.preprocess import Aligner, Preprocess
from transect.targets.settings import LABELS, OUTPUT, POSITIVE, PREPROCESS, TASK, THRESHOLD

Run = Callable[[np.ndarray], object]
"""A batch of model inputs to raw outputs."""


@final
class ModelTarget:
    """A Target made of a function, a PyTorch module or an ONNX session.

    run gets what `preprocess` makes of the pixels, or the uint8 pixels [n, h, w, 3] themselves where it is None;
    `output` says how its answer is read. facts: what else describes the model (file, hash, versions), as JSON values.
    processor: what makes the model's inputs in place of `preprocess`.
    """

    def __init__(
        self,
        name: str,
        run: Run,
        output: OutputSpec | None = None,
        preprocess: Preprocess | None = None,
        facts: Mapping[str, object] | None = None,
        processor: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> None:
        self._run, self._preprocess, self._facts = run, preprocess, dict(facts or {})
        self._processor = processor
        self._output = output or OutputSpec()
        self._aligner = None if preprocess is None or preprocess.align is None else Aligner(preprocess)
        if self._aligner is not None and self._output.task is Task.DETECTION:
            raise BadInput("align: a detector is shown whole images; leave align out of the preprocessing")
        self.name, self.task, self.labels = name, self._output.task, self._output.labels
        self.threshold, self.positive = self._output.threshold, self._output.positive_column

    def describe(self) -> dict[str, object]:
        """Settings, preprocessing, file and versions, as JSON values."""
        preprocess = {"text": "uint8 pixels as they are"} if self._preprocess is None else self._preprocess.describe()
        faces = {} if self._aligner is None else self._aligner.facts()
        return {**self._output.describe(), "preprocess": preprocess, **faces, **self._facts}

    @property
    def wants_landmarks(self) -> bool:
        """Whether the landmarks of faces must come with the images."""
        return self._aligner is not None and self._aligner.wants_landmarks

    def inputs(self, pixels: np.ndarray) -> np.ndarray:
        """What the model gets for uint8 pixels [n, h, w, 3]."""
        if self._preprocess is not None:
            return self._preprocess.apply(pixels)
        return pixels if self._processor is None else self._processor(pixels)

    def predict(self, images: Images) -> Predictions:
        """One answer per image, in order; none, with the reason, where a face cannot be aligned."""
        if self._aligner is None:
            return self._answers(images)
        crops, lost = self._aligner.crops(images)
        kept = np.flatnonzero([not reason for reason in lost])
        return _spread(self._answers(Images(crops[kept])) if len(kept) else None, kept, lost, self.task, self.labels)

    def _answers(self, images: Images) -> Predictions:
        inputs = self.inputs(images.pixels)
        predictions = self._output.read(self._run(inputs), len(images))
        if predictions.boxes is None:
            return predictions
        return replace(predictions, boxes=tuple(self._on_image(boxes, images, inputs) for boxes in predictions.boxes))

    def _on_image(self, boxes: np.ndarray, images: Images, inputs: np.ndarray) -> np.ndarray:
        """Boxes of the model's input, in pixels of the image; a processor shows the whole image, stretched."""
        height, width = images.pixels.shape[1:3]
        if self._preprocess is not None:
            return self._preprocess.boxes_to_image(boxes, (height, width))
        if self._processor is None:
            return boxes
        return Preprocess((inputs.shape[2], inputs.shape[3])).boxes_to_image(boxes, (height, width))


def _spread(
    answers: Predictions | None, kept: np.ndarray, lost: tuple[str, ...], task: Task, labels: tuple[str, ...]
) -> Predictions:
    """The answers about the images `kept` among those that are lost for a reason. answers: None where all are lost."""
    width = len(labels) or 1 if answers is None else answers.scores.shape[1]
    scores, failures = np.full((len(lost), width), np.nan), list(lost)
    if answers is not None:
        scores[kept] = answers.scores
        for row, reason in zip(kept.tolist(), answers.failures, strict=True):
            failures[row] = reason
    return Predictions(task, scores, tuple(failures), labels=labels)


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """What may be stated of a model whose numbers are read here, and of how images enter it."""

    task: Annotated[Task | None, TASK] = None
    labels: Annotated[tuple[str, ...], LABELS] = ()
    output: Annotated[str | None, OUTPUT] = None
    threshold: Annotated[float | None, THRESHOLD] = None
    positive: Annotated[str | int | None, POSITIVE] = None
    preprocess: Annotated[Preprocess | None, PREPROCESS] = None

    def output_spec(self, heads: Collection[str] = ()) -> OutputSpec:
        """How the output is read. heads: those of detectors, whose numbers `output` may name in place of a scale."""
        task, scale, head = self.task, self.output or "probability", ""
        if scale in heads:
            task, scale, head = task or Task.DETECTION, "probability", scale
        elif heads and task is Task.DETECTION:
            head = AUTOMATIC
        _choice("output", scale, ("probability", "logit", *heads))
        return OutputSpec(task or Task.BINARY, scale, self.labels, self.threshold, self.positive, head)  # type: ignore[arg-type]


_O = TypeVar("_O")


def options_of(kind: type[_O], given: Mapping[str, object], spec: str) -> _O:
    """The options of a kind of target, each read from what a user may state. None stands for the default.

    Raises UnknownName for an option that it does not take, BadInput for a number below its limit, and as the reader of
    each option does.
    """
    known = {setting.name: setting for setting in settings(kind)}
    stated = {name: value for name, value in given.items() if value is not None}
    if stated and not known:
        raise BadInput(f"{spec} holds every setting of its target and takes no option {', '.join(stated)}")
    for name, value in stated.items():
        if name not in known:
            raise UnknownName(f"option of {spec}", name, known, "it takes no others")
        least = known[name].option.least
        if least is not None and isinstance(value, int | float) and not value >= least:
            raise BadInput(f"{spec}: {name}: expected at least {least:g}, got {value:g}")
    return kind(**{name: _READERS[name](value) if name in _READERS else value for name, value in stated.items()})


def _task(value: object) -> Task:
    return Task(_choice("task", str(value), tuple(task.value for task in Task)))


def _choice(key: str, value: object, allowed: Sequence[str]) -> str:
    if value not in allowed:
        raise UnknownName(key, str(value), allowed)
    return str(value)


def _texts(value: str | Sequence[str]) -> tuple[str, ...]:
    return tuple(value.split(",") if isinstance(value, str) else value)


def _preprocess(stated: object) -> Preprocess:
    if isinstance(stated, Preprocess):
        return stated
    if isinstance(stated, Mapping):
        return Preprocess.from_mapping(stated)
    if isinstance(stated, str | Path):
        return Preprocess.from_toml(stated)
    raise BadInput(f"preprocess: expected settings or the path of a TOML file, got {type(stated).__name__}")


_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "task": _task, "preprocess": _preprocess, "labels": _texts, "templates": as_names,
}  # fmt: skip
