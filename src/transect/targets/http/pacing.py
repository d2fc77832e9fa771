"""When may the next call go out, and how long is waited before another try?"""

from __future__ import annotations

import email.utils
import random
import threading
import time
from typing import final


@final
class Pacer:
    """Spaces calls evenly, at most `rate` a second (None: no limit); a server's wish to wait holds for all threads.

    >>> Pacer(None).wait()
    """

    def __init__(self, rate: float | None) -> None:
        self._gap = 1 / rate if rate else 0.0
        self._lock = threading.Lock()
        self._next = self._paused_until = 0.0

    def wait(self) -> None:
        """Return when this thread's call may go out."""
        with self._lock:
            turn = max(time.monotonic(), self._next, self._paused_until)
            self._next = turn + self._gap
        while (left := max(turn, self._paused_until) - time.monotonic()) > 0:
            time.sleep(left)

    def pause(self, seconds: float) -> None:
        """Let no call out for that many seconds."""
        with self._lock:
            self._paused_until = max(self._paused_until, time.monotonic() + seconds)


def retry_after(header: str) -> float | None:
    """Seconds that a Retry-After header asks for (a number, or a date); None where it says nothing.

    >>> retry_after("7"), retry_after("soon"), retry_after("Mon, 01 Jan 2001 00:00:00 GMT")
    (7.0, None, 0.0)
    """
    text = header.strip()
    if text.isascii() and text.isdecimal():
        return float(text)
    try:
        moment = email.utils.parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    return max(0.0, moment - time.time())


def backoff(attempt: int, first: float, longest: float) -> float:
    """Seconds before try number attempt + 1: a random share of a span that doubles each time (full jitter).

    The chance is the clock's own and touches no image or answer. Brooker 2015, Exponential backoff and jitter.

    >>> 0 <= backoff(3, first=0.5, longest=60) <= 2
    True
    """
    return random.uniform(0, min(longest, first * 2 ** (attempt - 1)))  # noqa: S311  (no secret hangs on it)
