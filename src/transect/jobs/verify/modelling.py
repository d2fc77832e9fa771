"""Contenders that model outcomes which are no yes or no, unequal subjects, and causes that nobody recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import numpy as np
from scipy.special import stdtrit

from transect.effects import (
    adjusted_for_hidden,
    aipw,
    associations,
    control_function,
    e_value,
    gee_logit,
    logit,
    ols,
    one_hot,
    poisson,
    rosenbaum_bounds,
    wilson,
    wilson_clustered,
)
from transect.effects.observational import cut
from transect.jobs.verify.adjusting import by_seed, each, of_pairs, spread, subject_of
from transect.jobs.verify.contenders import FLAG, Answers, Tables
from transect.jobs.verify.further_worlds import HIDDEN_ODDS, HIDDEN_RATIO, HIDDEN_SHARES, UNEQUAL
from transect.records import Effect

_ALPHA: Final = 0.05
Model = Callable[..., Sequence[Effect]]


def _images(model: Model, *, by_subject: bool) -> Callable[[Tables], Answers]:
    """A regression of images on their subject's attribute."""

    def effect(t: Mapping[str, np.ndarray]) -> Effect:
        clusters = subject_of(t["images"]) if by_subject else None
        return model(t["images"].ravel(), {"attribute": spread(t["attribute"], t["images"])}, clusters=clusters)[0]

    return lambda tables: each(tables, effect)


fractional_images = _images(logit, by_subject=False)
fractional_subjects = _images(logit, by_subject=True)
gee_subjects = _images(gee_logit, by_subject=True)


def adjusted_poisson(tables: Tables) -> Answers:
    """Log ratio of rates, adjusted for what was recorded."""
    return each(tables, lambda t: poisson(t["outcome"], _with_covariate(t))[0])


def unadjusted_poisson(tables: Tables) -> Answers:
    """Log ratio of rates of two groups."""
    return each(tables, lambda t: poisson(t["outcome"], {"attribute": t["attribute"]})[0])


def adjusted_logit(tables: Tables) -> Answers:
    """Log odds ratio, read as if it were a log ratio of rates."""
    return each(tables, lambda t: logit(t["outcome"], _with_covariate(t))[0])


def unequal_images_rate(tables: Tables) -> Answers:
    """Wilson's interval of a rate, all images as independent."""
    y = tables["unequal_rate"]
    low, high = wilson(y.sum(axis=1), y.shape[1])
    return Answers(y.mean(axis=1), low, high, np.full(len(y), np.nan))


def unequal_subjects_rate(tables: Tables) -> Answers:
    """Wilson's interval of a rate on the effective number of images, subject by subject."""
    y = tables["unequal_rate"]
    starts = np.concatenate([[0], np.cumsum(UNEQUAL)[:-1]])
    sums = np.add.reduceat(y, starts, axis=1)
    low, high = wilson_clustered(sums.T, np.repeat(UNEQUAL[:, None].astype(float), len(y), axis=1))
    return Answers(y.mean(axis=1), low, high, np.full(len(y), np.nan))


def unequal_images(tables: Tables) -> Answers:
    """The difference of groups, all images as independent."""
    return _difference(tables, known=False)


def unequal_subjects(tables: Tables) -> Answers:
    """The difference of groups, with the subject of each image known."""
    return _difference(tables, known=True)


def _difference(tables: Tables, *, known: bool) -> Answers:
    rows = []
    for t in by_seed(tables):
        groups = np.full(len(t["outcome"]), "", dtype=object)
        subjects = t["subject"].astype(np.int64) if known else None
        effect = associations(
            t["outcome"], groups, cut(FLAG, t["attribute"]), t["attribute"], is_binary=True, subjects=subjects
        )[0]
        rows.append((effect.estimate, effect.low, effect.high, effect.p))
    return Answers.of(rows)


def aipw_of_kinds(tables: Tables) -> Answers:
    """Doubly robust, with an indicator per kind."""
    return each(tables, lambda t: aipw(t["outcome"], t["attribute"], _indicators(t)))


def aipw_of_codes(tables: Tables) -> Answers:
    """Doubly robust, with the kinds' codes as if they were amounts."""
    return each(tables, lambda t: aipw(t["outcome"], t["attribute"], {"kind": t["kind"]}))


def ols_of_kinds(tables: Tables) -> Answers:
    """Least squares with an indicator per kind."""
    return each(tables, lambda t: ols(t["outcome"], {"attribute": t["attribute"], **_indicators(t)})[0])


def instrumented_answers(tables: Tables) -> Answers:
    """Probit with the residuals of the first stage."""
    return each(
        tables,
        lambda t: control_function(
            t["answers"].ravel(),
            {"hair": t["hair"].ravel()},
            {"set": of_pairs(t["answers"])},
            clusters=subject_of(t["answers"]),
        )[0],
    )


def perceived_answers(tables: Tables) -> Answers:
    """Least squares of the answers on the perceived attribute."""
    return each(
        tables,
        lambda t: ols(t["answers"].ravel(), {"hair": t["hair"].ravel()}, clusters=subject_of(t["answers"]))[0],
    )


def ratio_alone(tables: Tables) -> Answers:
    """Whether the ratio of rates differs from 1; no estimate, since none is claimed."""
    return _tested(effect.p for effect in _ratios(tables))


def ratio_beyond_e_value(tables: Tables) -> Answers:
    """An effect is reported where the interval's E-value is larger than the hidden cause is strong."""
    limits = [e_value(*(float(np.exp(v)) for v in (m.estimate, m.low, m.high))).limit for m in _ratios(tables)]
    return _tested(0.0 if limit > HIDDEN_RATIO else 1.0 for limit in limits)


def _ratios(tables: Tables) -> list[Effect]:
    return [poisson(t["outcome"], {"attribute": t["attribute"]})[0] for t in by_seed(tables)]


def adjusted_for_planted(tables: Tables) -> Answers:
    """Least squares, moved by what a hidden cause of the planted strength would move it at worst."""
    rows = []
    for t in by_seed(tables):
        effect, freedom = ols(t["outcome"], {"attribute": t["attribute"]})[0], len(t["outcome"]) - 2
        outcome, attribute = HIDDEN_SHARES
        error = effect.spec["standard_error"]
        estimate, error = adjusted_for_hidden(
            effect.estimate, error, freedom, r2_outcome=outcome, r2_attribute=attribute
        )
        reach = -float(stdtrit(freedom - 1, _ALPHA / 2)) * error
        rows.append((estimate, estimate - reach, estimate + reach, np.nan))
    return Answers.of(rows)


def similar_pairs(tables: Tables) -> Answers:
    """McNemar's test: as if who has the attribute were chance."""
    return _bounded(tables, 1.0)


def pairs_bounded(tables: Tables) -> Answers:
    """Rosenbaum's largest p at the planted odds."""
    return _bounded(tables, HIDDEN_ODDS)


def _bounded(tables: Tables, gamma: float) -> Answers:
    return _tested(float(rosenbaum_bounds(d, (gamma,)).largest_p[0]) for d in tables["differences"])


def _tested(p: Iterable[float]) -> Answers:
    return Answers.of([(np.nan, np.nan, np.nan, value) for value in p])


def _with_covariate(table: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {"attribute": table["attribute"], "covariate": table["covariate"]}


def _indicators(table: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """All kinds but the first."""
    indicators = one_hot({"kind": table["kind"]}, drop_first=True)
    return dict(zip(indicators.names, indicators.x.T, strict=True))
