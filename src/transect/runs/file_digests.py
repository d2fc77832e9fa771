"""The digest of a file, or of a folder that a command reads."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from pathlib import Path
from typing import Final

from transect.runs.model_files import sha256

_SPECS: Final = ("run.json", "training.json")
"""A folder with one of these is known by it: what a run or a training was made with."""


def digest(path: Path, *, own: bool = True, besides: Collection[str] = ()) -> str:
    """SHA-256 of a file, of a run's spec, or of the files of another folder; own=False: of their names and sizes.

    besides: names of files of a folder that do not count.
    """
    if path.is_file():
        return sha256(path)
    for name in _SPECS:
        if (path / name).is_file():
            return sha256(path / name)
    files = (file for file in sorted(path.rglob("*")) if file.is_file() and file.name not in besides)
    lines = [f"{file.relative_to(path).as_posix()} {sha256(file) if own else file.stat().st_size}" for file in files]
    return hashlib.sha256("\n".join(lines).encode(errors="surrogateescape")).hexdigest()
