"""The parts of a training against what was worked out by hand: averages, rates, weights of penalties, processes."""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional

from transect.generators.stylegan2.network import Configuration
from transect.training import recipes
from transect.training.critics import Discriminator
from transect.training.loop import Batch, adam, follow
from transect.training.options import GanOptions
from transect.training.recipes import StyleGAN2Recipe

SHAPE = Configuration(4, 4, 0, 1, {4: 4, 8: 4, 16: 4})


def pair(mean, value):
    networks = [torch.nn.Linear(1, 1, bias=False) for _ in range(2)]
    for network, number in zip(networks, (mean, value), strict=True):
        torch.nn.init.constant_(network.weight, number)
        network.register_buffer("held", torch.tensor(number))
    return networks


def batch_of(count=4, size=16, step=0, whole=None, shown=0):
    chance = torch.Generator().manual_seed(5)
    images = torch.rand(count, 3, size, size, generator=chance) * 2 - 1
    return Batch(images, None, shown, step, chance, count if whole is None else whole)


def test_weights_of_a_half_life_ago_count_half():
    average, network = pair(0.0, 1.0)
    # 100 pictures at a half-life of 100 leave half of the mean: 0 -> 0.5; 200 more leave a quarter of the rest: 0.875.
    follow(average, network, 100, 10**6, 100.0)
    assert average.weight.item() == pytest.approx(0.5)
    follow(average, network, 200, 10**6, 100.0)
    assert average.weight.item() == pytest.approx(0.875)
    assert average.held.item() == 1.0  # buffers are copied


def test_early_on_the_half_life_is_a_share_of_what_was_shown():
    average, network = pair(0.0, 1.0)
    # After 200 pictures the half-life is 0.05 * 200 = 10 in place of 10,000: 20 pictures leave a quarter.
    follow(average, network, 20, 200, 10_000.0)
    assert average.weight.item() == pytest.approx(0.75)


def test_a_lazy_penalty_slows_the_rate_and_the_moment():
    # Every 16th step: ratio 16 / 17, so that 17 updates move as far as 16 of the plain rate.
    (group,) = adam([torch.nn.Parameter(torch.zeros(1))], 0.0025, 0.99, 16).param_groups
    assert group["lr"] == pytest.approx(0.0025 * 16 / 17)
    assert group["betas"] == (0.0, pytest.approx(0.99 ** (16 / 17)))


def taken(monkeypatch, options, batch):
    """The losses that the optimizers were given: generator's, critic's."""
    totals = []
    monkeypatch.setattr("transect.training.recipes.descend", lambda _, loss, __: totals.append(loss.item()) or 0)
    figures = StyleGAN2Recipe(SHAPE, options, seed=1).step(batch, lambda _: None)
    return totals, figures


def test_lazy_penalties_count_for_the_steps_without_them(monkeypatch):
    """γ/2 · 16 for R1 and 2 · 8 for the path length, so that they weigh as much as at every step."""
    (_, critic), figures = taken(monkeypatch, GanOptions(r1=3.0), batch_of())
    assert critic == pytest.approx(figures["critic_loss"] + 3.0 / 2 * 16 * figures["r1"], rel=1e-5)
    monkeypatch.setattr(recipes, "path_lengths", lambda images, *_: images.sum() * 0 + torch.full((2,), 5.0))
    (generator, _), figures = taken(monkeypatch, GanOptions(), batch_of())
    # The running mean starts at 0 and moves by 0.01 towards 5: 0.05. The penalty is (5 - 0.05)².
    assert generator == pytest.approx(figures["generator_loss"] + 2 * 8 * 4.95**2, rel=1e-5)
    (generator, critic), figures = taken(monkeypatch, GanOptions(), batch_of(step=1))
    assert (generator, critic) == pytest.approx((figures["generator_loss"], figures["critic_loss"]))


def test_path_length_by_hand():
    # Two layers, three coordinates, one picture of 1 x 2 x 2 pixels: 1 w00 + 2 w01 + 2 w02 at each pixel, and 4 w12 on
    # top. With noise of ones over the root of 4 pixels, Jᵀ y = 4 / 2 (1, 2, 2) and 4 / 2 (0, 0, 4): squares 36 and 64.
    # Their mean is 50; of the first layer alone 36.
    w = torch.zeros(1, 2, 3, requires_grad=True)
    weights = torch.tensor([[1.0, 2.0, 2.0], [0.0, 0.0, 4.0]])
    images = (w * weights).sum(dim=(1, 2)).view(1, 1, 1, 1).expand(1, 1, 2, 2)
    assert recipes.path_lengths(images, w, torch.ones(1, 1, 2, 2)).item() == pytest.approx(math.sqrt(50))
    assert recipes.path_lengths(images, w, torch.ones(1, 1, 2, 2), 1).item() == pytest.approx(6.0)


def test_the_discriminator_is_the_papers():
    """Karras et al. 2020, figure 7 and appendix B, in functional calls: residual blocks, deviation, two dense layers."""
    torch.manual_seed(2)
    network = Discriminator({4: 5, 8: 4, 16: 3})
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter)  # biases too
    weights, images = network.state_dict(), torch.randn(4, 3, 16, 16)
    taps = torch.outer(*[torch.tensor([1.0, 3.0, 3.0, 1.0]) / 8] * 2)

    def scaled(name):
        kernel = weights[f"{name}.weight"]
        return kernel / math.sqrt(kernel[0].numel())

    def leaky(x):
        return torch.where(x > 0, x, 0.2 * x) * math.sqrt(2)

    def blurred(x, pad):
        channels = [
            functional.conv2d(functional.pad(channel[:, None], [pad] * 4), taps[None, None]) for channel in x.unbind(1)
        ]
        return torch.cat(channels, dim=1)

    x = leaky(functional.conv2d(images, scaled("fromrgb.16"), weights["fromrgb.16.bias"]))
    for size in (16, 8):
        name = f"blocks.{size}"
        inner = leaky(functional.conv2d(x, scaled(f"{name}.conv0"), weights[f"{name}.conv0.bias"], padding=1))
        inner = functional.conv2d(blurred(inner, 2), scaled(f"{name}.conv1"), weights[f"{name}.conv1.bias"], stride=2)
        skip = functional.conv2d(blurred(x, 1), scaled(f"{name}.skip"), stride=2)
        x = (leaky(inner) + skip) / math.sqrt(2)
    spread = np.std(x.detach().double().numpy(), axis=0).mean()  # four pictures are one group
    x = torch.cat([x, torch.full((4, 1, 4, 4), float(spread))], dim=1)
    x = leaky(functional.conv2d(x, scaled("conv"), weights["conv.bias"], padding=1)).flatten(1)
    x = leaky(x @ scaled("fc").T + weights["fc.bias"])
    expected = (x @ scaled("out").T + weights["out.bias"])[:, 0]
    assert torch.allclose(network(images), expected, rtol=1e-4, atol=1e-4)
