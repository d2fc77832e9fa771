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
        if not (0 < self.timeout < math.inf and self.batch >= 1 and 0 <= self.max_failures <= 1):
            raise BadInput("expected a finite timeout above 0, a batch of at least 1 and max failures from 0 to 1")
