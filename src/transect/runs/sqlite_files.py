"""SQLite files that several threads and processes open at once."""

from __future__ import annotations

import sqlite3
import time
from typing import Final

_PAUSE: Final = 0.01


def use_write_ahead_log(database: sqlite3.Connection, seconds: float = 30.0) -> None:
    """Let others read a file while one writes. Raises sqlite3.OperationalError where it stays locked.

    SQLite answers "database is locked" at once, whatever its timeout, while another connection makes this change, so
    that two programs that open a new file together need another try.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     database = sqlite3.connect(f"{folder}/answers.sqlite")
    ...     use_write_ahead_log(database)
    ...     database.execute("PRAGMA journal_mode").fetchone()
    ...     database.close()
    ('wal',)
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
