"""What an encoding reached: how near the codes' images come to the photographs, and the codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar, Final, final

import pyarrow as pa

from transect.inversion.rows import median_of, read_latents
from transect.records import Latents
from transect.reports.blocks import Picture
from transect.reports.short_page import ShortPageResult
from transect.runs.wording import counted, spaced

LOWEST_R2: Final = 0.1
"""Below this held-out R² a fitted encoder hardly follows the images."""


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
    def of(cls, table: pa.Table) -> EncodedMedians:
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
class EncodeResult(ShortPageResult[EncodeNumbers]):
    """The result of `transect.encode`. table: a row per image with its codes, measures and reconstruction (PNG)."""

    JOB: ClassVar[str] = "encode"
    TITLE: ClassVar[str] = "Encoding"
    TABLE: ClassVar[str] = "Medians"

    @property
    def table(self) -> pa.Table:
        """id, failure, perceptual, pixels, identity_distance, codes, image (PNG)."""
        from transect.jobs.encode.run import rows_of_run

        return rows_of_run(Path(self.numbers.out))

    @property
    def latents(self) -> tuple[tuple[str, ...], Latents]:
        """Ids and latents; rows that failed are NaN."""
        return read_latents(Path(self.numbers.latents))

    def pictures(self) -> Sequence[Picture]:
        """The sheet of reconstructions."""
        caption = "Images in the upper row, what their codes render in the row below."
        return [Picture(Path(self.numbers.sheet).read_bytes(), caption)]

    def headline(self) -> str:
        """How many images were encoded, and how many failed."""
        count = counted(self.numbers.images, "image")
        return f"{count} encoded into {self.numbers.space}, {self.numbers.failed:,} failed"

    def notes(self) -> Sequence[str]:
        """How good the encoder is, and what a data set left out."""
        r2 = self.numbers.encoder_r2
        if r2 is None:
            quality = []
        else:
            low = f" It is below {LOWEST_R2:g}: the codes hardly follow the images." if r2 < LOWEST_R2 else ""
            quality = [
                f"R² of the fitted encoder is {r2:.2f} on images of the generator that it did not see; photographs may"
                f" be read worse.{low}"
            ]
        return [*quality, *self.numbers.notes]

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """The medians."""
        median = self.numbers.median
        values = [(spaced(field.name), getattr(median, field.name)) for field in fields(median)]
        return ["measure", "median"], [[name, "unknown" if value is None else f"{value:.4g}"] for name, value in values]
