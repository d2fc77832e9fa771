"""The near-boundary band: the scores between which a subject's own image must lie, where the user sets one.

DIR/boundary.json   [low, high], in a run or a folder of studies; changes no image and no answer
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Final

from transect.errors import BadInput
from transect.runs import mounts
from transect.runs.folder import write_json
from transect.runs.json_records import read_json

FILE: Final = "boundary.json"


def check(band: tuple[float, float] | None) -> tuple[float, float] | None:
    """The band as it is. Raises BadInput unless its ends are finite and rise.

    >>> check((0.2, 0.8))
    (0.2, 0.8)
    """
    if band is None or (all(map(math.isfinite, band)) and band[0] < band[1]):
        return band
    raise BadInput(
        f"--boundary {band[0]:g} {band[1]:g}: expected LOW below HIGH, two scores around the threshold; write for "
        "example --boundary 0.3 0.7"
    )


def of_steps(stepped: bool) -> None:
    """Raises BadInput where nothing moves in steps λ, which alone start at a subject's own image."""
    if not stepped:
        raise BadInput(
            "--boundary: expected attributes moved in steps, which begin at each subject's own image, got none; give "
            "--steps to the audit, or leave --boundary out"
        )


def write(folder: Path, band: tuple[float, float] | None) -> None:
    """Store the band in a run folder, so that a later report uses it too; None deletes the file."""
    path = folder / FILE
    if band is not None:
        write_json(path, band, indent=None)
    else:
        mounts.discard(path)


def read(folder: Path) -> tuple[float, float] | None:
    """The band stored in a run folder; None where there is none. Raises BadInput for a file that holds none."""
    path = folder / FILE
    if not path.exists():
        return None
    stored = read_json(path, "[low, high]", "delete it, or give --boundary again")
    try:
        low, high = stored
        return check((float(low), float(high)))
    except (ValueError, TypeError):
        raise BadInput(f"{path}: expected [low, high]; delete it, or give --boundary again") from None
