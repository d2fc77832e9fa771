"""Maps a stage over the parts of a run, in threads of this process.

A part's result depends on the part alone, so the order in which parts finish does not matter. Ray or another cluster
engine would enter here and nowhere else. What a part leaves to store is stored in the background, in order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import final

from transect.errors import Interrupted

Stage = Callable[[int], None]


@contextmanager
def resumable(folder: Path) -> Iterator[None]:
    """Turns Ctrl-C into Interrupted, which says where the finished parts are and how to resume."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted; finished parts are kept in {folder}: rerun the command to resume") from None


def map_parts(stage: Stage, parts: Iterable[int], *, workers: int = 1) -> None:
    """Run `stage(part)` for every part; with one worker in order, in this thread.

    The first failure stops what has not started, lets what runs finish, and is raised: finished parts stay.

    >>> seen = []
    >>> map_parts(seen.append, range(3))
    >>> seen
    [0, 1, 2]
    """
    if workers <= 1:
        for part in parts:
            stage(part)
        return
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(stage, part) for part in parts]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            for future in futures:
                future.cancel()
    for future in futures:
        if not future.cancelled():
            future.result()


@final
class Background:
    """Runs pieces of work one after another, in one thread, while the caller makes the next; a context manager.

    After a piece fails, no further piece starts; its error is raised by the next call, or at the end. At the end
    everything that was started or submitted is finished first, also where the caller fails: then the caller's error
    is raised.

    >>> stored = []
    >>> with Background() as background:
    ...     background.submit(lambda: stored.append("part 0"))
    >>> stored
    ['part 0']
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
