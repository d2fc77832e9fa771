"""The rows of fitted twins as a run keeps them, and FaceWorld's latents from them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from transect.generators.faceworld.causal_model import IDENTITY_COLUMNS, LATENT_DIM, SPACE
from transect.inversion.twins import LIGHT, PLAIN, SHAPE
from transect.records import Latents
from transect.runs.folder import FinishedRun

TABLE: Final = "twins"
KIND: Final = "twins"
PART: Final = 4
"""Photographs of a part; no figure depends on it."""
SETTINGS: Final = (*SHAPE, *LIGHT, *PLAIN)
"""What is set of each twin; its column is `set.NAME`."""
CODE: Final = "identity"


def rows_of_twins(folder: Path) -> pa.Table:
    """All rows of a finished run of twins, a row per photograph. Raises BadInput for another folder."""
    run = FinishedRun(folder)
    return run.read_table(TABLE, math.ceil(int(run.record["images"]["count"]) / PART))


def latents_of_rows(table: pa.Table) -> tuple[tuple[str, ...], Latents]:
    """Ids of the photographs that have a twin, and the twins' latents, which FaceWorld renders at any size."""
    fitted = table.filter(pc.equal(table["reason"], ""))
    values = np.zeros((len(fitted), LATENT_DIM))
    values[:, IDENTITY_COLUMNS] = np.array(fitted[CODE].to_pylist()).reshape(len(fitted), len(IDENTITY_COLUMNS))
    settings = {name: fitted[f"set.{name}"].to_numpy().astype(np.float64) for name in SETTINGS}
    return tuple(fitted["id"].to_pylist()), Latents(np.zeros(len(fitted), dtype=np.int64), values, SPACE, settings)


def read_twins(folder: str | Path) -> tuple[tuple[str, ...], Latents]:
    """The same of a run's folder. Raises BadInput for another folder."""
    return latents_of_rows(rows_of_twins(Path(folder)))
