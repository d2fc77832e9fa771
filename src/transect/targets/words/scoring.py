"""A user's own function that gives each free text a number, such as the probability that it is toxic.

It is named on the command line or in Python alone, never in a question file: its code runs with the user's rights.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, final

from transect.errors import BadInput, TooManyFailures
from transect.said import Said, Scored, Status
from transect.targets.fingerprint import fingerprint
from transect.targets.words.coding import Scorer, scorer_named, scores_by

SECONDS: Final = 10.0
"""For each text of a call."""
STARTING: Final = 60.0
"""The least for a first call, in which a function may open a model."""
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_FEWEST: Final = 20
"""Texts from which on a function that fails on more than half of them stops the run."""
_NONE: Final = 5
"""Texts on which a function may fail that has not scored any."""
Scorers = Sequence[str] | Mapping[str, Scorer | str]
"""Functions as "NAME=module:function", or by name."""


@final
class TextScorer:
    """One function under a name. A call that fails is repeated text by text, so that a text fails alone."""

    def __init__(self, name: str, source: Scorer | str, seconds: float = SECONDS) -> None:
        self.name, self._score = name, scorer_named(source)
        self.reference = source if isinstance(source, str) else _reference(source)
        self._seconds, self._lock = seconds, threading.Lock()
        self._known: dict[str, float] = {}
        self._failed: dict[str, str] = {}

    @property
    def patience(self) -> float:
        """Seconds that one text may take, alone and in a call with others."""
        return STARTING + 2 * self._seconds

    def describe(self) -> Mapping[str, Any]:
        """Its name, where its code is, and a digest of it."""
        return {"name": self.name, "function": self.reference, "code_sha256": fingerprint(self._score)}

    def scored(self, texts: Sequence[str]) -> list[Scored]:
        """One number for each text; NaN with the reason where the function raises, hangs or gives no number.

        An identical text is scored once. Raises TooManyFailures where it fails on more than half of 20 texts or more,
        or on each of the first 5.
        """
        with self._lock:
            missing = list(dict.fromkeys(text for text in texts if text not in self._known))
            if missing:
                self._score_all(missing)
            return [
                Scored(self.name, self._known.get(text, float("nan")), "" if text in self._known else
                self._failed[text]) for text in texts
            ]  # fmt: skip

    def _score_all(self, texts: Sequence[str]) -> None:
        first = 0.0 if self._known or self._failed else STARTING
        values, reason = scores_by(self._score, texts, max(first, self._seconds * len(texts)))
        if not reason:
            self._keep(texts, values.tolist())
            return
        for text in texts:
            (value,), why = scores_by(self._score, [text], self._seconds) if len(texts) > 1 else (values, reason)
            if not why:
                self._keep([text], [float(value)])
                continue
            self._failed[text] = why
            self._check()

    def _keep(self, texts: Sequence[str], values: Sequence[float]) -> None:
        self._known.update(zip(texts, values, strict=True))
        for text in texts:
            self._failed.pop(text, None)

    def _check(self) -> None:
        failed, seen = len(self._failed), len(self._failed) + len(self._known)
        if failed * 2 > seen and (seen >= _FEWEST or (not self._known and failed >= _NONE)):
            reason = list(self._failed.values())[-1]
            raise TooManyFailures(
                f"scorer {self.name} failed on {failed} of {seen} texts, last: {reason}; fix {self.reference}, and run "
                "again"
            )


def scorers_of(given: Scorers) -> tuple[TextScorer, ...]:
    """The functions that a user names. Raises BadInput for another form, a name twice, or what cannot be called.

    >>> scorers_of({"length": lambda texts: [len(text) for text in texts]})[0].scored(["abc"])
    [Scored(scorer='length', value=3.0, reason='')]
    >>> scorers_of(["length"])
    Traceback (most recent call last):
    transect.errors.BadInput: --scorer 'length': expected NAME=module:function, such as toxicity=mine:toxicity
    """
    pairs = list(given.items()) if isinstance(given, Mapping) else [_parsed(text) for text in given]
    names = [name for name, _ in pairs]
    for name in names:
        if not _NAME.fullmatch(name):
            raise BadInput(f"--scorer {name!r}: expected a name of letters, digits and _, that begins with no digit")
        if names.count(name) > 1:
            raise BadInput(f"--scorer {name}: expected every name once, got it twice; rename one")
    return tuple(TextScorer(name, source) for name, source in pairs)


def with_scores(saids: Sequence[Said], scorers: Sequence[TextScorer]) -> list[Said]:
    """The answers with every function's number for each that is one."""
    rows = [place for place, one in enumerate(saids) if one.status is Status.ANSWERED]
    columns = [scorer.scored([saids[row].text for row in rows]) for scorer in scorers]
    found = list(saids)
    for place, row in enumerate(rows):
        found[row] = replace(found[row], scored=tuple(column[place] for column in columns))
    return found


def _parsed(text: str) -> tuple[str, str]:
    name, _, reference = text.partition("=")
    if not (name and all(reference.partition(":"))):
        raise BadInput(f"--scorer {text!r}: expected NAME=module:function, such as toxicity=mine:toxicity")
    return name.strip(), reference.strip()


def _reference(source: Scorer) -> str:
    kind = source if hasattr(source, "__qualname__") else type(source)
    return f"{getattr(kind, '__module__', '')}:{getattr(kind, '__qualname__', kind)}"
