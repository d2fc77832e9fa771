"""Arrow IPC files (.arrow, .feather), read by a process of their own, which a damaged file may end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pyarrow as pa

from transect.runs import bounds

_CHILD: Final = Path(__file__).with_name("arrow_child.py")
_REFUSED: Final = 3
_SECONDS: Final = 600


def read_arrow(path: Path) -> pa.Table:
    """The table of an Arrow file or stream, validated in full within the memory that `bounds` allows."""
    size = bounds.size_of(path)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "ARROW_DEFAULT_MEMORY_POOL": "system",
    }
    command = [sys.executable, "-P", str(_CHILD), str(path.resolve()), str(bounds.allowed(size))]
    try:
        child = subprocess.run(command, capture_output=True, check=False, timeout=_SECONDS, env=environment)  # noqa: S603
    except subprocess.TimeoutExpired:
        raise ValueError(f"no end of it within {_SECONDS} s") from None
    if child.returncode == _REFUSED:
        raise ValueError(child.stderr.decode(errors="replace"))
    if child.returncode:
        raise ValueError(f"a damaged one, whose reader ended with status {child.returncode}")
    table = pa.ipc.open_stream(pa.BufferReader(child.stdout)).read_all()
    bounds.check_table(table, str(path), size)
    return table
