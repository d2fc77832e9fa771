"""A model under audit, whatever runs it: what goes in (Preprocess), what runs, what comes out (OutputSpec)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import final

import numpy as np

from transect.errors import BadInput
from transect.records import Images, Predictions, Task
from transect.targets.aligner import Aligner
from transect.targets.output import OutputSpec
from transect.targets.preprocess import Preprocess

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
        """One answer per image, in order; none, with the reason, where a face cannot be aligned.

        Raises BadInput where the model's output does not fit its task.
        """
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
