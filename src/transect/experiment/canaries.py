"""What a run keeps of the images that were asked about again and again, and the page's section about them."""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, final

import numpy as np
from jaxtyping import Float

from transect.effects.change_point import Change, change_point
from transect.effects.sequential_change import evidence_of_change
from transect.protocols import RepeatsCanaries, Target
from transect.runs.folder import canonical_json, slug, write_atomically

FOLDER: Final = "canaries"
FALSE_ALARMS: Final = 0.01
"""Share of targets that never change and are said to have changed in a run, at the most."""
EACH: Final = FALSE_ALARMS / 2
"""What each of two tests may spend: one after every round, while the run goes on, and one at its end."""
LIMIT: Final = 1 / EACH


def watch(targets: Sequence[Target]) -> None:
    """Let targets with canaries say on standard error, once and at once, that their behaviour seems to have changed."""
    for target in targets:
        if isinstance(target, RepeatsCanaries):
            target.on_round = _Watch(target.name)


@final
class _Watch:
    """Looks at one target's canaries after every round; silent once it has spoken."""

    def __init__(self, name: str) -> None:
        self._name, self._said = name, False

    def __call__(self, record: Mapping[str, Any]) -> None:
        if not self._said and (line := alarm({"target": self._name, **record})):
            self._said = True
            print(line, file=sys.stderr, flush=True)


def keep_canaries(folder: Path, targets: Sequence[Target]) -> list[str]:
    """Write what targets say of their canaries into a run folder; a line for each whose behaviour changed.

    Targets without canaries, or with one round alone, leave nothing.
    """
    said = []
    for target in targets:
        record = target.asked_again() if isinstance(target, RepeatsCanaries) else None
        if record is None:
            continue
        (folder / FOLDER).mkdir(exist_ok=True)
        kept = {"target": target.name, **record}
        write_atomically(folder / FOLDER / f"{slug(target.name)}.json", (canonical_json(kept) + "\n").encode())
        said += warnings(kept)
    return said


def alarm(kept: Mapping[str, Any]) -> str:
    """One line where the rounds until now say that the target changed, for standard error; "" otherwise."""
    evidence = evidence_of(kept)
    if evidence.max() < LIMIT:
        return ""
    number = int(kept["rounds"][int(np.argmax(evidence >= LIMIT))]) * int(kept["every"])
    return (
        f"{kept['target']} seems to have changed its behaviour: asked again after {number} answers, it answers the "
        f"same images otherwise (evidence {evidence.max():.3g}, {LIMIT:g} is the limit); the run goes on"
    )


def warnings(kept: Mapping[str, Any]) -> list[str]:
    """One line where the target's behaviour changed; nothing otherwise."""
    found, evidence = tested(kept), evidence_of(kept)
    at_once = evidence.max() >= LIMIT
    if not (found.p <= EACH or at_once):
        return []
    rounds, every = kept["rounds"], int(kept["every"])
    before, since = (int(rounds[place]) * every for place in (found.after - 1, found.after))
    seen = int(rounds[int(np.argmax(evidence >= LIMIT))]) * every
    when = f", seen after {seen}" if at_once else ""
    return [
        f"{kept['target']} changed its behaviour between its answers number {before} and {since} (p = {found.p:.2g}"
        f"{when}): answers from before and after are not of one model; set another version in its file and run again"
    ]


def distances_of(kept: Mapping[str, Any]) -> Float[np.ndarray, "images t t"]:
    """Distances between the answers to each image in two rounds [images, rounds, rounds]."""
    return np.array(kept["distances"], dtype=np.float64)


def tested(kept: Mapping[str, Any]) -> Change:
    """The test for a change, over all rounds, at the end of the run."""
    distances = distances_of(kept)
    return _remembered(distances.tobytes(), distances.shape)


def evidence_of(kept: Mapping[str, Any]) -> Float[np.ndarray, " t"]:
    """The evidence for a change after each round."""
    return evidence_of_change(distances_of(kept))


@functools.lru_cache(maxsize=8)
def _remembered(distances: bytes, shape: tuple[int, int, int]) -> Change:
    return change_point(np.frombuffer(distances).reshape(shape))
