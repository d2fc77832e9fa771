"""Where the network is taught to look: places that follow the picture as it is moved and mirrored, windows around them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from small_world import Sample

from transect.jobs.verify.learning import Batch, _moved
from transect.jobs.verify.network import PARTS, Part, _window, new_network
from transect.jobs.verify.places import Places, part_places

SIZE = 200
LEVELS = [100, 120, 140, 160, 180, 200, 220]


def marked():
    """A picture with a blot of its own level at each part: eyes, ears, nose, between mouth and chin, above the bridge."""
    p = np.full((68, 2), 100.0)
    p[36:42], p[42:48], p[2], p[14], p[30] = (70, 80), (130, 80), (40, 110), (160, 110), (100, 120)
    p[48:60], p[8], p[27] = (100, 150), (100, 180), (100, 90)
    truth = {f"landmark.{i}": np.full(1, value) for i, value in enumerate(p.ravel())}
    pixels = np.zeros((1, SIZE, SIZE, 3), np.uint8)
    # The middle of mouth and chin is (100, 165); half the way from chin to bridge beyond the bridge is (100, 45).
    middles = [(70, 80), (130, 80), (40, 110), (160, 110), (100, 120), (100, 165), (100, 45)]
    for level, (x, y) in zip(LEVELS, middles, strict=True):
        pixels[0, y - 2 : y + 2, x - 2 : x + 2] = level
    return Sample(pixels, truth)


def level_at(picture, place):
    x, y = (round(float(v) * SIZE) for v in place)
    return int(picture[y, x, 0])


def one(turned, shift=(0, 0)):
    return Batch(np.array([0]), np.array([turned]), np.array([shift]))


def test_the_parts_lie_where_the_landmarks_say():
    sample = marked()
    assert [level_at(sample.all[0], place) for place in part_places(sample)[0]] == LEVELS


@pytest.mark.parametrize("shift", [(0, 0), (30, -20), (-25, 10)])
def test_places_follow_the_picture(shift):
    sample = marked()
    places = Places(sample)
    straight, mirrored = one(False, shift), one(True, shift)
    shown = _moved(sample.all, straight)[0]
    assert [level_at(shown, place) for place in places.shown(straight)[0]] == LEVELS
    shown = _moved(sample.all, mirrored)[0]
    # What is on the left in a mirror was on the right: left eye and ear have the levels of the right ones.
    assert [level_at(shown, place) for place in places.shown(mirrored)[0]] == [120, 100, 160, 140, 180, 200, 220]


def test_a_window_shows_what_lies_around_its_place():
    picture = torch.from_numpy(marked().all).permute(0, 3, 1, 2).float()
    at, left_of = (torch.tensor([[x / SIZE, 80 / SIZE]]) for x in (70, 60))
    window = _window(picture, at, Part("eye", 0.1), 29)[0, 0]
    assert window.shape == (29, 29)
    assert window[14, 14] == 100
    assert window[0, 0] == 0
    seen, turned = (_window(picture, left_of, Part("eye", 0.1, turned=t), 29)[0, 0] for t in (False, True))
    # 10 pixels of half a side of 20, which is 14 steps: the blot lies 7 steps to the right.
    assert seen[14, 21] == 100
    torch.testing.assert_close(seen.flip(1), turned, rtol=0, atol=1e-2)


def test_a_network_starts_to_look_where_the_parts_lie_on_average():
    sample = marked()
    places = Places(sample)
    network = new_network(3, 0, places.average, widths=(4, 8)).eval()
    said = network(torch.rand(2, 3, 64, 64)).detach()
    found = said[:, 3:].numpy().reshape(2, len(PARTS), 2)
    np.testing.assert_allclose(found, np.repeat(part_places(sample), 2, 0), rtol=0, atol=1e-6)
    assert float(places.loss(said[:1], one(False))) < 1e-9
    assert float(places.loss(said[:1], one(False, (30, 30)))) > 1e-3


def test_the_network_learns_to_look_at_a_part_that_moves(tmp_path):
    """Faces that are a blot somewhere: after a short training the nose's place follows the blot."""
    from small_world import quick

    from transect.jobs.verify.learning import answers, train

    generator = np.random.default_rng(0)
    at = generator.uniform(0.3, 0.7, (160, 2))
    y, x = np.mgrid[:32, :32] / 32
    blot = np.exp(-((x - at[:, :1, None]) ** 2 + (y - at[:, 1:, None]) ** 2) / 0.01)
    pixels = np.repeat((40 + 180 * blot)[..., None], 3, axis=3).astype(np.uint8)
    sample = Sample(pixels, {f"landmark.{2 * i + a}": 32 * at[:, a] for i in range(68) for a in (0, 1)})
    places = Places(sample)
    network = new_network(1, 0, places.average, widths=(8, 16))
    file = tmp_path / "n-0.safetensors"
    network = train(network, sample.pixels, 120, places.loss, quick(12, mirror=False), file, quiet=True)
    nose = answers(network, lambda rows: pixels[120 + rows], 40)[:, 1 + 8 : 1 + 10]
    error = np.linalg.norm(nose - at[120:], axis=1).mean()
    assert error < 0.5 * np.linalg.norm(at[120:] - at[:120].mean(0), axis=1).mean()
