"""Losses and penalties against gradients and norms worked out by hand."""

import math

import pytest
import torch

from transect.training import recipes


def test_penalty_of_a_linear_critic_is_its_slopes_distance_from_one():
    # D(x) = a sum(x) over 3 x 2 x 2 pixels has the gradient a in each of 12: norm a sqrt(12), wherever it is asked.
    real, fake = torch.rand(4, 3, 2, 2), torch.rand(4, 3, 2, 2)
    for slope in (0.0, 1 / math.sqrt(12), 2.0):
        penalty = recipes.gradient_penalty(lambda x, a=slope: a * x.sum(dim=(1, 2, 3)), real, fake, torch.rand(4))
        assert penalty.item() == pytest.approx((slope * math.sqrt(12) - 1) ** 2, abs=1e-5)


def test_gradient_penalty_is_of_pictures_between_real_and_fake():
    # D(x) = x²/2 for pictures of one pixel has the gradient x: with real 0 and fake 4, a quarter of the way is 1.
    real, fake = torch.zeros(1, 1, 1, 1), torch.full((1, 1, 1, 1), 4.0)
    square = lambda x: x.square().sum(dim=(1, 2, 3)) / 2  # noqa: E731
    assert recipes.gradient_penalty(square, real, fake, torch.tensor([0.25])).item() == pytest.approx(0.0, abs=1e-6)
    assert recipes.gradient_penalty(square, real, fake, torch.tensor([1.0])).item() == pytest.approx(9.0, rel=1e-5)


def test_r1_is_of_the_real_pictures_and_can_be_learned_from():
    # D(x) = a x²/2 on one pixel: gradient a x, squared a² x²; its derivative by a is 2 a x².
    weight = torch.tensor(3.0, requires_grad=True)
    penalty = recipes.r1_penalty(lambda x: weight * x.square().sum(dim=(1, 2, 3)) / 2, torch.full((2, 1, 1, 1), 2.0))
    penalty.backward()
    assert (penalty.item(), weight.grad.item()) == (36.0, 24.0)


def test_wasserstein_loss_by_hand():
    # mean fake 2 - mean real 3 + 0.1 (mean of 4 and 16 = 10) = 0
    assert recipes.wasserstein_loss(torch.tensor([2.0, 4.0]), torch.tensor([1.0, 3.0]), 0.1).item() == pytest.approx(
        0.0
    )


def test_scores_move_the_losses_the_right_way():
    low, high = torch.tensor([-2.0]), torch.tensor([2.0])
    assert recipes.generator_loss(high) < recipes.generator_loss(low)
    assert recipes.discriminator_loss(high, low) < recipes.discriminator_loss(low, high)
    # log(1 + e⁻²) twice
    assert recipes.discriminator_loss(high, low).item() == pytest.approx(2 * math.log1p(math.exp(-2)), rel=1e-6)
