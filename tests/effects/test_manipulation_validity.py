import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.weightstats import DescrStatsW

from transect.effects import wilson
from transect.effects.equal_quality import equivalence, validity
from transect.effects.intervals import paired_score_interval

NAN = np.nan
STEPS = [-1.0, 0.0, 1.0]


def test_shares_that_moved_by_hand():
    labels = [[0, 0, 1], [1, 1, 0], [0, 0, 0], [1, 1, NAN], [NAN, NAN, 1]]
    made = validity(labels, STEPS)
    np.testing.assert_allclose(made.share, [0, 0, 2 / 3])
    np.testing.assert_array_equal(made.subjects, [4, 4, 3])
    np.testing.assert_array_equal(made.missing, [1, 1, 2])
    assert (made.low[2], made.high[2]) == wilson(2, 3)
    np.testing.assert_array_equal(made.unmoved[:, 2], [False, False, True, False, False])
    # One up and one down: the mean label stays although two of three moved.
    assert made.equivalence[2].estimate == 0


def test_t_tests_agree_with_statsmodels():
    d = np.random.default_rng(0).normal(0.02, 0.2, 60)
    made = equivalence(d, 0.1)
    judge = DescrStatsW(d).ttost_mean(-0.1, 0.1)
    assert made.p == pytest.approx(judge[0], rel=1e-9)
    assert (made.low, made.high) == pytest.approx(stats.t.interval(0.9, 59, d.mean(), stats.sem(d)))


@pytest.mark.parametrize(("up", "down", "n"), [(0, 0, 40), (0, 0, 60), (3, 1, 300), (12, 2, 200), (1, 9, 150)])
def test_labels_are_equivalent_exactly_where_the_90_percent_interval_lies_within(up, down, n):
    d = np.zeros(n)
    d[:up], d[up : up + down] = 1, -1
    made = equivalence(d, 0.05)
    low, high = paired_score_interval(up, down, n, confidence=0.9)
    assert made.equivalent == bool(low >= -0.05 and high <= 0.05)
    assert made.equivalent == (made.p <= 0.05)
    assert made.method == "two one-sided paired score tests"


def test_no_label_moved_needs_enough_subjects():
    # The 90 % interval without a discordant pair ends at z² / (n + z²), z² = 2.706: below .05 from n = 51.4 on.
    assert not equivalence(np.zeros(51)).equivalent
    assert equivalence(np.zeros(52)).equivalent


@pytest.mark.coverage
def test_the_rate_of_false_equivalence_at_the_margin_is_at_most_5_percent():
    rng = np.random.default_rng(0)
    # The truth lies at the margin: 10 % up, 5 % down of 400.
    found = np.mean(
        [equivalence(rng.choice([1.0, -1.0, 0.0], 400, p=[0.10, 0.05, 0.85])).equivalent for _ in range(2000)]
    )
    assert found <= 0.065
