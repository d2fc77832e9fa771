"""What an inversion found: how well each image is matched, and its latents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar, Final, final

import numpy as np
import pyarrow as pa

from transect.datasets.latents_file import LATENTS
from transect.inversion.rows import failed_ids, median_of, read_latents
from transect.records import Latents
from transect.reports.blocks import Picture
from transect.reports.short_page import ShortPageResult
from transect.runs.plain_json import loads
from transect.runs.wording import counted, spaced

ENCODER_R2: Final = b"encoder_r2"
"""The key of the encoder's held-out R² in a part's schema metadata."""


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
    def of(cls, table: pa.Table) -> InversionMedians:
        """Of the run's rows."""
        return cls(*(median_of(table[field.name].to_numpy().astype(np.float64)) for field in fields(cls)))


@final
@dataclass(frozen=True, slots=True)
class InversionNumbers:
    """The summary of an inversion, which is also in `summary.json`.

    failed_ids: the first 20. steps: at most, for each image. encoder_r2: held-out R² of the regression at which the
    search began, if it did.
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


@final
@dataclass(frozen=True, slots=True)
class InvertResult(ShortPageResult[InversionNumbers]):
    """The result of `transect.invert`. table: a row per image with its codes, measures and reconstruction (PNG)."""

    JOB: ClassVar[str] = "invert"
    TITLE: ClassVar[str] = "Inversion"
    TABLE: ClassVar[str] = "Medians"

    @property
    def table(self) -> pa.Table:
        """id, failure, perceptual, pixels, restriction, identity_distance, steps, objective, codes, image (PNG)."""
        from transect.jobs.invert.run import rows_of_run

        return rows_of_run(Path(self.numbers.out))

    @property
    def latents(self) -> tuple[tuple[str, ...], Latents]:
        """Ids and latents; rows that failed are NaN."""
        return read_latents(Path(self.numbers.latents))

    def pictures(self) -> Sequence[Picture]:
        """The sheet of reconstructions."""
        caption = "Images in the upper row, what their latents render in the row below."
        return [Picture(Path(self.numbers.sheet).read_bytes(), caption)]

    def headline(self) -> str:
        """How many images were inverted, and how many failed."""
        count = counted(self.numbers.images, "image")
        return f"{count} inverted into {self.numbers.space}, {self.numbers.failed:,} failed"

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """The medians."""
        median = self.numbers.median
        values = [(spaced(field.name), getattr(median, field.name)) for field in fields(median)]
        shown = [[name, "unknown" if value is None else f"{value:.4g}"] for name, value in values]
        return ["measure", "median"], shown


def numbers_of(table: pa.Table, *, out: Path, space: str, penalty: float, steps: int, distance: str, start: str) -> (
    InversionNumbers
):  # fmt: skip
    """The summary of a run's rows."""
    failed, first = failed_ids(table)
    return InversionNumbers(
        out=str(out),
        images=len(table),
        failed=failed,
        failed_ids=first,
        space=space,
        penalty=penalty,
        steps=steps,
        distance=distance,
        start=start,
        encoder_r2=loads((table.schema.metadata or {}).get(ENCODER_R2, b"null")),
        median=InversionMedians.of(table),
        latents=str(out / LATENTS),
        sheet=str(out / "sheet.png"),
    )
