"""Controls along fitted directions: the contract, exactness, and what is refused."""

import numpy as np
import pytest

from transect.controls.directions import fit_direction
from transect.controls.learned import LearnedControls
from transect.errors import BadInput
from transect.records import Latents


@pytest.fixture(scope="module")
def latents():
    return Latents(np.arange(1500), np.random.default_rng(0).standard_normal((1500, 12)), "w")


@pytest.fixture(scope="module")
def controls(latents):
    """Age on axes 0 and 1; smile on axes 1 and 2, so that the two directions are not perpendicular."""
    z = latents.values
    age = fit_direction("age", z, 40 + 8 * (z[:, 0] + z[:, 1]), "continuous")
    smile = fit_direction("smile", z, (z[:, 1] + z[:, 2] > 0).astype(float), "binary")
    return LearnedControls([age, smile], "w")


def test_a_value_is_reached_and_the_other_attribute_stays(controls, latents):
    some = latents.take(slice(0, 50))
    before = controls.read(some)
    older = controls.set(some, {"age": 55.0})
    np.testing.assert_allclose(controls.read(older)["age"].to_numpy(), 55, atol=1e-9)
    np.testing.assert_allclose(controls.read(older)["smile"].to_numpy(), before["smile"].to_numpy(), atol=1e-9)
    # Along the normal itself, the smile would have gone along: the two normals share axis 1.
    age, smile = controls.directions["age"], controls.directions["smile"]
    assert abs(age.normal @ smile.normal) > 0.3


def test_learned_controls_refuse_values_and_latents_that_do_not_fit(controls, latents):
    some = latents.take(slice(0, 2))
    with pytest.raises(BadInput, match="age: expected between"):
        controls.set(some, {"age": 500.0})
    with pytest.raises(BadInput, match="age is both set and held"):
        controls.set(some, {"age": 30.0}, hold=["age"])
    with pytest.raises(BadInput, match="expected space w with 12 coordinates, got z with 12"):
        controls.read(Latents(some.seeds, some.values, "z"))
