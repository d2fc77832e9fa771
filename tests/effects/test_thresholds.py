import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix, roc_curve

from transect.effects.curves import TUNED, at_thresholds, threshold_curves
from transect.effects.intervals import wilson, wilson_clustered


def answers(seed=0, n=200):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n).astype(float)
    scores = np.round(np.clip(0.3 * truth + rng.random(n) * 0.8, 0, 1), 2)
    return scores, truth, np.where(rng.random(n) < 0.4, "old", "young")


def test_the_table_agrees_with_scikit_learn_group_by_group():
    scores, truth, groups = answers()
    rows = {(row.group, row.measure): row for row in at_thresholds(scores, truth, groups, thresholds=[0.6])}
    for group, mask in {"all": np.ones(200, bool), "old": groups == "old", "young": groups == "young"}.items():
        tn, fp, fn, tp = confusion_matrix(truth[mask], scores[mask] >= 0.6).ravel()
        assert rows[group, "fpr"].estimate == pytest.approx(fp / (fp + tn))
        assert rows[group, "fnr"].estimate == pytest.approx(fn / (fn + tp))
        assert rows[group, "error"].estimate == pytest.approx((fp + fn) / mask.sum())
        assert rows[group, "accuracy"].estimate == pytest.approx((tp + tn) / mask.sum())
        assert (rows[group, "fnr"].low, rows[group, "fnr"].high) == pytest.approx(
            tuple(float(end) for end in wilson(fn, fn + tp))
        )
        assert rows[group, "fpr"].n_images == fp + tn


def test_several_images_of_a_subject_count_by_their_design_effect():
    scores, truth = np.tile([0.9, 0.9, 0.2, 0.2], 10), np.ones(40)
    rows = at_thresholds(scores, truth, thresholds=[0.5], clusters=np.repeat(np.arange(20), 2))
    fnr = next(row for row in rows if row.measure == "fnr")
    low, high = wilson_clustered(np.tile([[0.0], [2.0]], (10, 1)), np.full((20, 1), 2.0))
    assert (fnr.low, fnr.high, fnr.n_subjects) == (low[0], high[0], 20)


def test_a_group_without_the_truth_is_nan_with_its_reason():
    rows = at_thresholds([0.9, 0.2], [1, 1], ["old", "old"], thresholds=[0.5])
    fpr = next(row for row in rows if row.group == "old" and row.measure == "fpr")
    assert np.isnan([fpr.estimate, fpr.low, fpr.high]).all()
    assert fpr.reason == "no image where the truth is no"


def test_curves_agree_with_scikit_learn_s_roc():
    scores, truth, groups = answers()
    made = threshold_curves(scores, truth, groups)
    for place, mask in enumerate([np.ones(200, bool), groups == "old", groups == "young"]):
        fpr, tpr, cuts = roc_curve(truth[mask], scores[mask], drop_intermediate=False)
        at = np.searchsorted(made.thresholds, cuts[1:])
        np.testing.assert_allclose(made.fpr[place][at], fpr[1:], atol=1e-12)
        np.testing.assert_allclose(made.fnr[place][at], 1 - tpr[1:], atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([0.1, 0.2, 0.5, 0.7, 0.9]), st.sampled_from([0.0, 1.0])), min_size=1, max_size=25
    )
)
def test_the_best_threshold_errs_least_of_all(pairs):
    scores, truth = np.array(pairs).T
    made = threshold_curves(scores, truth)
    errors = {cut: np.mean((scores >= cut) != (truth == 1)) for cut in np.linspace(0, 1, 101)}
    assert np.mean((scores >= made.best) != (truth == 1)) == pytest.approx(min(errors.values()))


def test_a_threshold_that_the_same_images_chose_has_no_interval():
    scores, truth = [0.1, 0.3, 0.35, 0.9, 0.2], [0, 0, 1, 1, 0]
    made = at_thresholds(scores, truth)
    by_threshold = {row.threshold: row for row in made if row.measure == "error"}
    assert list(by_threshold) == [0.5, 0.35]
    assert np.isfinite([by_threshold[0.5].low, by_threshold[0.5].high]).all()
    assert (by_threshold[0.35].estimate, by_threshold[0.35].reason) == (0, TUNED)
    assert np.isnan([by_threshold[0.35].low, by_threshold[0.35].high]).all()
    (stated,) = (row for row in at_thresholds(scores, truth, thresholds=[0.35]) if row.measure == "error")
    assert (stated.high > 0, stated.reason) == (True, "")
