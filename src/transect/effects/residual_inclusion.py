"""Instrumental variables for yes-or-no outcomes: what the first stage leaves over enters a probit or logit.

The residual of the perceived value after the intended ones stands for what else varies with it; given it, the
perceived value's coefficient is causal, if the residual enters as the model says (Rivers and Vuong 1988; Terza, Basu
and Rathouz 2008). Effects are average partial effects: the mean change of the probability per unit of the attribute.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, final

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.special import expit, log_ndtr

from transect.effects import instruments as first_stages
from transect.effects import regression
from transect.effects.instruments import Instruments
from transect.effects.likelihood import LOGIT, maximise, separation
from transect.effects.linear import no_fit
from transect.effects.regression import Fit
from transect.effects.samples import Columns, Labels
from transect.errors import BadInput
from transect.records import Effect

PROBIT_SOURCE: Final = (
    "Rivers and Vuong 1988, Limited information estimators and exogeneity tests for simultaneous probit models, "
    "doi:10.1016/0304-4076(88)90063-2"
)
LOGIT_SOURCE: Final = (
    "Terza, Basu and Rathouz 2008, Two-stage residual inclusion estimation, doi:10.1016/j.jhealeco.2007.09.009"
)
NO_MAXIMUM: Final = "complete separation: the second stage has no finite estimate; see two-stage least squares"
_STEP: Final = 1e-6

Link = Literal["probit", "logit"]


def control_function(
    y: ArrayLike,
    endogenous: Columns,
    instruments: Columns,
    *,
    exogenous: Columns | None = None,
    clusters: ArrayLike | None = None,
    link: Link = "probit",
    labels: Labels | None = None,
    confidence: float = 0.95,
) -> tuple[Effect, ...]:
    """Average partial effects of perceived attributes on the probability of an outcome of 1, instrumented.

    As `instrumental`, for outcomes 0 and 1: the second stage is a probit (default) or logit that includes the residuals
    of the first. Errors by subject take both stages into account. Each spec holds the coefficients of the second stage;
    those of the residuals ("residual of …") far from 0 show that the perceived value was confounded.

    Returns one Effect per endogenous column, in order: change of probability per unit.

    Raises BadInput where lengths differ, a column is text, instruments are too few or an outcome is neither 0 nor 1.

    >>> rng = np.random.default_rng(0)
    >>> z, u = rng.integers(0, 2, 4000).astype(float), rng.normal(size=4000)
    >>> beard = z + u
    >>> y = (0.5 * beard - u + rng.normal(size=4000) > 0).astype(float)
    >>> effect = control_function(y, {"beard": beard}, {"intended": z})[0]
    >>> bool(effect.low < 0.5 * np.mean(np.exp(-((0.5 * z - 0.5 * u) ** 2) / 2)) / np.sqrt(2 * np.pi) < effect.high)
    True
    """
    parted = first_stages.part(y, endogenous, instruments, exogenous, clusters)
    if not np.isin(parted.sample.y, (0.0, 1.0)).all():
        raise BadInput("control_function: expected outcomes 0 or 1; take `instrumental` for others")
    return regression.coefficient_effects(
        _fit(parted, link),
        parted.sample,
        labels or Labels(basis="experimental"),
        method=f"control-function {link}",
        per=lambda name: f"probability per unit of {name}",
        sources=(PROBIT_SOURCE if link == "probit" else LOGIT_SOURCE,),
        confidence=confidence,
        names=parted.names,
    )


def _fit(parted: Instruments, link: Link) -> Fit:
    """Average partial effects of the endogenous columns, their covariance by both stages, and the second stage."""
    linear, reasons = first_stages.two_stage(parted)
    p = len(parted.names)
    if any(reasons):
        return Fit(np.full(p, np.nan), np.full((p, p), np.nan), reasons)
    stages = _Stages(parted, LINKS[link])
    first, bread, scores = stages.first()
    x, names = stages.columns(first), stages.names
    if separation(x, parted.sample.y, names).infinite:
        return no_fit(p, NO_MAXIMUM)
    beta = stages.second(x)
    effects = stages.partial_effects(first.ravel(), beta)
    moves_first = _jacobian(lambda pi: stages.partial_effects(pi, beta), first.ravel())
    moves_second = _jacobian(lambda b: stages.partial_effects(first.ravel(), b), beta)
    inverse = np.linalg.pinv(_jacobian(lambda b: stages.scores(first.ravel(), b).sum(axis=0), beta))
    across = _jacobian(lambda pi: stages.scores(pi, beta).sum(axis=0), first.ravel())
    # Each row's share in the estimates: in the mean, in the first stage, and in the second given the first.
    of_first = np.einsum("zy,nyp->nzp", bread, scores).reshape(len(x), -1)
    of_second = -(stages.scores(first.ravel(), beta) + of_first @ across.T) @ inverse.T
    own_part = (stages.rows(first.ravel(), beta) - effects) / len(x)
    shares = own_part + of_first @ moves_first.T + of_second @ moves_second.T
    covariance = regression.clustered_covariance(shares, np.eye(p), parted.sample, len(beta))
    details = {
        "second_stage": dict(zip(names, beta.tolist(), strict=True)),
        "two_stage_least_squares": linear.coefficients[:p].tolist(),
        "first_stage_f": [float(strength) for strength in first_stages.first_stage(parted)],
    }
    return Fit(effects, covariance, ("",) * p, details)


@final
@dataclass(frozen=True, slots=True)
class _Curve:
    """A link: density of the linear predictor, each row's score per unit of it, and the maximiser."""

    density: Callable[[np.ndarray], np.ndarray]
    score: Callable[[np.ndarray, np.ndarray], np.ndarray]
    maximise: Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, slots=True)
class _Stages:
    parted: Instruments
    curve: _Curve

    @property
    def names(self) -> tuple[str, ...]:
        parted = self.parted
        residuals = tuple(f"residual of {name}" for name in parted.names)
        return (*parted.names, regression.INTERCEPT, *parted.exogenous_names, *residuals)

    def first(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """First-stage coefficients [z, p], the inverse of Z'Z and scores [n, z, p]."""
        z, d = self.parted.all_instruments, self.parted.endogenous
        bread = np.linalg.pinv(z.T @ z, hermitian=True)
        pi = bread @ (z.T @ d)
        return pi, bread, z[:, :, None] * (d - z @ pi)[:, None, :]

    def columns(self, pi: np.ndarray) -> Float[np.ndarray, "n k"]:
        parted = self.parted
        pi = pi.reshape(parted.all_instruments.shape[1], -1)
        residual = parted.endogenous - parted.all_instruments @ pi
        return np.column_stack([parted.endogenous, parted.exogenous, residual])

    def second(self, x: np.ndarray) -> Float[np.ndarray, " k"]:
        return self.curve.maximise(x, self.parted.sample.y)

    def scores(self, pi: np.ndarray, beta: np.ndarray) -> Float[np.ndarray, "n k"]:
        x = self.columns(pi)
        return np.asarray(x * self.curve.score(self.parted.sample.y, x @ beta)[:, None])

    def rows(self, pi: np.ndarray, beta: np.ndarray) -> Float[np.ndarray, "n p"]:
        """Each row's partial effects."""
        p = len(self.parted.names)
        return np.outer(self.curve.density(self.columns(pi) @ beta), beta[:p])

    def partial_effects(self, pi: np.ndarray, beta: np.ndarray) -> Float[np.ndarray, " p"]:
        return np.asarray(self.rows(pi, beta).mean(axis=0))


def _jacobian(function: Callable[[np.ndarray], np.ndarray], at: np.ndarray) -> Float[np.ndarray, "m k"]:
    """Central differences."""
    columns = []
    for place in range(len(at)):
        step = np.zeros(len(at))
        step[place] = _STEP * max(1.0, abs(at[place]))
        columns.append((function(at + step) - function(at - step)) / (2 * step[place]))
    return np.stack(columns, axis=1)


def _probit_score(y: np.ndarray, eta: np.ndarray) -> np.ndarray:
    sign = 2 * y - 1
    return np.asarray(sign * np.exp(-(eta**2) / 2 - log_ndtr(sign * eta)) / np.sqrt(2 * np.pi))


def _probit_maximum(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Newton's method, as neither scikit-learn nor SciPy has a probit; its log-likelihood is concave."""
    beta = np.zeros(x.shape[1])
    for _ in range(100):
        eta = x @ beta
        score = _probit_score(y, eta)
        hessian = x.T @ ((score * (score + eta))[:, None] * x)
        step = np.linalg.lstsq(hessian, x.T @ score, rcond=None)[0]
        step *= min(1.0, 5.0 / max(np.abs(x @ step).max(), 1e-300))
        beta = beta + step
        if np.abs(step).max() <= 1e-10:
            break
    return beta


def _normal_density(eta: np.ndarray) -> np.ndarray:
    return np.asarray(np.exp(-(eta**2) / 2) / np.sqrt(2 * np.pi))


def _logit_maximum(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return maximise(x, y, np.ones(len(y)), LOGIT)[0]


LINKS: Final = {
    "probit": _Curve(_normal_density, _probit_score, _probit_maximum),
    "logit": _Curve(lambda eta: expit(eta) * expit(-eta), lambda y, eta: y - expit(eta), _logit_maximum),
}
