"""The errors that Transect raises on purpose.

Each message is one line: what was expected, what was found, what to do next. `exit_code` is what the
command line returns for it: 2 bad input, 3 stopped on too many failures or a spent budget, 130 interrupted (resumable).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Final

from transect.texts import one_line

_MOST_KNOWN: Final = 8


class TransectError(Exception):
    """Any failure that Transect foresaw; its text is meant for the user: one line, whatever others' names it quotes."""

    exit_code = 2

    def __init__(self, message: str = "") -> None:
        super().__init__(one_line(message))

    def rename(self, pattern: re.Pattern[str], names: Mapping[str, str]) -> None:
        """Replace what the pattern finds in the text, where there is another name for it."""
        self.args = (pattern.sub(lambda found: names.get(found[0], found[0]), str(self)),)


class BadInput(TransectError):
    """A value, option or file that the user gave cannot be used as it is."""


def did_you_mean(name: str, known: Iterable[str], most: int = 3) -> str:
    """A question that offers the nearest names: first those that begin with the name, of these the default first.

    Where none is near, it lists the first eight.

    >>> did_you_mean("gras", ["glass", "grass", "grass_default"]), did_you_mean("x", ["a", "b", "c"])
    ('did you mean grass_default, grass or glass?', 'expected a, b, c')
    """
    known = list(known)
    longer = [entry for entry in known if name and entry.startswith(name)]
    longer.sort(key=lambda entry: not entry.endswith("_default"))
    close = difflib.get_close_matches(name, known, n=most, cutoff=0.5)
    if near := list(dict.fromkeys([*longer, *close]))[:most]:
        *first, last = near
        return f"did you mean {' or '.join(filter(None, [', '.join(first), last]))}?"
    more = ", …" if len(known) > _MOST_KNOWN else ""
    return f"expected {', '.join(known[:_MOST_KNOWN]) or 'none'}{more}"


class UnknownName(BadInput):
    """A name that is not among the known ones; the message offers the nearest."""

    def __init__(self, kind: str, name: str, known: Iterable[str], hint: str = "") -> None:
        known = list(known)
        question = did_you_mean(name, known)
        advice = f"; {hint}" if hint else ""
        if hint and question.endswith("?"):
            advice = f" {hint[0].upper()}{hint[1:]}"
        super().__init__(f"unknown {kind} {name!r}: {question}{advice}")
        self.name = name
        self.known = known


class MissingExtra(TransectError):
    """An optional part of Transect is asked for whose libraries are not installed."""

    def __init__(self, extra: str, wanted: str) -> None:
        super().__init__(f"{wanted} needs an optional part: pip install 'transect[{extra}]'")
        self.extra = extra


class RunFolderError(TransectError):
    """The run folder cannot be used: another spec, another process, no space, no permission."""


class FolderOfAnotherSpec(RunFolderError):
    """The folder holds a run whose spec differs from the one asked for."""


class FolderInUse(RunFolderError):
    """Another live process holds the folder's lock."""


class CorruptedPart(RunFolderError):
    """A finished part of a table does not read back as it was written."""


class TooManyFailures(TransectError):
    """More images than the user allows have no valid answer; what is done is kept."""

    exit_code = 3


class BudgetSpent(TransectError):
    """Another call to a metered target would cost more than the user allows; what is done is kept."""

    exit_code = 3


class AnswersUnusable(TransectError):
    """The file that keeps a metered target's calls and answers cannot be read or written: no call is made then."""


class WorkerLost(TransectError):
    """A worker ended again and again in the middle of one part of a run; what is done is kept."""

    exit_code = 3


class TargetChanged(TransectError):
    """A target's files changed while a run asked it, and its answers would be those of two models."""


class Interrupted(TransectError):
    """The user stopped a run; rerunning the command resumes it."""

    exit_code = 130
