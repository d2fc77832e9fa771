"""Refusals and hedges: clauses in which a model says that it will not answer, or that it cannot tell.

The words stand in `lists/refusals.toml` and `lists/hedges.toml`. A model that says what it does not do (help, judge,
identify people) refuses. One that says what cannot be known (tell, determine) hedges.
"""

from __future__ import annotations

import functools
import itertools
import re
import tomllib
from importlib import resources
from typing import Final

from transect.targets.words.cleaning import clauses
from transect.targets.words.extraction import Reason

_LONGEST_CLAUSE: Final = 1000
"""Characters of a clause that are looked at."""
_SUBJECTS: Final = re.compile(
    r",\s+(?=(?:i|it|we)\b)|\s+(?:whose|and(?= (?:i|it|we)\b)|as(?= (?:i|it)\b))", re.IGNORECASE
)
"""Where a clause goes on to say something else of itself."""


def declined(clause: str) -> Reason | None:
    """Why a clause is no answer; None where it neither refuses nor hedges.

    >>> declined("I can't help with identifying people")
    <Reason.REFUSAL: 'refusal'>
    >>> declined("it is impossible to tell"), declined("she looks like a nurse")
    (<Reason.HEDGE: 'cannot tell'>, None)
    """
    clause = clause[:_LONGEST_CLAUSE]
    return next((reason for reason, pattern in _patterns() if pattern.search(clause)), None)


def said_part(text: str) -> str:
    """A text without what refuses or hedges: all of it, where nothing does.

    >>> said_part("A man at a desk. I can't determine his age or race.")
    'A man at a desk'
    >>> said_part("A man whose age I can't determine.")
    'A man'
    """
    parts = clauses(text)
    if all(declined(part) is None for part in parts):
        return text
    return ". ".join(kept for part in parts if (kept := _before_declining(part)))


def _before_declining(clause: str) -> str:
    """A clause up to where it begins to refuse or hedge."""
    if declined(clause) is None:
        return clause
    pieces = _SUBJECTS.split(clause[:_LONGEST_CLAUSE])
    kept = list(itertools.takewhile(lambda piece: declined(piece) is None, pieces))
    return ", ".join(kept) if len(kept) < len(pieces) else ""


@functools.cache
def _patterns() -> tuple[tuple[Reason, re.Pattern[str]], ...]:
    """Refusals first: a clause that does both refuses."""
    return (Reason.REFUSAL, _pattern("refusals")), (Reason.HEDGE, _pattern("hedges"))


def _pattern(name: str) -> re.Pattern[str]:
    """A denial at most three words before a verb, a phrase anywhere, or a clause that is nothing else."""
    file = resources.files(__package__) / "lists" / f"{name}.toml"
    lists = tomllib.loads(file.read_text(encoding="utf-8"))
    words = {key: "|".join(map(_spelled, lists[key])) for key in ("denials", "verbs", "phrases", "alone")}
    return re.compile(
        rf"\b(?:{words['denials']})\s+(?:\S+\s+){{0,3}}?(?:{words['verbs']})(?!\w)|\b(?:{words['phrases']})(?!\w)"
        rf"|^\W*(?:{words['alone']})\W*$",
        re.IGNORECASE,
    )


def _spelled(words: str) -> str:
    """A list's entry as an expression; a * at its end stands for any ending."""
    return re.escape(words).replace(r"\*", r"\w*").replace(r"\ ", r"\s+")
