"""`--engine local --workers N`: processes of this machine, by the standard library's pool."""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any, Final, TypeAlias, final

from transect.engines import worker
from transect.engines.cores import cores
from transect.engines.protocol import IN_FLIGHT, Result, Task, Work
from transect.errors import WorkerLost

LOSSES: Final = 3
"""A task may lose so many workers before the run stops."""

_Call: TypeAlias = "partial[worker.Made[Any] | worker.Failed]"
_Waiting: TypeAlias = "deque[tuple[Any, Future[worker.Made[Any] | worker.Failed]]]"


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
        call: _Call = partial(worker.make, secrets.token_hex(8), work, worker.Surroundings.here(self.workers))
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
            "finished parts are kept: give fewer --workers and rerun the command to resume; a script of yours calls "
            "Transect below: if __name__ == '__main__'"
        )

    def _submit(self, call: _Call, task: object) -> Future[worker.Made[Any] | worker.Failed]:
        for _ in range(LOSSES):
            if self._pool is None:
                self._pool = ProcessPoolExecutor(self.workers, self._context, worker.prepare)
            try:
                return self._pool.submit(call, task)
            except BrokenProcessPool:  # tasks that wait find it out when they are taken
                self.close()
        raise WorkerLost(
            "the processes of --workers end as soon as they start: rerun with --workers 1; a script of yours calls "
            "Transect below: if __name__ == '__main__'"
        )

    def _again(self, call: _Call, waiting: _Waiting) -> None:
        """Start new processes, and give them the tasks that the lost ones had."""
        self.close()
        for place, (task, future) in enumerate(waiting):
            if not future.done() or future.cancelled() or future.exception() is not None:
                waiting[place] = (task, self._submit(call, task))
