"""Local directions: gradients, paths for linear and bent attributes, the contract, and what is refused."""

import numpy as np
import pytest

from transect.controls.directions import fit_direction
from transect.controls.learned import LearnedControls
from transect.controls.local import LocalControls, fit_model
from transect.errors import BadInput, UnknownName
from transect.records import Latents
from transect.testing import check_controls


@pytest.fixture(scope="module")
def z():
    return np.random.default_rng(0).standard_normal((900, 5))


@pytest.fixture(scope="module")
def bent(z):
    """An attribute that no line reads: z0 z1, whose gradient is (z1, z0, 0, 0, 0)."""
    return fit_model("bent", z, z[:, 0] * z[:, 1])


@pytest.fixture(scope="module")
def straight(z):
    return fit_model("straight", z, 3 + 2 * z[:, 2])


def test_the_gradient_is_that_of_the_value(bent, z):
    step = 1e-5
    moved = [(bent.value(z[:7] + step * axis) - bent.value(z[:7] - step * axis)) / (2 * step) for axis in np.eye(5)]
    np.testing.assert_allclose(bent.gradient(z[:7]), np.array(moved).T, atol=1e-7)


def test_a_bent_attribute_is_read_where_a_line_reads_nothing(bent, z):
    assert bent.quality > 0.8
    assert fit_direction("bent", z, z[:, 0] * z[:, 1], "continuous").quality < 0.1
    middle = z[np.abs(z).max(axis=1) < 1.5][:20]
    truth = np.column_stack([middle[:, 1], middle[:, 0], np.zeros((len(middle), 3))])
    gradient = bent.gradient(middle)
    cosines = (gradient * truth).sum(1) / np.linalg.norm(gradient, axis=1) / np.linalg.norm(truth, axis=1)
    assert np.median(cosines) > 0.95


def test_a_path_reaches_its_value_and_leaves_the_other_attribute(bent, straight, z):
    controls = LocalControls([bent, straight], "w")
    some = Latents(np.arange(6), z[:6], "w")
    moved = controls.set(some, {"bent": 1.0})
    np.testing.assert_allclose(bent.value(moved.values), 1.0, atol=1e-3)
    np.testing.assert_allclose(straight.value(moved.values), straight.value(z[:6]), atol=1e-3)
    # What the labels were made of: the product became 1, as near as the model knows it, and z2 stayed.
    np.testing.assert_allclose(moved.values[:, 0] * moved.values[:, 1], 1.0, atol=0.5)
    np.testing.assert_allclose(moved.values[:, 2], z[:6, 2], atol=0.1)


def test_for_straight_attributes_the_path_is_that_of_the_dual_directions(z):
    labels = {"age": 2 * z[:, 0] + z[:, 1], "smile": z[:, 1] - z[:, 3]}
    local = LocalControls([fit_model(name, z, y) for name, y in labels.items()], "w")
    linear = LearnedControls([fit_direction(name, z, y, "continuous") for name, y in labels.items()], "w")
    some = Latents(np.arange(5), z[:5], "w")
    first, other = (controls.set(some, {"age": 1.5}).values - z[:5] for controls in (local, linear))
    np.testing.assert_allclose(first, other, atol=0.02)


def test_they_keep_the_contract(straight, z):
    check_controls(LocalControls([straight], "w"), Latents(np.arange(4), z[:4], "w"))


def test_the_same_labels_give_the_same_model(z):
    first, second = (fit_model("x", z, z[:, 0] ** 2, seed=4) for _ in range(2))
    np.testing.assert_array_equal(first.weights, second.weights)


def test_local_controls_refuse_few_labels_and_unknown_attributes(straight, z):
    controls = LocalControls([straight], "w")
    some = Latents(np.arange(2), z[:2], "w")
    with pytest.raises(BadInput, match="x: expected at least 50 labels, got 49"):
        fit_model("x", z[:49], z[:49, 0])
    with pytest.raises(BadInput, match="x: expected at least 20 labels of each class, got 0 no and 900 yes"):
        fit_model("x", z, np.ones(len(z)))
    with pytest.raises(UnknownName, match="unknown attribute 'strait'"):
        controls.set(some, {"strait": 1.0})
    with pytest.raises(BadInput, match="straight: expected between"):
        controls.set(some, {"straight": 99.0})
    with pytest.raises(BadInput, match="expected to be set or held, got both"):
        controls.set(some, {"straight": 3.0}, hold=["straight"])
    with pytest.raises(BadInput, match="expected space w with 5 coordinates, got z with 5"):
        controls.read(Latents(some.seeds, some.values, "z"))
    with pytest.raises(BadInput, match="expected one or more with a name each"):
        LocalControls([straight, straight], "w")
