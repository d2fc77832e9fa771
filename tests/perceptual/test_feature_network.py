"""The feature network: folding, its features and distances, what the shipped network knows."""

import json

import numpy as np
import pytest
import torch

from tools.feature_network import new_network
from transect.generators.faceworld.world import FaceWorld
from transect.perceptual import features

CARD = json.loads((features.WEIGHTS.parent / "features.json").read_text())


@pytest.fixture(scope="module")
def faces():
    """Subjects of the world that were never trained on: 300 images, and their truths."""
    world = FaceWorld(image_size=64, threads=1)
    latents = world.sample(np.arange(900_000_000, 900_000_300))
    return world.render(latents).pixels, world.read(latents)


def test_folding_changes_no_answer():
    """After some training steps, so that the norms' moments are not those of the start."""
    network = new_network(4, seed=0).train()
    for _ in range(3):
        network(torch.rand(8, 3, 64, 64))
    images = torch.rand(5, 3, 64, 64)
    network.eval()
    with torch.no_grad():
        before = network(images)
        torch.testing.assert_close(network.folded()(images), before, rtol=1e-4, atol=1e-5)
    assert not any("norm" in name for name in network.state_dict())


@pytest.mark.integration
def test_the_shipped_network_reads_new_subjects_as_the_card_says(faces):
    """R2 of numbers within .12 of the card's on 300 subjects that neither training nor card has seen."""
    pixels, truth = faces
    read = features.read(pixels)
    for name in ("skin_tone", "age", "yaw", "face_shape", "hair_length"):
        true = truth[name].to_numpy()
        explained = 1 - ((read[name] - true) ** 2).mean() / true.var()
        assert explained == pytest.approx(CARD["quality"][name]["value"], abs=0.12), name
    glasses = truth["glasses"].to_numpy()
    assert ((read["glasses"] > 0.5) == (glasses > 0)).mean() > 0.9


def test_features_of_an_image_do_not_depend_on_the_others(faces):
    pixels = faces[0][:70]
    together = features.features(pixels)
    alone = np.concatenate([features.features(pixels[i : i + 1]) for i in (0, 69)])
    np.testing.assert_allclose(together[[0, 69]], alone, rtol=1e-4, atol=1e-4)
    assert together.dtype == np.float32


def test_one_person_in_another_light_is_nearer_than_another_person(faces):
    world = FaceWorld(image_size=64, threads=1)
    subjects = world.sample(np.arange(900_000_000, 900_000_060))
    pictured = features.identities(world.render(subjects).pixels)
    lit = features.identities(world.render(world.set(subjects, {"light_azimuth": 40.0, "yaw": 10.0})).pixels)
    same = features.identity_distance(pictured, lit)
    different = features.identity_distance(pictured, np.roll(lit, 1, axis=0))
    assert (same < different).mean() > 0.95


def test_identity_without_length_is_nan():
    assert np.isnan(features.identity_distance(np.zeros((1, 3)), np.ones((1, 3)))).all()
