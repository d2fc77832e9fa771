"""Propensity of being treated: scikit-learn's ridge logistic regression, and its scores cross-fitted by identity.

The folds are ours: scikit-learn's grouped folds do not spread small groups evenly over identities.

Weights instead of pairs: entropy balancing and overlap weights.

Entropy balancing (Hainmueller 2012) finds the control weights nearest to equal ones under which the covariates'
means are those of the treated. Overlap weights (Li, Morgan and Zaslavsky 2018) weigh an image by the probability of
being in the other group, which gives more weight to images that could be in either.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from jaxtyping import Float, Int
from scipy.special import expit, logsumexp

from transect.designs.matching.sample import Facts, Sample
from transect.errors import BadInput

FOLDS: Final = 5
_NEWTON_TOLERANCE: Final = 1e-10


def log_odds(
    features: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, " n"],
    rows: Float[np.ndarray, "m d"],
    *,
    penalty: float = 1.0,
) -> Float[np.ndarray, " m"]:
    """Log odds of `rows` from the model fitted to `features` and y (0 or 1, both present).

    The model minimises the sum of logistic losses + penalty / 2 |weights|², the intercept free.
    """
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


ENTROPY: Final = "entropy balancing"
OVERLAP: Final = "overlap weights"
SOURCES: Final = {
    ENTROPY: "Hainmueller 2012, Entropy balancing for causal effects, doi:10.1093/pan/mpr025",
    OVERLAP: "Li, Morgan and Zaslavsky 2018, Balancing covariates via propensity score weighting, "
    "doi:10.1080/01621459.2016.1260466",
}

_STEPS = 200
_TOLERANCE = 1e-8


def entropy_weights(
    sample: Sample, covariates: Float[np.ndarray, "n k"], names: Sequence[str] = ()
) -> tuple[Float[np.ndarray, " n"], Facts]:
    """Weights, [n], that sum to 1 in each group: equal for the treated, those of entropy balancing for the controls.

    Covariates that vary in neither group are no constraint. names: of the covariates, by default numbers. facts: the
    effective number of controls, 1 / Σ w².

    Raises BadInput, with the covariate that is farthest, where no weights can reach the treated means.
    """
    a, b = sample.rows, sample.columns
    spread = np.sqrt((covariates[a].var(axis=0) + covariates[b].var(axis=0)) / 2)
    telling = spread > 0
    x = (covariates[b] - covariates[a].mean(axis=0))[:, telling] / spread[telling]
    weight, left = _exponential_tilt(x)
    if left.max(initial=0.0) > 1e-4:
        worst = int(np.flatnonzero(telling)[int(left.argmax())])
        name = names[worst] if names else f"covariate {worst + 1}"
        raise BadInput(
            f"entropy balancing: no weights of the {len(b)} controls reach the treated means; {name} "
            f"stays {left.max():.2g} standard deviations away; leave it out, or use overlap weights"
        )
    weights = np.zeros(len(sample))
    weights[a], weights[b] = 1 / len(a), weight
    return weights, Facts(effective_controls=float(1 / (weight**2).sum()))


def _exponential_tilt(x: Float[np.ndarray, "m k"]) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " k"]]:
    """Weights ∝ exp(x λ) with the mean of x at 0 by Newton steps on the dual; and how far each mean stays from 0.

    SciPy's trust-exact takes as long and stops at a larger gradient.
    """
    dual = np.zeros(x.shape[1])
    weight = np.full(len(x), 1 / len(x))
    for _ in range(_STEPS):
        gradient = weight @ x
        if np.abs(gradient).max(initial=0.0) < _TOLERANCE:
            break
        hessian = (x * weight[:, None]).T @ x - np.outer(gradient, gradient)
        step = np.linalg.lstsq(hessian + 1e-10 * np.eye(len(dual)), gradient, rcond=None)[0]
        value, size = logsumexp(x @ dual), 1.0
        while size > 1e-10 and logsumexp(x @ (dual - size * step)) > value - 1e-4 * size * (gradient @ step):
            size /= 2
        dual = dual - size * step
        logs = x @ dual
        weight = np.exp(logs - logsumexp(logs))
    return weight, np.abs(weight @ x)


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
