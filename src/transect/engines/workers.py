"""Workers of this machine: processes that make tasks, and are started again where one died."""

from __future__ import annotations

import builtins
import ctypes
import os
import secrets
import signal
import sys
import traceback
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path
from typing import Any, Final, Generic, TypeAlias, TypeVar, final

from transect import errors
from transect.engines.protocol import IN_FLIGHT, Opened, Result, Task, Work, cores, use_cores
from transect.errors import BadInput, TransectError, WorkerLost
from transect.texts import hush_libraries, whole_number, words_of

_Result = TypeVar("_Result")
_END_WITH_PARENT: Final = 1  # PR_SET_PDEATHSIG of Linux


@final
@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a worker shares with the process that started the run: its folder, and where modules are found.

    cores: for work that gives the same result on any number. threads, products: of PyTorch and of NumPy's matrix
    products, on which the last bit of a result can depend.
    """

    folder: str
    path: tuple[str, ...]
    cores: int
    threads: int
    products: int

    @staticmethod
    def here(share: int) -> Surroundings:
        """Those of this process; share: workers that share its machine, 0 where each has one core."""
        return Surroundings(
            str(Path.cwd()), tuple(search_path()), cores() // share if share else 1, _threads(), _products()
        )

    def crowded(self, workers: int, cores: int) -> str:
        """A warning where workers have several threads each, more in all than the cores; "" elsewhere."""
        threads = max(self.threads, self.products)
        if threads == 1 or workers * threads <= cores:
            return ""
        return (
            f"{workers} workers with {threads} threads each on {cores} cores slow each other down: set "
            "OMP_NUM_THREADS=1 before the command"
        )

    def enter(self) -> None:
        """Make them this process's. Raises BadInput where the folder is not on this machine."""
        from threadpoolctl import threadpool_limits

        hush_libraries()
        try:
            os.chdir(self.folder)
        except OSError as error:
            raise BadInput(
                f"worker: expected the working folder {self.folder} on every machine, got: {words_of(error)}; start "
                "the command in a folder that all machines share"
            ) from error
        sys.path += [place for place in self.path if place not in sys.path]
        use_cores(self.cores)
        os.environ["OMP_NUM_THREADS"] = str(self.threads)  # of libraries that are loaded later, and of own processes
        if torch := sys.modules.get("torch"):
            torch.set_num_threads(self.threads)
        threadpool_limits(self.products, user_api="blas")


def search_path() -> list[str]:
    """Where this process finds modules, the working folder by its name."""
    return [str(Path(place).absolute()) if place else str(Path.cwd()) for place in sys.path]


def rebuilt(kind: type[TransectError], text: str) -> TransectError:
    """An error of ours that another process raised, by its text: the constructors of some take other arguments."""
    error = kind.__new__(kind, text)
    error.args = (text,)
    return error


def _threads() -> int:
    """Threads of PyTorch here, where it is loaded; else those that it would take."""
    if torch := sys.modules.get("torch"):
        return int(torch.get_num_threads())
    return whole_number(os.environ.get("OMP_NUM_THREADS", "")) or os.cpu_count() or 1


def _products() -> int:
    from threadpoolctl import threadpool_info

    return max((pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"), default=1)


@final
@dataclass(frozen=True, slots=True)
class Made(Generic[_Result]):
    """The result of a task."""

    value: _Result

    def result(self) -> _Result:
        """The result."""
        return self.value


@final
@dataclass(frozen=True, slots=True)
class Failed:
    """What a task raised: the name of its class, its text, and where, for --debug."""

    kind: str
    text: str
    trace: str

    @staticmethod
    def of(error: BaseException) -> Failed:
        """The record of an error."""
        text = str(error) if isinstance(error, TransectError) else words_of(error)
        return Failed(type(error).__name__, text, "".join(traceback.format_exception(error)))

    def result(self) -> object:
        """Raises the error as this process has it: ours and Python's own by their class, others as RuntimeError."""
        error = self._error()
        if self.trace:
            error.add_note(f"in a worker:\n{self.trace}")
        raise error

    def _error(self) -> Exception:
        ours = getattr(errors, self.kind, None)
        if isinstance(ours, type) and issubclass(ours, TransectError):
            return rebuilt(ours, self.text)
        own = getattr(builtins, self.kind, None)
        if isinstance(own, type) and issubclass(own, Exception) and not issubclass(own, UnicodeError):
            return own(self.text)
        return RuntimeError(f"{self.kind}: {self.text}")


_opened: dict[str, Opened[object, object]] = {}
"""The work that this process has open, by its token: one at a time."""


def make(token: str, work: Work[Any, Any], surroundings: Surroundings, task: object) -> Made[object] | Failed:
    """Make one task's result in this process. token: names the work; it is opened for the first task of that name."""
    try:
        if token not in _opened:
            while _opened:
                with suppress(Exception):  # all that it made was taken
                    _opened.popitem()[1].close()
            surroundings.enter()
            _opened[token] = work.open()
        return Made(_opened[token].make(task))
    except BaseException as error:  # a plug-in may raise anything, SystemExit too
        return Failed.of(error)


def prepare() -> None:
    """Begin a worker of this machine: it ends with the process that started it, which alone decides on Ctrl-C."""
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def end_with_parent() -> None:
    """Let the operating system end this process when the one that started it ends; on Linux alone."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGKILL)


LOSSES: Final = 3
"""A task may lose so many workers before the run stops."""

_Call: TypeAlias = "partial[Made[Any] | Failed]"
_Waiting: TypeAlias = "deque[tuple[Any, Future[Made[Any] | Failed]]]"


@final
class _Context(SpawnContext):
    """Starts new interpreters, and remembers them so that they can be ended in the middle of a task."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[SpawnProcess] = []

    def Process(self, *arguments: Any, **settings: Any) -> SpawnProcess:  # type: ignore[override]  # noqa: N802
        process = SpawnProcess(*arguments, **settings)
        self.started.append(process)
        return process


@final
class Processes:
    """An Engine of several processes, which start with the first task and stay until `close`."""

    apart = True

    def __init__(self, workers: int) -> None:
        self.workers, self.cores, self.room = workers, cores(), cores()
        self._pool: ProcessPoolExecutor | None = None
        self._context = _Context()

    def map(self, work: Work[Task, Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """As `Engine.map`."""
        call: _Call = partial(make, secrets.token_hex(8), work, Surroundings.here(self.workers))
        waiting: _Waiting = deque()
        try:
            for task in tasks:
                waiting.append((task, self._submit(call, task)))
                while waiting[0][1].done() or len(waiting) == IN_FLIGHT * self.workers:
                    yield self._taken(call, waiting)
                    if not waiting:
                        break
            while waiting:
                yield self._taken(call, waiting)
        finally:
            for _, future in waiting:  # the caller stopped early: nobody waits for the rest
                future.cancel()

    def close(self) -> None:
        """End the processes at once, whatever they still do: every result that is wanted was taken."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        for process in self._context.started:
            if process.is_alive():  # one would wait for the threads of a model that hangs
                process.kill()
        self._context.started.clear()
        pool.shutdown(cancel_futures=True)

    def _taken(self, call: _Call, waiting: _Waiting) -> Any:
        """The result of the first task that waits."""
        for _ in range(LOSSES):
            try:
                outcome = waiting[0][1].result()
            except BrokenProcessPool:
                self._again(call, waiting)
                continue
            waiting.popleft()
            return outcome.result()
        raise WorkerLost(
            f"a worker ended {LOSSES} times in the middle of one part: it was killed, or ran out of memory; "
            "finished parts are kept: rerun the command with fewer --workers to resume; in a script, call "
            "Transect under if __name__ == '__main__'"
        )

    def _submit(self, call: _Call, task: object) -> Future[Made[object] | Failed]:
        for _ in range(LOSSES):
            if self._pool is None:
                self._pool = ProcessPoolExecutor(self.workers, self._context, prepare)
            try:
                return self._pool.submit(call, task)
            except BrokenProcessPool:  # tasks that wait find it out when they are taken
                self.close()
        raise WorkerLost(
            "the processes of --workers end as soon as they start: rerun with --workers 1; in a script, call "
            "Transect under if __name__ == '__main__'"
        )

    def _again(self, call: _Call, waiting: _Waiting) -> None:
        """Start new processes, and give them the tasks that the lost ones had."""
        self.close()
        for place, (task, future) in enumerate(waiting):
            if not future.done() or future.cancelled() or future.exception() is not None:
                waiting[place] = (task, self._submit(call, task))
