"""Images with codes of a generator, as `invert` and `encode` find them: files of the run, and what the page shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from transect.datasets.features import LATENTS, content_of_codes
from transect.inversion.codes import CodesRun
from transect.inversion.parts import ENCODER_R2, rows_of_run
from transect.reports.blocks import Part, Picture
from transect.reports.columns import Column, Table
from transect.reports.content import Content
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
_SHEET: Final = "Images in the upper row, what their codes render in the row below."


@dataclass(frozen=True, kw_only=True)
class CodesNumbers:
    """What the summaries of `invert` and `encode` share.

    failed_ids: the first 20. distance: by which reconstructions are measured. encoder_r2: held-out R² of a fitted
    encoder on the generator's own images, None without one; photographs may be read worse. latents, sheet: files.
    notes: what a data set left out.
    """

    out: str
    images: int
    failed: int
    failed_ids: tuple[str, ...]
    space: str
    distance: str
    encoder_r2: float | None
    latents: str
    sheet: str
    notes: tuple[str, ...] = ()

    def content(self, title: str, done: str, medians: DataclassInstance) -> Content:
        """How many images have codes, and how near these come. done: what was done to them."""
        headline = f"{counted(self.images, 'image')} {done} into {self.space}, {self.failed:,} failed"
        table, remarks = _medians_table(medians), self._remarks()
        sheet = Picture(Path(self.sheet).read_bytes(), _SHEET)
        return Content(
            title=title,
            answer=[headline],
            remarks=remarks,
            table=table,
            rows=lambda: rows_of_run(Path(self.out)),
            parts=[Part("pictures", "Pictures", (sheet,))],
            terminal=[headline, table, *remarks, f"latents: {self.latents}", f"sheet: {self.sheet}"],
        )

    def _remarks(self) -> Sequence[str]:
        """How good a fitted encoder is, and what a data set left out."""
        r2 = self.encoder_r2
        if r2 is None:
            return self.notes
        low = f" It is below {LOWEST_R2:g}: the codes hardly follow the images." if r2 < LOWEST_R2 else ""
        quality = (
            f"R² of the fitted encoder is {r2:.2f} on images of the generator that it did not see; photographs may"
            f" be read worse.{low}"
        )
        return [quality, *self.notes]


def _medians_table(medians: DataclassInstance) -> Table[tuple[str, float | None]]:
    rows = [(field.name, getattr(medians, field.name)) for field in fields(medians)]
    columns: Sequence[Column[tuple[str, float | None]]] = (
        Column("measure", lambda row: spaced(row[0])),
        Column("median", lambda row: math.nan if row[1] is None else row[1], "number"),
    )
    return Table("Medians", rows, columns)


def write_codes(out: Path, table: pa.Table, run: CodesRun) -> dict[str, Any]:
    """Write latents.safetensors and sheet.png. Returns the fields of `CodesNumbers`."""
    plan = run.plan
    ids, shape = table["id"].to_pylist(), plan.network.codes(plan.space).mean.shape
    codes = np.array(table["codes"].to_pylist(), dtype=np.float32).reshape(len(table), *shape)
    write_atomically(out / LATENTS, content_of_codes(ids, codes, plan.space, description(plan.generator)))
    above, _ = run.pictures.readable(range(min(SHOWN, len(table))))
    below = np.stack([pixels_of_png(table["image"][row].as_py()) for row in range(len(above))])
    write_atomically(out / SHEET, paired_sheet(above, below))
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
        "notes": run.pictures.notes,
    }
