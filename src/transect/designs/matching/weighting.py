"""Weights instead of pairs: entropy balancing and overlap weights.

Entropy balancing (Hainmueller 2012) finds the control weights nearest to equal ones under which the covariates' means
are those of the treated. Overlap weights (Li, Morgan and Zaslavsky 2018) weigh an image by the probability of being in
the other group, which gives more weight to images that could be in either.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from jaxtyping import Float
from scipy.special import expit, logsumexp

from transect.designs.matching.logistic import log_odds
from transect.designs.matching.sample import Facts, Sample
from transect.errors import BadInput

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
