"""How many cores this process may use for work that gives the same result on any number of them."""

from __future__ import annotations

import os

_allowed: int | None = None


def cores() -> int:
    """Cores of this machine, or this process's share of them where several processes work."""
    return _allowed or os.cpu_count() or 1


def use_cores(number: int) -> None:
    """Let this process use `number` cores, at least one."""
    global _allowed  # noqa: PLW0603  (one share for the process)
    _allowed = max(1, number)
