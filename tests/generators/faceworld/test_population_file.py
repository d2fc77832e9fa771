"""Populations: quantiles against SciPy and closed forms, the copula, and what a file may not say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from transect.errors import BadInput
from transect.generators.faceworld.attributes import ATTRIBUTES, NAMES
from transect.generators.faceworld.population import (
    SHIPPED,
    Bernoulli,
    Categorical,
    Normal,
    Sometimes,
    Uniform,
    load_population,
    nearest_correlation,
)


def column(name):
    return NAMES.index(name)


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_populations_stay_within_the_ranges(name):
    noise = np.random.default_rng(0).standard_normal((4000, len(NAMES))) * 1.5
    values = load_population(name).values(noise)
    for j, attribute in enumerate(ATTRIBUTES):
        low, high = attribute.bounds
        assert low <= values[:, j].min() <= values[:, j].max() <= high, attribute.name


def test_balanced_marginals():
    # 20 000 draws: the standard error of a share near .2 is .003, of the mean of a uniform on 1..10 is .018.
    values = load_population("balanced").values(np.random.default_rng(1).standard_normal((20_000, len(NAMES))))
    assert stats.kstest(values[:, column("skin_tone")], stats.uniform(1, 9).cdf).pvalue > 0.001
    worn = np.bincount(values[:, column("glasses")].astype(int), minlength=5) / 20_000
    np.testing.assert_allclose(worn, [0.8, 0.11, 0.06, 0.01, 0.02], atol=0.012)
    assert values[:, column("earrings")].mean() == pytest.approx(0.25, abs=0.013)
    assert (values[:, column("baldness")] > 0).mean() == pytest.approx(0.15, abs=0.011)


def test_correlations_of_celebrity_like_come_out_as_written():
    scores = np.random.default_rng(2).standard_normal((40_000, len(NAMES))) @ load_population("celebrity-like").factor.T
    correlations = np.corrcoef(scores.T)
    # Standard error of a correlation from 40 000 pairs: at most 1 / 200.
    # Loadings on the first common cause: .85 and -.7.
    assert correlations[column("face_shape"), column("hair_length")] == pytest.approx(-0.595, abs=0.02)
    assert correlations[column("smile"), column("mouth_open")] == pytest.approx(0.7, abs=0.02)
    assert correlations[column("yaw"), column("age")] == pytest.approx(0, abs=0.02)


@given(st.floats(-5, 5), st.floats(-5, 5), st.floats(0.05, 4))
def test_normal_quantile_is_scipys_truncated_normal(z, offset, sd):
    # The mean lies from 5 sd below the range to 5 sd above it.
    low, high = -1.0, 2.0
    mean = low + offset * sd if offset < 0 else high + offset * sd
    judge = stats.truncnorm((low - mean) / sd, (high - mean) / sd, loc=mean, scale=sd).ppf(stats.norm.cdf(z))
    value = Normal(distribution="normal", mean=mean, sd=sd, low=low, high=high).quantile(np.array([z]))[0]
    # Far in the tails both lose digits to the inverse distribution function.
    assert value == pytest.approx(judge, abs=1e-4)


@given(st.lists(st.floats(-6, 6), min_size=2, max_size=20))
def test_quantiles_do_not_decrease(scores):
    z = np.sort(np.array(scores))
    for marginal in (
        Uniform(distribution="uniform", low=1, high=10),
        Normal(distribution="normal", mean=0, sd=1, low=-2, high=2),
        Sometimes(distribution="sometimes", share=0.3, low=0.2, high=1),
        Bernoulli(distribution="bernoulli", probability=0.4),
        Categorical(distribution="categorical", shares=(0.2, 0.0, 0.5, 0.3)),
    ):
        assert (np.diff(marginal.quantile(z)) >= 0).all()


def test_sometimes_by_hand():
    # Share .5: the upper half of the scores, from low at the median to high at the top; the upper quartile is halfway.
    marginal = Sometimes(distribution="sometimes", share=0.5, low=0.2, high=1.0)
    values = marginal.quantile(np.array([-1.0, -1e-9, stats.norm.ppf(0.75), 40.0]))
    np.testing.assert_allclose(values, [0, 0, 0.6, 1.0], atol=1e-12)


def test_categorical_by_hand():
    # Shares 0, .25, 0, .75, 0: the lowest quarter of the scores is level 1, all others level 3; never 0, 2 or 4.
    marginal = Categorical(distribution="categorical", shares=(0, 0.25, 0, 0.75, 0))
    quarter = stats.norm.ppf(0.25)
    levels = marginal.quantile(np.array([-40.0, quarter - 1e-9, quarter + 1e-9, 0.0, 40.0]))
    np.testing.assert_array_equal(levels, [1, 1, 3, 3, 3])
    assert marginal.support() == (1.0, 3.0)


def test_shares_are_given_by_the_names_of_levels(tmp_path):
    text = "name='x'\n[marginals]\nhat={distribution='categorical',shares={beanie=0.25,none=0.75}}"
    assert load_population(write(tmp_path, text)).marginals[column("hat")].shares == (0.75, 0.0, 0.25, 0.0, 0.0, 0.0)


def write(tmp_path, text):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return path


def test_a_file_of_ones_own(tmp_path):
    path = write(
        tmp_path, 'name = "mine"\n[marginals]\nage = { distribution = "normal", mean = 30, sd = 5 }\n'
        '[[correlations]]\nbetween = ["age", "glasses"]\nvalue = 0.5\n'
    )  # fmt: skip
    mine, balanced = load_population(path), load_population("balanced")
    assert mine.name == "mine"
    assert mine.sha256 != balanced.sha256
    assert mine.marginals[column("age")].mean == 30
    assert mine.marginals[column("smile")] == balanced.marginals[column("smile")]
    # L Lᵀ holds what was written: row `glasses` has .5 on `age` and sqrt(1 - .25) on itself (age comes first).
    assert mine.factor[column("glasses"), column("age")] == pytest.approx(0.5)
    assert mine.factor[column("glasses"), column("glasses")] == pytest.approx(np.sqrt(0.75))


def test_common_causes_correlate_by_the_product_of_loadings(tmp_path):
    # age: .6 and .5 in two causes, smile: -.5 in the first, glasses: .4 in the second, and .1 more by pair:
    # age-smile -.30, age-glasses .20 + .10, smile-glasses 0.
    text = (
        "name='x'\n[[common_causes]]\nname='a'\nloadings={age=0.6,smile=-0.5}\n"
        "[[common_causes]]\nname='b'\nloadings={age=0.5,glasses=0.4}\n"
        "[[correlations]]\nbetween=['glasses','age']\nvalue=0.1\n"
    )
    factor = load_population(write(tmp_path, text)).factor
    correlations = factor @ factor.T
    age, smile, glasses = column("age"), column("smile"), column("glasses")
    np.testing.assert_allclose(
        [correlations[age, smile], correlations[age, glasses], correlations[smile, glasses]], [-0.3, 0.3, 0], atol=1e-12
    )
    np.testing.assert_allclose(np.diag(correlations), 1)


HAT = "[marginals]\nhat="
AGE, EARRINGS, PAIR = "[marginals]\nage=", "[marginals]\nearrings=", "[[correlations]]\nbetween="


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("surplus =", "mine.toml: expected TOML: .*fix that line"),
        ("weights=1", "mine.toml, line 2: weights: unknown key"),
        ("[marginals]\nagee={distribution='uniform',low=1,high=2}", "marginals: unknown attribute 'agee'.*age"),
        (AGE + "{distribution='gamma'}", "mine.toml, line 3: marginals.age"),
        (AGE + "{distribution='uniform',low=1,high=20}", "marginals.age: expected 18 <= low <= high"),
        (
            AGE + "{distribution='normal',mean=10,sd=1}",
            "marginals.age.mean: expected a value within 5 sd of 18 to 85, got 10",
        ),
        (EARRINGS + "{distribution='uniform',low=0,high=1}", "earrings.distribution: expected bernoulli"),
        (HAT + "{distribution='categorical',shares={crown=1}}", "hat.shares: expected levels of hat .*got 'crown'"),
        (HAT + "{distribution='categorical',shares={cap=0.4}}", "expected 6 shares that sum to 1, got"),
        (PAIR + "['age','age']\nvalue=0.1", "occurs twice"),
        ("[[common_causes]]\nname='c'\nloadings={smile=1.5}", "common_causes 1.loadings.smile: .*less than 1"),
    ],
)
def test_bad_files_are_refused_(tmp_path, text, message):
    with pytest.raises(BadInput, match=message):
        load_population(write(tmp_path, "name='x'\n" + text))


def test_a_correlation_that_is_not_positive_definite_says_how_far_to_shrink(tmp_path):
    # Three pairs at -.6: C = 1.6 I - .6 J has the eigenvalue 1.6 - 1.8 = -.2; s (C - I) + I is definite while
    # s < 1 / (1 + .2) = .8333.
    pairs = [("age", "smile"), ("age", "glasses"), ("smile", "glasses")]
    text = "name='x'\n" + "".join(f"[[correlations]]\nbetween=['{a}','{b}']\nvalue=-0.6\n" for a, b in pairs)
    with pytest.raises(BadInput, match=r"smallest eigenvalue -0\.2; multiply them by 0\.833 or less"):
        load_population(write(tmp_path, text))
    load_population(write(tmp_path, text.replace("-0.6", str(-0.6 * 0.833))))


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_nearest_correlation_is_definite_and_nearer_than_shrinking(seed):
    square = np.random.default_rng(seed).uniform(-1, 1, (5, 5))
    matrix = np.triu(square, 1) + np.triu(square, 1).T + np.eye(5)
    nearest = nearest_correlation(matrix)
    np.testing.assert_allclose(np.diag(nearest), 1)
    assert np.linalg.eigvalsh(nearest)[0] > 0
    shrink = min(1.0, (1 - 1e-4) / (1 - np.linalg.eigvalsh(matrix)[0]))
    by_shrinking = np.eye(5) + shrink * (matrix - np.eye(5))
    assert np.linalg.norm(nearest - matrix) <= np.linalg.norm(by_shrinking - matrix) + 1e-3


def test_a_file_that_is_not_text(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadInput, match="expected a TOML file in UTF-8"):
        load_population(path)


@settings(max_examples=25)
@given(st.floats(-0.9, 0.9))
def test_values_by_loops(rho):
    """The copula against a slow oracle: correlate two scores by hand, then each marginal's own quantile."""
    population = load_population("balanced")
    factor = population.factor.copy()
    i, j = column("skin_tone"), column("hair_length")
    factor[j, i], factor[j, j] = rho, np.sqrt(1 - rho**2)
    noise = np.random.default_rng(5).standard_normal((6, len(NAMES)))
    values = type(population)("x", "", "", population.marginals, factor).values(noise)
    for row in range(6):
        score = rho * noise[row, i] + np.sqrt(1 - rho**2) * noise[row, j]
        assert values[row, j] == pytest.approx(stats.norm.cdf(score), abs=1e-12)
        assert values[row, i] == pytest.approx(1 + 9 * stats.norm.cdf(noise[row, i]), abs=1e-12)
