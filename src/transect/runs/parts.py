"""The parts of a run's tables: made in order, stored in the background, skipped where the folder holds them.

A part's rows depend on the part alone, so that a resumed run is byte-identical.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import final

import pyarrow as pa

from transect.errors import Interrupted
from transect.runs.folder import RunFolder
from transect.runs.progress import Progress


@contextmanager
def resumable(folder: Path) -> Iterator[None]:
    """Turns Ctrl-C into Interrupted, which says where the finished parts are and how to resume."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted; finished parts are kept in {folder}: rerun the command to resume") from None


def fill_table(
    folder: RunFolder,
    table: str,
    rows: Sequence[int],
    make: Callable[[int], pa.Table],
    *,
    title: str,
    quiet: bool = False,
    stored: Callable[[pa.Table], object] | None = None,
    progress: Progress | None = None,
) -> None:
    """Make and write the parts of `table` that the folder lacks, in order, with a progress bar.

    rows: the number of rows of each part, for the bar. make: the rows of a part. stored: called with each part that was
    there already. progress: a bar that `make` itself advances, by at most the part's `rows`; what a part leaves is
    skipped.
    """
    with progress or Progress(title, sum(rows), quiet=quiet) as bar, resumable(folder.path):
        for part, count in enumerate(rows):
            end = bar.done + count
            if not folder.has_part(table, part):
                folder.write_part(table, part, make(part))
                if progress is None:
                    bar.advance(count)
            elif stored is not None:
                stored(folder.read_part(table, part))
            bar.skip(end - bar.done)


@final
class Background:
    """Runs pieces of work one after another, in one thread, while the caller makes the next; a context manager.

    After a piece fails, no further piece starts; its error is raised by the next call, or at the end. At the end
    everything that was started or submitted is finished first, also where the caller fails: then the caller's error
    is raised.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="transect-store")
        self._waiting: deque[Future[None]] = deque()
        self._failed = False

    def __enter__(self) -> Background:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(wait=True)
        if kind is None:
            self.keep_up(0)

    def submit(self, work: Callable[[], None]) -> None:
        """Do `work` after what was submitted before. Raises the error of an earlier piece that failed."""
        if self._failed:
            self.keep_up(0)
        self._waiting.append(self._pool.submit(self._run, work))

    def keep_up(self, pieces: int) -> None:
        """Wait until at most `pieces` pieces are left: a bound on what they hold in memory. Raises as `submit`."""
        while len(self._waiting) > pieces:
            self._waiting.popleft().result()

    def _run(self, work: Callable[[], None]) -> None:
        if self._failed:
            return
        try:
            work()
        except BaseException:
            self._failed = True
            raise
