"""Tasks of Ray as workers, on a cluster or on this machine alone."""

from __future__ import annotations

import logging
import os
import re
import secrets
import socket
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any, Final, final

from transect.engines.protocol import IN_FLIGHT, Result, Task, Work, cores
from transect.engines.workers import Surroundings, make
from transect.errors import BadInput, MissingExtra, WorkerLost
from transect.texts import words_of

MODE, TOKEN, TOKEN_FILE = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"
_DEBUGGER: Final = "PYTHONBREAKPOINT"
_NEEDED: Final = re.compile(
    r"PATH|HOME|USER|USERPROFILE|SYSTEMROOT|LANG|LC_\w+|TZ|TMPDIR|TEMP|TMP|PYTHONPATH|PYTHONHASHSEED|PYTHONWARNINGS"
    r"|VIRTUAL_ENV|CONDA_PREFIX|(DY)?LD_LIBRARY_PATH|(OMP|MKL|KMP|OPENBLAS)_\w+|CUDA_HOME|CUDA_VISIBLE_DEVICES"
    r"|CUBLAS_WORKSPACE_CONFIG|NVIDIA_VISIBLE_DEVICES|HF_HOME|HF_HUB_CACHE|HF_HUB_OFFLINE|TORCH_HOME|XDG_CACHE_HOME"
    r"|TRANSECT_(DEBUG|LARGEST_GIB|TRUSTED|WORLD_FOLDER)"
)
"""Where programs and models are found, and what results depend on. No key: models with one are asked by the command."""


def restore(before: Mapping[str, str]) -> None:
    """Make these variables what they were."""
    for name in [name for name in os.environ if _of_ray(name)]:
        del os.environ[name]
    os.environ.update(before)


def _of_ray(name: str) -> bool:
    return name.startswith("RAY_") or name == _DEBUGGER


@contextmanager
def apart(ray: ModuleType) -> Iterator[None]:
    """While a Ray is started: it accepts connections from this machine only, with a new token, which no file has; and
    of the environment its processes have what a part needs.
    """
    others = {name: value for name, value in os.environ.items() if not (_of_ray(name) or _NEEDED.fullmatch(name))}
    for name in others:
        del os.environ[name]
    os.environ |= {MODE: "token", TOKEN: secrets.token_hex(32)}
    os.environ.pop(TOKEN_FILE, None)
    read_again(ray)
    constants = ray._private.ray_constants  # no setting of Ray does this on Linux; elsewhere it is the default
    before = constants.ENABLE_RAY_CLUSTER
    constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = before
        os.environ.update(others)


def read_again(ray: ModuleType) -> None:
    """Let Ray read mode and token again: it keeps what it read first, which may be those of another Ray."""
    ray._raylet.Config.initialize("")
    ray._raylet.AuthenticationTokenLoader.instance().reset_cache()


SCHEME: Final = "ray://"
AUTO: Final = "auto"
_LOSSES: Final = 3
_PATIENCE: Final = 5.0  # seconds for the head node to accept a connection
_QUIET: Final = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": False}
_OBJECTS: Final = 256 << 20
"""Bytes of shared memory on this machine for parts that are under way; Ray writes what exceeds them to its disk."""


@final
class OnRay:
    """An Engine on Ray, at HOST:PORT, "auto", or "" for this machine alone. room: cores that parts may take."""

    apart = True

    def __init__(self, address: str, workers: int | None) -> None:
        self._before = {name: value for name, value in os.environ.items() if _of_ray(name)}
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is reported to anybody
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        try:
            import ray
        except ModuleNotFoundError:
            restore(self._before)
            raise MissingExtra("ray", "--engine ray") from None
        self._ray: ModuleType = ray
        self._wanted = workers
        self._joined = not ray.is_initialized()
        if self._joined:
            try:
                self._join(address, workers)
            except BaseException:
                self.close()
                raise
        self.workers = self.cores = workers or self._places(0)
        self.room = self._places(0) if address or not self._joined else cores()

    def _join(self, address: str, workers: int | None) -> None:
        if not address:
            with apart(self._ray):
                own = {"object_store_memory": _OBJECTS, "include_dashboard": False}
                self._ray.init("local", num_cpus=workers or cores(), **own, **_QUIET)
            return
        try:
            _knock(address)
            self._ray.init(address, **_QUIET)
        except (OSError, ValueError, RuntimeError, self._ray.exceptions.RayError) as error:
            raise BadInput(
                f"--engine {SCHEME}{address}: expected the head node of a Ray cluster, got: {words_of(error)}; start "
                "one (ray start --head --port 6379), or give --engine ray; if it has a token, set "
                "RAY_AUTH_MODE=token and copy the token here"
            ) from error

    def _places(self, gpus: int) -> int:
        """Parts that the cluster has room for."""
        resources = self._ray.cluster_resources()
        each = resources.get("GPU", 0) / gpus if gpus else resources.get("CPU", 0)
        return max(1, int(each))

    def map(self, work: Work[Task, Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """As `Engine.map`."""
        ray, workers = self._ray, self._wanted or self._places(work.gpus)
        # A worker's process lives on after a task that needs a GPU too (max_calls), with its models.
        remote = ray.remote(num_cpus=1, num_gpus=work.gpus, max_retries=_LOSSES, max_calls=0)(make)
        fixed = secrets.token_hex(8), ray.put(work), Surroundings.here(0)  # pickled once, whatever the tasks
        waiting: deque[object] = deque()
        try:
            for task in tasks:
                waiting.append(remote.remote(*fixed, task))
                while waiting and (ray.wait([waiting[0]], timeout=0)[0] or len(waiting) == IN_FLIGHT * workers):
                    yield self._taken(waiting)
                if len(waiting) >= workers:  # wait until fewer tasks than workers are unfinished
                    ray.wait(list(waiting), num_returns=len(waiting) - workers + 1)
            while waiting:
                yield self._taken(waiting)
        finally:
            for reference in waiting:  # the caller stopped early: nobody waits for the rest
                with suppress(Exception):
                    ray.cancel(reference, force=True)

    def close(self) -> None:
        """Leave the cluster; a Ray of this machine alone ends. The environment is what it was."""
        if self._joined:
            self._ray.shutdown()
        restore(self._before)
        if self._joined:
            read_again(self._ray)

    def _taken(self, waiting: deque[object]) -> Any:
        from ray.exceptions import RayError

        try:
            outcome = self._ray.get(waiting[0])
        except RayError as error:
            raise WorkerLost(
                f"Ray lost a part's worker {_LOSSES + 1} times ({words_of(error)}); finished parts are kept: "
                "rerun the command to resume, with fewer --workers if memory ran out"
            ) from error
        waiting.popleft()
        return outcome.result()


def _knock(address: str) -> None:
    """Raises OSError or ValueError at once where nobody listens, for which Ray itself would wait long."""
    if address == AUTO:
        return
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise ValueError(f"{address} (HOST:PORT, or {AUTO})")
    with socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE):
        pass
