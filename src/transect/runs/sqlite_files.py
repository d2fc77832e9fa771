"""SQLite files that several threads and processes open at once."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from transect.runs.locks import refuse_links

_PAUSE: Final = 0.01


def make_private(path: Path) -> None:
    """Make an empty file that its owner alone may read, as SQLite's own files beside it then are; leave one there.

    A link of yours is followed, one within a run's folder refused.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     make_private(Path(folder) / "answers.sqlite")
    ...     oct((Path(folder) / "answers.sqlite").stat().st_mode)[-3:]
    '600'
    """
    refuse_links(path)
    with suppress(FileExistsError):
        os.close(os.open(path.resolve(), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def use_write_ahead_log(database: sqlite3.Connection, seconds: float = 30.0) -> None:
    """Let others read a file while one writes. Raises sqlite3.OperationalError where it stays locked.

    SQLite answers "database is locked" at once, whatever its timeout, while another connection makes this change, so
    that two programs that open a new file together need another try.
    """
    last = time.monotonic() + seconds
    while True:
        try:
            database.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > last:
                raise
        time.sleep(_PAUSE)
