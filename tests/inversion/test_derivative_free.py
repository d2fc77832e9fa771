"""Inversion without derivatives: a linear world in closed form, and FaceWorld's latent view, where truth is known."""

import numpy as np
import pytest
from examples.replications import derivative_free
from examples.replications.derivative_free import (
    LatentView,
    Surrogate,
    invert_view,
    surrogate_of,
)

from transect.perceptual.features import FeatureNetwork

SLOPES = np.array([[2.0, 0.0], [1.0, 1.0], [0.0, 3.0]])


def linear(bend=0.0):
    """A world of 2 latents whose 'image' of 8 x 8 pixels holds y = 128 + 10 (J z + bend z²) in its first 3 values."""

    def render(z):
        y = z @ SLOPES.T + bend * (z @ SLOPES.T) ** 2
        pixels = np.zeros((len(z), 8, 8, 3), np.uint8)
        pixels[:, 0, 0] = np.clip(np.rint(128 + 10 * y), 0, 255)
        return pixels

    def sample(seeds):
        return np.array([np.random.default_rng(int(seed)).standard_normal(2) for seed in seeds]).reshape(-1, 2)

    return LatentView("linear", 2, 8, sample, render)


@pytest.fixture
def looked(monkeypatch):
    """What is seen are the three values themselves."""
    monkeypatch.setattr(derivative_free, "_rows", lambda _, pixels: (pixels[:, 0, 0].astype(np.float64) - 128) / 10)


def known():
    """The surrogate of that world, with noise of variance 1 in each value."""
    return Surrogate(FeatureNetwork(1), np.zeros(3), np.eye(3), SLOPES, np.zeros(3), 1.0)


@pytest.mark.parametrize("penalty", [0.01, 1.0, 30.0])
def test_a_linear_world_has_the_ridge_solution(looked, penalty):
    """argmin |y - J z|² + λ |z|² = (JᵀJ + λ)⁻¹ Jᵀ y, whatever the rounds; y is rounded to .1."""
    view, z = linear(), np.array([[1.0, -0.5], [0.3, 2.0]])
    inversion = invert_view(view, known(), view.render(z), penalty=penalty, rounds=5)
    expected = np.linalg.solve(SLOPES.T @ SLOPES + penalty * np.eye(2), SLOPES.T @ (SLOPES @ z.T)).T
    np.testing.assert_allclose(inversion.latents, expected, atol=0.05)


def test_rounds_with_the_true_renderer_mend_what_the_surrogate_gets_wrong(looked):
    """Where the world bends, the first guess is off; rounds lower the objective, never raise it, and come nearer."""
    view, z = linear(bend=0.08), np.random.default_rng(1).uniform(-0.8, 0.8, (20, 2))
    first, last = (invert_view(view, known(), view.render(z), penalty=1e-3, rounds=rounds) for rounds in (0, 8))
    assert (last.objective <= first.objective).all()
    off = [np.linalg.norm(inversion.latents - z, axis=1).mean() for inversion in (first, last)]
    assert off[1] < 0.4 * off[0]
    assert (last.renders <= 9).all()


def test_an_image_does_not_depend_on_the_others(looked):
    view, z = linear(bend=0.08), np.random.default_rng(2).uniform(-1, 1, (5, 2))
    together = invert_view(view, known(), view.render(z))
    alone = invert_view(view, known(), view.render(z[3:4]))
    np.testing.assert_allclose(alone.latents[0], together.latents[3], rtol=0, atol=1e-12)


def test_the_surrogate_finds_slopes_and_noise():
    """y = J z + e with e of variance 4 in one direction of the basis: whitened, JᵀS⁻¹J is Jᵀ J / 4, within 10 %."""
    draws = np.random.default_rng(0)
    z = draws.standard_normal((20_000, 2))
    surrogate = surrogate_of(FeatureNetwork(1), z @ SLOPES.T + 2 * draws.standard_normal((20_000, 3)), z)
    np.testing.assert_allclose(surrogate.slopes.T @ surrogate.slopes, SLOPES.T @ SLOPES / 4, rtol=0.1, atol=0.1)
    assert surrogate.explained == pytest.approx(15 / 27, abs=0.02)  # variances 4, 2, 9 of J z, and 4 of each noise
