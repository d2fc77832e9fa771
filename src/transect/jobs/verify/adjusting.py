"""Contenders that adjust, instrument or penalise, table by table, as a user calls them on observed data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from transect.effects import aipw, g_computation, instrumental, logistic_bootstrap, logit, ols
from transect.jobs.verify.contenders import Answers, Tables
from transect.records import Effect

_RESAMPLES: Final = 200


def adjusted_ols(tables: Tables) -> Answers:
    """Least squares on the attribute and the recorded covariate."""
    return each(tables, lambda t: ols(t["outcome"], {"attribute": t["attribute"], "covariate": t["covariate"]})[0])


def adjusted_g(tables: Tables) -> Answers:
    """G-computation with one outcome model, without interactions."""
    return each(tables, lambda t: g_computation(t["outcome"], t["attribute"], {"covariate": t["covariate"]}))


def adjusted_aipw(tables: Tables) -> Answers:
    """Doubly robust, with cross-fitting."""
    return each(tables, lambda t: aipw(t["outcome"], t["attribute"], {"covariate": t["covariate"]}))


def perceived_ols(tables: Tables) -> Answers:
    """Least squares of a square's score on both perceived attributes, errors by subject."""
    return each(tables, lambda t: ols(t["square"].ravel(), _perceived(t), clusters=subject_of(t["square"]))[0])


def instrumented_square(tables: Tables) -> Answers:
    """Two-stage least squares: both perceived attributes, with both that were set as instruments."""
    return each(
        tables,
        lambda t: instrumental(
            t["square"].ravel(),
            _perceived(t),
            {"hair set": t["hair_set"].ravel(), "beard set": t["beard_set"].ravel()},
            clusters=subject_of(t["square"]),
            interval="wald",  # instruments are strong here: what "automatic" would choose, at a tenth of the time
        )[0],
    )


def instrumented_dragging(tables: Tables) -> Answers:
    """What was perceived of the attribute, with the level that was set as instrument, where the control drags along."""
    return each(
        tables,
        lambda t: instrumental(
            t["dragging"].ravel(),
            {"perceived": t["perceived"].ravel()},
            {"intended": of_pairs(t["dragging"])},
            clusters=subject_of(t["dragging"]),
            interval="wald",
        )[0],
    )


def rated_ols(tables: Tables) -> Answers:
    """Least squares of a score on the mean rating."""
    return each(
        tables,
        lambda t: ols(t["score"].ravel(), {"perceived": t["perceived"].ravel()}, clusters=subject_of(t["score"]))[0],
    )


def rated_instrument(tables: Tables) -> Answers:
    """The mean rating, with the level that was set as instrument."""
    return each(
        tables,
        lambda t: instrumental(
            t["score"].ravel(),
            {"perceived": t["perceived"].ravel()},
            {"intended": t["intended"].ravel()},
            clusters=subject_of(t["score"]),
            interval="wald",
        )[0],
    )


def pair_logit(tables: Tables) -> Answers:
    """The log odds ratio of pairs by logistic regression without penalty, errors by subject."""
    return each(
        tables,
        lambda t: logit(t["pairs"].ravel(), {"attribute": of_pairs(t["pairs"])}, clusters=subject_of(t["pairs"]))[0],
    )


def pair_penalised(tables: Tables) -> Answers:
    """The same with the published penalty (C = 1) and the standard deviation of resampled subjects."""
    return _penalised(tables, "pairs", lambda t: of_pairs(t["pairs"]), by_subject=True)


def clustered_ols(tables: Tables) -> Answers:
    """Least squares on images, errors by subject."""
    return each(
        tables,
        lambda t: ols(
            t["images"].ravel(), {"attribute": spread(t["attribute"], t["images"])}, clusters=subject_of(t["images"])
        )[0],
    )


def image_ols(tables: Tables) -> Answers:
    """Least squares on images, as if each were of a separate subject."""
    return each(tables, lambda t: ols(t["images"].ravel(), {"attribute": spread(t["attribute"], t["images"])})[0])


def published_penalised(tables: Tables) -> Answers:
    """The penalised logistic regression with the standard deviation of resampled images, as published."""
    return _penalised(tables, "images", lambda t: spread(t["attribute"], t["images"]), by_subject=False)


def subject_penalised(tables: Tables) -> Answers:
    """The same with the standard deviation of resampled subjects."""
    return _penalised(tables, "images", lambda t: spread(t["attribute"], t["images"]), by_subject=True)


def _penalised(
    tables: Tables, key: str, attribute: Callable[[Mapping[str, np.ndarray]], np.ndarray], *, by_subject: bool
) -> Answers:
    rows = []
    for t in by_seed(tables):
        fit = logistic_bootstrap(
            t[key].ravel(),
            {"attribute": attribute(t)},
            clusters=subject_of(t[key]),
            unit="subject" if by_subject else "image",
            resamples=_RESAMPLES,
        )
        estimate, deviation = float(fit.coefficients[0]), float(fit.standard_deviations[0])
        p = 2 * float(ndtr(-abs(estimate / deviation))) if deviation > 0 else np.nan
        rows.append((estimate, estimate - 1.96 * deviation, estimate + 1.96 * deviation, p))
    return Answers.of(rows)


def each(tables: Tables, method: Callable[[Mapping[str, np.ndarray]], Effect]) -> Answers:
    """One effect per table."""
    effects = [method(table) for table in by_seed(tables)]
    return Answers.of([(effect.estimate, effect.low, effect.high, effect.p) for effect in effects])


def by_seed(tables: Tables) -> Iterator[Mapping[str, np.ndarray]]:
    """The table of each seed."""
    for seed in range(len(next(iter(tables.values())))):
        yield {key: column[seed] for key, column in tables.items()}


def _perceived(table: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {"hair": table["hair"].ravel(), "beard": table["beard"].ravel()}


def subject_of(y: Float[np.ndarray, "n ..."]) -> Float[np.ndarray, " rows"]:
    """The subject of each value, row by row."""
    return np.repeat(np.arange(len(y), dtype=np.float64), y[0].size)


def of_pairs(pairs: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, " rows"]:
    """The level of each value of pairs, row by row."""
    return np.tile([0.0, 1.0], len(pairs))


def spread(attribute: Float[np.ndarray, " n"], images: Float[np.ndarray, "n m"]) -> Float[np.ndarray, " rows"]:
    """A subject's attribute for each of its images."""
    return np.repeat(attribute, images.shape[1])
