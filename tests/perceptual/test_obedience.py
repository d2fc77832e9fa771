"""How often conditions are obeyed: counts of a generator that obeys, and of one that does the opposite."""

import numpy as np
import pyarrow as pa
import pytest

from transect.generators.faceworld.world import FaceWorld
from transect.perceptual import judging
from transect.perceptual.judging import obedience

PICTURES = 30


class Levels:
    """FaceWorld as a conditional generator: hat as it is, glasses the wrong way round, the skin tone by its level."""

    def __init__(self, world):
        self.world, self.attributes = world, world.attributes

    def sample(self, seeds):
        return self.world.sample(seeds)

    def render(self, latents):
        return self.world.render(latents)

    def read(self, latents):
        truth = self.world.read(latents)
        tone = np.asarray(truth["skin_tone"]) >= 5.5
        return pa.table(
            {"hat": truth["hat"], "glasses": 1.0 * (np.asarray(truth["glasses"]) == 0), "skin_tone": tone * 1.0}
        )


@pytest.fixture
def world(monkeypatch):
    """FaceWorld, whose pictures a planted reader reads without error."""
    world = FaceWorld(image_size=32)
    latents = world.sample(np.arange(judging._FIRST_CONDITIONED, judging._FIRST_CONDITIONED + PICTURES))
    pictures, truth = world.render(latents).pixels, world.read(latents)

    def read(pixels):
        assert np.array_equal(pixels, pictures)
        return {name: truth[name].to_numpy() for name in truth.column_names}

    monkeypatch.setattr(judging, "read", read)
    return world


def test_counts_by_level_of_what_is_obeyed_and_of_what_is_turned_round(world):
    rows = obedience(Levels(world), world, ["hat", "glasses!=none", "skin_tone=5.5"], pictures=PICTURES)
    by_name = {name: [row for row in rows if row.condition == name] for name in ("hat", "glasses", "skin_tone")}
    assert [row.level for row in by_name["skin_tone"]] == ["below 5.5", "from 5.5"]
    assert [row.level for row in by_name["glasses"]] == ["none", "any"]
    for name, levels in by_name.items():
        assert sum(row.pictures for row in levels) == sum(row.own_pictures for row in levels) == PICTURES
        assert all(row.read for row in levels)
        if name != "glasses":  # the same pictures with the same levels, read the same way
            assert all((row.pictures, row.obeyed) == (row.own_pictures, row.own_obeyed) for row in levels)
    assert sum(row.obeyed for row in by_name["hat"]) == PICTURES
    assert sum(row.obeyed for row in by_name["glasses"]) == 0
    assert sum(row.own_obeyed for row in by_name["glasses"]) == PICTURES
