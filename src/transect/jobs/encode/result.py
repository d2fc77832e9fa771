"""What an encoding reached: how near the codes' images come to the photographs, and the codes."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar, final

import pyarrow as pa

from transect.inversion.rows import median_of, rows_of_run
from transect.reports.codes import CodesResult


@final
@dataclass(frozen=True, slots=True)
class EncodedMedians:
    """Medians over the images that did not fail; None where all failed.

    perceptual: the distance between image and reconstruction; pixels: mean squared difference of values in 0..1;
    identity_distance: 1 - cosine between identity embeddings of the two.
    """

    perceptual: float | None
    pixels: float | None
    identity_distance: float | None

    @classmethod
    def of_table(cls, table: pa.Table) -> EncodedMedians:
        """Of the run's rows."""
        return cls(*(median_of(table[field.name].to_numpy()) for field in fields(cls)))


@final
@dataclass(frozen=True, slots=True)
class EncodeNumbers:
    """The summary of an encoding, which is also in `summary.json`.

    failed_ids: the first 20. encoder: trained (a file), or fitted (a regression on the generator's own images).
    encoder_r2: held-out R² of a fitted one on the generator's own images; photographs may be read worse. notes: what a
    data set left out.
    """

    out: str
    images: int
    failed: int
    failed_ids: tuple[str, ...]
    space: str
    encoder: str
    encoder_r2: float | None
    distance: str
    median: EncodedMedians
    latents: str
    sheet: str
    notes: tuple[str, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class EncodeResult(CodesResult[EncodeNumbers]):
    """The result of `transect.encode`. table: a row per image with its codes, measures and reconstruction (PNG)."""

    JOB: ClassVar[str] = "encode"
    TITLE: ClassVar[str] = "Encoding"
    DONE: ClassVar[str] = "encoded"

    @property
    def table(self) -> pa.Table:
        """id, failure, perceptual, pixels, identity_distance, codes, image (PNG)."""
        return rows_of_run(Path(self.numbers.out))
