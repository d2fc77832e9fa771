"""Critics, taps, batches and the three phases, on pictures whose colors are what they say."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch import nn

from transect.attacks.outputs import performance
from transect.errors import BadInput
from transect.mitigation.adversarial import IMAGE, Adversary, Settings, fit_predictor, scores_of
from transect.mitigation.data import TaskData, balanced_batches, batches
from transect.mitigation.networks import (
    ImageCritic,
    Mask,
    SmallResNet,
    Tap,
    changed,
    reverse_gradient,
)


class Colors:
    """Green says the label, red the protected class; both are noisy."""

    def __init__(self, labels, protected, seed=0):
        rng = np.random.default_rng(seed)
        noise = rng.normal(0, 25, (len(labels), 8, 8, 3)) + rng.normal(0, 30, (len(labels), 1, 1, 3))
        means = np.stack([80 + 90 * protected, 80 + 90 * labels, np.full(len(labels), 120)], axis=1)
        self._pixels = np.clip(means[:, None, None] + noise, 0, 255).astype(np.uint8)

    def pixels(self, rows):
        return self._pixels[rows]


def planted(n=480, seed=0, together=0.8):
    rng = np.random.default_rng(seed)
    protected = rng.integers(0, 2, n)
    labels = np.where(rng.random(n) < together, protected, 1 - protected)
    return TaskData(Colors(labels, protected, seed), (labels == 1)[:, None], protected, ("green",))


def small():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, 1)
    )


def quiet(*_):
    pass


def probe(model, data, name="4"):
    """Held-out accuracy, on as many of each class, of a fresh linear attacker on the module's output."""
    with Tap(model, name) as tap:
        scores_of(model, data.pictures, np.arange(len(data)))
        model.eval()
        with torch.no_grad():
            model(data.images(np.arange(len(data))))
        seen = tap.output.flatten(1).detach().numpy()
    even = np.concatenate([np.flatnonzero(data.protected == one)[:600] for one in (0, 1)])
    fit, held_out = even[::2], even[1::2]
    attacker = LogisticRegression(max_iter=2000).fit(seen[fit], data.protected[fit])
    return attacker.score(seen[held_out], data.protected[held_out])


@pytest.mark.slow
@pytest.mark.parametrize(("reverse", "weight"), [(False, 3.0), (True, 1.0)])
def test_the_representation_tells_less_and_the_task_stays(reverse, weight):
    """Red is independent of green, so that it can go: a fresh attacker finds it at first, and less of it afterwards.

    The critic must be the faster of the two. With the predictor's rate at the critic's, or few pictures for the critic to
    learn from, the predictor only turns its representation away from it, and a fresh attacker finds as much as before.
    """
    data, rows = planted(1600, together=0.5), np.arange(1600)
    options = {"rate": 0.01, "joint_rate": 3e-4, "critic_rate": 3e-3, "epochs": 5, "joint_epochs": 60, "batch": 64}
    settings = Settings("4", weight=weight, reverse=reverse, **options)
    model = fit_predictor(small(), data, rows[:1200], rows[1200:], settings, quiet)
    before, f1 = probe(model, data), performance(scores_of(model, data.pictures, rows), data.labels).macro_f1
    adversary = Adversary(model, data, settings)
    adversary.fit_critic(rows[:1200], quiet)
    adversary.fit_both(rows[:1200], quiet)
    assert before > 0.88
    assert probe(model, data) < before - 0.03  # two standard errors of 600 held-out pictures; seen: 0.08 to 0.14
    assert performance(scores_of(model, data.pictures, rows), data.labels).macro_f1 > f1 - 2


def test_the_critic_learns_what_is_there():
    data, told = planted(), []
    adversary = Adversary(small(), data, Settings("4", critic_rate=0.01, critic_epochs=6))
    adversary.fit_critic(np.arange(480), lambda phase, epoch, found: told.append(found["loss"]))
    assert told[0] > told[-1]
    assert told[-1] < 0.4  # ln 2 = 0.69 is knowing nothing


@pytest.mark.integration
def test_the_mask_keeps_what_it_need_not_hide():
    data = planted(32)
    torch.manual_seed(0)
    settings = Settings(IMAGE, IMAGE, weight=0.0, reconstruction=5.0, joint_epochs=2, joint_rate=0.01, batch=16)
    mask = Mask((4, 8))
    Adversary(small(), data, settings, mask).fit_both(np.arange(32), quiet)
    assert mask.eval()(data.images(np.arange(8))).mean() > 0.9


def test_the_critic_stands_still_while_the_predictor_learns():
    data = planted(64)
    settings = Settings("4", joint_rate=0.01)
    adversary = Adversary(small(), data, settings)
    before = [value.clone() for value in adversary.critic.parameters()]  # batch norms count what they see
    predictor = torch.optim.Adam(adversary.model.parameters(), lr=0.01)
    adversary._hide(predictor, np.arange(32), np.arange(32, 64))
    assert all(torch.equal(a, b) for a, b in zip(before, adversary.critic.parameters(), strict=True))
    model = [value.clone() for value in adversary.model.state_dict().values()]
    critic = torch.optim.Adam(adversary.critic.parameters(), lr=0.01)
    adversary.model.eval()
    adversary._teach(critic, np.arange(32))
    assert all(torch.equal(a, b) for a, b in zip(model, adversary.model.state_dict().values(), strict=True))


def test_narrow_networks_survive_pictures_in_channels_last():
    """With 8 channels in that layout PyTorch 2.13 on a processor ends the process in the backward pass."""
    images = torch.rand(32, 64, 64, 3).permute(0, 3, 1, 2)
    assert images.is_contiguous(memory_format=torch.channels_last)
    for network in (ImageCritic(2, width=8), SmallResNet(2, (8, 16))):
        network.train()(images).sum().backward()
        assert all(value.grad is not None for value in network.parameters())


def test_taps_and_changes_come_off_again():
    model, images = small(), torch.rand(2, 3, 8, 8)
    plain = model(images)
    with Tap(model, "4") as tap, pytest.raises(BadInput, match="module 4 is not used"):
        _ = tap.output
    with changed(model, "4", torch.zeros_like):
        assert torch.equal(model(images), model[5].bias.expand(2, 1))
    assert torch.equal(model(images), plain)


def test_a_reversed_gradient_by_hand():
    x = torch.tensor([2.0], requires_grad=True)
    made = reverse_gradient(x, 3.0)
    made.square().sum().backward()  # 2 · 2, turned round and scaled by 3
    assert (made.item(), x.grad.item()) == (2.0, -12.0)


def test_batches_are_even_and_complete():
    protected = np.array([0] * 90 + [1] * 10)
    rows = np.arange(100)
    even = list(balanced_batches(rows, protected, 20, seed=1, epoch=0))
    assert len(even) == 5
    assert all((protected[batch] == 1).sum() == 10 and len(batch) == 20 for batch in even)
    assert set(np.concatenate(even)[protected[np.concatenate(even)] == 1]) == set(range(90, 100))
    assert sorted(np.concatenate(list(batches(rows, 20, 1, 0))).tolist()) == list(range(100))
    assert np.array_equal(next(batches(rows, 20, 1, 3)), next(batches(rows, 20, 1, 3)))
