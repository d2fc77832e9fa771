"""What the pages of trainings share: the last figures, and the latest sheet of samples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from transect.reports.blocks import Part, Picture
from transect.reports.columns import Column, Table, significant
from transect.runs.wording import counted, spaced

_Figure = tuple[str, object]
_COLUMNS: Final[Sequence[Column[_Figure]]] = (
    Column("figure", lambda figure: spaced(figure[0])),
    Column("value", lambda figure: _text(figure[1])),
)


def figures_table(figures: Mapping[str, object]) -> Table[_Figure]:
    """A row for each: the network's file, and the figures of the last step or epoch."""
    return Table("Last figures", list(figures.items()), _COLUMNS)


def samples(folder: Path) -> Sequence[Part]:
    """The latest sheet of samples in the folder of a training; none where it has none."""
    return [
        Part("pictures", "Pictures", (Picture(sheet.read_bytes(), f"Samples after {counted(shown, 'image')}"),))
        for sheet in sorted((folder / "sheets").glob("*.png"))[-1:]
        if (shown := int(sheet.stem))
    ]


def _text(value: object) -> str:
    if isinstance(value, float):
        return significant(value, 4) if math.isfinite(value) else "not finite"
    if isinstance(value, int):
        return f"{value:,}"
    return "–" if value is None else str(value)
