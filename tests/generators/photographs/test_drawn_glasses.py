"""What the lenses of drawn glasses let pass."""

from __future__ import annotations

import numpy as np

from transect.generators.photographs.drawn.glasses import glasses_traits


def test_what_lenses_let_pass_by_hand():
    traits, depth = glasses_traits({"glasses": np.arange(5.0)}, np.full(5, -1.0))
    # Grey lenses: e^(-.165) = .85 of clear glass, both ways, e^-.85 = .43 and e^-3 = .05; .99 of it in green.
    np.testing.assert_allclose(1 - traits["shaded"], [1, 0.8479, 0.8479, 0.4274, 0.0498], atol=1e-4)
    np.testing.assert_allclose(depth[:, 1], [0, 0.165, 0.165, 0.85 * 0.99, 3.0 * 0.99])
    # Brown ones pass more red than blue.
    _, brown = glasses_traits({"glasses": np.array([4.0])}, np.ones(1))
    assert brown[0, 0] < brown[0, 1] < brown[0, 2]
