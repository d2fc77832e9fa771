"""Projection and orthogonalisation: by hand, as limits of the paper's iteration, and on the authors' own hyperplanes."""

import contextlib

import numpy as np
import pytest
from hyperplane_cells import at_decisions, dual_directions, project, project_cyclically
from hypothesis import given, settings
from hypothesis import strategies as st
from places import SHARED

from transect.controls.directions import Hyperplanes, angles, steps_along
from transect.errors import BadInput
from validation.latent_directions import orthogonalize_as_published

DATA = SHARED


def random_planes(seed, k=4, d=9):
    draws = np.random.default_rng(seed)
    return Hyperplanes.of([f"a{i}" for i in range(k)], draws.standard_normal((k, d)), draws.standard_normal(k))


@pytest.fixture(scope="module")
def published():
    path = DATA / "stylegan2_w_hyperplanes.npz"
    if not path.exists():
        pytest.skip(f"{path.name} is not here")
    with np.load(path, allow_pickle=False) as held:
        return Hyperplanes.of([str(name) for name in held["attr"]], held["coef"], held["intercept"])


def test_the_intersection_of_two_lines_by_hand():
    """x = 1 and x + y = 3 meet at (1, 2)."""
    planes = Hyperplanes.of(["x", "sum"], np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([-1.0, -3.0]))
    np.testing.assert_allclose(project(np.array([[7.0, -4.0]]), planes), [[1.0, 2.0]], atol=1e-12)
    # v_1 leaves the sum alone: (1, -1) / sqrt(2). v_2 leaves x alone: (0, 1).
    np.testing.assert_allclose(dual_directions(planes), [[0.5**0.5, -(0.5**0.5)], [0.0, 1.0]], atol=1e-12)


def test_steps_along_ways_by_hand():
    """n = (1, 0) and (0, 1); ways (1, 1) and (0, 1): s_1 takes the second way back, s_2 is its own."""
    planes = Hyperplanes.of(["x", "y"], np.eye(2), np.zeros(2))
    ways = np.array([[0.5**0.5, 0.5**0.5], [0.0, 1.0]])
    np.testing.assert_allclose(steps_along(planes, ways), [[1.0, 0.0], [0.0, 1.0]], atol=1e-12)
    # In three dimensions the third coordinate follows the way: n = x and y, ways (1, 1, 2) and (0, 1, 0).
    planes = Hyperplanes.of(["x", "y"], np.eye(3)[:2], np.zeros(2))
    ways = np.array([[1.0, 1.0, 2.0], [0.0, 1.0, 0.0]])
    np.testing.assert_allclose(steps_along(planes, ways), [[1.0, 0.0, 2.0], [0.0, 1.0, 0.0]], atol=1e-12)
    with pytest.raises(BadInput, match="do not vary separately in the latent space: x, y"):
        steps_along(planes, np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.001]]))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_the_closed_form_is_the_limit_of_the_iteration(seed):
    planes = random_planes(seed)
    z = np.random.default_rng(seed).standard_normal((3, 9))
    near, _ = project_cyclically(z, planes, tolerance=1e-10)
    closed = project(z, planes)
    np.testing.assert_allclose(closed, near, atol=1e-6)
    # The nearest point: what was moved lies in the span of the normals.
    rest = (closed - z) - (closed - z) @ np.linalg.pinv(planes.normals) @ planes.normals
    np.testing.assert_allclose(rest, 0, atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_cells_have_exactly_their_decision_values(seed):
    planes = random_planes(seed)
    draws = np.random.default_rng(seed + 1)
    cells = draws.uniform(-3, 3, (5, 4))
    latents = at_decisions(draws.standard_normal((2, 9)), planes, cells)
    for subject in latents:
        np.testing.assert_allclose(planes.decisions(subject), cells, atol=1e-9)


def test_dual_directions_leave_the_other_attributes_alone_and_published_ones_half_of_them():
    planes = random_planes(3)
    products = np.abs(dual_directions(planes) @ planes.normals.T)
    np.testing.assert_allclose(products[~np.eye(4, dtype=bool)], 0, atol=1e-12)
    printed = np.abs(orthogonalize_as_published(planes.normals) @ planes.normals.T)
    np.testing.assert_allclose(printed[np.tril_indices(4, -1)], 0, atol=1e-12)  # earlier normals
    assert printed[np.triu_indices(4, 1)].min() > 1e-3  # later ones


def test_figures_of_the_authors_nine_normals(published):
    """Angles 72.7 to 132.4 degrees, hair-gender cosine -.674, condition number 2.96."""
    apart = angles(published.normals)[np.triu_indices(9, 1)]
    assert (round(apart.min(), 1), round(apart.max(), 1)) == (72.7, 132.4)
    hair, gender = (published.normals[published.names.index(letter)] for letter in "HG")
    assert hair @ gender == pytest.approx(-0.674, abs=5e-4)
    assert np.linalg.cond(published.normals) == pytest.approx(2.96, abs=5e-3)
    off = ~np.eye(9, dtype=bool)
    printed = np.abs(orthogonalize_as_published(published.normals) @ published.normals.T)[off].max()
    assert printed == pytest.approx(0.674, abs=5e-4)
    dual = dual_directions(published)
    assert np.abs(dual @ published.normals.T)[off].max() < 1e-14
    cosines = (dual * published.normals).sum(1)
    np.testing.assert_allclose(cosines, [0.71, 0.94, 0.64, 0.97, 0.95, 0.92, 0.97, 0.97, 0.88], atol=6e-3)


def test_the_order_decides_what_algorithm_2_leaves(published):
    """Worst cosine .55 to .69 over 200 orders of the nine normals."""
    draws, worst = np.random.default_rng(0), []
    for _ in range(200):
        shuffled = published.normals[draws.permutation(9)]
        worst.append(np.abs(orthogonalize_as_published(shuffled) @ shuffled.T)[~np.eye(9, dtype=bool)].max())
    assert 0.53 < min(worst) < 0.60
    assert 0.67 < max(worst) < 0.71


@pytest.mark.parametrize(("planes", "steps"), [(3, 56), (9, 183)])
def test_the_iteration_takes_many_steps(published, planes, steps):
    """56 and 183 single projections for 1e-6 with the first 3 and 9 planes: more than the paper's 50."""
    some = Hyperplanes(published.names[:planes], published.normals[:planes], published.offsets[:planes])
    z = np.random.default_rng(0).standard_normal((1, 512))
    near, count = project_cyclically(z, some, tolerance=1e-6)
    np.testing.assert_allclose(near, project(z, some), atol=1e-5)
    assert count == pytest.approx(steps, rel=0.35)


def test_interfacegans_conditional_boundaries_are_the_same_projection():
    """Their 13 published conditional boundaries are the normal less its part in the span of the conditions."""
    path = DATA / "interfacegan_boundaries.npz"
    if not path.exists():
        pytest.skip(f"{path.name} is not here")
    with np.load(path, allow_pickle=False) as held:
        boundaries = {name: held[name].astype(np.float64) for name in held.files}
    checked = 0
    for name, boundary in boundaries.items():
        plain, condition, rest = name.partition("_c_")
        if not condition:
            continue
        family = plain.rsplit("_", 1)[0]
        others = [boundaries[f"{family}_{other}"] for other in rest.split("_")]
        normals = np.array([boundaries[plain], *others])
        direction = dual_directions(Hyperplanes.of(["own", *rest.split("_")], normals, np.zeros(len(normals))))[0]
        assert direction @ boundary / np.linalg.norm(boundary) == pytest.approx(1, abs=1e-6), name
        checked += 1
    assert checked == 13


def test_collinear_attributes_are_named():
    normals = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1e-9, 0.0]])
    planes = Hyperplanes.of(["age", "smile", "years"], normals, np.zeros(3))
    for function in (dual_directions, lambda p: project(np.zeros((1, 3)), p)):
        with pytest.raises(BadInput, match=r"age, years are collinear in the latent space \(condition number"):
            function(planes)
    # A hundredth of a degree apart is the same attribute twice; half a degree is not: cot(0.5°/2) = 229.
    for degrees, collinear in ((0.01, True), (0.5, False)):
        turned = [np.cos(np.radians(degrees)), np.sin(np.radians(degrees))]
        near = Hyperplanes.of(["age", "years"], np.array([[1.0, 0.0], turned]), np.zeros(2))
        with pytest.raises(BadInput, match="are collinear") if collinear else contextlib.nullcontext():
            dual_directions(near)
