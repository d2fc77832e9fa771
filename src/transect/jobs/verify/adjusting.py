"""Contenders that adjust, instrument or penalise, table by table, as a user calls them on observed data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from transect.effects import aipw, g_computation, instrumental, logistic_bootstrap, logit, ols
from transect.effects.matched_pairs import AdjustedPairs, PairOutcome
from transect.jobs.verify.contenders import Contender, SimulatedEstimates, Tables
from transect.records import Effect

_RESAMPLES: Final = 200
Columns = Callable[[Mapping[str, np.ndarray]], dict[str, np.ndarray]]
"""Columns of a table, by name."""
Model = Callable[..., Sequence[Effect]]


def each(method: Callable[[Mapping[str, np.ndarray]], Effect | PairOutcome | AdjustedPairs]) -> Contender:
    """The contender with one effect per table."""

    def answers(tables: Tables) -> SimulatedEstimates:
        effects = [method(table) for table in by_seed(tables)]
        return SimulatedEstimates.of([(effect.estimate, effect.low, effect.high, effect.p) for effect in effects])

    return answers


def by_seed(tables: Tables) -> Iterator[Mapping[str, np.ndarray]]:
    """The table of each seed."""
    for seed in range(len(next(iter(tables.values())))):
        yield {key: column[seed] for key, column in tables.items()}


def subject_of(y: Float[np.ndarray, "n ..."]) -> Float[np.ndarray, " rows"]:
    """The subject of each value, row by row."""
    return np.repeat(np.arange(len(y), dtype=np.float64), y[0].size)


def of_pairs(pairs: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, " rows"]:
    """The level of each value of pairs, row by row."""
    return np.tile([0.0, 1.0], len(pairs))


def spread(attribute: Float[np.ndarray, " n"], images: Float[np.ndarray, "n m"]) -> Float[np.ndarray, " rows"]:
    """A subject's attribute for each of its images."""
    return np.repeat(attribute, images.shape[1])


def _penalised(key: str, *, by_subject: bool) -> Contender:
    """Logistic regression with a penalty; the interval is 1.96 standard deviations of resampled fits."""

    def row(t: Mapping[str, np.ndarray]) -> tuple[float, float, float, float]:
        fit = logistic_bootstrap(
            t[key].ravel(),
            attribute_of(key)(t),
            clusters=subject_of(t[key]),
            unit="subject" if by_subject else "image",
            resamples=_RESAMPLES,
        )
        estimate, deviation = float(fit.coefficients[0]), float(fit.standard_deviations[0])
        p = 2 * float(ndtr(-abs(estimate / deviation))) if deviation > 0 else np.nan
        return estimate, estimate - 1.96 * deviation, estimate + 1.96 * deviation, p

    return lambda tables: SimulatedEstimates.of([row(t) for t in by_seed(tables)])


def fitted(model: Model, key: str, columns: Columns, *, by_subject: bool = True) -> Contender:
    """A regression of the outcomes under `key` on the columns: the effect of the first; errors by subject or not."""
    return each(lambda t: model(t[key].ravel(), columns(t), clusters=subject_of(t[key]) if by_subject else None)[0])


def _instrumented(key: str, treatments: Columns, instruments: Columns) -> Contender:
    """Two-stage least squares with errors by subject."""
    return each(lambda t: instrumental(t[key].ravel(), treatments(t), instruments(t), clusters=subject_of(t[key]))[0])


def named(**keys: str) -> Columns:
    """Columns of the table by name, flat: `perceived="hair"` is the column hair under the name perceived."""
    return lambda t: {name: t[key].ravel() for name, key in keys.items()}


def attribute_of(key: str) -> Columns:
    """The subject's attribute for each of its images, or of pairs the level."""
    return lambda t: {"attribute": of_pairs(t[key]) if key == "pairs" else spread(t["attribute"], t[key])}


_perceived, _seen = named(hair="hair", beard="beard"), named(perceived="perceived")
alone = named(attribute="attribute")
recorded = named(attribute="attribute", covariate="covariate")

adjusted_ols = fitted(ols, "outcome", recorded, by_subject=False)
adjusted_g = each(lambda t: g_computation(t["outcome"], t["attribute"], {"covariate": t["covariate"]}))
"""One outcome model, without interactions."""
adjusted_aipw = each(lambda t: aipw(t["outcome"], t["attribute"], {"covariate": t["covariate"]}))
"""Doubly robust, with cross-fitting."""
perceived_ols = fitted(ols, "square", _perceived)
instrumented_square = _instrumented("square", _perceived, named(hair_set="hair_set", beard_set="beard_set"))
"""Both perceived attributes, with both that were set as instruments."""
instrumented_dragging = _instrumented("dragging", _seen, lambda t: {"intended": of_pairs(t["dragging"])})
"""The perceived attribute, with the level that was set as instrument, where the control drags another along."""
rated_ols = fitted(ols, "score", _seen)
rated_instrument = _instrumented("score", _seen, named(intended="intended"))
pair_logit = fitted(logit, "pairs", attribute_of("pairs"))
clustered_ols = fitted(ols, "images", attribute_of("images"))
image_ols = fitted(ols, "images", attribute_of("images"), by_subject=False)
"""Each image as if it were of a separate subject."""
pair_penalised = _penalised("pairs", by_subject=True)
"""The published penalty (C = 1) and the standard deviation of resampled subjects."""
published_penalised = _penalised("images", by_subject=False)
"""As published: images are resampled."""
subject_penalised = _penalised("images", by_subject=True)
