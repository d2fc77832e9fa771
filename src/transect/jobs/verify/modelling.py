"""Contenders that model outcomes which are no yes or no, unequal subjects, and causes that nobody recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from scipy.special import stdtrit

from transect.effects import (
    adjusted_for_hidden,
    aipw,
    associations,
    e_value,
    gee_logit,
    instrumental,
    logit,
    ols,
    one_hot,
    poisson,
    rosenbaum_bounds,
)
from transect.effects.observational import cut
from transect.jobs.verify.adjusting import (
    alone,
    attribute_of,
    by_seed,
    each,
    fitted,
    named,
    of_pairs,
    recorded,
    subject_of,
)
from transect.jobs.verify.contenders import FLAG, SimulatedEstimates, Tables, rate, rate_of_subjects
from transect.jobs.verify.further_worlds import HIDDEN_ODDS, HIDDEN_RATIO, HIDDEN_SHARES, UNEQUAL
from transect.records import Effect

_ALPHA: Final = 0.05

fractional_images = fitted(logit, "images", attribute_of("images"), by_subject=False)
fractional_subjects = fitted(logit, "images", attribute_of("images"))
gee_subjects = fitted(gee_logit, "images", attribute_of("images"))
adjusted_poisson = fitted(poisson, "outcome", recorded, by_subject=False)
"""Log ratio of rates."""
unadjusted_poisson = fitted(poisson, "outcome", alone, by_subject=False)
adjusted_logit = fitted(logit, "outcome", recorded, by_subject=False)
"""Log odds ratio, read as if it were a log ratio of rates."""
perceived_answers = fitted(ols, "answers", named(hair="hair"))
aipw_of_kinds = each(lambda t: aipw(t["outcome"], t["attribute"], _indicators(t)))
"""Doubly robust, with an indicator per kind."""
aipw_of_codes = each(lambda t: aipw(t["outcome"], t["attribute"], {"kind": t["kind"]}))
"""Doubly robust, with the kinds' codes as if they were amounts."""
ols_of_kinds = fitted(ols, "outcome", lambda t: {"attribute": t["attribute"], **_indicators(t)}, by_subject=False)
instrumented_answers = each(
    lambda t: instrumental(
        t["answers"].ravel(), {"hair": t["hair"].ravel()}, {"set": of_pairs(t["answers"])},
        clusters=subject_of(t["answers"]),
    )[0]
)  # fmt: skip
"""Two-stage least squares of the answers themselves: a change of the probability."""


def unequal_images_rate(tables: Tables) -> SimulatedEstimates:
    """Wilson's interval of a rate, all images as independent."""
    return rate(tables["unequal_rate"])


def unequal_subjects_rate(tables: Tables) -> SimulatedEstimates:
    """Wilson's interval of a rate on the effective number of images, subject by subject."""
    starts = np.concatenate([[0], np.cumsum(UNEQUAL)[:-1]])
    return rate_of_subjects(np.add.reduceat(tables["unequal_rate"], starts, axis=1), UNEQUAL)


def unequal_images(tables: Tables) -> SimulatedEstimates:
    """The difference of groups, all images as independent."""
    return _difference(tables, known=False)


def unequal_subjects(tables: Tables) -> SimulatedEstimates:
    """The difference of groups, with the subject of each image known."""
    return _difference(tables, known=True)


def _difference(tables: Tables, *, known: bool) -> SimulatedEstimates:
    rows = []
    for t in by_seed(tables):
        groups = np.full(len(t["outcome"]), "", dtype=object)
        subjects = t["subject"].astype(np.int64) if known else None
        effect = associations(
            t["outcome"], groups, cut(FLAG, t["attribute"]), t["attribute"], is_binary=True, subjects=subjects
        )[0]
        rows.append((effect.estimate, effect.low, effect.high, effect.p))
    return SimulatedEstimates.of(rows)


def ratio_alone(tables: Tables) -> SimulatedEstimates:
    """Whether the ratio of rates differs from 1; no estimate, since none is claimed."""
    return SimulatedEstimates.tests(effect.p for effect in _ratios(tables))


def ratio_beyond_e_value(tables: Tables) -> SimulatedEstimates:
    """An effect is reported where the interval's E-value is larger than the hidden cause is strong."""
    limits = [e_value(*(float(np.exp(v)) for v in (m.estimate, m.low, m.high))).limit for m in _ratios(tables)]
    return SimulatedEstimates.tests(0.0 if limit > HIDDEN_RATIO else 1.0 for limit in limits)


def _ratios(tables: Tables) -> list[Effect]:
    return [poisson(t["outcome"], {"attribute": t["attribute"]})[0] for t in by_seed(tables)]


def adjusted_for_planted(tables: Tables) -> SimulatedEstimates:
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
    return SimulatedEstimates.of(rows)


def similar_pairs(tables: Tables) -> SimulatedEstimates:
    """McNemar's test: as if who has the attribute were chance."""
    return _bounded(tables, 1.0)


def pairs_bounded(tables: Tables) -> SimulatedEstimates:
    """Rosenbaum's largest p at the planted odds."""
    return _bounded(tables, HIDDEN_ODDS)


def _bounded(tables: Tables, gamma: float) -> SimulatedEstimates:
    return SimulatedEstimates.tests(float(rosenbaum_bounds(d, (gamma,)).largest_p[0]) for d in tables["differences"])


def _indicators(table: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """All kinds but the first."""
    indicators = one_hot({"kind": table["kind"]}, drop_first=True)
    return dict(zip(indicators.names, indicators.x.T, strict=True))
