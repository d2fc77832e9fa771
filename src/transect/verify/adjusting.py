"""Contenders that adjust, instrument or penalise, table by table, as a user calls them on observed data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from transect.effects import aipw, g_computation, instrumental, logistic_bootstrap, logit, ols
from transect.records import Effect
from transect.verify.contenders import Answers, Tables

_RESAMPLES: Final = 200


def adjusted_ols(tables: Tables) -> Answers:
    """Least squares on the attribute and what was recorded beside it."""
    return _each(tables, lambda t: ols(t["outcome"], {"attribute": t["attribute"], "covariate": t["covariate"]})[0])


def adjusted_g(tables: Tables) -> Answers:
    """G-computation with one outcome model, without interactions."""
    return _each(tables, lambda t: g_computation(t["outcome"], t["attribute"], {"covariate": t["covariate"]}))


def adjusted_aipw(tables: Tables) -> Answers:
    """Doubly robust, with cross-fitting."""
    return _each(tables, lambda t: aipw(t["outcome"], t["attribute"], {"covariate": t["covariate"]}))


def perceived_ols(tables: Tables) -> Answers:
    """Least squares of a square's score on both perceived attributes, errors by subject."""
    return _each(tables, lambda t: ols(t["square"].ravel(), _perceived(t), clusters=_subject(t["square"]))[0])


def instrumented_square(tables: Tables) -> Answers:
    """Two-stage least squares: both perceived attributes, with both that were set as instruments."""
    return _each(
        tables,
        lambda t: instrumental(
            t["square"].ravel(),
            _perceived(t),
            {"hair set": t["hair_set"].ravel(), "beard set": t["beard_set"].ravel()},
            clusters=_subject(t["square"]),
            interval="wald",  # instruments are strong here: what "automatic" would choose, at a tenth of the time
        )[0],
    )


def instrumented_dragging(tables: Tables) -> Answers:
    """What was perceived of the attribute, with the level that was set as instrument, where the control drags along."""
    return _each(
        tables,
        lambda t: instrumental(
            t["dragging"].ravel(),
            {"perceived": t["perceived"].ravel()},
            {"intended": _level(t["dragging"])},
            clusters=_subject(t["dragging"]),
            interval="wald",
        )[0],
    )


def rated_ols(tables: Tables) -> Answers:
    """Least squares of a score on the mean rating."""
    return _each(
        tables,
        lambda t: ols(t["score"].ravel(), {"perceived": t["perceived"].ravel()}, clusters=_subject(t["score"]))[0],
    )


def rated_instrument(tables: Tables) -> Answers:
    """The mean rating, with the level that was set as instrument."""
    return _each(
        tables,
        lambda t: instrumental(
            t["score"].ravel(),
            {"perceived": t["perceived"].ravel()},
            {"intended": t["intended"].ravel()},
            clusters=_subject(t["score"]),
            interval="wald",
        )[0],
    )


def pair_logit(tables: Tables) -> Answers:
    """The log odds ratio of pairs by logistic regression without penalty, errors by subject."""
    return _each(
        tables, lambda t: logit(t["pairs"].ravel(), {"attribute": _level(t["pairs"])}, clusters=_subject(t["pairs"]))[0]
    )


def pair_penalised(tables: Tables) -> Answers:
    """The same with the published penalty (C = 1) and the standard deviation of resampled subjects."""
    return _penalised(tables, "pairs", lambda t: _level(t["pairs"]), by_subject=True)


def clustered_ols(tables: Tables) -> Answers:
    """Least squares on images, errors by subject."""
    return _each(
        tables,
        lambda t: ols(
            t["images"].ravel(), {"attribute": _spread(t["attribute"], t["images"])}, clusters=_subject(t["images"])
        )[0],
    )


def image_ols(tables: Tables) -> Answers:
    """Least squares on images, as if each were of a subject of its own."""
    return _each(tables, lambda t: ols(t["images"].ravel(), {"attribute": _spread(t["attribute"], t["images"])})[0])


def published_penalised(tables: Tables) -> Answers:
    """The penalised logistic regression with the standard deviation of resampled images, as published."""
    return _penalised(tables, "images", lambda t: _spread(t["attribute"], t["images"]), by_subject=False)


def subject_penalised(tables: Tables) -> Answers:
    """The same with the standard deviation of resampled subjects."""
    return _penalised(tables, "images", lambda t: _spread(t["attribute"], t["images"]), by_subject=True)


def _penalised(
    tables: Tables, key: str, attribute: Callable[[Mapping[str, np.ndarray]], np.ndarray], *, by_subject: bool
) -> Answers:
    rows = []
    for t in _by_seed(tables):
        made = logistic_bootstrap(
            t[key].ravel(),
            {"attribute": attribute(t)},
            clusters=_subject(t[key]),
            unit="subject" if by_subject else "image",
            resamples=_RESAMPLES,
        )
        estimate, deviation = float(made.coefficients[0]), float(made.standard_deviations[0])
        p = 2 * float(ndtr(-abs(estimate / deviation))) if deviation > 0 else np.nan
        rows.append((estimate, estimate - 1.96 * deviation, estimate + 1.96 * deviation, p))
    return Answers.of(rows)


def _each(tables: Tables, one: Callable[[Mapping[str, np.ndarray]], Effect]) -> Answers:
    effects = [one(table) for table in _by_seed(tables)]
    return Answers.of([(effect.estimate, effect.low, effect.high, effect.p) for effect in effects])


def _by_seed(tables: Tables) -> Iterator[Mapping[str, np.ndarray]]:
    for seed in range(len(next(iter(tables.values())))):
        yield {key: column[seed] for key, column in tables.items()}


def _perceived(table: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {"hair": table["hair"].ravel(), "beard": table["beard"].ravel()}


def _subject(y: Float[np.ndarray, "n ..."]) -> Float[np.ndarray, " rows"]:
    """The subject of each value, row by row."""
    return np.repeat(np.arange(len(y), dtype=np.float64), y[0].size)


def _level(pairs: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, " rows"]:
    return np.tile([0.0, 1.0], len(pairs))


def _spread(attribute: Float[np.ndarray, " n"], images: Float[np.ndarray, "n m"]) -> Float[np.ndarray, " rows"]:
    return np.repeat(attribute, images.shape[1])
