"""The rows of images that have codes: what was reached, which ones failed, and the codes as latents."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
from jaxtyping import Float, UInt8

from transect.datasets.latents_file import read_codes
from transect.records import Latents
from transect.runs.folder import FinishedRun

KINDS: Final = ("inversion", "encoding")
"""What the records of runs of `invert` and `encode` call themselves."""
TABLE: Final = "inversions"
PART: Final = 64
"""Images of a part of an encoding; no figure depends on it."""
_MOST_IDS: Final = 20


def parts_of(run: FinishedRun) -> int:
    """How many parts a run of `invert` or `encode` has."""
    return math.ceil(int(run.record["images"]["count"]) / int(run.record.get("batch", PART)))


def rows_of_run(folder: Path) -> pa.Table:
    """All rows of a finished run of `invert` or `encode`. Raises BadInput for another folder."""
    run = FinishedRun(folder)
    return run.read_table(TABLE, parts_of(run))


def read_latents(path: Path) -> tuple[tuple[str, ...], Latents]:
    """Ids and latents of a file of latents; rows that failed are NaN. Raises BadInput for other files.

    Codes of w+ are [n, layers * w_dim], as generators render them; the seed of a row is its place.
    """
    inverted = read_codes(path)
    return inverted.ids, Latents(np.arange(len(inverted.codes)), inverted.codes, inverted.space)


def median_of(values: Float[np.ndarray, " n"]) -> float | None:
    """The median of the finite values; None where there are none.

    >>> median_of(np.array([1.0, np.nan, 3.0]))
    2.0
    """
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else None


def failed_ids(table: pa.Table) -> tuple[int, tuple[str, ...]]:
    """How many rows have a failure, and the ids of the first 20."""
    failed = [name for name, why in zip(table["id"].to_pylist(), table["failure"].to_pylist(), strict=True) if why]
    return len(failed), tuple(failed[:_MOST_IDS])


def identity_distances(
    pixels: UInt8[np.ndarray, "n h w 3"], reconstructions: UInt8[np.ndarray, "n h w 3"], failures: Sequence[str]
) -> Float[np.ndarray, " n"]:
    """1 - cosine between the identity embeddings of each image and its reconstruction; NaN for failures."""
    from transect.perceptual.features import identities, identity_distance

    apart = identity_distance(identities(pixels), identities(reconstructions))
    apart[[bool(reason) for reason in failures]] = np.nan
    return apart
