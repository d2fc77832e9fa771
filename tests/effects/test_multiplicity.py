import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from oracles import effects_by_loops
from transect.effects import benjamini_hochberg, holm

p_values = st.lists(st.floats(1e-6, 1), min_size=1, max_size=30)


@settings(deadline=None)
@given(p_values)
def test_both_are_those_of_statsmodels(p):
    np.testing.assert_allclose(holm(np.array(p)), multipletests(p, method="holm")[1])
    np.testing.assert_allclose(benjamini_hochberg(np.array(p)), multipletests(p, method="fdr_bh")[1])


@settings(deadline=None)
@given(st.lists(st.one_of(st.floats(1e-6, 1), st.just(float("nan"))), max_size=12))
def test_what_is_not_estimable_passes_through_and_is_not_counted(p):
    p = np.array(p, dtype=np.float64)
    known = np.isfinite(p)
    for method in (holm, benjamini_hochberg):
        adjusted = method(p)
        assert np.isnan(adjusted[~known]).all()
        np.testing.assert_array_equal(adjusted[known], method(p[known]))
    np.testing.assert_allclose(holm(p), effects_by_loops.holm(p.tolist()))


def test_by_hand():
    # Holm: 4 * .01 = .04; 3 * .02 = .06; 2 * .04 = .08; .05 is raised to .08.
    np.testing.assert_allclose(holm(np.array([0.04, 0.01, 0.05, 0.02])), [0.08, 0.04, 0.08, 0.06])
    # BH: .05 * 4/4; .04 * 4/3 = .0533 falls to .05; .02 * 4/2 = .04; .01 * 4/1 = .04.
    np.testing.assert_allclose(benjamini_hochberg(np.array([0.04, 0.01, 0.05, 0.02])), [0.05, 0.04, 0.05, 0.04])


@pytest.mark.parametrize("method", [holm, benjamini_hochberg])
def test_an_empty_family(method):
    assert len(method(np.empty(0))) == 0
