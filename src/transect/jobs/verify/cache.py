"""What was computed is kept: figures as JSON and tables as Parquet, by name and the settings that they depend on.

A file is written to a temporary name and renamed: what exists is complete. The settings' hash stands in the name, so
that another renderer, size or number of subjects never meets a figure of the old one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, final

import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock, Timeout

from transect.errors import FolderInUse, RunFolderError
from transect.runs.folder import canonical_json, spec_hash, write_atomically

Settings = Mapping[str, Any]


@final
class Cache:
    """A folder of finished figures; use it as a context manager, which keeps other processes out.

    Raises FolderInUse, or RunFolderError when the folder cannot be made.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = FileLock(path / "verify.lock")

    def __enter__(self) -> Cache:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=0)
        except Timeout:
            raise FolderInUse(f"{self.path} is in use by a live check: wait for it, or choose another --out") from None
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise RunFolderError(f"cannot write {self.path}: {reason}; choose another folder with --out") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()

    def file(self, name: str, settings: Settings, suffix: str) -> Path:
        """Where a thing of that name and those settings lies, whether or not it is there."""
        return self.path / f"{name}-{spec_hash(settings)[:12]}{suffix}"

    def figures(self, name: str, settings: Settings, compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The figures, computed unless they are there; they must be plain JSON values (None for what is NaN)."""
        path = self.file(name, settings, ".json")
        if path.exists():
            stored = json.loads(path.read_text(encoding="utf-8"))
            if canonical_json(stored["settings"]) == canonical_json(settings):
                return dict(stored["figures"])
        figures = compute()
        text = json.dumps({"settings": dict(settings), "figures": figures}, indent=1, allow_nan=False)
        write_atomically(path, text.encode())
        return dict(json.loads(text)["figures"])

    def table(self, name: str, settings: Settings, compute: Callable[[], pa.Table]) -> pa.Table:
        """The table, computed unless it is there."""
        path = self.file(name, settings, ".parquet")
        if path.exists():
            return pq.read_table(path)
        sink = pa.BufferOutputStream()
        pq.write_table(compute(), sink, compression="zstd")
        write_atomically(path, sink.getvalue().to_pybytes())
        return pq.read_table(path)
