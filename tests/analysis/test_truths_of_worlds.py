"""Errors against different truths are different outcomes: they are not compared."""

import pytest

from transect.analysis.replicated.conclusions import World, WorldEffect
from transect.analysis.replicated.replicating import _aligned

WORLDS = [World(name, "audit", "rendered", "set", "faceworld", "", 60) for name in ("A", "B")]


def effect(world, truth, outcome):
    return WorldEffect(
        world=world, target="m", digest="1", attribute="smile", kind="binary", outcome=outcome, unit="proportion",
        truth=truth, slope=False, origin=0.0, to=1.0, labels=("no", "yes"), estimate=0.1, low=0.0, high=0.2,
        p=0.01, p_adjusted=0.01, n_subjects=60,
    )  # fmt: skip


@pytest.mark.parametrize(("truth", "outcome", "compared"), [
    ("face", "miss", 1), ("glasses>0.5", "miss", 0), ("glasses>0.5", "answer", 1), ("", "miss", 1),
])  # fmt: skip
def test_misses_of_other_truths_are_not_compared(truth, outcome, compared):
    made, notes = _aligned([effect(0, "face", outcome), effect(1, truth, outcome)], WORLDS)
    assert len(made) == compared
    assert len(notes) == (outcome == "miss" and truth != "face")
