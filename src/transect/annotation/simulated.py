"""Answers of simulated raters are counted apart, since they say nothing about people: examples/simulated_raters.py."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from transect.runs.wording import counted

NAME: Final = "simulated"
"""Simulated raters are simulated-001, simulated-002 and so on."""
NO_PEOPLE: Final = "which say nothing about people"


def simulated_count(raters: Iterable[str | None]) -> int:
    """How many answers are of simulated raters. raters: of each answer.

    >>> simulated_count(["simulated-001", "rater-0001", None, "simulated-001"])
    2
    """
    return sum((rater or "").startswith(f"{NAME}-") for rater in raters)


def notice(simulated: int, answers: int) -> str:
    """That answers are of simulated raters, in words; "" where none is.

    >>> notice(2, 3), notice(0, 3)
    ('2 of 3 answers are of simulated raters, which say nothing about people', '')
    """
    return f"{simulated:,} of {counted(answers, 'answer')} are of simulated raters, {NO_PEOPLE}" if simulated else ""
