"""What a command that was interrupted has kept, in one line; and a termination by the system, taken for Ctrl-C."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, final

KEEP: Final = (
    "audit",
    "demo",
    "encode",
    "invert",
    "mitigate",
    "readings",
    "recognition",
    "render",
    "search",
    "train",
    "verify",
)
"""Commands and groups that keep what is done, part by part; the others write their results at the end."""
_OTHERWISE: Final = {
    "report": "the run is as it was: rerun the command to write the report",
    "annotate": "answers that were stored are kept: rerun the command",
    "targets": "answers that were paid for are kept: rerun the command",
}


def interrupted(arguments: Sequence[str]) -> str:
    """What is kept of the command with these arguments, and what rerunning it does.

    >>> interrupted(["--debug", "audit", "x"])
    'interrupted; finished parts are kept: rerun the command to resume'
    >>> interrupted(["leakage"])
    'interrupted; nothing is kept of an unfinished leakage: rerun the command to start again'
    """
    name = next((word for word in arguments if not word.startswith("-")), "")
    if name in KEEP:
        return "interrupted; finished parts are kept: rerun the command to resume"
    if name in _OTHERWISE:
        return f"interrupted; {_OTHERWISE[name]}"
    return f"interrupted; nothing is kept of an unfinished {name or 'command'}: rerun the command to start again"


@final
class Termination:
    """SIGTERM, by which clusters and clouds end a program, as KeyboardInterrupt. asked: whether it came."""

    CODE: Final = 128 + signal.SIGTERM
    """The exit code by which shells and schedulers know it."""
    _AT_ONCE: Final = 1.0
    """Seconds in which another one is the same: schedulers send it to a process and to its group."""

    def __init__(self) -> None:
        self.asked = False
        self._last = 0.0

    def heard(self) -> None:
        """From now on, in the main thread; where SIGTERM is ignored or handled already it stays so."""
        with suppress(ValueError):  # no main thread
            self.asked = False
            if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
                signal.signal(signal.SIGTERM, self._hear)

    def unheard(self) -> None:
        """No longer."""
        with suppress(ValueError):
            if signal.getsignal(signal.SIGTERM) == self._hear:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def _hear(self, *_: object) -> None:
        last, self._last, asked = self._last, time.monotonic(), self.asked
        self.asked = True
        if not asked or self._last - last > self._AT_ONCE:
            raise KeyboardInterrupt
