"""The regression encoder: an exact line is found, its quality is that of images it has not seen, and it begins nearer."""

import numpy as np
import pytest
import torch
from planted_networks import Levels

from transect.inversion.encoder import _ridge, fit_encoder
from transect.inversion.protocol import Codes
from transect.perceptual import features


class Greys(Levels):
    """Grey levels in random order, each from its own seed."""

    def codes(self, space):
        return Codes(torch.full((2, 1) if space == "w+" else (1,), 0.5), 0.3)

    def sample(self, space, count, seed):
        return torch.tensor([[np.random.default_rng(seed + index).random()] for index in range(count)]).float()


def test_a_line_is_found_and_noise_is_not_called_quality():
    """y = x B exactly: R² 1. y of noise alone: R² on held-out rows about 0, never near 1, though 40 x fit 80 rows."""
    draws = np.random.default_rng(0)
    x, slopes = draws.standard_normal((100, 40)), draws.standard_normal((40, 2))
    center, weights, mean, quality = _ridge(x, x @ slopes + 3, 20)
    assert quality == pytest.approx(1, abs=1e-3)
    np.testing.assert_allclose((x - center) @ weights + mean, x @ slopes + 3, atol=0.2)
    assert _ridge(x, draws.standard_normal((100, 2)), 20)[3] < 0.3


def test_levels_are_read_off_new_images():
    """The level of an image of one grey, to within .05; in w+ both layers get it."""
    encoder = fit_encoder(Greys(), "w+", features.load().network, samples=60)
    assert encoder.fitted.quality > 0.95
    levels = torch.tensor([0.3, 0.7])
    codes = encoder(levels[:, None, None, None].expand(-1, 3, 4, 4))
    assert codes.shape == (2, 2, 1)
    np.testing.assert_allclose(codes[:, 0, 0].numpy(), levels.numpy(), atol=0.05)
    assert torch.equal(codes[:, 0], codes[:, 1])
