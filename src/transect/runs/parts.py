"""Maps a stage over the parts of a run, in threads of this process.

A part's result depends on the part alone, so the order in which parts finish never shows. Ray or another cluster
engine would enter here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

Stage = Callable[[int], None]


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
