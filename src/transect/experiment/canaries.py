"""Canaries: images that a target answers again and again during a run, and the test of whether its answers changed."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

import numpy as np
from jaxtyping import Float

from transect.effects.always_valid import Change, change_point
from transect.errors import BadInput
from transect.protocols import RepeatsCanaries, Target
from transect.runs.folder import canonical_json, slug, write_atomically

FOLDER: Final = "canaries"
FALSE_ALARMS: Final = 0.01
"""The largest share of unchanged targets that a run reports as changed."""


@final
@dataclass(frozen=True, slots=True)
class CanaryRecord:
    """What a run keeps of a target's canaries: images asked again each `every` answers, and answers' distances."""

    target: str
    every: int
    images: int
    rounds: tuple[int, ...]
    distances: tuple[tuple[tuple[float | None, ...], ...], ...]

    def __post_init__(self) -> None:
        rounds = len(self.rounds)
        square = all(len(image) == rounds and all(len(row) == rounds for row in image) for image in self.distances)
        if rounds < 2 or len(self.distances) != self.images or not square:
            raise BadInput("expected distances between two or more rounds for each image")


def keep_canaries(folder: Path, targets: Sequence[Target]) -> list[str]:
    """Write the records of targets that have canaries into a run folder; a line for each whose behaviour changed."""
    lines = []
    for target in targets:
        record = target.asked_again() if isinstance(target, RepeatsCanaries) else None
        if record is None:
            continue
        kept = {"target": target.name, **record}
        write_atomically(folder / FOLDER / f"{slug(target.name)}.json", canonical_json(kept) + "\n")
        lines += warnings(CanaryRecord(**kept))
    return lines


def warnings(record: CanaryRecord) -> list[str]:
    """One line where the target's behaviour changed; else none."""
    change = tested(record)
    if not change.p <= FALSE_ALARMS:
        return []
    before, since = (record.rounds[place] * record.every for place in (change.after - 1, change.after))
    return [
        f"{record.target} changed its behaviour between its answers number {before} and {since} (p = {change.p:.2g}): "
        "answers from before and after come from different models; set another version in its file and run again"
    ]


def distances_of(record: CanaryRecord) -> Float[np.ndarray, "images t t"]:
    """Distances between the answers to each image in two rounds [images, rounds, rounds]."""
    return np.array(record.distances, dtype=np.float64)


def tested(record: CanaryRecord) -> Change:
    """The test for a change, over all rounds, at the end of the run."""
    distances = distances_of(record)
    return _remembered(distances.tobytes(), distances.shape)


@functools.lru_cache(maxsize=8)
def _remembered(distances: bytes, shape: tuple[int, int, int]) -> Change:
    return change_point(np.frombuffer(distances).reshape(shape))
