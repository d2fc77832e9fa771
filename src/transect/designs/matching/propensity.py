"""Propensity scores: matching on the probability of being treated, as published and as recommended.

As published (Singh et al. 2021, section 3.2.2): one model fitted to all images, the smaller group in random order, each
image with the nearest free score of the other group, accepted within 0.1. As recommended (Austin 2011,
doi:10.1002/pst.433): the log odds, here cross-fitted by identity so that no image enters the model that scores it, the
nearest pair first, within 0.2 standard deviations. Where a model separates the groups almost perfectly there is little
overlap, and both report it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import expit

from transect.designs.matching.nearest import greedy
from transect.designs.matching.sample import Facts, Matching, Sample, SharedRange
from transect.designs.matching.search import Search, allowed, explain
from transect.designs.matching.weighting import area_under_curve, cross_fitted, folds, log_odds
from transect.errors import BadInput

METHOD: Final = "propensity, cross-fitted log odds"
PUBLISHED: Final = "propensity, as published"
PUBLISHED_CALIPER: Final = 0.1
CALIPER_SD: Final = 0.2
SEPARATED: Final = 0.95
"""Cross-validated accuracy from which on a warning says that groups of equal size barely overlap; for others, the one
that makes as few of the errors of guessing the larger group (a tenth)."""

MOST_COLUMNS: Final = 4096


@final
@dataclass(frozen=True, slots=True)
class Scores:
    """Log odds of being treated, [n], NaN for ineligible images, from the model of all images and from models that did
    not see the image's identity. accuracies: shares on the right side of 1/2; majority: what guessing the larger group
    gets.
    """

    log_odds: Float[np.ndarray, " n"]
    cross_fitted: Float[np.ndarray, " n"]
    accuracy: float
    cross_validated: float
    majority: float
    area: float

    @property
    def warning(self) -> str:
        """What near-perfect separation means; empty where the groups overlap."""
        errors = 2 * (1 - SEPARATED) * (1 - self.majority)  # guessing is wrong in a half where groups are equal
        if np.isnan(self.area) or not 1 - self.cross_validated <= errors:
            return ""
        return (
            f"the groups barely overlap: features separate them in {100 * self.cross_validated:.1f} % of images "
            "(cross-validated), so that few images have a counterpart of a similar propensity; match on distance, or "
            "leave out of the features what the treatment itself is"
        )

    def facts(self, caliper: float, log_odds: Float[np.ndarray, " n"], sample: Sample) -> Facts:
        """Facts of a matching on these scores. caliper: in units of the distance; log_odds: those that were matched."""
        facts = Facts(
            accuracy_in_sample=self.accuracy,
            accuracy_cross_validated=self.cross_validated,
            accuracy_majority=self.majority,
            area_under_curve=self.area,
            caliper=caliper,
            shared_range=shared_range(log_odds, sample),
        )
        if self.warning:
            facts["warning"] = self.warning
        return facts


def scores(sample: Sample, *, seed: int = 0, standardize: bool = True) -> Scores:
    """Propensity scores by ridge logistic regression (penalty 1), in-sample and in five folds by identity.

    standardize: features to unit variance first, so that the penalty does not depend on their units.

    Raises BadInput above 4,096 columns: average a w+ latent over its layers, as the paper does.
    """
    width = sample.features.shape[1]
    if width > MOST_COLUMNS:
        raise BadInput(
            f"propensity: expected at most {MOST_COLUMNS} columns, got {width}; average w+ latents (--layers average)"
        )
    usable = np.union1d(sample.rows, sample.columns)
    x, y = np.asarray(sample.features[usable], dtype=np.float64), sample.treatment[usable]
    x = x - x.mean(axis=0)
    if standardize:
        spread = x.std(axis=0)
        x = x / np.where(spread > 0, spread, 1.0)
    inside = log_odds(x, y, x)
    outside = cross_fitted(x, y, folds(y, sample.identity[usable], seed))
    whole, crossed = np.full(len(sample), np.nan), np.full(len(sample), np.nan)
    whole[usable], crossed[usable] = inside, outside
    known = np.isfinite(outside)
    return Scores(
        whole,
        crossed,
        float(((inside > 0) == y).mean()),
        float(((outside > 0) == y)[known].mean()) if known.any() else float("nan"),
        float(max(y.mean(), 1 - y.mean())),
        area_under_curve(outside[known], y[known]),
    )


def recommended(
    sample: Sample, known: Scores | None = None, *, caliper_sd: float = CALIPER_SD, seed: int = 0
) -> Matching:
    """Pairs of nearest cross-fitted log odds (in-sample in small groups) within `caliper_sd` pooled deviations."""
    known = known or scores(sample, seed=seed)
    log_odds = np.where(np.isfinite(known.cross_fitted), known.cross_fitted, known.log_odds)
    a, b = sample.rows, sample.columns
    spread = float(np.sqrt((log_odds[a].var() + log_odds[b].var()) / 2))
    caliper = caliper_sd * spread
    on_score = replace(sample, features=np.where(np.isfinite(log_odds), log_odds, 0.0)[:, None])
    facts = known.facts(caliper, log_odds, sample)
    facts["caliper_sd"] = caliper_sd
    return replace(greedy(on_score, caliper=caliper), method=METHOD, facts=facts)


def published(
    sample: Sample, known: Scores | None = None, *, caliper: float = PUBLISHED_CALIPER, seed: int = 0
) -> Matching:
    """The paper's loop over the smaller group in random order; the distance of a pair is that of its probabilities."""
    known = known or scores(sample, seed=seed, standardize=False)
    p = expit(np.where(np.isfinite(known.log_odds), known.log_odds, 0.0))
    swapped = len(sample.rows) > len(sample.columns)
    small, large = (sample.columns, sample.rows) if swapped else (sample.rows, sample.columns)
    pairs = _in_random_order(sample, p, small, large, caliper, seed, swapped)
    a, b = (np.array([pair[side] for pair in pairs], dtype=np.int64) for side in (0, 1))
    on_score = replace(sample, features=p[:, None])
    search = Search(on_score, caliper=caliper)
    refused, near, least = explain(on_score, search, search.nearest(sample.rows, sample.columns, 1), a, b)
    facts = known.facts(caliper, known.log_odds, sample)
    return Matching(PUBLISHED, a, b, np.abs(p[a] - p[b]), refused, near, least, facts)


def _in_random_order(
    sample: Sample,
    p: Float[np.ndarray, " n"],
    small: Int[np.ndarray, " m"],
    large: Int[np.ndarray, " l"],
    caliper: float,
    seed: int,
    swapped: bool,
) -> list[tuple[int, int]]:
    free = np.ones(int(sample.identity.max()) + 1, dtype=bool)
    pairs = []
    for row in np.random.Generator(np.random.Philox(seed)).permutation(small).tolist():
        if not free[sample.identity[row]]:
            continue
        left = large[free[sample.identity[large]] & (np.abs(p[large] - p[row]) <= caliper)]
        same = np.full(len(left), row)
        left = left[allowed(sample, left, same) if swapped else allowed(sample, same, left)]
        if len(left):
            other = int(left[np.argmin(np.abs(p[left] - p[row]))])
            pairs.append((other, row) if swapped else (row, other))
            free[sample.identity[[row, other]]] = False
    return pairs


def shared_range(log_odds: Float[np.ndarray, " n"], sample: Sample) -> SharedRange:
    """Where the two groups' log odds overlap, and how many images of each lie inside."""
    a, b = log_odds[sample.rows], log_odds[sample.columns]
    low, high = float(max(a.min(), b.min())), float(min(a.max(), b.max()))
    inside: list[Bool[np.ndarray, " m"]] = [(group >= low) & (group <= high) for group in (a, b)]
    return SharedRange(low, high, int(inside[0].sum()), int(inside[1].sum()))
