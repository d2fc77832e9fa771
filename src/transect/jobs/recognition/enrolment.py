"""Failures to enrol: how many pictures of each group the recognizer could not use at all, since it found no face."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from transect.effects.intervals import wilson_clustered
from transect.records import declared
from transect.reports.blocks import Block, Paragraph, TextTable
from transect.reports.builder import significant

_TEXT: Final = (
    "A picture fails to enrol where the recognizer finds no face, or no landmarks by which the face could be aligned. "
    "It is in no comparison, so that the error rates say nothing about it. Pictures on which the model fails otherwise "
    "are not counted here. Intervals are 95 %, by identity."
)


@final
@dataclass(frozen=True, slots=True)
class EnrolmentNumbers:
    """One group: its pictures that were shown, how many failed to enrol, the share in [0, 1] and its 95 % interval."""

    group: str
    images: int
    failures: int
    rate: float
    low: float
    high: float


def enrolment(
    reasons: Sequence[str], people: NDArray[np.object_], groups: NDArray[np.object_], absent: str
) -> tuple[EnrolmentNumbers, ...]:
    """The failures to enrol of each group; () where every picture was enrolled.

    reasons: why each row has no embedding, "" where it has one. absent: the reason of rows without a picture, which
    were not shown. Rows without a group are left out; those without an identity count as one of their own.
    """
    failed = np.array([declared(reason) for reason in reasons], dtype=np.bool_)
    shown = np.array([reason != absent for reason in reasons], dtype=np.bool_)
    if not failed.any():
        return ()
    names = sorted({str(group) for group in groups[shown] if group is not None})
    return tuple(_of(name, failed, people, shown & (groups == name)) for name in names)


def _of(name: str, failed: np.ndarray, people: NDArray[np.object_], rows: np.ndarray) -> EnrolmentNumbers:
    places = np.flatnonzero(rows)
    clusters = [f"row {row}" if people[row] is None else f"person {people[row]}" for row in places.tolist()]
    _, codes = np.unique(np.array(clusters, dtype=str), return_inverse=True)
    counts, hits = np.bincount(codes), np.bincount(codes, weights=failed[places])
    low, high = wilson_clustered(hits[:, None], counts[:, None].astype(np.float64))
    total, lost = len(places), int(hits.sum())
    return EnrolmentNumbers(name, total, lost, lost / total, float(low[0]), float(high[0]))


def blocks(numbers: Sequence[EnrolmentNumbers], group: str) -> Iterator[Block]:
    """The part of the page."""
    rows = [
        (one.group, f"{one.images:,}", f"{one.failures:,}", f"{significant(100 * one.rate)} ({_ends(one)})")
        for one in numbers
    ]
    yield Paragraph(_TEXT)
    yield TextTable("Failures to enrol", (group, "pictures", "not enrolled", "share, %"), rows)


def lines(numbers: Sequence[EnrolmentNumbers]) -> list[str]:
    """The same as a line for each group."""
    return [
        f"not enrolled: {one.failures:,} of {one.images:,} of {one.group}, {100 * one.rate:.3g} % ({_ends(one)})"
        for one in numbers
    ]


def _ends(one: EnrolmentNumbers) -> str:
    return f"{significant(100 * one.low)} to {significant(100 * one.high)}"
