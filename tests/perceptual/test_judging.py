"""A source against itself, against a spoiled one, and what is refused."""

import numpy as np
import pytest

from transect.generators import load
from transect.perceptual.judging import judge
from transect.records import Images


class Spoiled:
    """FaceWorld with every picture the same: nothing that is made is varied."""

    def __init__(self, world):
        self.world = world

    def sample(self, seeds):
        return self.world.sample(seeds)

    def render(self, latents):
        return Images(np.repeat(self.world.render(latents.take(slice(0, 1))).pixels, len(latents), axis=0))


@pytest.mark.integration
def test_a_source_is_as_near_to_itself_as_its_floor_and_a_collapsed_one_is_not(monkeypatch):
    monkeypatch.setattr("transect.perceptual.judging.FEWEST", 100)
    world = load("faceworld", image_size=32)
    same, collapsed = judge(world, world, 100), judge(world, Spoiled(world), 100)
    # The same seeds on both sides: no distance at all, and every picture within its own ball.
    assert same.fid == pytest.approx(0, abs=1e-6)
    assert (same.precision, same.recall) == (1.0, 1.0)
    assert same.floor.fid > 0
    # One picture stands for all: at most its near neighbours are covered.
    assert collapsed.recall < 0.1
    assert collapsed.fid > 3 * collapsed.floor.fid
    assert collapsed.floor == same.floor
