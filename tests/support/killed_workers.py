"""A target whose worker dies once: that of a run alone, never the process that the run was started in."""

import os
import signal
from pathlib import Path

import audited

CALLS = 3
_called = []


def killing(pixels):
    """Brightness; in a worker, the third call kills the process where the file `armed` is in the working folder."""
    run = Path("run.pid")
    if run.exists() and os.getpid() != int(run.read_text()):
        _called.append(len(pixels))
        if len(_called) >= CALLS:
            try:
                Path("armed").unlink()
            except FileNotFoundError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
    return audited.brightness(pixels)
