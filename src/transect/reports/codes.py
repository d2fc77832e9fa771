"""Images with codes of a generator, as `invert` and `encode` find them: the files of the run, and the short page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeVar

import numpy as np
import pyarrow as pa
from jaxtyping import UInt8

from transect.datasets.features import LATENTS, content_of_codes
from transect.inversion.parts import ENCODER_R2, ToolsPlan, read_latents
from transect.records import Latents
from transect.reports.blocks import Picture
from transect.reports.builder import ShortPageResult
from transect.reports.sheets import paired_sheet
from transect.runs.capabilities import description
from transect.runs.folder import write_atomically
from transect.runs.json_records import loads
from transect.runs.pictures import pixels_of_png
from transect.runs.wording import counted, spaced

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

SHEET: Final = "sheet.png"
SHOWN: Final = 8
"""Images on the sheet."""
_MOST_IDS: Final = 20
LOWEST_R2: Final = 0.1
"""Below this held-out R² a fitted encoder hardly follows the images."""


class CodesNumbers(Protocol):
    """What the summaries of `invert` and `encode` share.

    median: of the images that did not fail. encoder_r2: held-out R² of a fitted encoder, None without one. notes: what
    a data set left out.
    """

    @property
    def images(self) -> int: ...  # noqa: D102
    @property
    def failed(self) -> int: ...  # noqa: D102
    @property
    def space(self) -> str: ...  # noqa: D102
    @property
    def median(self) -> DataclassInstance: ...  # noqa: D102
    @property
    def encoder_r2(self) -> float | None: ...  # noqa: D102
    @property
    def latents(self) -> str: ...  # noqa: D102
    @property
    def sheet(self) -> str: ...  # noqa: D102
    @property
    def notes(self) -> tuple[str, ...]: ...  # noqa: D102


CodesNumbers_co = TypeVar("CodesNumbers_co", bound=CodesNumbers, covariant=True)


class CodesResult(ShortPageResult[CodesNumbers_co]):
    """A result of images with codes. DONE: what was done to them."""

    TABLE: ClassVar[str] = "Medians"
    DONE: ClassVar[str]

    @property
    def latents(self) -> tuple[tuple[str, ...], Latents]:
        """Ids and latents; rows that failed are NaN."""
        return read_latents(Path(self.numbers.latents))

    def pictures(self) -> Sequence[Picture]:
        """The sheet of reconstructions."""
        caption = "Images in the upper row, what their codes render in the row below."
        return [Picture(Path(self.numbers.sheet).read_bytes(), caption)]

    def headline(self) -> str:
        """How many images have codes, and how many failed."""
        count = counted(self.numbers.images, "image")
        return f"{count} {self.DONE} into {self.numbers.space}, {self.numbers.failed:,} failed"

    def notes(self) -> Sequence[str]:
        """How good a fitted encoder is, and what a data set left out."""
        r2 = self.numbers.encoder_r2
        if r2 is None:
            return self.numbers.notes
        low = f" It is below {LOWEST_R2:g}: the codes hardly follow the images." if r2 < LOWEST_R2 else ""
        quality = (
            f"R² of the fitted encoder is {r2:.2f} on images of the generator that it did not see; photographs may"
            f" be read worse.{low}"
        )
        return [quality, *self.numbers.notes]

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """The medians."""
        median = self.numbers.median
        values = [(spaced(field.name), getattr(median, field.name)) for field in fields(median)]
        return ["measure", "median"], [[name, "unknown" if value is None else f"{value:.4g}"] for name, value in values]

    def lines(self) -> Sequence[str]:
        """The notes, and where the files are."""
        return [*self.notes(), f"latents: {self.numbers.latents}", f"sheet: {self.numbers.sheet}"]


def write_codes(out: Path, table: pa.Table, images: UInt8[np.ndarray, "m h w 3"], plan: ToolsPlan) -> dict[str, Any]:
    """Write latents.safetensors and sheet.png. images: the first `SHOWN`. Returns what the summaries share."""
    ids, shape = table["id"].to_pylist(), plan.network.codes(plan.space).mean.shape
    codes = np.array(table["codes"].to_pylist(), dtype=np.float32).reshape(len(table), *shape)
    write_atomically(out / LATENTS, content_of_codes(ids, codes, plan.space, description(plan.generator)))
    below = np.stack([pixels_of_png(table["image"][row].as_py()) for row in range(len(images))])
    write_atomically(out / SHEET, paired_sheet(images, below))
    failed = [name for name, reason in zip(ids, table["failure"].to_pylist(), strict=True) if reason]
    return {
        "out": str(out),
        "images": len(table),
        "failed": len(failed),
        "failed_ids": tuple(failed[:_MOST_IDS]),
        "space": plan.space,
        "distance": plan.distance,
        "encoder_r2": loads((table.schema.metadata or {}).get(ENCODER_R2, b"null")),
        "latents": str(out / LATENTS),
        "sheet": str(out / SHEET),
    }
