"""The generator that ships: its contract, its directions, an audit along them, and how near it says it is."""

import auditing
import numpy as np
import pytest

from transect.controls.learned import read_directions
from transect.errors import BadInput
from transect.experiment.worlds import WorldSettings
from transect.generators import load
from transect.generators.reference import DIRECTIONS, WEIGHTS
from transect.perceptual.features import read
from transect.testing import check_controls, check_generator


def test_it_keeps_the_contracts():
    world = WorldSettings("reference").open()
    check_generator(world)
    check_controls(world, world.sample(np.arange(4)))


def test_directions_are_of_these_weights():
    import hashlib

    origin = read_directions(DIRECTIONS).origin
    assert origin["generator"]["weights_sha256"] == hashlib.sha256(WEIGHTS.read_bytes()).hexdigest()
    assert WEIGHTS.stat().st_size < 15e6


def test_attributes_that_are_set_change_the_pictures():
    """Set from little to much, the network that reads FaceWorld reads more of it, in nearly every subject."""
    world = WorldSettings("reference").open()
    latents = world.sample(np.arange(12))
    for name, low, high in (("skin_tone", 3.0, 9.0), ("age", 35.0, 65.0), ("yaw", -10.0, 8.0)):
        readings = [read(world.render(world.set(latents, {name: value})).pixels)[name] for value in (low, high)]
        assert (readings[1] > readings[0]).mean() >= 10 / 12, name
        assert np.mean(readings[1] - readings[0]) > 0.4 * (high - low), name


@pytest.mark.integration
def test_an_audit_along_its_directions_warns_whose_labels_they_are(tmp_path):
    def dark_skin(pixels):
        return np.clip(read(pixels)["skin_tone"] / 10, 0, 1)

    options = {"outcomes": ["score"], "generator": "reference", "out": tmp_path / "run", "quiet": True}
    result = auditing.audit(dark_skin, vary={"skin_tone": (3.0, 9.0)}, subjects=6, **options)
    effect = next(effect for effect in result.effects if effect.name.startswith("skin_tone: 3"))
    assert 0.3 < effect.estimate < 0.8  # set by 6 of the 10 steps that the score spans
    assert "any biases of the classifier will leak" in result.page.read_text(encoding="utf-8")


def test_options_are_those_of_a_stylegan2_and_leave_its_directions():
    """Without truncation it has all its variety; at 0 every picture is the average one."""
    world = WorldSettings("reference?truncation=0&noise=none").open()
    assert "skin_tone" in {attribute.name for attribute in world.attributes}
    flat = world.render(world.sample([1, 2])).pixels
    np.testing.assert_array_equal(flat[0], flat[1])
    plain = load("reference").render(load("reference").sample([1, 2])).pixels
    assert (plain[0] != plain[1]).any()
    with pytest.raises(BadInput, match="unknown option of a StyleGAN2 'truncate'"):
        load("reference?truncate=1")
