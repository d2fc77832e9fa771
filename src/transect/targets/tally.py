"""Failures that a worker counts in one part of a run, kept so that the run's own budget can count them in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeVar, final

from transect.targets.guard import FailureBudget

_NEVER: Final = 1 << 62
_Rows = TypeVar("_Rows")


@final
@dataclass(frozen=True, slots=True)
class Counted:
    """One thing that was counted or said of a target, as `Counting` names it."""

    what: Literal["add", "found_later", "tell_once"]
    failures: tuple[str, ...] = ()
    text: str = ""

    def replay(self, budget: FailureBudget) -> None:
        """Count it, or say it, for the whole run. Raises TooManyFailures."""
        if self.what == "tell_once":
            budget.tell_once(self.text)
        elif self.what == "add":
            budget.add(self.failures)
        else:
            budget.found_later(self.failures)


def counted_rows(rows: _Rows | None, counted: Sequence[Counted], budget: FailureBudget) -> _Rows:
    """A worker's rows, once what it counted is counted for the whole run.

    Raises TooManyFailures where the run's limit is passed; RuntimeError where the worker says that it is, and the run's
    own count does not, so that a part is never left out.
    """
    for one in counted:
        one.replay(budget)
    if rows is None:
        raise RuntimeError(f"{budget.target}: a worker left a part out for its failures, of which the run allows more")
    return rows


@final
class Tally:
    """Counts one part's failures.

    planned, limit_share: as of the run's FailureBudget. first: whether no part comes before, so that this part alone
    says whether there is no point in going on; any part stops once its own failures exceed the run's limit.

    >>> tally = Tally("net", 100, limit_share=0.5, first=False)
    >>> tally.add(["", "too dark"])
    >>> tally.counted
    (Counted(what='add', failures=('', 'too dark'), text=''),)
    """

    def __init__(self, target: str, planned: int, *, limit_share: float, first: bool) -> None:
        self._part = FailureBudget(target, planned, limit_share=limit_share)
        if not first:
            self._part.minimum = _NEVER
        self._counted: list[Counted] = []

    @property
    def counted(self) -> tuple[Counted, ...]:
        """All that was counted and said, in order."""
        return tuple(self._counted)

    def add(self, failures: Sequence[str]) -> None:
        """As `Counting.add`."""
        self._counted.append(Counted("add", tuple(failures)))
        self._part.add(failures)

    def found_later(self, failures: Sequence[str]) -> None:
        """As `Counting.found_later`."""
        self._counted.append(Counted("found_later", tuple(failures)))
        self._part.found_later(failures)

    def tell_once(self, text: str) -> None:
        """As `Counting.tell_once`, for the run to say."""
        self._counted.append(Counted("tell_once", text=text))
