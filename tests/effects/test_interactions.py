import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transect.effects import Measure, factorial_effects
from transect.effects.contrasts import interactions
from transect.records import Attribute, Design

TONE = Attribute("tone", "continuous", "tone", low=1, high=10)
HAT = Attribute("hat", "categorical", "hat", levels=("none", "cap", "beanie"))
GLASSES = Attribute("glasses", "binary", "glasses", levels=("off", "on"))
KNOWN = {a.name: a for a in (TONE, HAT, GLASSES)}
LEVELS = {"tone": (1.0, 5.0, 10.0), "hat": (0.0, 1.0, 2.0), "glasses": (0.0, 1.0)}


def no_reason(y):
    return np.where(np.isfinite(y), "", "failed: timed out").astype(object)


def by_loops(y, axes, ends):
    """Each subject's signed sum over the corners, averaged over the complete cells of the other axes, one by one."""
    others = [axis for axis in range(y.ndim - 1) if axis not in axes]
    result = []
    for subject in y:
        sums = []
        for rest in itertools.product(*(range(subject.shape[axis]) for axis in others)):
            total = 0.0
            for corner in itertools.product((0, 1), repeat=len(axes)):
                index = [0] * subject.ndim
                for axis, place in zip(others, rest, strict=True):
                    index[axis] = place
                for axis, end, side in zip(axes, ends, corner, strict=True):
                    index[axis] = end[side]
                total += (-1) ** (len(axes) - sum(corner)) * subject[tuple(index)]
            sums.append(total)
        complete = [s for s in sums if not np.isnan(s)]
        result.append(sum(complete) / len(complete) if complete else np.nan)
    return np.array(result)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000), st.floats(0, 0.3))
def test_every_order_is_the_signed_sum_of_its_corners(seed, missing):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, size=(6, 3, 3, 2)).astype(float)
    y[rng.random(y.shape) < missing] = np.nan
    found = interactions(y, no_reason(y), Design(LEVELS, 6), KNOWN)
    # tone: 1 comparison, hat: 2, glasses: 1; pairs 2 + 1 + 2; triples 2.
    assert [each.spec["order"] for each in found] == [1] * 4 + [2] * 5 + [3] * 2
    places = {name: list(levels) for name, levels in LEVELS.items()}
    for each in found:
        axes = [list(LEVELS).index(name) for name in each.spec["attributes"]]
        ends = [
            (places[name].index(a), places[name].index(b))
            for name, a, b in zip(*(each.spec[key] for key in ("attributes", "from", "to")), strict=True)
        ]
        np.testing.assert_allclose(each.differences, by_loops(y, axes, ends))
        corners = 3 * 3 * 2 // np.prod([len(places[name]) for name in each.spec["attributes"]]) * 2 ** len(axes)
        assert each.n_images + sum(each.excluded.values()) == 6 * corners


def test_a_planted_interaction_is_found_and_an_additive_model_has_none():
    """Rates .2, .3, .4 and .5 + d: the difference of differences is d, that of main effects apart."""
    rng = np.random.default_rng(3)
    design = Design({"hat": (0.0, 1.0), "glasses": (0.0, 1.0)}, 4000)
    for d in (0.0, 0.3):
        y = (rng.random((4000, 2, 2)) < [[0.2, 0.3], [0.4, 0.5 + d]]).astype(float)
        one = factorial_effects(y, no_reason(y), design, KNOWN, Measure("t", "miss"), orders=[2])[0]
        assert (one.attribute, one.kind) == ("hat × glasses", "interaction")
        assert one.low < d < one.high
        # standard error of the sum of four proportions: sqrt((.16 + .21 + .24 + .25 - d²) / 4000) = .0147
        assert one.high - one.low == pytest.approx(2 * 1.96 * np.sqrt((0.86 - d**2) / 4000), rel=0.05)
        assert (one.p < 1e-3) == (d > 0)
    assert one.spec["attributes"] == ("hat", "glasses")
    assert one.spec["to"] == (1.0, 1.0)


def test_what_cannot_be_estimated_says_why():
    y = np.full((3, 2, 2), np.nan)
    y[:, 0] = 1.0
    design = Design({"hat": (0.0, 1.0), "glasses": (0.0, 1.0)}, 3)
    both = factorial_effects(y, no_reason(y), design, KNOWN, Measure("t", "miss"), orders=[2])[0]
    assert np.isnan(both.estimate)
    assert both.reason == "no subject has all the cells of the comparison"
    assert both.excluded == {"failed": 6, "pair incomplete": 6}
