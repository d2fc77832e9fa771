"""COCO's outlines as runs of pixels: plain lists, and the strings into which its tools pack them.

Runs lie down one column after the other, first without and then with the object. A packed string writes each number in
groups of five bits, lowest first, a character for each group: 48 plus the bits, plus 32 where another group follows.
The last group's highest bit is the sign. From the fourth number on, a string holds the difference to the number two
places before. Source: Lin et al. 2014, arXiv:1405.0312, and the mask format of https://cocodataset.org/#format-data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from jaxtyping import Bool

from transect.errors import BadInput

_FIRST: Final = 48
_BITS: Final = 5
_SIGN: Final = 16
_MORE: Final = 32
_MOST_GROUPS: Final = 8
"""A picture has fewer than 2³⁵ pixels, and a difference needs a sign."""


def pixels_of_runs(marked: Mapping[str, Any], width: int, height: int, name: str) -> Bool[np.ndarray, "h w"]:
    """The pixels of an object from its runs. marked: `counts`, a list or a packed string. name: of the picture."""
    counts = marked.get("counts")
    try:
        runs = unpacked(counts) if isinstance(counts, str) else counts
    except BadInput as error:
        raise BadInput(f"{name}: {error}") from None
    if not isinstance(runs, list) or not all(type(run) is int and run >= 0 for run in runs):
        raise BadInput(f"{name}: expected an outline's counts as a list of whole numbers or a packed string")
    if sum(runs) != width * height:
        raise BadInput(
            f"{name}: expected an outline's counts to sum to {width * height} pixels, got {sum(runs)}; fetch the file "
            "again"
        )
    return np.repeat(np.arange(len(runs)) % 2 == 1, runs).reshape(width, height).T


def unpacked(text: str) -> list[int]:
    """The run lengths of a packed string. Raises BadInput for a character outside 0 to o, or a number cut short."""
    runs: list[int] = []
    value = groups = 0
    for character in text:
        bits = ord(character) - _FIRST
        if not 0 <= bits < 2 * _MORE or groups == _MOST_GROUPS:
            raise BadInput(f"expected an outline's packed counts, got {character!r} in place {len(runs) + 1}")
        value |= (bits & (_MORE - 1)) << (_BITS * groups)
        groups += 1
        if not bits & _MORE:
            value -= (1 << (_BITS * groups)) if bits & _SIGN else 0
            runs.append(value + (runs[-2] if len(runs) > 2 else 0))
            value = groups = 0
    if groups:
        raise BadInput(f"expected an outline's packed counts, got one that is cut short after {len(runs)} numbers")
    return runs
