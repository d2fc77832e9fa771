"""A worker's side: work is opened once in a process, and what a task raises comes back as a record.

Only records of ours, texts, numbers and arrays go to workers; a worker opens world and models itself.
"""

from __future__ import annotations

import builtins
import ctypes
import os
import signal
import sys
import traceback
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, TypeVar, final

from transect import errors
from transect.engines.cores import cores, use_cores
from transect.engines.protocol import Opened, Work
from transect.errors import BadInput, TransectError
from transect.texts import words_of

_Result = TypeVar("_Result")
_END_WITH_PARENT: Final = 1  # PR_SET_PDEATHSIG of Linux


@final
@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a worker shares with the process that started the run.

    folder: the working folder, by which relative paths are read. path: where modules are found. cores: for work that
    gives the same result on any number. threads, products: of PyTorch and of NumPy's matrix products, on which the last
    bit of a result can depend.
    """

    folder: str
    path: tuple[str, ...]
    cores: int
    threads: int
    products: int

    @staticmethod
    def here(share: int) -> Surroundings:
        """Those of this process; share: workers that share its machine, 0 where each has one core."""
        path = tuple(str(Path(place).absolute()) if place else str(Path.cwd()) for place in sys.path)
        return Surroundings(str(Path.cwd()), path, cores() // share if share else 1, _threads(), _products())

    def crowded(self, workers: int, cores: int) -> str:
        """A warning where workers have several threads each, more in all than the cores; "" elsewhere.

        >>> Surroundings("", (), 1, threads=4, products=1).crowded(2, 6)
        '2 workers with 4 threads each on 6 cores slow each other down: set OMP_NUM_THREADS=1 before the command'
        >>> Surroundings("", (), 1, threads=1, products=3).crowded(2, 6)
        ''
        """
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


def _threads() -> int:
    """Threads of PyTorch here, where it is loaded; else those that it would take."""
    if torch := sys.modules.get("torch"):
        return int(torch.get_num_threads())
    stated = os.environ.get("OMP_NUM_THREADS", "")
    return int(stated) if stated.isdecimal() else os.cpu_count() or 1


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

    def result(self) -> Any:
        """Raises the error as this process has it: ours and Python's own by their class, others as RuntimeError.

        >>> Failed("BadInput", "expected more", "").result()
        Traceback (most recent call last):
        transect.errors.BadInput: expected more
        """
        error = self._error()
        if self.trace:
            error.add_note(f"in a worker:\n{self.trace}")
        raise error

    def _error(self) -> Exception:
        ours = getattr(errors, self.kind, None)
        if isinstance(ours, type) and issubclass(ours, TransectError):
            error = ours.__new__(ours, self.text)  # the constructors of some take other arguments
            error.args = (self.text,)
            return error
        own = getattr(builtins, self.kind, None)
        if isinstance(own, type) and issubclass(own, Exception) and not issubclass(own, UnicodeError):
            return own(self.text)
        return RuntimeError(f"{self.kind}: {self.text}")


_opened: dict[str, Opened[Any, Any]] = {}
"""The work that this process has open, by its token: one at a time."""


def make(token: str, work: Work[Any, Any], surroundings: Surroundings, task: object) -> Made[Any] | Failed:
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
