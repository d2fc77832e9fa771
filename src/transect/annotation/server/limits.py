"""Rate limits: token buckets in memory, the oldest forgotten first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import final


@final
class Buckets:
    """`burst` requests at once, refilled at `rate` a second, for each key."""

    def __init__(self, burst: int, rate: float, most: int = 20_000) -> None:
        self.burst, self.rate, self._most = burst, rate, most
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, key: str, now: float) -> bool:
        """Whether one more is allowed, which is then counted."""
        with self._lock:
            level = self._level(key, now)
            self._levels[key] = (level - 1 if level >= 1 else level, now)
            self._levels.move_to_end(key)
            while len(self._levels) > self._most:
                self._levels.popitem(last=False)
            return level >= 1

    def give(self, key: str) -> None:
        """Take back the last count of a key."""
        with self._lock:
            if key in self._levels:
                level, before = self._levels[key]
                self._levels[key] = (min(float(self.burst), level + 1), before)

    def left(self, key: str, now: float) -> bool:
        """Whether one more would be allowed; nothing is counted."""
        with self._lock:
            return self._level(key, now) >= 1

    def _level(self, key: str, now: float) -> float:
        level, before = self._levels.get(key, (float(self.burst), now))
        return min(float(self.burst), level + max(now - before, 0.0) * self.rate)
