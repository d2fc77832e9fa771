"""AIPW with cross-fitted chances of treatment, and whether arms overlap enough."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, TypeAlias, final

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike
from scipy.special import expit

from transect.effects import clusters as few_subjects
from transect.effects import regression
from transect.effects.generalized import LOGIT, constant_outcome, maximise
from transect.effects.regression import Fit, empty_group, group_sums, one_treatment
from transect.effects.samples import Columns, Labels, Sample, complete, read_columns
from transect.errors import BadInput
from transect.records import Effect

SOURCE: Final = "Hájek 1971, comment on Basu, An essay on the logical foundations of survey sampling, part one"
OVERLAP_SOURCE: Final = (
    "Crump et al. 2009, Dealing with limited overlap in estimation of average treatment effects, "
    "doi:10.1093/biomet/asn055"
)
PROPENSITIES: Final = (0.01, 0.99)
"""Chances of treatment are clipped here."""
MOST_CLIPPED: Final = 0.05
"""The largest share of images whose chance of treatment is clipped."""
FEWEST_EFFECTIVE: Final = 20
"""The smallest effective number of subjects in an arm: below it intervals cover too little."""


@final
@dataclass(frozen=True, slots=True)
class Overlap:
    """How far the arms overlap. clipped: images whose chance of treatment is clipped, of `images`; untreated, treated:
    effective number of subjects in each arm, (Σ weight)² / Σ weight² (Kish 1965).
    """

    clipped: int
    images: int
    untreated: float
    treated: float

    def refusal(self, name: str) -> str:
        """Why there is no estimate of the attribute `name`, "" where there is one."""
        if self.clipped > MOST_CLIPPED * self.images:
            return (
                f"too little overlap: for {self.clipped} of {self.images} images the probability that {name} "
                f"is 1 is outside {PROPENSITIES[0]:g} to {PROPENSITIES[1]:g} (at most {100 * MOST_CLIPPED:g} "
                "%)"
            )
        for level, effective in ((0, self.untreated), (1, self.treated)):
            if effective < FEWEST_EFFECTIVE:
                return (
                    f"too little overlap: where {name} is {level} the weights leave {effective:.1f} effective subjects "
                    f"(at least {FEWEST_EFFECTIVE})"
                )
        return ""


@final
@dataclass(frozen=True, slots=True)
class Weighted:
    """A difference of two arms' means, its variance, degrees of freedom, and overlap."""

    estimate: float
    variance: float
    freedom: float
    overlap: Overlap


def augmented(sample: Sample, predicted: Float[np.ndarray, "2 n"], chance: Float[np.ndarray, " n"]) -> Weighted:
    """The mean predicted difference, corrected by each arm's weighted mean residual (AIPW with Hájek's weights)."""
    treated, bounded = sample.x[:, 0], np.clip(chance, *PROPENSITIES)
    gain = predicted[1] - predicted[0]
    effect = float(gain.mean())
    moved = _sums(sample, (gain - effect) / len(gain))
    untreated, with_it = (
        _Arm.of(sample, chosen / odds, sample.y - outcome)
        for chosen, odds, outcome in (
            (1 - treated, 1 - bounded, predicted[0]),
            (treated, bounded, predicted[1]),
        )
    )
    overlap = Overlap(int((chance != bounded).sum()), len(sample), untreated.effective, with_it.effective)
    shift = with_it.mean - untreated.mean
    variance = _variance(moved, untreated, with_it)
    return Weighted(effect + shift, variance, min(overlap.untreated, overlap.treated) - 1, overlap)


@final
@dataclass(frozen=True, slots=True)
class _Arm:
    """The weighted mean of an arm's residuals; by subject [g] its weights, which sum to 1, and its part of the error.

    alike: each subject's mean residual, 0 without an image in the arm; images: how many it has there.
    """

    mean: float
    weights: Float[np.ndarray, " g"]
    part: Float[np.ndarray, " g"]
    alike: Float[np.ndarray, " g"]
    images: Float[np.ndarray, " g"]

    @classmethod
    def of(cls, sample: Sample, weights: Float[np.ndarray, " n"], residual: Float[np.ndarray, " n"]) -> _Arm:
        parts = weights / weights.sum()
        mean = float(parts @ residual)
        by_subject = _sums(sample, parts)
        totals = _sums(sample, parts * residual)
        left = np.maximum(1 - by_subject, 1e-9)
        own = np.divide(totals, by_subject, out=np.zeros(len(totals)), where=by_subject > 0)
        return cls(
            mean, by_subject, (totals - mean * by_subject) / left, own, _sums(sample, (weights > 0).astype(np.float64))
        )

    @property
    def effective(self) -> float:
        return float(1 / (self.weights**2).sum())

    @property
    def even(self) -> float:
        """Variance of the weighted mean if residuals are of one size, that of the average image's subject."""
        return float(self.images @ self.alike**2 / self.images.sum()) / self.effective


def _variance(moved: Float[np.ndarray, " g"], untreated: _Arm, treated: _Arm) -> float:
    """The jackknife's, or where it is larger that of residuals whose size is one for all subjects of an arm."""
    g = len(moved)
    if g < 2:
        return np.nan
    jackknife = float(((moved + treated.part - untreated.part) ** 2).sum()) * g / (g - 1)
    both = (untreated.weights > 0) & (treated.weights > 0)
    product = float((untreated.alike[both] * treated.alike[both]).mean()) if both.any() else 0.0
    even = float((moved**2).sum()) - 2 * product * float(untreated.weights @ treated.weights)
    return max(jackknife, even + untreated.even + treated.even)


def _sums(sample: Sample, values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " g"]:
    return np.asarray(group_sums(values[:, None], sample.groups, sample.n_groups)[:, 0])


AIPW_SOURCE: Final = (
    "Robins, Rotnitzky and Zhao 1994, Estimation of regression coefficients when some regressors are not always "
    "observed, doi:10.1080/01621459.1994.10476818"
)
CROSS_FITTING: Final = (
    "Chernozhukov et al. 2018, Double/debiased machine learning for treatment and structural parameters, "
    "doi:10.1111/ectj.12097"
)
JACKKNIFE: Final = "Student t on jackknife errors clustered by subject"
WALD: Final = "Wald test on jackknife errors clustered by subject"

Predictor: TypeAlias = Callable[[np.ndarray], np.ndarray]
Learner: TypeAlias = Callable[[np.ndarray, np.ndarray], Predictor]
"""From features [n, k] and outcomes [n] to a function that predicts the outcomes of features [m, k]."""


def aipw(
    y: ArrayLike,
    treatment: Columns,
    covariates: Columns,
    *,
    clusters: ArrayLike | None = None,
    outcome_learner: Learner | None = None,
    propensity_learner: Learner | None = None,
    folds: int = 5,
    seed: int = 0,
    labels: Labels | None = None,
    confidence: float = 0.95,
) -> Effect:
    """Augmented inverse-probability weighting with cross-fitting: the average effect of a treatment of 0 or 1.

    Each image's outcome with and without the treatment, and its chance of being treated, come from models that did not
    see its subject. The default learners are logistic regressions with a slight penalty (least squares for outcomes
    outside [0, 1]); any function from (features, outcomes) to a predictor can take their place. Weights are divided by
    their sum (Hájek). The spec holds the overlap: how many chances of treatment were clipped to [0.01, 0.99], and the
    effective number of subjects in each arm.

    folds: groups of subjects, drawn by `seed` from the subjects in sorted order (without clusters, from the rows in the
    order of their values, so that the order of rows does not matter). Returns one Effect, a difference of mean
    outcomes; NaN where a group is empty, or empty outside some fold, where more than 5 % of the chances are clipped or
    an arm has fewer than 20 effective subjects, and where outcomes are in [0, 1] and the difference is not in [-1, 1].

    Raises BadInput where lengths differ, a column is text, the treatment has other values than 0 and 1 or folds < 2.

    >>> rng = np.random.default_rng(0)
    >>> old = rng.normal(size=400)
    >>> beard = (rng.random(400) < expit(old)).astype(float)
    >>> effect = aipw(old + 0.5 * beard + 0.1 * rng.normal(size=400), {"beard": beard}, {"old": old})
    >>> bool(effect.low < 0.5 < effect.high)
    True
    """
    if folds < 2:
        raise BadInput(
            f"aipw: expected at least 2 folds, got {folds}; cross-fitting needs data that a model has not seen"
        )
    sample, names = _sample(y, treatment, covariates, clusters), labels or Labels()
    reason = sample.reason or empty_group(sample)
    if not reason and np.ptp(sample.y) == 0:
        reason = constant_outcome(sample)
    fold = folds_of(sample, folds, seed)
    reason = reason or _empty_outside(sample, fold)
    usual = ridge_logit if _bounded(sample) else linear_learner
    learners = outcome_learner or usual, propensity_learner or ridge_logit
    fit = _NOTHING if reason else augmented(sample, *_predictions(sample, fold, learners))
    reason = reason or fit.overlap.refusal(sample.names[0])
    if not reason and _bounded(sample) and abs(fit.estimate) > 1:
        reason = "too little overlap: the estimate is beyond ±1, which no difference of shares is"
    effect = regression.coefficient_effect(
        sample.names[0],
        Fit(np.array([fit.estimate]), np.array([[fit.variance]]), (reason,), freedom=np.array([fit.freedom])),
        0,
        sample,
        names,
        method="AIPW",
        unit=names.unit,
        sources=(AIPW_SOURCE, CROSS_FITTING, SOURCE, OVERLAP_SOURCE),
        confidence=confidence,
        details={
            "folds": folds,
            "seed": seed,
            "propensities_clipped": fit.overlap.clipped,
            "clip": list(PROPENSITIES),
            "effective_untreated": fit.overlap.untreated,
            "effective_treated": fit.overlap.treated,
        },
        kind="contrast",
    )
    return _stated(effect, bounded=_bounded(sample))


_NOTHING: Final = Weighted(np.nan, np.nan, np.nan, Overlap(0, 0, np.nan, np.nan))


def _stated(effect: Effect, *, bounded: bool) -> Effect:
    """The effect with the names of its errors; an interval of a difference of shares ends at -1 and 1."""
    low, high = np.clip((effect.low, effect.high), -1.0, 1.0) if bounded else (effect.low, effect.high)
    known = bool(np.isfinite(effect.low))
    return replace(
        effect,
        low=float(low),
        high=float(high),
        interval_method=JACKKNIFE if known else "",
        test_method=WALD if known else "",
        sources=tuple(source for source in effect.sources if source != few_subjects.SOURCE),
    )


def _predictions(
    sample: Sample, fold: Int[np.ndarray, " n"], learners: tuple[Learner, Learner]
) -> tuple[Float[np.ndarray, "2 n"], Float[np.ndarray, " n"]]:
    """Each image's outcome without and with the treatment, and its chance of it, by models that did not see it."""
    treated, features = sample.x[:, 0], sample.x[:, 1:]
    outcome, chance_of = learners
    predicted, chance = np.empty((2, len(sample))), np.empty(len(sample))
    for part in np.unique(fold):
        out, rest = fold == part, fold != part
        for value in (0, 1):
            arm = rest & (treated == value)
            predicted[value, out] = outcome(features[arm], sample.y[arm])(features[out])
        chance[out] = chance_of(features[rest], treated[rest])(features[out])
    return predicted, chance


def ridge_logit(x: Float[np.ndarray, "n k"], y: Float[np.ndarray, " n"]) -> Predictor:
    """Logistic regression of outcomes in [0, 1] on standardized features, penalised by one observation's weight."""
    center, spread = x.mean(axis=0), np.where(x.std(axis=0) > 0, x.std(axis=0), 1.0)
    # A tiny penalty of the intercept keeps it finite where all outcomes of an arm are equal.
    ridge = np.array([*np.ones(x.shape[1]), 1e-2])
    design = np.column_stack([(x - center) / spread, np.ones(len(x))])
    beta, _ = maximise(
        design, y, np.ones(len(y)), LOGIT, ridge if np.ptp(y) == 0 else ridge * [*np.ones(x.shape[1]), 0]
    )
    return lambda new: expit(np.column_stack([(new - center) / spread, np.ones(len(new))]) @ beta)


def linear_learner(x: Float[np.ndarray, "n k"], y: Float[np.ndarray, " n"]) -> Predictor:
    """Least squares with an intercept; the shortest solution where columns are dependent."""
    beta = np.linalg.lstsq(np.column_stack([x, np.ones(len(x))]), y, rcond=None)[0]
    return lambda new: np.column_stack([new, np.ones(len(new))]) @ beta


def _bounded(sample: Sample) -> bool:
    """Whether all outcomes are in [0, 1], so that differences of their means are in [-1, 1]."""
    return bool(len(sample) and sample.y.min() >= 0 and sample.y.max() <= 1)


def folds_of(sample: Sample, folds: int, seed: int) -> Int[np.ndarray, " n"]:
    """The fold of each row: whole subjects, dealt out by seed; the order of the rows does not matter."""
    n = sample.n_groups
    rank = np.arange(n)
    if n == len(sample):
        # Every row is its own subject: rows of equal values are interchangeable, so their order decides nothing.
        rank[sample.groups[np.lexsort(np.column_stack([sample.y, sample.x]).T[::-1])]] = np.arange(n)
    dealt = np.random.Generator(np.random.Philox(seed)).permutation(n) % folds
    return np.asarray(dealt[rank][sample.groups], dtype=np.int64)


def _empty_outside(sample: Sample, fold: Int[np.ndarray, " n"]) -> str:
    treated: Bool[np.ndarray, " n"] = sample.x[:, 0] == 1
    for part in np.unique(fold):
        for value, arm in ((1, treated), (0, ~treated)):
            if not (arm & (fold != part)).any():
                name, folds = sample.names[0], len(np.unique(fold))
                return f"one group empty: no image where {name} is {value} outside one fold of {folds}"
    return ""


def _sample(y: ArrayLike, treatment: Columns, covariates: Columns, clusters: ArrayLike | None) -> Sample:
    """One sample whose first column is the treatment."""
    name, values = one_treatment(treatment)
    names, others = read_columns(covariates, prefix="covariate")
    if len(others) != len(values):
        raise BadInput(f"covariates: expected one row per treatment, {len(values)}, got {len(others)}")
    return complete(y, np.column_stack([values, others]), names=(name, *names), clusters=clusters)
