"""What was found in a piece of text, and the short reasons why a text has no value."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import final

from transect.said import Status


class Reason(StrEnum):
    """Why a text has no value: the categories that tables count. `STATUS` says what each amounts to."""

    DECLINED = "declined by the interface"
    FILTERED = "content filter"
    REFUSAL = "refusal"
    HEDGE = "cannot tell"
    BOTH = "no single answer"
    WIDE = "wide range"
    BOUND = "bound alone"
    TOOL = "tool call"
    CUT = "cut off"
    EMPTY = "empty"
    FOREIGN = "another language"
    SEVERAL = "several answers"
    NEGATED = "negated answer"
    CONFLICT = "letter and text disagree"
    UNIT = "another unit"
    RANGE = "out of range"
    NONE = "no answer found"


STATUS = dict.fromkeys(Reason, Status.UNREADABLE) | {
    Reason.DECLINED: Status.REFUSED,
    Reason.FILTERED: Status.REFUSED,
    Reason.REFUSAL: Status.REFUSED,
    Reason.HEDGE: Status.HEDGED,
    Reason.BOTH: Status.HEDGED,
    Reason.WIDE: Status.HEDGED,
    Reason.BOUND: Status.HEDGED,
}
"""What each reason amounts to."""


@final
@dataclass(frozen=True, slots=True)
class Found:
    """The different answers in a piece of text; where there is none, why, as far as the piece tells."""

    values: tuple[float, ...] = ()
    reason: Reason = Reason.NONE

    @property
    def single(self) -> bool:
        """Whether there is exactly one."""
        return len(self.values) == 1


def found(values: set[float], negated: bool = False) -> Found:
    """What a piece holds that names those answers, and perhaps denies others."""
    if len(values) > 1:
        return Found(tuple(sorted(values)), Reason.SEVERAL)
    return Found(tuple(values), Reason.NEGATED if negated and not values else Reason.NONE)
