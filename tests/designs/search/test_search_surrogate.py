"""Laplace's approximation against finite differences, fixed points and quadrature."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, log_expit

from transect.designs.search import active
from transect.designs.search.active import NUGGET, SIGNAL, fit


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(0)
    points = random.random((40, 3))
    return points, (points[:, 0] > 0.7).astype(float)


def mode_of(points, failures, logs, mean):
    squares = (points[:, None] - points) ** 2
    sign = np.where(failures == 1, 1.0, -1.0)
    return active._mode(active._covariance(squares, logs), sign, mean), squares, sign


def test_the_gradient_is_that_of_finite_differences(data):
    logs, step = np.log([0.3, 0.5, 0.7]), 1e-5
    mode, squares, _ = mode_of(*data, logs, -2.0)
    slopes = active._slopes(mode, squares, logs)
    for j, unit in enumerate(np.eye(3)):
        ahead, behind = (mode_of(*data, logs + side * step * unit, -2.0)[0].evidence for side in (1, -1))
        assert slopes[j] == pytest.approx((ahead - behind) / (2 * step), rel=1e-4)


def test_one_answer_by_quadrature():
    # One point: the evidence is the integral of sigma(f) N(f; mean, s² + nugget), here by quadrature.
    mean, variance = -1.0, SIGNAL**2 + NUGGET
    mode, _, _ = mode_of(np.array([[0.5]]), np.array([1.0]), np.log([0.4]), mean)
    density = lambda f: expit(f) * np.exp(-((f - mean) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)  # noqa: E731
    exact = quad(density, -60, 60)[0]
    assert mode.evidence == pytest.approx(np.log(exact), abs=0.1)  # Laplace's error for one answer


def test_the_evidence_is_laplace_s_formula(data):
    # log q = psi(f) - ½ log |I + K W|, by the determinant instead of the Cholesky factor (equation 3.32).
    points, failures = data[0][:8], data[1][:8]
    mode, _, sign = mode_of(points, failures, np.log([0.4, 0.4, 0.4]), -1.0)
    away = mode.f + 1.0
    psi = log_expit(sign * mode.f).sum() - 0.5 * away @ np.linalg.solve(mode.covariance, away)
    determinant = np.linalg.slogdet(np.eye(8) + mode.covariance @ np.diag(mode.weights))[1]
    assert mode.evidence == pytest.approx(psi - 0.5 * determinant, abs=1e-4)


def test_chances_are_high_where_it_fails_low_where_not_and_prior_far_from_everything(data):
    fitted = fit(*data, -2.0)
    chance = fitted.probability(np.array([[0.95, 0.5, 0.5], [0.1, 0.5, 0.5]]))
    assert chance[0] > 0.9
    assert chance[1] < 0.1
