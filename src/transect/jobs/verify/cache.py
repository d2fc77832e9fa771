"""Stores what is computed: figures as JSON and tables as Parquet, by name and the settings that they depend on.

A file is written to a temporary name and renamed, so that every file is complete. Its name holds a hash of the
settings, so that figures of another renderer, size or number of subjects are never mixed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import final

import pyarrow as pa
import pyarrow.parquet as pq

from transect.runs import bounds
from transect.runs.folder import canonical_json, spec_hash, write_atomically
from transect.runs.locks import lock_folder
from transect.runs.plain_json import loads

Settings = Mapping[str, object]
Figures = dict[str, object]
"""Figures by name, in JSON's own types."""


@final
class Cache:
    """A folder of finished figures; use it as a context manager, which keeps other processes out.

    Raises FolderInUse, or RunFolderError when the folder cannot be made.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> Cache:
        self._lock = lock_folder(self.path, "verify.lock")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()

    def file(self, name: str, settings: Settings, suffix: str) -> Path:
        """The path of a file by name and settings, whether or not it exists."""
        return self.path / f"{name}-{spec_hash(settings)[:12]}{suffix}"

    def figures(self, name: str, settings: Settings, compute: Callable[[], Figures]) -> Figures:
        """The figures, computed unless they are stored; they must be plain JSON values (None for what is NaN)."""
        path = self.file(name, settings, ".json")
        if path.exists():
            stored = loads(path.read_text(encoding="utf-8"))
            if canonical_json(stored["settings"]) == canonical_json(settings):
                return dict(stored["figures"])
        figures = compute()
        text = json.dumps({"settings": dict(settings), "figures": figures}, indent=1, allow_nan=False)
        write_atomically(path, text)
        return dict(loads(text)["figures"])

    def table(self, name: str, settings: Settings, compute: Callable[[], pa.Table]) -> pa.Table:
        """The table, computed unless it is stored."""
        path = self.file(name, settings, ".parquet")
        if path.exists():
            return bounds.read_parquet(path)
        sink = pa.BufferOutputStream()
        pq.write_table(compute(), sink, compression="zstd")
        write_atomically(path, sink.getvalue().to_pybytes())
        return bounds.read_parquet(path)
