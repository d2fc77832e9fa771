"""Canaries: images that a target answers again and again during a run, and the test of whether its answers changed."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

import numpy as np
from jaxtyping import Float

from transect.effects.always_valid import Change, change_point, evidence_of_change
from transect.errors import BadInput
from transect.protocols import Canaries, RepeatsCanaries, Target
from transect.runs.folder import canonical_json, slug, write_atomically
from transect.texts import say

FOLDER: Final = "canaries"
FALSE_ALARMS: Final = 0.01
"""The largest share of unchanged targets that a run reports as changed."""
EACH: Final = FALSE_ALARMS / 2
"""The level of each of two tests: one after every round, and one at the end of the run."""
LIMIT: Final = 1 / EACH


@final
@dataclass(frozen=True, slots=True)
class CanaryRecord:
    """What a run keeps of one target's canaries.

    every: answers between rounds; images: how many are asked about again; rounds: their numbers. distances [images,
    rounds, rounds]: between the answers to an image, None where one is missing.
    """

    target: str
    every: int
    images: int
    rounds: tuple[int, ...]
    distances: tuple[tuple[tuple[float | None, ...], ...], ...]

    def __post_init__(self) -> None:
        rounds = len(self.rounds)
        square = all(len(image) == rounds and all(len(row) == rounds for row in image) for image in self.distances)
        if rounds < 2 or len(self.distances) != self.images or not square:
            raise BadInput("expected distances between two or more rounds for each image, got another number of them")


def watch(targets: Sequence[Target]) -> None:
    """Print one line on standard error, immediately, where a target with canaries seems to have changed."""
    for target in targets:
        if isinstance(target, RepeatsCanaries):
            target.on_round = _Watch(target.name)


@final
class _Watch:
    """Looks at one target's canaries after every round; silent after its first alarm."""

    def __init__(self, name: str) -> None:
        self._name, self._alarmed = name, False

    def __call__(self, record: Canaries) -> None:
        if not self._alarmed and (line := alarm({"target": self._name, **record})):
            self._alarmed = True
            say(line, error=True)


def keep_canaries(folder: Path, targets: Sequence[Target]) -> list[str]:
    """Write the records of targets that have canaries into a run folder; a line for each whose behaviour changed."""
    lines = []
    for target in targets:
        record = target.asked_again() if isinstance(target, RepeatsCanaries) else None
        if record is None:
            continue
        record = {"target": target.name, **record}
        write_atomically(folder / FOLDER / f"{slug(target.name)}.json", canonical_json(record) + "\n")
        lines += warnings(record)
    return lines


def alarm(record: Canaries) -> str:
    """A line for standard error where the rounds so far show that the target changed; "" otherwise."""
    evidence = evidence_of(record)
    if evidence.max() < LIMIT:
        return ""
    number = int(record["rounds"][int(np.argmax(evidence >= LIMIT))]) * int(record["every"])
    return (
        f"{record['target']} seems to have changed its behaviour: asked again after {number} answers, it answers the "
        f"same images differently (evidence {evidence.max():.3g}, {LIMIT:g} is the limit); the run continues"
    )


def warnings(record: Canaries) -> list[str]:
    """One line where the target's behaviour changed; else none."""
    change, evidence = tested(record), evidence_of(record)
    at_once = evidence.max() >= LIMIT
    if not (change.p <= EACH or at_once):
        return []
    rounds, every = record["rounds"], int(record["every"])
    before, since = (int(rounds[place]) * every for place in (change.after - 1, change.after))
    seen = int(rounds[int(np.argmax(evidence >= LIMIT))]) * every
    when = f", seen after {seen}" if at_once else ""
    return [
        f"{record['target']} changed its behaviour between its answers number {before} and {since} (p = {change.p:.2g}"
        f"{when}): answers from before and after are not of one model; set another version in its file and run again"
    ]


def distances_of(record: Canaries) -> Float[np.ndarray, "images t t"]:
    """Distances between the answers to each image in two rounds [images, rounds, rounds]."""
    return np.array(record["distances"], dtype=np.float64)


def tested(record: Canaries) -> Change:
    """The test for a change, over all rounds, at the end of the run."""
    distances = distances_of(record)
    return _remembered(distances.tobytes(), distances.shape)


def evidence_of(record: Canaries) -> Float[np.ndarray, " t"]:
    """The evidence for a change after each round."""
    return evidence_of_change(distances_of(record))


@functools.lru_cache(maxsize=8)
def _remembered(distances: bytes, shape: tuple[int, int, int]) -> Change:
    return change_point(np.frombuffer(distances).reshape(shape))
