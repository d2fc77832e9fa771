"""Losses of the two networks of a GAN, and penalties that stabilise them.

Sources: Goodfellow et al. 2014, arXiv:1406.2661 (non-saturating); Mescheder et al. 2018, arXiv:1801.04406 (R1);
Arjovsky et al. 2017, arXiv:1701.07875, and Gulrajani et al. 2017, arXiv:1704.00028 (Wasserstein, gradient penalty);
Karras et al. 2018, arXiv:1710.10196 (drift); Karras et al. 2020, arXiv:1912.04958 (path length).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

Critic = Callable[[Tensor], Tensor]
"""Pictures [b, 3, h, w] ► scores [b], high for real."""

Scores = Float[Tensor, " b"]


def generator_loss(fake: Scores) -> Tensor:
    """-log D(G(z)), averaged: the non-saturating loss."""
    loss: Tensor = functional.softplus(-fake).mean()
    return loss


def discriminator_loss(real: Scores, fake: Scores) -> Tensor:
    """-log D(x) - log(1 - D(G(z))), averaged."""
    total: Tensor = functional.softplus(-real).mean() + functional.softplus(fake).mean()
    return total


def r1_penalty(critic: Critic, images: Float[Tensor, "b c h w"]) -> Tensor:
    """The squared norm of the gradient of the score at real pictures, averaged."""
    return _gradient(critic, images).square().sum(dim=(1, 2, 3)).mean()


def gradient_penalty(
    critic: Critic, real: Float[Tensor, "b c h w"], fake: Float[Tensor, "b c h w"], where: Scores
) -> Tensor:
    """(‖∇D‖ - 1)² at points between real and generated pictures, averaged (Denton et al. 2019, equation 1).

    where: in 0..1, each pair's place on its line, 0 at the real one.
    """
    between = torch.lerp(real, fake, where.view(-1, 1, 1, 1)).detach()
    lengths: Tensor = _gradient(critic, between).flatten(1).norm(dim=1)
    return (lengths - 1).square().mean()


def wasserstein_loss(real: Scores, fake: Scores, drift: float = 0.001) -> Tensor:
    """The critic's loss: E D(G(z)) - E D(x), plus a small multiple of E D(x)², which keeps the scores near 0."""
    return fake.mean() - real.mean() + drift * real.square().mean()


def path_lengths(
    images: Float[Tensor, "b c h w"], w: Float[Tensor, "b l d"], noise: Tensor, layers: int | None = None
) -> Scores:
    """How far the picture moves with w: ‖Jᵀ y‖ for pictures y of unit normal noise over the root of the pixels.

    The square is averaged over the first `layers`, None for all: those of sizes not grown to would dilute it.
    """
    scaled = (images * noise).sum() / math.sqrt(images.shape[2] * images.shape[3])
    (gradient,) = torch.autograd.grad(scaled, w, create_graph=True)
    return gradient[:, :layers].square().sum(dim=2).mean(dim=1).sqrt()


def _gradient(critic: Critic, images: Tensor) -> Tensor:
    at = images.detach().requires_grad_()
    (gradient,) = torch.autograd.grad(critic(at).sum(), at, create_graph=True)
    return gradient
