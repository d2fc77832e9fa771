"""How patiently targets are asked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

from transect.errors import BadInput


@final
@dataclass(frozen=True, slots=True)
class Limits:
    """How patiently targets are asked: seconds an image, images a call, share of failed images that stops the run."""

    timeout: float = 10.0
    batch: int = 16
    max_failures: float = 0.05

    def __post_init__(self) -> None:
        if not 0 < self.timeout < math.inf:
            raise BadInput(f"--timeout: expected a finite number of seconds above 0, got {self.timeout:g}; change it")
        if self.batch < 1:
            raise BadInput(f"--batch: expected a batch of at least 1 image, got {self.batch}; change it")
        if not 0 <= self.max_failures <= 1:
            raise BadInput(f"--max-failures: expected a share from 0 to 1, got {self.max_failures:g}; 0.05 is 5 %")
