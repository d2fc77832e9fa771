"""The machine of a run of benchmarks, without its name: processor, cores, memory, versions, and how busy it is."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Final

LIBRARIES: Final = ("numpy", "scipy", "scikit-learn", "torch", "pyarrow")
QUIET: Final = 0.25
"""Load per core up to which a machine counts as quiet; the benchmark itself is not running then."""


@dataclass(frozen=True, slots=True)
class Machine:
    """cores: that this process may use. memory: GiB. load: mean number of running processes per core, before."""

    processor: str
    cores: int
    memory: float
    system: str
    python: str
    versions: dict[str, str]
    load: float

    @property
    def quiet(self) -> bool:
        """Whether its times count: nothing else ran when the benchmarks began."""
        return self.load <= QUIET


def this_machine() -> Machine:
    """The machine that this process runs on, and its load over the last minute."""
    cores = len(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = {name: importlib.metadata.version(name) for name in LIBRARIES}
    return Machine(
        processor_model(),
        cores,
        round(memory, 1),
        f"{platform.system()} on {platform.machine()}",
        platform.python_version(),
        versions,
        round(os.getloadavg()[0] / cores, 2),
    )


def processor_model(listing: Path = Path("/proc/cpuinfo")) -> str:
    """The model of the processor as Linux names it, else what Python knows."""
    lines = listing.read_text(encoding="utf-8").splitlines() if listing.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"
