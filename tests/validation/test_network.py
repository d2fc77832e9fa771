"""The network looks where the parts lie, follows the picture as it is moved, and learns what can be learned."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from small_world import Sample, lit, quick

from validation import network as network_module
from validation.discrimination import auc, r_squared
from validation.network import Batch, Part, Places, _moved, _window, answers, new_network, train


def test_pictures_are_moved_and_mirrored_by_hand():
    # 100 wide: a shift of 30 thousandths is 3 pixels; the picture at [y, x] shows [y + 3, x - 2], edges repeated.
    picture = np.random.default_rng(0).integers(0, 256, (1, 100, 100, 3), dtype=np.uint8)
    batch = Batch(np.array([0]), np.array([False]), np.array([[30, -20]]))
    moved = network_module._moved(picture, batch)
    np.testing.assert_array_equal(moved[0, 0:97, 2:100], picture[0, 3:100, 0:98])
    np.testing.assert_array_equal(moved[0, 99], moved[0, 96])
    mirrored = network_module._moved(picture, Batch(np.array([0]), np.array([True]), np.array([[0, 0]])))
    np.testing.assert_array_equal(mirrored, picture[:, :, ::-1])


def test_an_epoch_shows_every_picture_once_in_a_seeded_order():
    one, two = ([b.rows for b in network_module._batches(33, 2, quick(3))] for _ in range(2))
    assert sorted(np.concatenate(one).tolist()) == sorted(set(np.concatenate(two).tolist()))
    assert len(np.concatenate(one)) == 32, "a last batch of one is left out"
    assert all((a == b).all() for a, b in zip(one, two, strict=True))
    other = [b.rows for b in network_module._batches(33, 3, quick(3))]
    assert not (np.concatenate(one) == np.concatenate(other)).all()
    assert not any(b.mirrored.any() for b in network_module._batches(33, 0, quick(1, mirror=False)))


@pytest.mark.slow
def test_what_can_be_seen_is_learned_and_what_cannot_is_not():
    """Brightness is read with R2 above .95 on new pictures; labels drawn by chance stay within .5 +- 4 errors."""
    generator = np.random.default_rng(1)
    levels = generator.uniform(40, 210, 1000)
    pictures, chance = lit(levels, generator), generator.random(1000) < 0.5
    wanted = np.stack([levels / 64 - 2, chance], axis=1).astype(np.float32)

    def loss(said, batch):
        taught = torch.from_numpy(wanted[batch.rows])
        drawn = torch.nn.functional.binary_cross_entropy_with_logits(said[:, 1], taught[:, 1])
        return ((said[:, 0] - taught[:, 0]) ** 2).mean() + drawn

    network = train(new_network(2, 0, widths=(8, 16)), lambda r: pictures[r], 600, loss, quick(8))
    said = answers(network, lambda r: pictures[600 + r], 400)
    assert r_squared(said[:, 0], wanted[600:, 0].astype(float))[0] > 0.95
    # The standard error of an AUC of .5 with 200 and 200 rows is sqrt(401 / (12 * 200 * 200)) = .029.
    assert abs(auc(said[:, 1], chance[600:])[0] - 0.5) < 4 * 0.029


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
    assert [level_at(sample.pixels(np.arange(1))[0], place) for place in Places(sample).places[0]] == LEVELS


@pytest.mark.parametrize("shift", [(0, 0), (30, -20), (-25, 10)])
def test_places_follow_the_picture(shift):
    sample = marked()
    places = Places(sample)
    straight, mirrored = one(False, shift), one(True, shift)
    shown = _moved(sample.pixels(np.arange(1)), straight)[0]
    assert [level_at(shown, place) for place in places.shown(straight)[0]] == LEVELS
    shown = _moved(sample.pixels(np.arange(1)), mirrored)[0]
    # What is on the left in a mirror was on the right: left eye and ear have the levels of the right ones.
    assert [level_at(shown, place) for place in places.shown(mirrored)[0]] == [120, 100, 160, 140, 180, 200, 220]


def test_a_window_shows_what_lies_around_its_place():
    picture = torch.from_numpy(marked().pixels(np.arange(1))).permute(0, 3, 1, 2).float()
    at, left_of = (torch.tensor([[x / SIZE, 80 / SIZE]]) for x in (70, 60))
    window = _window(picture, at, Part("eye", 0.1), 29)[0, 0]
    assert window.shape == (29, 29)
    assert window[14, 14] == 100
    assert window[0, 0] == 0
    seen, turned = (_window(picture, left_of, Part("eye", 0.1, turned=t), 29)[0, 0] for t in (False, True))
    # 10 pixels of half a side of 20, which is 14 steps: the blot lies 7 steps to the right.
    assert seen[14, 21] == 100
    torch.testing.assert_close(seen.flip(1), turned, rtol=0, atol=1e-2)


@pytest.mark.slow
def test_the_network_learns_to_look_at_a_part_that_moves():
    """Faces that are a blot somewhere: after a short training the nose's place follows the blot."""
    generator = np.random.default_rng(0)
    at = generator.uniform(0.3, 0.7, (160, 2))
    y, x = np.mgrid[:32, :32] / 32
    blot = np.exp(-((x - at[:, :1, None]) ** 2 + (y - at[:, 1:, None]) ** 2) / 0.01)
    pixels = np.repeat((40 + 180 * blot)[..., None], 3, axis=3).astype(np.uint8)
    sample = Sample(pixels, {f"landmark.{2 * i + a}": 32 * at[:, a] for i in range(68) for a in (0, 1)})
    places = Places(sample)
    network = new_network(1, 0, places.average, widths=(8, 16))
    network = train(network, sample.pixels, 120, places.loss, quick(12, mirror=False))
    nose = answers(network, lambda rows: pixels[120 + rows], 40)[:, 1 + 8 : 1 + 10]
    error = np.linalg.norm(nose - at[120:], axis=1).mean()
    assert error < 0.5 * np.linalg.norm(at[120:] - at[:120].mean(0), axis=1).mean()
