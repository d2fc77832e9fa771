"""What an engine is: an ordered map over tasks, its share of the cores, and what workers must agree on."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Generic, Protocol, TypeVar, final, runtime_checkable

from transect.errors import BadInput, TargetChanged

_allowed: int | None = None


def cores() -> int:
    """Cores of this machine, or this process's share of them where several processes work."""
    return _allowed or os.cpu_count() or 1


def use_cores(number: int) -> None:
    """Let this process use `number` cores, at least one."""
    global _allowed  # noqa: PLW0603  (one share for the process)
    _allowed = max(1, number)


def check_same(expected: str, found: str) -> None:
    """Raises TargetChanged, naming what differs, where the facts that a worker found are not those of the command.

    >>> check_same('{"net": 1}', '{"net": 2}')
    Traceback (most recent call last):
    transect.errors.TargetChanged: a worker opened something other than the run (net): use the same ...
    """
    before, now = json.loads(expected), json.loads(found)
    changed = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
    if changed:
        raise TargetChanged(
            f"a worker opened something other than the run ({', '.join(changed)}): use the same files and "
            "libraries on every machine"
        )


def on_gpu(*devices: object) -> int:
    """GPUs that a worker needs which computes on these devices: one, or none."""
    return int(any(str(device).startswith("cuda") for device in devices))


Task = TypeVar("Task")
Result = TypeVar("Result")
_Task_contra = TypeVar("_Task_contra", contravariant=True)
_Result_co = TypeVar("_Result_co", covariant=True)

IN_FLIGHT = 2
"""Parts for each worker that are begun and not yet taken: one is made while the one before waits to be stored."""


@runtime_checkable
class Opened(Protocol[_Task_contra, _Result_co]):
    """Work that is ready: the world and the models are loaded."""

    def make(self, task: _Task_contra) -> _Result_co:
        """What one task asks for; it depends on the task alone."""

    def close(self) -> None:
        """Release files and processes."""


@runtime_checkable
class Work(Protocol[_Task_contra, _Result_co]):
    """What a worker needs to make parts: a frozen record of texts, numbers and arrays, which is sent to it."""

    @property
    def gpus(self) -> int:
        """GPUs that a worker needs."""

    def open(self) -> Opened[_Task_contra, _Result_co]:
        """Load the world and the models, in the worker."""


@final
class Ready(Generic[Task, Result]):
    """Work of this process, from objects that it has. opened: called when the first part is made."""

    gpus = 0

    def __init__(self, opened: Callable[[], Opened[Task, Result]]) -> None:
        self._opened = opened

    def open(self) -> Opened[Task, Result]:
        """What `opened` gives."""
        return self._opened()


@runtime_checkable
class Engine(Protocol):
    """An ordered map over parts."""

    @property
    def workers(self) -> int:
        """Parts that are made at the same time."""

    @property
    def cores(self) -> int:
        """Cores that work on them."""

    @property
    def apart(self) -> bool:
        """Whether parts are made in other processes."""

    def map(self, work: Work[Task, Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """The result of each task, in order; at most `IN_FLIGHT` tasks a worker are begun and not yet taken.

        A task whose worker was lost is given to another. Raises the error of the first task that failed, in order;
        WorkerLost where a task lost its worker again and again. Closing the iterator ends what is under way.
        """


@final
class Here:
    """Everything is made in this process, one part after another."""

    workers = 1
    apart = False

    @property
    def cores(self) -> int:
        """All of this machine."""
        return cores()

    def map(self, work: Work[Task, Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """As `Engine.map`."""
        opened = work.open()
        try:
            for task in tasks:
                yield opened.make(task)
        finally:
            opened.close()


HERE: Engine = Here()


@final
class Ahead(Generic[Task, Result]):
    """Parts that an engine makes ahead, to be taken in order. parts: their numbers. task: asked for in time."""

    def __init__(
        self, engine: Engine, work: Work[Task, Result], parts: Iterable[int], task: Callable[[int], Task]
    ) -> None:
        self._parts = dict.fromkeys(parts)
        self._next = iter(self._parts)
        self._results = engine.map(work, map(task, self._parts))

    def __enter__(self) -> Ahead[Task, Result]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        close = getattr(self._results, "close", None)
        if close is not None:
            close()

    def __contains__(self, part: object) -> bool:
        return part in self._parts

    def __call__(self, part: int) -> Result:
        """The part's result. Raises what making it raised, and BadInput for another part than the next."""
        expected = next(self._next, None)
        if expected != part:
            raise BadInput(f"parts made ahead: expected part {expected} next, got {part}")
        return next(self._results)
