"""What counts as a failure, in words: of errors, and of what a model says or does not say."""

from __future__ import annotations

from typing import Final

ERRORS: Final = ("miss", "false_alarm", "error")
"""Outcomes that are wrong answers."""
_VERBS: Final = {
    "miss": "misses the face in",
    "answer": "says yes on",
    "refusal": "refuses",
    "hedge": "hedges on",
    "unreadable": "gives an unreadable answer on",
}
_ASKED: Final = {
    "miss": "In which images does it miss the face?",
    "answer": "On which images does it say yes?",
    "refusal": "On which images does it refuse?",
    "hedge": "On which images does it hedge?",
    "unreadable": "On which images can its answer not be read?",
}
_WRONG: Final = "In which images is its answer wrong?"
_NAMED: Final = {
    "option": ("chooses {} on", "On which images does it choose {}?"),
    "code": ("mentions {} on", "On which images does it mention {}?"),
}


def verb_of(outcome: str) -> str:
    """What the target does in a failure.

    >>> verb_of("miss"), verb_of("error"), verb_of("option:nurse")
    ('misses the face in', 'gives a wrong answer on', 'chooses nurse on')
    """
    kind, _, name = outcome.partition(":")
    return _NAMED[kind][0].format(name) if kind in _NAMED else _VERBS.get(outcome, "gives a wrong answer on")


def asked_of(outcome: str) -> str:
    """What a search for an outcome asks.

    >>> asked_of("error"), asked_of("refusal")
    ('In which images is its answer wrong?', 'On which images does it refuse?')
    """
    kind, _, name = outcome.partition(":")
    return _NAMED[kind][1].format(name) if kind in _NAMED else _ASKED.get(outcome, _WRONG)
