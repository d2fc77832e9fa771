"""A picture depends on its own row alone: not on batch, place, order, threads or what was drawn before."""

from __future__ import annotations

import hashlib
import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from transect.generators.faceworld.attributes import ATTRIBUTES
from transect.generators.faceworld.causal_model import IDENTITY_COLUMNS
from transect.generators.faceworld.chance import Stream, exogenous_noise, fine_noise, generator
from transect.generators.faceworld.mesh.shape import remembered
from transect.generators.faceworld.parameters import parameters
from transect.generators.faceworld.renderer import Person, radiance
from transect.generators.faceworld.world import FaceWorld


def of_all_kinds(world, seeds, rng):
    """Subjects that differ in all that decides which layers are drawn, and in pose."""
    n = len(seeds)
    kinds = {
        "hair_style": 8,
        "hat": 6,
        "facial_hair_style": 4,
        "background": 4,
        "clothing": 4,
        "clothing_pattern": 3,
        "glasses": 5,
        "face_mask": 3,
    }
    values = {name: rng.integers(0, levels, n) * 1.0 for name, levels in kinds.items()}
    values["earrings"] = rng.integers(0, 2, n) * 1.0
    values |= {
        name: rng.uniform(0, 1, n) * rng.integers(0, 2, n) for name in ("facial_hair", "blur", "baldness", "bangs")
    }
    values |= {"yaw": rng.uniform(-45, 45, n), "roll": rng.uniform(-25, 25, n), "hair_length": rng.uniform(0, 1, n)}
    return world.set(world.sample(seeds), values)


@pytest.mark.integration
@pytest.mark.parametrize("size", [33, 64])
def test_batch_size_order_mates_and_threads_do_not_change_a_bit(size):
    rng = np.random.default_rng(size)
    world = FaceWorld(size, threads=1)
    latents = of_all_kinds(world, np.arange(700, 718), rng)
    whole, masks, points = world.render(latents), world.masks(latents), world.landmarks(latents)
    # Batches of 1, 2, 3, 7, 16 and 17: each row with other mates, in another place.
    for n in (1, 2, 3, 7, 16, 17):
        rows = rng.permutation(len(latents))[:n]
        part = world.render(latents.take(rows))
        np.testing.assert_array_equal(part.pixels, whole.pixels[rows])
        np.testing.assert_array_equal(part.face_boxes, whole.face_boxes[rows])
    two = FaceWorld(size, threads=2)
    order = rng.permutation(len(latents))
    np.testing.assert_array_equal(two.render(latents.take(order)).pixels, whole.pixels[order])
    for name, mask in two.masks(latents.take(order[:5])).items():
        np.testing.assert_array_equal(mask, masks[name][order[:5]])
    np.testing.assert_array_equal(two.landmarks(latents.take(order[:5])), points[order[:5]])


@pytest.mark.parametrize("size", [33, 64])
def test_light_before_the_camera_is_the_same_to_the_last_bit(size):
    """Eight bits and JPEG hide most of what could differ; float32 hides nothing."""
    rng = np.random.default_rng(size)
    world = FaceWorld(size, threads=1)
    latents = of_all_kinds(world, np.arange(720, 737), rng)
    p = parameters(world.model.solve(latents), latents.values[:, IDENTITY_COLUMNS])

    def light(rows):
        return np.array([radiance(Person(p[row], int(latents.seeds[row])), size) for row in rows])

    whole = light(range(17))
    for rows in ([0], [16], [9, 3], [8, 1, 12], rng.permutation(17)[:7], rng.permutation(17)[:16], rng.permutation(17)):
        np.testing.assert_array_equal(light(rows).view(np.int32), whole[rows].view(np.int32))


@pytest.mark.slow
@pytest.mark.parametrize("size", [32, 77, 256])
def test_a_hundred_subjects_alone_are_those_of_the_batch(size):
    rng = np.random.default_rng(size)
    world = FaceWorld(size, threads=1)
    latents = of_all_kinds(world, np.arange(1000, 1100), rng)
    whole = world.render(latents).pixels
    alone = np.concatenate([world.render(latents.take(slice(i, i + 1))).pixels for i in range(100)])
    np.testing.assert_array_equal(alone, whole)


def test_settings_of_the_callers_pytorch_do_not_change_a_bit():
    world = FaceWorld(64, threads=1)
    latents = world.sample([3, 4])
    plain = world.render(latents).pixels
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("medium")
        torch.set_default_dtype(torch.float64)
        np.testing.assert_array_equal(world.render(latents).pixels, plain)
        assert (torch.get_float32_matmul_precision(), torch.get_default_dtype()) == ("medium", torch.float64)
        with torch.device("meta"):
            np.testing.assert_array_equal(world.render(latents).pixels, plain)
    finally:
        torch.set_float32_matmul_precision(before)
        torch.set_default_dtype(torch.float32)


def test_streams_of_a_subject_are_independent():
    draws = {stream: generator(9, stream).standard_normal(2000) for stream in Stream}
    for a in Stream:
        for b in Stream:
            # Standard error of a correlation of 2 000 pairs: .022.
            expected = 1.0 if a == b else 0.0
            assert np.corrcoef(draws[a], draws[b])[0, 1] == pytest.approx(expected, abs=0.09)


def test_the_fine_noise_is_standard_normal_and_repeats():
    draws = np.stack([fine_noise(seed, Stream.SENSOR, 4001) for seed in range(200)])
    # 800,200 draws: standard errors of the mean .0011, of the variance .0016, of the fourth moment sqrt(96 / n) = .011.
    assert draws.mean() == pytest.approx(0, abs=0.005)
    assert draws.var() == pytest.approx(1, abs=0.007)
    assert (draws**4).mean() == pytest.approx(3, abs=0.05)
    # Of 65,536 steps that are equally probable, the outermost has its middle at the quantile 1 / 131,072: 4.325.
    assert 4.0 < np.abs(draws).max() < 4.33
    np.testing.assert_array_equal(fine_noise(3, Stream.SENSOR, 10), draws[3, :10])


def test_the_first_draws_of_a_seed_never_change():
    """A run must be recreated by its seeds: Philox with key (seed, stream), as NumPy documents it."""
    digest = hashlib.sha256(exogenous_noise(np.array([0, 1, 2**40]), 8).tobytes()).hexdigest()
    judge = [np.random.Generator(np.random.Philox(key=s)).standard_normal(8) for s in (0, 1, 2**40)]
    assert digest == hashlib.sha256(np.array(judge).tobytes()).hexdigest()


def test_a_head_that_rows_share_is_that_of_each():
    """Rows of one head are cut from one computation: another value of any other attribute leaves them as they are."""
    world = FaceWorld(32, threads=1)
    n = len(ATTRIBUTES)
    subjects = world.sample(range(21, 21 + n))

    def at(end):
        # Of subject i its attribute i at an end of its range, all else as it is.
        columns = {a.name: np.where(np.arange(n) == i, a.bounds[end], np.nan) for i, a in enumerate(ATTRIBUTES)}
        return replace(subjects, settings=columns)

    ends = [at(1), at(0), at(1)]
    columns = {a.name: np.concatenate([each.settings[a.name] for each in ends]) for a in ATTRIBUTES}
    together = replace(subjects.take(np.tile(np.arange(n), 3)), settings=columns)
    order = np.arange(3 * n).reshape(3, n).T.ravel()  # a subject's rows stand side by side
    pictures = np.empty((3 * n, 32, 32, 3), dtype=np.uint8)
    pictures[order] = world.render(together.take(order)).pixels
    for part, alone in zip(pictures.reshape(3, n, 32, 32, 3), ends, strict=True):
        for attribute, picture, own in zip(ATTRIBUTES, part, world.render(alone).pixels, strict=True):
            np.testing.assert_array_equal(picture, own, err_msg=attribute.name)


def test_a_remembered_step_sees_only_the_values_that_it_names():
    seen = []

    @remembered(2, "a")
    def step(p, key):
        seen.append((p, key))
        return p["a"]

    assert step({"a": 1.0, "b": 2.0}, 7) == step({"a": 1.0, "b": 3.0}, 7) == 1.0
    assert seen == [({"a": 1.0}, 7)]  # "b" is not there, and the second answer is the first
    assert math.copysign(1, step({"a": 0.0}, 7)) == 1
    assert math.copysign(1, step({"a": -0.0}, 7)) == -1  # equal numbers of other bits are other values
    assert step({"a": 1.0}, 8) == 1.0
    assert len(seen) == 4


_CELLS = """
import hashlib
from transect.generators.faceworld.world import FaceWorld
world = FaceWorld(48, threads=1)
cells = {"smile": [0.0, 1.0, 0.0, 0.0, 0.0, 0.0], "skin_tone": [3.0, 3.0, 9.0, 3.0, 3.0, 3.0],
         "glasses": [0.0, 0.0, 0.0, 2.0, 0.0, 0.0], "hat": [0.0, 0.0, 0.0, 0.0, 1.0, 0.0],
         "yaw": [5.0, 5.0, 5.0, 5.0, 5.0, -20.0]}
latents = world.set(world.sample([31]).repeat(6), cells)
def digests(rows):
    return [hashlib.sha256(picture).hexdigest() for picture in world.render(latents.take(rows)).pixels]
"""


@pytest.mark.integration
def test_a_fresh_process_draws_what_one_with_kept_answers_draws():
    """Steps keep their last answers: here those of other cells and subjects, there none."""
    held = {}
    exec(_CELLS, held)
    world = held["world"]
    world.render(world.sample([31, 32, 31, 33]))
    warm = held["digests"]([0, 3, 1, 0, 4, 2, 5, 0, 3])
    assert (warm[3], warm[7], warm[8]) == (warm[0], warm[0], warm[1])
    assert len(set(warm)) == 6
    for row, place in ((3, 1), (5, 6)):
        code = _CELLS + f"print(digests([{row}])[0])"
        fresh = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
        assert fresh.stdout.strip() == warm[place]
