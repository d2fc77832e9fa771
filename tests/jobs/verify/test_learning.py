"""The training loop: what it shows, that it goes on where it stopped, and that it learns what can be learned."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from small_world import lit, quick

from transect.jobs.verify import learning
from transect.jobs.verify.learning import Batch, answers, train
from transect.jobs.verify.network import PLACES, Network, new_network

TINY = (4, 8)


def brightness(levels):
    wanted = torch.from_numpy((levels / 128 - 1).astype(np.float32))
    return lambda said, batch: ((said[:, 0] - wanted[batch.rows]) ** 2).mean()


def weights(network):
    return {name: value.clone() for name, value in network.state_dict().items()}


def test_a_stopped_training_ends_as_an_unbroken_one(tmp_path):
    generator = np.random.default_rng(0)
    levels = generator.uniform(30, 220, 40)
    pictures = lit(levels, generator)

    def run(name, stop_at=None):
        calls = 0

        def pixels(rows):
            nonlocal calls
            calls += 1
            if calls == stop_at:
                raise KeyboardInterrupt
            return pictures[rows]

        file = tmp_path / f"{name}-0.safetensors"
        network = new_network(1, 3, widths=TINY)
        return weights(train(network, pixels, 40, brightness(levels), quick(3), file, quiet=True))

    whole = run("whole")
    with pytest.raises(KeyboardInterrupt):
        run("broken", stop_at=5)  # three batches an epoch: in the second
    resumed = run("broken")
    assert all(torch.equal(value, resumed[name]) for name, value in whole.items())


def test_a_finished_training_shows_no_picture_again(tmp_path):
    levels = np.linspace(30, 220, 8)
    pictures = lit(levels, np.random.default_rng(0))
    file = tmp_path / "done-0.safetensors"
    first = train(
        new_network(1, 0, widths=TINY), lambda r: pictures[r], 8, brightness(levels), quick(1), file, quiet=True
    )

    def never(rows):
        raise AssertionError("shown again")

    again = train(new_network(1, 9, widths=TINY), never, 8, brightness(levels), quick(1), file, quiet=True)
    assert all(torch.equal(value, weights(again)[name]) for name, value in weights(first).items())


def test_weights_come_from_the_seed_alone():
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    one, two, other = (new_network(2, seed, widths=TINY) for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), before), "nobody else's chance is touched"
    assert torch.equal(one.head.weight, two.head.weight)
    assert not torch.equal(one.head.weight, other.head.weight)


def test_the_network_is_small_and_its_answers_are_float32():
    network = Network(100)
    assert 1e6 < sum(p.numel() for p in network.parameters()) < 2e6
    network.eval()
    assert network(torch.rand(2, 3, 32, 32)).dtype is torch.float32
    assert network(torch.rand(2, 3, 33, 50)).shape == (2, 100 + PLACES)


def test_pictures_are_moved_and_mirrored_by_hand():
    # 100 wide: a shift of 30 thousandths is 3 pixels; the picture at [y, x] shows [y + 3, x - 2], edges repeated.
    picture = np.random.default_rng(0).integers(0, 256, (1, 100, 100, 3), dtype=np.uint8)
    batch = Batch(np.array([0]), np.array([False]), np.array([[30, -20]]))
    moved = learning._moved(picture, batch)
    np.testing.assert_array_equal(moved[0, 0:97, 2:100], picture[0, 3:100, 0:98])
    np.testing.assert_array_equal(moved[0, 99], moved[0, 96])
    mirrored = learning._moved(picture, Batch(np.array([0]), np.array([True]), np.array([[0, 0]])))
    np.testing.assert_array_equal(mirrored, picture[:, :, ::-1])


def test_an_epoch_shows_every_picture_once_in_a_seeded_order():
    one, two = ([b.rows for b in learning._batches(33, 2, quick(3))] for _ in range(2))
    assert sorted(np.concatenate(one).tolist()) == sorted(set(np.concatenate(two).tolist()))
    assert len(np.concatenate(one)) == 32, "a last batch of one is left out"
    assert all((a == b).all() for a, b in zip(one, two, strict=True))
    other = [b.rows for b in learning._batches(33, 3, quick(3))]
    assert not (np.concatenate(one) == np.concatenate(other)).all()
    assert not any(b.mirrored.any() for b in learning._batches(33, 0, quick(1, mirror=False)))


def test_the_pace_rises_and_falls():
    assert learning._pace(0) == pytest.approx(0.01)
    assert learning._pace(0.06) == pytest.approx(1)
    assert learning._pace(0.53) == pytest.approx(0.5)  # half of the cosine: .06 + .94 / 2
    assert learning._pace(1) == pytest.approx(0.01)


@pytest.mark.slow
def test_what_can_be_seen_is_learned_and_what_cannot_is_not(tmp_path):
    """Brightness is read with R2 above .95 on new pictures; labels drawn by chance stay within .5 +- 4 errors."""
    from transect.jobs.verify.discrimination import auc, r_squared

    generator = np.random.default_rng(1)
    levels = generator.uniform(40, 210, 1000)
    pictures, chance = lit(levels, generator), generator.random(1000) < 0.5
    wanted = np.stack([levels / 64 - 2, chance], axis=1).astype(np.float32)

    def loss(said, batch):
        taught = torch.from_numpy(wanted[batch.rows])
        drawn = torch.nn.functional.binary_cross_entropy_with_logits(said[:, 1], taught[:, 1])
        return ((said[:, 0] - taught[:, 0]) ** 2).mean() + drawn

    file = tmp_path / "easy-0.safetensors"
    network = train(new_network(2, 0, widths=(8, 16)), lambda r: pictures[r], 600, loss, quick(8), file, quiet=True)
    said = answers(network, lambda r: pictures[600 + r], 400)
    assert r_squared(said[:, 0], wanted[600:, 0].astype(float))[0] > 0.95
    # The standard error of an AUC of .5 with 200 and 200 rows is sqrt(401 / (12 * 200 * 200)) = .029.
    assert abs(auc(said[:, 1], chance[600:])[0] - 0.5) < 4 * 0.029
