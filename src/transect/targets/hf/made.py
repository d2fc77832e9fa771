"""What the module of each task makes of a folder: how the network is run, how its output is read, what describes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from transect.targets.output import OutputSpec


@final
@dataclass(frozen=True, slots=True)
class Made:
    """run: a batch of the network's inputs to raw outputs. facts: JSON values that describe it."""

    run: Callable[[np.ndarray], object]
    output: OutputSpec
    facts: Mapping[str, Any]
