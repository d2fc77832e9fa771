"""Which engine makes the parts, as one record that Python, the command line and a TOML file share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Final, final

from transect.engines.protocol import HERE, Engine
from transect.engines.workers import Surroundings
from transect.errors import BadInput, UnknownName
from transect.options import Option, names_fields
from transect.texts import say

LOCAL: Final = "local"
RAY: Final = "ray"


ENGINE: Final = Option(
    "Where parts are made: local (this machine), ray (Ray on this machine) or ray://HOST:PORT (a Ray cluster). "
    "HOST:PORT is the head node of ray start --head, port 6379 by default, not Ray Client's port 10001. Results do "
    "not depend on it.",
    panel="Engine",
    opens="aside",
    rare=True,
)
WORKERS: Final = Option(
    "Parts made at the same time, each in its own process; default: local 1, which uses all cores by threads; ray as "
    "many as fit.",
    panel="Engine",
    opens="aside",
    rare=True,
)


@final
@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Where parts are made. Results do not depend on it.

    engine: local (this machine), ray (Ray on this machine), or ray://HOST:PORT (a cluster). workers: parts at the same
    time; by default one with local, which uses every core by threads, and all that there is room for with Ray.

    Raises UnknownName for another engine, BadInput for fewer workers than one.
    """

    engine: Annotated[str, ENGINE] = LOCAL
    workers: Annotated[int | None, WORKERS] = None

    @names_fields
    def __post_init__(self) -> None:
        if self.engine not in (LOCAL, RAY) and not self.address:
            raise UnknownName("engine", self.engine, [LOCAL, RAY], "a cluster is ray://HOST:PORT or ray://auto")
        if self.workers is not None and self.workers < 1:
            raise BadInput(f"--workers: expected 1 or more, got {self.workers}")

    @property
    def address(self) -> str:
        """Of the cluster; "" without one."""
        scheme, _, address = self.engine.partition("://")
        return address if scheme == RAY else ""


@contextmanager
def opened(settings: EngineSettings, *, quiet: bool = False) -> Iterator[Engine]:
    """The engine that settings name, until the end of the context. A line warns of workers that share cores."""
    if settings.engine == LOCAL and (settings.workers or 1) == 1:
        yield HERE
        return
    if settings.engine == LOCAL:
        from transect.engines.workers import Processes

        engine: Processes | OnRay = Processes(settings.workers or 1)
    else:
        from transect.engines.ray_tasks import OnRay

        engine = OnRay(settings.address, settings.workers)
    try:
        if not quiet and (line := Surroundings.here(0).crowded(engine.workers, engine.room)):
            say(line, error=True)
        yield engine
    finally:
        engine.close()
