"""What a benchmark found, as a record that all benchmarks share: `python -m benchmarks` collects them.

A benchmark calls `record` for each ratio that it prints. Alone, `python benchmarks/effects.py`, it only prints.
"""

from __future__ import annotations

import json
import math
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

FILE: Final = "TRANSECT_BENCHMARK_RECORDS"
"""The variable with the path of the file that records are added to."""
QUICK: Final = "--quick" in sys.argv
"""Whether sizes are those of a smoke test, whose ratios say little."""


@dataclass(frozen=True, slots=True)
class Record:
    """One ratio against a peer in the same run.

    name: what was measured. peer: what it was compared with. ratio: in the unit; None where the peer has nothing to
    compare with. unit: one of those below. repeats: runs of which the best or the median counts, or searches.
    """

    name: str
    peer: str
    ratio: float | None
    unit: str
    repeats: int


FASTER: Final = "times as fast"
LONGER: Final = "times the time"
MORE: Final = "times as many found"
WIDER: Final = "times as wide"


def record(name: str, peer: str, ratio: float, unit: str, repeats: int) -> None:
    """Keep one ratio where records are collected; one that is not finite is kept as None."""
    if path := os.environ.get(FILE):
        found = Record(name, peer, float(ratio) if math.isfinite(ratio) else None, unit, repeats)
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(found)) + "\n")
