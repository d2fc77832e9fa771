"""The near-boundary band: the scores between which a subject's own image must lie, where the user sets one.

DIR/boundary.json   [low, high], in a run or a folder of studies; changes no image and no answer
"""

from __future__ import annotations

import math
from typing import Any, Final

from transect.errors import BadInput
from transect.runs.setting_files import SettingFile


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


def _read(stored: Any) -> tuple[float, float] | None:
    low, high = stored
    return check((float(low), float(high)))


STORED: Final = SettingFile[tuple[float, float] | None]("boundary.json", "[low, high]", "--boundary", None, _read)
FILE: Final = STORED.name
read = STORED.read
write = STORED.write
