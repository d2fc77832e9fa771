"""The estimators of the proving ground, each on the tables of all seeds: estimate, interval and p per seed.

A contender is the product's own function, called as an audit or a user calls it; nothing is estimated here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int

from transect.effects import (
    associations,
    cut,
    holm,
    max_t,
    mean_difference_interval,
    project,
    random_effects,
    sign_flip,
    wilson,
    wilson_clustered,
)
from transect.effects.contrasts import slopes
from transect.effects.shares import PopulationShares
from transect.records import Attribute

Tables = Mapping[str, np.ndarray]
Contender = Callable[[Tables], "SimulatedEstimates"]
_RESAMPLES: Final = 1000
FLAG: Final = Attribute("attribute", "binary", "the attribute", levels=("off", "on"))
"""The attribute of most worlds."""

_OTHER: Final = Attribute("other", "binary", "another attribute", levels=("off", "on"))
TIED: Final = PopulationShares(
    "tied",
    ("attribute", "other"),
    np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]),
    np.array([0.4, 0.1, 0.2, 0.3]),
)


@final
@dataclass(frozen=True, slots=True)
class SimulatedEstimates:
    """A contender's answer on each seed's table; p is NaN where it has no test (then the interval decides)."""

    estimate: Float[np.ndarray, " s"]
    low: Float[np.ndarray, " s"]
    high: Float[np.ndarray, " s"]
    p: Float[np.ndarray, " s"]

    @classmethod
    def of(cls, rows: list[tuple[float, float, float, float]]) -> SimulatedEstimates:
        """From one row per seed."""
        estimate, low, high, p = np.array(rows, dtype=np.float64).reshape(-1, 4).T
        return cls(estimate, low, high, p)

    @classmethod
    def without_test(
        cls, estimate: Float[np.ndarray, " s"], low: Float[np.ndarray, " s"], high: Float[np.ndarray, " s"]
    ) -> SimulatedEstimates:
        """Estimates whose interval decides."""
        return cls(estimate, low, high, np.full(len(estimate), np.nan))

    @classmethod
    def tests(cls, p: Iterable[float]) -> SimulatedEstimates:
        """Tests that estimate nothing."""
        return cls.of([(np.nan, np.nan, np.nan, value) for value in p])

    def rejects(self, alpha: float) -> np.ndarray:
        """Whether each reports an effect."""
        excluded = (self.low > 0) | (self.high < 0)
        return np.asarray(np.where(np.isfinite(self.p), self.p <= alpha, excluded))


def paired_contrast(tables: Tables, key: str = "pairs") -> SimulatedEstimates:
    """Each subject's difference between two levels: [seeds, subjects, 2]."""
    y = tables[key]
    return _subjects(y[..., 1] - y[..., 0], y.mean(axis=1))


def dragging_contrast(tables: Tables) -> SimulatedEstimates:
    """The same where the control is a learned direction."""
    return paired_contrast(tables, "dragging")


def averaged_contrast(tables: Tables) -> SimulatedEstimates:
    """Each subject's difference along the first attribute of a square, averaged over the second."""
    y = tables["square"]
    return _subjects((y[:, :, 1] - y[:, :, 0]).mean(axis=2), y.mean(axis=(1, 3)), pairs=2.0)


def score_contrast(tables: Tables) -> SimulatedEstimates:
    """`averaged_contrast` of scores."""
    y = tables["square"]
    return _subjects((y[:, :, 1] - y[:, :, 0]).mean(axis=2), None)


def interaction_contrast(tables: Tables) -> SimulatedEstimates:
    """Each subject's difference of differences."""
    y = tables["square"]
    d = y[:, :, 1, 1] - y[:, :, 1, 0] - y[:, :, 0, 1] + y[:, :, 0, 0]
    return _subjects(d, y.mean(axis=1).reshape(len(y), -1), reach=2.0)


def cells_contrast(tables: Tables) -> SimulatedEstimates:
    """Each subject's difference, averaged over ten pairs of images."""
    y = tables["cells"]
    return _subjects((y[..., 1] - y[..., 0]).mean(axis=2), y.mean(axis=(1, 2)), pairs=10.0)


def intended_slope(tables: Tables) -> SimulatedEstimates:
    """Each subject's slope of the score along the levels that were set."""
    levels = tables["intended"][0, 0]
    return _subjects(np.stack([slopes(y[:, :, None], levels) for y in tables["score"]]), None)


def images_contrast(tables: Tables) -> SimulatedEstimates:
    """All images as if each were of a separate subject."""
    y, attribute = tables["images"], tables["attribute"]
    return SimulatedEstimates.of(
        [_association(t.ravel(), np.repeat(a, t.shape[1])) for t, a in zip(y, attribute, strict=True)]
    )


def unadjusted(tables: Tables) -> SimulatedEstimates:
    """The difference between the groups of a population."""
    return SimulatedEstimates.of(
        [_association(y, a) for y, a in zip(tables["outcome"], tables["attribute"], strict=True)]
    )


def image_rate(tables: Tables) -> SimulatedEstimates:
    """Wilson's interval of a rate, all images as independent."""
    return rate(tables["one_rate"].reshape(len(tables["one_rate"]), -1))


def subject_rate(tables: Tables) -> SimulatedEstimates:
    """Wilson's interval of a rate on the effective number of images."""
    y = tables["one_rate"]
    return rate_of_subjects(y.sum(axis=2), np.full(y.shape[1], y.shape[2]))


def projection(tables: Tables) -> SimulatedEstimates:
    """Disparate impact in a population of known shares, from cells of an experiment."""
    levels = {"attribute": (0.0, 1.0), "other": (0.0, 1.0)}
    rows = []
    for y in tables["square"]:
        projected = project(y, levels, TIED, {"attribute": FLAG, "other": _OTHER}, resamples=_RESAMPLES)
        row = next(r for r in projected.rows if (r.quantity, r.attribute) == ("disparate impact", "attribute"))
        rows.append((row.estimate, row.low, row.high, np.nan))
    return SimulatedEstimates.of(rows)


def rate(y: Float[np.ndarray, "s n"]) -> SimulatedEstimates:
    """Wilson's interval of a rate, all images as independent."""
    return SimulatedEstimates.without_test(y.mean(axis=1), *wilson(y.sum(axis=1), y.shape[1]))


def rate_of_subjects(sums: Float[np.ndarray, "s n"], images: Int[np.ndarray, " n"]) -> SimulatedEstimates:
    """Wilson's interval on the effective number of images. sums: of outcomes by subject; images: of each subject."""
    counts = np.repeat(images[:, None].astype(float), len(sums), axis=1)
    return SimulatedEstimates.without_test(sums.sum(axis=1) / images.sum(), *wilson_clustered(sums.T, counts))


def _subjects(
    differences: Float[np.ndarray, "s n"],
    rates: Float[np.ndarray, "s ..."] | None,
    *,
    reach: float = 1.0,
    pairs: float = 1.0,
) -> SimulatedEstimates:
    """The interval and the test of subjects' differences, as an audit makes them. rates: of cells; None: not binary."""
    d, seeds = differences.T, len(differences)
    bounds = mean_difference_interval(
        d,
        binary=rates is not None,
        base=None if rates is None else np.minimum(rates, 1 - rates).min(axis=-1),
        reach=np.full(seeds, reach),
        pairs=np.full(seeds, pairs),
        resamples=_RESAMPLES,
    )
    p, _ = sign_flip(d, resamples=_RESAMPLES - 1)
    return SimulatedEstimates(d.mean(axis=0), bounds.low, bounds.high, p)


def _association(y: Float[np.ndarray, " n"], attribute: Float[np.ndarray, " n"]) -> tuple[float, float, float, float]:
    none = np.full(len(y), "", dtype=object)
    association = associations(y, none, cut(FLAG, attribute), attribute, is_binary=True)[0]
    return association.estimate, association.low, association.high, association.p


def _family(corrected: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Contender:
    """The smallest of twenty p-values after a correction."""

    def smallest(y: np.ndarray) -> float:
        d = y[..., 1] - y[..., 0]
        return float(np.nanmin(corrected(sign_flip(d)[0], d)))

    return lambda tables: SimulatedEstimates.tests(smallest(y) for y in tables["family"])


uncorrected_family = _family(lambda p, _: p)
holm_family = _family(lambda p, _: holm(p))
max_t_family = _family(lambda _, d: max_t(d, resamples=_RESAMPLES - 1))


def common_effect(tables: Tables) -> SimulatedEstimates:
    """Several worlds as if they had one effect: weighted by the inverse variances."""
    weights = tables["errors"] ** -2.0
    mean = (weights * tables["estimates"]).sum(axis=1) / weights.sum(axis=1)
    half = 1.96 * weights.sum(axis=1) ** -0.5
    return SimulatedEstimates.without_test(mean, mean - half, mean + half)


def mean_world(tables: Tables) -> SimulatedEstimates:
    """Several worlds with an effect of their own each: random effects, Hartung and Knapp's interval."""
    found = [random_effects(*row) for row in zip(tables["estimates"], tables["errors"], strict=True)]
    return SimulatedEstimates.of([(each.estimate, each.low, each.high, np.nan) for each in found])
