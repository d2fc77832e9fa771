"""Stock detectors: a finder that must not be shared between threads, run over images in parallel."""

from __future__ import annotations

import queue
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final, final

import numpy as np
from jaxtyping import Float, UInt8

from transect.engines.protocol import cores
from transect.errors import BadInput
from transect.records import Images, Predictions, Task
from transect.targets.capabilities import BoxConvention
from transect.targets.output import detections

Find = Callable[[UInt8[np.ndarray, "h w 3"]], Float[np.ndarray, "_ 5"]]
"""Boxes x0, y0, x1, y1, confidence of one sRGB image."""


@final
class Detector:
    """A Target that finds boxes. Each image is searched alone, so neither batch nor threads change an answer.

    make_find: builds a finder, one for every thread at work. kind: what is found ("face", "eye" ...). box_convention:
    None where any box counts. settings: JSON values. threads: images searched at the same time; None for one per core.
    """

    task = Task.DETECTION

    def __init__(
        self,
        name: str,
        make_find: Callable[[], Find],
        *,
        kind: str,
        box_convention: BoxConvention | None = None,
        settings: Mapping[str, object],
        threads: int | None = None,
    ) -> None:
        if threads is not None and threads < 1:
            raise BadInput(f"threads: expected at least 1, got {threads}")
        self.name, self.kind, self.box_convention = name, kind, box_convention
        self._make_find, self._settings = make_find, dict(settings)
        self._threads = threads or cores()
        self._idle: queue.SimpleQueue[Find] = queue.SimpleQueue()

    def describe(self) -> dict[str, object]:
        """Library, settings and what is found, as JSON values."""
        return {"kind": self.kind, **self._settings}

    def predict(self, images: Images) -> Predictions:
        """Boxes of each image, in a fixed order: best confidence first, then from left to right and top to bottom."""
        with ThreadPoolExecutor(max(1, min(self._threads, len(images)))) as pool:
            return detections(list(pool.map(self._search, images.pixels)))

    def _search(self, image: UInt8[np.ndarray, "h w 3"]) -> Float[np.ndarray, "m 5"]:
        try:
            find = self._idle.get_nowait()
        except queue.Empty:
            find = self._make_find()
        boxes = find(image)
        self._idle.put(find)
        return boxes[np.lexsort((boxes[:, 1], boxes[:, 0], -boxes[:, 4]))]


LONGEST: Final = 4096
"""Pixels of the longer side of an enlarged image."""


def enlarged(image: UInt8[np.ndarray, "h w 3"], shorter: int) -> tuple[UInt8[np.ndarray, "a b 3"], float]:
    """The image with its shorter side enlarged to `shorter` pixels (Pillow, bicubic), and the factor, at least 1.

    The longer side is not enlarged beyond LONGEST: a strip of one pixel by 512 would take gigabytes.
    """
    from PIL import Image

    factor = min(shorter / min(image.shape[:2]), max(1.0, LONGEST / max(image.shape[:2])))
    if factor <= 1:
        return image, 1.0
    size = round(image.shape[1] * factor), round(image.shape[0] * factor)
    return np.asarray(Image.fromarray(np.ascontiguousarray(image)).resize(size, Image.Resampling.BICUBIC)), factor
