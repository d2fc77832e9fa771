"""What a model prefers of two images of a subject, as effects, which have verdicts as others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from jaxtyping import Float

from transect.analysis import two_images
from transect.analysis.finished_run import Run
from transect.analysis.two_images import AskedPairs
from transect.designs.two_at_once import Pair, along
from transect.effects import intervals, randomization
from transect.effects.analysis import CONFIDENCE
from transect.effects.preferences import PREFERRED, NetPreference, net_preference
from transect.records import Effect
from transect.runs.spec import PairsEntry

INCOMPLETE: Final = "no answer in both orders"
"""Why a subject's images are left out."""


def preferred(
    run: Run, entry: PairsEntry, confidence: float = CONFIDENCE
) -> tuple[tuple[Effect, ...], tuple[Float[np.ndarray, " n"], ...]]:
    """An effect for every two levels of each attribute, and each person's preference behind it.

    An effect is the share of subjects that prefer the image at the second level, in both orders, less the share that
    prefer the one at the first: 0 without a preference, from -1 to 1. A choice that follows the place counts for
    neither. p is the exact sign test of the subjects that prefer either. Raises BadInput for unfinished tables.
    """
    return preferred_of(run, two_images.read(run, entry), confidence)


def preferred_of(
    run: Run, asked: AskedPairs, confidence: float = CONFIDENCE
) -> tuple[tuple[Effect, ...], tuple[Float[np.ndarray, " n"], ...]]:
    """As `preferred`, of answers that were read already."""
    made = list(_made(run, asked, confidence))
    return tuple(effect for effect, _ in made), tuple(decided for _, decided in made)


def named(run: Run, target: str) -> PairsEntry | None:
    """The question about two images of that name; None where the run asked no such one."""
    return next((entry for entry in run.spec.pairs if entry.name == target), None)


def _made(run: Run, asked: AskedPairs, confidence: float) -> Iterator[tuple[Effect, Float[np.ndarray, " n"]]]:
    for name, levels in run.design.levels.items():
        for (first, second), cells in along(run.design, name).items():
            decided = asked.decided(cells)
            found = net_preference(decided, confidence=confidence, seed=run.design.seed)
            ends = levels[first], levels[second]
            yield _effect(run, asked.name, name, ends, cells, found, len(decided), confidence), decided


def _effect(
    run: Run,
    target: str,
    name: str,
    ends: tuple[float, float],
    cells: list[Pair],
    found: NetPreference,
    people: int,
    confidence: float,
) -> Effect:
    label, left_out = run.attributes[name].label, people - found.subjects
    images = 2 * len(cells)
    sources = [intervals.SOURCES[intervals.PAIRED_SCORE], *_named(found.test)] if found.subjects else []
    return Effect(
        name=f"{name}: {label(ends[0])} to {label(ends[1])}",
        attribute=name,
        target=target,
        outcome=PREFERRED,
        estimate=found.difference.estimate,
        low=found.difference.low,
        high=found.difference.high,
        p=found.p,
        unit="proportion",
        n_subjects=found.subjects,
        n_images=images * found.subjects,
        origin=ends[0],
        to=ends[1],
        excluded={INCOMPLETE: images * left_out} if left_out else {},
        reason=found.difference.reason,
        interval_method=intervals.PAIRED_SCORE if found.subjects else "",
        test_method=found.test,
        spec={
            "confidence": confidence,
            "seed": run.design.seed,
            "subjects": run.design.subjects,
            "subjects_dropped": left_out,
        },
        sources=tuple(sources),
    )


def _named(test: str) -> list[str]:
    return [randomization.SOURCES[test]] if test in randomization.SOURCES else []
