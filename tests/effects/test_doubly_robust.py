import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LinearRegression, LogisticRegression

from transect.effects import aipw
from transect.effects.doubly_robust import PROPENSITIES, augmented, folds_of
from transect.effects.samples import complete

NAN = np.nan


def population(seed=0, subjects=150, images=3, effect=0.8):
    """Older faces have more beards and more errors: the raw difference is confounded."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(subjects), images)
    old = np.column_stack([rng.normal(size=len(groups)), rng.normal(size=subjects)[groups]])
    beard = (rng.random(len(groups)) < expit(old @ [0.8, 0.4])).astype(float)
    eta = -0.5 + effect * beard + old @ [0.7, 0.5]
    return (rng.random(len(groups)) < expit(eta)).astype(float), beard, old, groups


def by_hand(y, treatment, covariates, groups, bounded):
    """AIPW fold by fold with scikit-learn's models, weights divided by their sum."""
    columns = np.column_stack([treatment, covariates])
    fold = folds_of(complete(y, columns, clusters=groups), 5, 0)
    gain, weights, residuals = np.empty(len(y)), np.empty((2, len(y))), np.empty((2, len(y)))
    for held in range(5):
        out, rest = fold == held, fold != held
        predicted = []
        for value in (1.0, 0.0):
            arm = rest & (treatment == value)
            center, spread = covariates[arm].mean(axis=0), covariates[arm].std(axis=0)
            new = (covariates[out] - center) / spread
            if bounded:
                model = LogisticRegression(solver="newton-cholesky", tol=1e-10)
                predicted.append(model.fit((covariates[arm] - center) / spread, y[arm]).predict_proba(new)[:, 1])
            else:
                predicted.append(LinearRegression().fit((covariates[arm] - center) / spread, y[arm]).predict(new))
        center, spread = covariates[rest].mean(axis=0), covariates[rest].std(axis=0)
        model = LogisticRegression(solver="newton-cholesky", tol=1e-10)
        model.fit((covariates[rest] - center) / spread, treatment[rest])
        chance = np.clip(model.predict_proba((covariates[out] - center) / spread)[:, 1], *PROPENSITIES)
        one, none = predicted
        t = treatment[out]
        gain[out] = one - none
        weights[:, out], residuals[:, out] = ((1 - t) / (1 - chance), t / chance), (y[out] - none, y[out] - one)
    return gain.mean() + np.average(residuals[1], weights=weights[1]) - np.average(residuals[0], weights=weights[0])


@pytest.mark.parametrize("bounded", [True, False])
def test_aipw_agrees_with_models_of_scikit_learn(bounded):
    y, beard, old, groups = population()
    y = y if bounded else 2 * y + old[:, 0] - 3
    made = aipw(y, {"beard": beard}, old, clusters=groups)
    assert made.estimate == pytest.approx(by_hand(y, beard, old, groups, bounded), rel=1e-6)
    assert (made.attribute, made.origin, made.to, made.n_subjects) == ("beard", 0.0, 1.0, 150)


@pytest.mark.parametrize("broken", ["outcome", "propensity"])
def test_either_model_may_be_wrong(broken):
    """With a learner that knows nothing in one place, the other keeps the estimate near the truth; both wrong do not."""
    y, beard, old, groups = population(seed=4, subjects=4000, images=1)
    truth = np.mean(expit(0.3 + old @ [0.7, 0.5]) - expit(-0.5 + old @ [0.7, 0.5]))

    def ignorant(x, outcome):
        return lambda new: np.full(len(new), outcome.mean())

    made = aipw(y, beard, old, clusters=groups, **{f"{broken}_learner": ignorant})
    assert abs(made.estimate - truth) < 0.03
    neither = aipw(y, beard, old, clusters=groups, outcome_learner=ignorant, propensity_learner=ignorant)
    assert abs(neither.estimate - truth) > 0.08


def test_arms_that_do_not_overlap_are_refused_with_their_numbers():
    rng = np.random.default_rng(0)
    old = np.linspace(-6, 6, 400)
    beard = (rng.random(400) < expit(3 * old)).astype(float)
    made = aipw(rng.normal(size=400), {"beard": beard}, old)
    assert made.spec["propensities_clipped"] > 50
    assert np.isnan([made.estimate, made.low, made.p]).all()
    n = made.spec["propensities_clipped"]
    assert made.reason == (
        f"too little overlap: for {n} of 400 images the probability that beard is 1 is outside 0.01 to 0.99 (at most 5 %)"
    )


def test_the_error_is_the_jackknife_s_over_subjects():
    """With predictions held, leaving out one subject at a time gives the variance; rare images have larger errors."""
    _, beard, old, groups = population(subjects=60)
    predicted = np.stack([expit(-0.5 + old @ [0.7, 0.5]), expit(0.3 + old @ [0.7, 0.5])])
    chance = expit(old @ [0.8, 0.4])
    y = np.random.default_rng(0).normal(size=len(beard)) / np.where(beard == 1, chance, 1 - chance)

    def estimate(kept):
        sample = complete(y[kept], np.column_stack([beard, old])[kept], clusters=groups[kept])
        return augmented(sample, predicted[:, kept], chance[kept])

    left = np.array([estimate(groups != g).estimate for g in range(60)])
    judge = 60 / 59 * ((left - left.mean()) ** 2).sum()
    assert estimate(groups >= 0).variance == pytest.approx(judge, rel=0.005)


@pytest.mark.parametrize(
    ("y", "treatment", "reason"),
    [
        ([0.0, 1.0, 1.0], [1.0, 1.0, 1.0], "one group empty: no image where beard is 0, 3 where it is 1"),
        ([1.0, 1.0, 1.0], [0.0, 1.0, 1.0], "no variation: all 3 outcomes are 1"),
        ([NAN, NAN, NAN], [0.0, 1.0, 1.0], "no complete row among 3"),
    ],
)
def test_what_cannot_be_estimated_is_nan_with_its_reason(y, treatment, reason):
    effect = aipw(y, {"beard": treatment}, {"old": [0.0, 1.0, 2.0]})
    assert np.isnan([effect.estimate, effect.low, effect.p]).all()
    assert effect.reason.startswith(reason)
