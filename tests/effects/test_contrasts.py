import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from oracles import effects_by_loops
from statsmodels.regression.linear_model import OLS

from transect.effects import contrasts
from transect.effects.contrasts import level_differences, slopes
from transect.records import Attribute, Design

NAN = np.nan
TONE = Attribute("skin_tone", "continuous", "on the Monk scale", low=1, high=10)
AGE = Attribute("age", "continuous", "apparent age", unit="year", low=18, high=80)
GLASSES = Attribute("glasses", "binary", "wears glasses", levels=("off", "on"))
STYLE = Attribute("hair_style", "categorical", "how the hair falls", levels=("short", "bob", "long"))
ALL = {a.name: a for a in (TONE, AGE, GLASSES, STYLE)}


def make(values, levels, reasons=None):
    values = np.array(values, dtype=np.float64)
    design = Design(levels, subjects=len(values))
    why = np.where(np.isnan(values), "failed: no answer", "").astype(object) if reasons is None else reasons
    return contrasts(values, why, design, ALL)


def test_which_contrasts_are_made():
    levels = {"skin_tone": (1.0, 5.5, 10.0), "glasses": (0.0, 1.0), "hair_style": (0.0, 1.0, 2.0), "age": (20.0, 60.0)}
    made = make(np.zeros((2, 3, 2, 3, 2)), levels)
    assert [(c.name, c.kind, c.origin, c.to) for c in made] == [
        ("skin_tone: 1 to 10", "contrast", 1, 10),
        ("skin_tone: slope", "slope", 1, 10),
        ("glasses: off to on", "contrast", 0, 1),
        ("hair_style: short to bob", "contrast", 0, 1),
        ("hair_style: short to long", "contrast", 0, 2),
        ("age: 20 to 60", "contrast", 20, 60),
    ]
    assert [c.per for c in made] == ["", "unit", "", "", "", ""]


@pytest.mark.parametrize(
    ("levels", "grid", "same"),
    [
        ((1.0, 5.5, 10.0), [[0, 1, 1], [1, 0, 1]], True),
        ((1.0, 5.5, 10.0), [[0, 1, 1], [NAN, NAN, NAN]], True),  # nobody is in one and not in the other
        ((1.0, 5.5, 10.0), [[0, 1, 1], [1, NAN, 1]], False),  # a slope of two levels weighs another person alike
        ((1.0, 2.0, 10.0), [[0, 1, 1], [1, 0, 1]], False),
        ((1.0, 4.0, 7.0, 10.0), [[0, 1, 1, 0], [1, 0, 1, 1]], False),
    ],
)
def test_a_slope_over_three_even_levels_repeats_the_test_of_its_contrast(levels, grid, same):
    contrast, slope = make(grid, {"skin_tone": levels})
    assert (slope.same_test_as, contrast.same_test_as) == (contrast.name if same else "", "")
    proportional = np.allclose(slope.differences * (levels[-1] - levels[0]), contrast.differences, equal_nan=True)
    assert proportional or not same


def test_a_difference_averages_over_the_cells_of_the_others():
    # Glasses off/on at three tones: differences 1, 0, 1 -> 2/3; last tone minus first: (0 - 0, 1 - 1) / 2 -> 0;
    # slope over 1, 2, 3: (-1, 0, 1) on means (.5, 1, .5) -> 0.
    tone, slope, glasses = make([[[0, 1], [1, 1], [0, 1]]], {"skin_tone": (1.0, 2.0, 3.0), "glasses": (0.0, 1.0)})
    assert glasses.differences == pytest.approx([2 / 3])
    assert (tone.differences, slope.differences) == (0, 0)
    assert (glasses.pairs, glasses.n_images, tone.n_images, slope.n_images) == (3, 6, 4, 6)


def test_only_pairs_with_both_levels_count_and_the_rest_is_counted_by_reason():
    # Subject 0 has pairs (0, 1) and (NaN, 1): 1. Subject 1 has (1, 0), (1, 0): -1. Subject 2 has no pair.
    made = make(
        [[[0, 1], [NAN, 1]], [[1, 0], [1, 0]], [[NAN, 1], [1, NAN]]], {"age": (20.0, 60.0), "glasses": (0.0, 1.0)}
    )[1]
    np.testing.assert_array_equal(made.differences, [1, -1, NAN])
    assert (made.n_subjects, made.subjects_dropped, made.n_images) == (2, 1, 6)
    assert made.excluded == {"failed": 3, "pair incomplete": 3}


values_with_gaps = arrays(
    np.float64, (3, 3, 4), elements=st.one_of(st.sampled_from([0.0, 1.0, NAN]), st.floats(-2, 2, width=16))
)


@settings(max_examples=60, deadline=None)
@given(values_with_gaps)
def test_against_loops(values):
    levels = np.array([1.0, 2.0, 4.0])
    for subject, grid in enumerate(values):
        expected = effects_by_loops.level_difference(grid[0], grid[2])
        np.testing.assert_allclose(level_differences(values[:, 0], values[:, 2])[subject], expected, atol=1e-12)
        np.testing.assert_allclose(slopes(values, levels)[subject], effects_by_loops.slope(grid, levels), atol=1e-9)


@settings(deadline=None)
@given(arrays(np.float64, (4, 3, 2, 2), elements=st.sampled_from([0.0, 1.0, NAN])))
def test_every_image_of_the_compared_levels_is_used_or_counted(values):
    levels = {"age": (20.0, 40.0, 60.0), "glasses": (0.0, 1.0), "hair_style": (0.0, 2.0)}
    images = {"age: 20 to 60": 32, "age: slope": 48, "glasses: off to on": 48, "hair_style: short to long": 48}
    for contrast in make(values, levels):
        assert contrast.n_images + sum(contrast.excluded.values()) == images[contrast.name]
        assert np.nanmax(np.abs(contrast.differences), initial=0) <= contrast.reach + 1e-12


def test_the_mean_slope_is_the_fixed_effects_regression_of_statsmodels():
    rng = np.random.default_rng(0)
    values, levels = rng.normal(size=(30, 4, 2)), (1.0, 2.0, 5.0, 7.0)
    slope = make(values, {"skin_tone": levels, "glasses": (0.0, 1.0)})[1]
    strata = np.repeat(np.eye(60), 4, axis=0)
    x = np.tile(levels, 60)
    y = values.transpose(0, 2, 1).ravel()
    assert slope.differences.mean() == pytest.approx(OLS(y, np.column_stack([x, strata])).fit().params[0])
