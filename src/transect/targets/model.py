"""A model under audit, whatever runs it: what goes in (Preprocess), what runs, what comes out (OutputSpec)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import final

import numpy as np

from transect.records import Images, Predictions
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
        self.name, self.task, self.labels = name, self._output.task, self._output.labels
        self.threshold, self.positive = self._output.threshold, self._output.positive_column

    def describe(self) -> dict[str, object]:
        """Settings, preprocessing, file and versions, as JSON values."""
        preprocess = {"text": "uint8 pixels as they are"} if self._preprocess is None else self._preprocess.describe()
        return {**self._output.describe(), "preprocess": preprocess, **self._facts}

    def inputs(self, pixels: np.ndarray) -> np.ndarray:
        """What the model gets for uint8 pixels [n, h, w, 3]."""
        if self._preprocess is not None:
            return self._preprocess.apply(pixels)
        return pixels if self._processor is None else self._processor(pixels)

    def predict(self, images: Images) -> Predictions:
        """One answer per image, in order. Raises BadInput where the model's output does not fit its task."""
        predictions = self._output.read(self._run(self.inputs(images.pixels)), len(images))
        if predictions.boxes is None or self._preprocess is None:
            return predictions
        shape = images.pixels.shape[1], images.pixels.shape[2]
        boxes = tuple(self._preprocess.boxes_to_image(image_boxes, shape) for image_boxes in predictions.boxes)
        return replace(predictions, boxes=boxes)
