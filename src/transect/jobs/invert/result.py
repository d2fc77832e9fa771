"""What an inversion found: how well each image is matched, and its latents."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar, final

import numpy as np
import pyarrow as pa

from transect.inversion.rows import median_of, rows_of_run
from transect.reports.codes import CodesResult


@final
@dataclass(frozen=True, slots=True)
class InversionMedians:
    """Medians over the images that did not fail; None where all failed.

    perceptual: the distance without pixels; pixels: mean squared difference of values in 0..1; restriction: Σ |w_j -
    mean|²; identity_distance: 1 - cosine between identity embeddings of image and reconstruction; steps: taken until
    the image stopped.
    """

    perceptual: float | None
    pixels: float | None
    restriction: float | None
    identity_distance: float | None
    steps: float | None

    @classmethod
    def of_table(cls, table: pa.Table) -> InversionMedians:
        """Of the run's rows."""
        return cls(*(median_of(table[field.name].to_numpy().astype(np.float64)) for field in fields(cls)))


@final
@dataclass(frozen=True, slots=True)
class InversionNumbers:
    """The summary of an inversion, which is also in `summary.json`.

    failed_ids: the first 20. steps: at most, for each image. encoder_r2: held-out R² of the regression at which the
    search began, if it did. notes: what a data set left out.
    """

    out: str
    images: int
    failed: int
    failed_ids: tuple[str, ...]
    space: str
    penalty: float
    steps: int
    distance: str
    start: str
    encoder_r2: float | None
    median: InversionMedians
    latents: str
    sheet: str
    notes: tuple[str, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class InvertResult(CodesResult[InversionNumbers]):
    """The result of `transect.invert`. table: a row per image with its codes, measures and reconstruction (PNG)."""

    JOB: ClassVar[str] = "invert"
    TITLE: ClassVar[str] = "Inversion"
    DONE: ClassVar[str] = "inverted"

    @property
    def table(self) -> pa.Table:
        """id, failure, perceptual, pixels, restriction, identity_distance, steps, objective, codes, image (PNG)."""
        return rows_of_run(Path(self.numbers.out))
