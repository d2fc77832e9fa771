"""What a command that was interrupted has kept, in one line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

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
    "study",
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
