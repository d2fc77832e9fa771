"""Skin from melanin, blood and scattering."""

from __future__ import annotations

import numpy as np
import pytest

from transect.generators.faceworld.reflectance import WAVELENGTHS, Chromophores, linear_rgb, reflectance_spectrum

AVERAGE = {"melanin": 0.05, "red_melanin": 0.1, "blood": 0.01, "scattering": 1.0, "surface": 0.03}


def spectrum(**changes):
    return reflectance_spectrum(Chromophores(**{name: np.array(v) for name, v in (AVERAGE | changes).items()}))


def test_a_perfect_white_is_white_and_a_grey_is_grey():
    np.testing.assert_allclose(linear_rgb(np.ones_like(WAVELENGTHS)), 1, atol=1e-3)
    np.testing.assert_allclose(linear_rgb(np.full_like(WAVELENGTHS, 0.3)), 0.3, atol=1e-3)


def test_a_skin_without_absorption_above_the_dermis_is_the_dipole_of_jensen_by_hand():
    # At 500 nm, average scattering 46 / cm, no blood: baseline .244 + 85.3 exp(-346 / 66.2) = .7026 / cm; albedo
    # 46 / 46.7026 = .98496; sqrt(3 * .01504) = .21243; F = -1.440 / 1.96 + .710 / 1.4 + .668 + .0636 * 1.4 = .52950,
    # A = 1.5295 / .4705 = 3.25080; Rd = .49248 * (1 + exp(-4 / 3 * 3.2508 * .21243)) * exp(-.21243)
    # = .49248 * 1.39821 * .80861 = .55680; the epidermis, baseline only, takes exp(-4 * .7026 * .006) = .98328.
    bare = spectrum(melanin=0.0, blood=0.0, surface=0.0)[np.flatnonzero(WAVELENGTHS == 500.0)[0]]
    assert bare == pytest.approx(0.55680 * 0.98328, abs=2e-4)
