"""What the interval of an amplification says, in words."""

from __future__ import annotations

from transect.attacks.results import NO_INTERVAL


def adds(low: float | None, high: float | None, published: bool = False) -> str:
    """What the interval of the amplification says; the published protocol has none.

    >>> adds(-3.5, 3.9)
    "It is not shown that the model's predictions reveal more, or less, than that: the interval holds zero."
    """
    if published:
        return f"{NO_INTERVAL}, so it is open whether the model's predictions reveal more than that."
    if low is None or high is None:
        return "There is no interval, so it is open whether the model's predictions reveal more than that."
    if low > 0:
        return "The model's predictions reveal more than that: the whole interval lies above zero."
    if high < 0:
        return "The model's predictions reveal less than that: the whole interval lies below zero."
    return "It is not shown that the model's predictions reveal more, or less, than that: the interval holds zero."
