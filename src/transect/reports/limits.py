"""What no audit can show, as every report states it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

RENDERED_LIMIT: Final = (
    "Effects on rendered faces are evidence about the target; confirm them on photographs before acting on them."
)
"""What no audit of rendered images can show."""
STANDING_LIMITS: Final = (
    RENDERED_LIMIT,
    "An effect holds for the levels, population and settings that are listed here; other ranges were not tried.",
    "Attributes that were not varied were not tested: no effect shown does not mean no bias.",
)
"""What no audit of this kind can show; added to the limits of every report."""


def with_standing(limits: Sequence[str], *, photographs: bool) -> list[str]:
    """The limits of a report with the standing ones, each once. photographs: whether every image is a photograph."""
    standing = [limit for limit in STANDING_LIMITS if not (photographs and limit == RENDERED_LIMIT)]
    return [*limits, *(limit for limit in standing if limit not in limits)]
