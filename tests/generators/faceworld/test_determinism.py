"""A picture depends on its own row alone: not on batch, place, order, threads or what was drawn before."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
import torch

from transect.generators.faceworld.attributes import ATTRIBUTES
from transect.generators.faceworld.chance import Stream, exogenous_noise, generator
from transect.generators.faceworld.renderer import shape_head
from transect.generators.faceworld.textures import LATTICES, draw_lattices
from transect.generators.faceworld.world import FaceWorld


@pytest.mark.parametrize("size", [32, 33, 96])
def test_batch_size_order_and_threads_do_not_change_a_bit(size):
    seeds = np.arange(10, 17)
    world = FaceWorld(size, threads=1)
    latents = world.sample(seeds)
    whole = world.render(latents)
    one_by_one = np.concatenate([world.render(world.sample([s])).pixels for s in seeds])
    in_threes = np.concatenate([world.render(latents.take(slice(i, i + 3))).pixels for i in (0, 3, 6)])
    order = np.array([4, 0, 6, 2, 5, 1, 3])
    shuffled = FaceWorld(size, threads=2).render(latents.take(order))
    np.testing.assert_array_equal(one_by_one, whole.pixels)
    np.testing.assert_array_equal(in_threes, whole.pixels)
    np.testing.assert_array_equal(shuffled.pixels, whole.pixels[order])
    np.testing.assert_array_equal(shuffled.face_boxes, whole.face_boxes[order])


def test_large_pictures_do_not_depend_on_threads_within_an_operation():
    """512 * 512 pixels are enough for an operation to be cut among threads, if the renderer let it."""
    latents = FaceWorld(512, threads=1).sample([5])
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        two = FaceWorld(512, threads=2).render(latents.repeat(2)).pixels
        assert torch.get_num_threads() == 2
        torch.set_num_threads(1)
        one = FaceWorld(512, threads=1).render(latents).pixels
    finally:
        torch.set_num_threads(before)
    np.testing.assert_array_equal(two[0], one[0])
    np.testing.assert_array_equal(two[1], one[0])


@pytest.mark.parametrize("threads", [1, 2])
def test_each_operation_runs_on_one_core(monkeypatch, threads):
    seen = []

    def record(p, seed, size):
        seen.append(torch.get_num_threads())
        return torch.zeros((1, size, size, 3), dtype=torch.uint8)

    monkeypatch.setattr("transect.generators.faceworld.world.render_tile", record)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        world = FaceWorld(32, threads=threads)
        world.render(world.sample(range(6)))
    finally:
        torch.set_num_threads(before)
    assert seen == [1] * 6


def test_torchs_setting_is_restored_after_a_failure(monkeypatch):
    before = torch.get_num_threads()
    monkeypatch.setattr("transect.generators.faceworld.world.render_tile", lambda *_: 1 / 0)
    for threads in (1, 2):
        world = FaceWorld(32, threads=threads)
        with pytest.raises(ZeroDivisionError):
            world.render(world.sample([1, 2]))
        assert torch.get_num_threads() == before


def test_subjects_differ_and_seeds_repeat():
    world = FaceWorld(32, threads=1)
    images = world.render(world.sample([1, 2, 1])).pixels
    assert (images[0] != images[1]).mean() > 0.5
    np.testing.assert_array_equal(images[0], images[2])


def test_streams_of_a_subject_are_independent():
    draws = {stream: generator(9, stream).standard_normal(2000) for stream in Stream}
    for a in Stream:
        for b in Stream:
            # Standard error of a correlation of 2 000 pairs: .022.
            expected = 1.0 if a == b else 0.0
            assert np.corrcoef(draws[a], draws[b])[0, 1] == pytest.approx(expected, abs=0.09)


def test_noise_is_standard_normal_over_subjects():
    noise = exogenous_noise(np.arange(3000), 40)
    # Standard error of the mean: 1 / sqrt(120 000) = .003.
    assert noise.mean() == pytest.approx(0, abs=0.012)
    assert noise.std() == pytest.approx(1, abs=0.01)


def test_the_first_draws_of_a_seed_never_change():
    """A run must be recreated by its seeds: Philox with key (seed, stream), as NumPy documents it."""
    digest = hashlib.sha256(exogenous_noise(np.array([0, 1, 2**40]), 8).tobytes()).hexdigest()
    judge = [np.random.Generator(np.random.Philox(key=s)).standard_normal(8) for s in (0, 1, 2**40)]
    assert digest == hashlib.sha256(np.array(judge).tobytes()).hexdigest()


def test_every_lattice_is_always_drawn():
    assert {name: tuple(lattice.shape[1:]) for name, lattice in draw_lattices(4).items()} == LATTICES


@pytest.mark.parametrize("name", [a.name for a in ATTRIBUTES])
def test_what_is_kept_of_a_head_never_shows_in_another_picture(name):
    """The renderer keeps the shape of the last heads: after another value of any attribute the picture is the same."""
    low, high = next(a.bounds for a in ATTRIBUTES if a.name == name)
    world = FaceWorld(32, threads=1)
    subject = world.sample([21])
    shape_head.cache_clear()
    fresh = world.render(world.set(subject, {name: high})).pixels
    shape_head.cache_clear()
    world.render(world.set(subject, {name: low}))
    np.testing.assert_array_equal(world.render(world.set(subject, {name: high})).pixels, fresh)


def test_the_shape_of_a_head_is_made_once_for_a_transect_of_tone_and_light():
    world = FaceWorld(32, threads=1)
    subject = world.sample([22]).repeat(6)
    shape_head.cache_clear()
    world.render(world.set(subject, {"skin_tone": [1.0, 4.0, 9.0] * 2, "light_level": [0.0] * 3 + [-2.0] * 3}))
    assert shape_head.cache_info().misses == 1
