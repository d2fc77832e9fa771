"""The parts of a run's tables: made in order with a progress bar, stored in the background, skipped where the folder
holds them.

A part's rows depend on the part alone, so that a resumed run is byte-identical.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, final

import pyarrow as pa

from transect.errors import Interrupted
from transect.runs.folder import RunFolder
from transect.texts import say, shown

if TYPE_CHECKING:
    from rich.progress import Progress as Bar


_SECONDS_BETWEEN_LINES = 10.0
_SECONDS_BETWEEN_UNITS = 120.0
"""Times from here on are printed in minutes, and from this many minutes on in hours."""
_announced: ContextVar[bool] = ContextVar("announced", default=False)


@final
class Progress:
    """Counts items of `label` on standard error; quote: after so many, one line estimates the time of all; 0: none."""

    def __init__(self, label: str, total: int, *, done: int = 0, quiet: bool = False, quote: int = 0) -> None:
        self.label, self.total, self.done, self._quote = label, total, done, quote
        self._resumed = done
        self._started = self._last = time.monotonic()
        self._quiet = quiet
        self._bar: Bar | None = None

    def __enter__(self) -> Progress:
        if not self._quiet and sys.stderr is not None and sys.stderr.isatty():
            self._bar = _terminal_bar()
            self._task = self._bar.add_task(shown(self.label), total=self.total, completed=self.done)
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def skip(self, items: int) -> None:
        """Count `items` more as done, which took no time: they were there already, or are not needed."""
        self.done += items
        self._resumed += items
        if self._bar is not None:
            self._bar.update(self._task, completed=self.done)
        elif items and self.done >= self.total and not self._quiet:
            say(self.line(), error=True)

    def advance(self, items: int) -> None:
        """Count `items` more as done."""
        self.done += items
        if self._quote and self.done - self._resumed >= self._quote and not self._quiet:
            timed = self.done - self._resumed
            say(f"{self.label}: about {spoken(self._seconds_left())}, as timed on the first {timed}", error=True)
            self._quote = 0
        if self._bar is not None:
            self._bar.advance(self._task, items)
        elif not self._quiet and (self._due() or self.done >= self.total):
            say(self.line(), error=True)

    def line(self) -> str:
        """The state in plain words: done of total, rate, time left."""
        rate = self._rate()
        if rate == 0:
            return f"{self.label}: {self.done} of {self.total}"
        left = f", {spoken(self._seconds_left())} left" if self.done < self.total else ""
        return f"{self.label}: {self.done} of {self.total} ({rate:.1f} a second{left})"

    def _rate(self) -> float:
        return (self.done - self._resumed) / max(time.monotonic() - self._started, 1e-9)

    def _seconds_left(self) -> float:
        return (self.total - self.done) / self._rate()

    def _due(self) -> bool:
        now = time.monotonic()
        if now - self._last < _SECONDS_BETWEEN_LINES:
            return False
        self._last = now
        return True


def spoken(seconds: float) -> str:
    """A time in words.

    >>> spoken(95), spoken(1000), spoken(18_000)
    ('95 s', '17 minutes', '5.0 hours')
    """
    if seconds < _SECONDS_BETWEEN_UNITS:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 60 * _SECONDS_BETWEEN_UNITS else f"{seconds / 3600:.1f} hours"


def _terminal_bar() -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar
    from rich.text import Text

    class RateColumn(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:.1f}/s" if task.speed else "")

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        RateColumn(),
        TimeRemainingColumn(),
    )
    return Bar(*columns, console=Console(stderr=True))


@contextmanager
def announcing_stages(*, quiet: bool = False) -> Iterator[None]:
    """Inside this context, `stage` prints the stage that begins on standard error, unless `quiet`."""
    token = _announced.set(not quiet)
    try:
        yield
    finally:
        _announced.reset(token)


def announced() -> bool:
    """Whether stages are announced here: work whose progress is not shown stays silent too."""
    return _announced.get()


def stage(text: str) -> None:
    """Print the stage that begins, where stages are announced."""
    if announced():
        say(f"{text} …", error=True)


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
    """Make and write in order the parts of `table` that the folder lacks; stored: called with each that was there.
    progress: a bar that `make` itself advances, by at most the part's `rows`; what a part leaves is skipped.
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
    """Runs work one after another in a thread; a context manager. After a failure no further piece starts.
    The next call, or the end, raises it; the end first finishes all that was submitted, and a caller's error wins.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="transect-store")
        self._waiting: deque[Future[None]] = deque()
        self._failed = False

    def __enter__(self) -> Background:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
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
