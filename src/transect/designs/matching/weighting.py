"""Propensity of being treated: scikit-learn's ridge logistic regression, and its scores cross-fitted by identity.

The folds are ours: scikit-learn's grouped folds do not spread small groups evenly over identities.

Overlap weights instead of pairs (Li, Morgan and Zaslavsky 2018, doi:10.1080/01621459.2016.1260466) weigh an image by
the probability of being in the other group, which gives more weight to images that could be in either.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from jaxtyping import Float, Int
from scipy.special import expit

from transect.designs.matching.sample import Facts, Sample

FOLDS: Final = 5
_NEWTON_TOLERANCE: Final = 1e-10


def log_odds(
    features: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, " n"],
    rows: Float[np.ndarray, "m d"],
    *,
    penalty: float = 1.0,
) -> Float[np.ndarray, " m"]:
    """Log odds of `rows`: the minimum of the logistic losses of y + penalty / 2 |weights|², the intercept free."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1 / penalty, solver="newton-cholesky", tol=_NEWTON_TOLERANCE)
    return np.asarray(model.fit(features, y).decision_function(rows))


def folds(
    y: Float[np.ndarray, " n"], identity: Int[np.ndarray, " n"], seed: int, count: int = FOLDS
) -> Int[np.ndarray, " n"]:
    """A fold for each row, equal within an identity, groups spread evenly; fewer folds where identities are few."""
    rng = np.random.Generator(np.random.Philox(seed))
    fold = np.empty(len(y), dtype=np.int64)
    shuffled = rng.permutation(int(identity.max()) + 1)
    people, person = np.unique(identity, return_inverse=True)
    treated = np.zeros(len(people))
    np.maximum.at(treated, person, y)
    for group in (0.0, 1.0):
        members = np.flatnonzero(treated == group)
        order = members[np.argsort(shuffled[people[members]])]
        of_person = np.empty(len(people), dtype=np.int64)
        of_person[order] = np.arange(len(order)) % count
        inside = np.isin(person, members)
        fold[inside] = of_person[person[inside]]
    return fold


def cross_fitted(
    features: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"], fold: Int[np.ndarray, " n"], *, penalty: float = 1.0
) -> Float[np.ndarray, " n"]:
    """Log odds of each row from the model fitted to the other folds; NaN where those lack a group."""
    scores = np.full(len(y), np.nan)
    for part in np.unique(fold):
        inside = fold == part
        if 0 < y[~inside].sum() < (~inside).sum():
            scores[inside] = log_odds(features[~inside], y[~inside], features[inside], penalty=penalty)
    return scores


def area_under_curve(scores: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"]) -> float:
    """Probability that a treated row scores above a control, ties counted half; NaN without both groups."""
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(y, scores)) if 0 < y.sum() < len(y) else float("nan")


def overlap_weights(sample: Sample, covariates: Float[np.ndarray, "n k"]) -> tuple[Float[np.ndarray, " n"], Facts]:
    """Weights, [n], that sum to 1 in each group: 1 - e for treated images and e for controls, e the propensity.

    e is from a logistic regression on the standardized covariates with a penalty of 1e-6, so that their means are equal
    between the weighted groups. facts: the effective numbers of both.
    """
    usable = np.concatenate([sample.rows, sample.columns])
    x = covariates[usable] - covariates[usable].mean(axis=0)
    spread = x.std(axis=0)
    x = x / np.where(spread > 0, spread, 1.0)
    y = sample.treatment[usable]
    e = expit(log_odds(x, y, x, penalty=1e-6))
    weights = np.zeros(len(sample))
    weights[usable] = np.where(y == 1, 1 - e, e)
    for group in (sample.rows, sample.columns):
        weights[group] /= weights[group].sum()
    treated, controls = (float(1 / (weights[group] ** 2).sum()) for group in (sample.rows, sample.columns))
    return weights, Facts(effective_treated=treated, effective_controls=controls)
