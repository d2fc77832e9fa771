"""The estimators of the proving ground, each on the tables of all seeds: estimate, interval and p per seed.

A contender is the product's own function, called as an audit or a user calls it; nothing is estimated here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtr, stdtrit

from transect.designs.matching import Matching, greedy, in_metric, make_sample, propensity
from transect.effects import (
    aipw,
    holm,
    instrumental,
    mean_difference_interval,
    ols,
    ppi_difference,
    ppi_mean,
    project,
    sign_flip,
    transported,
    wilson,
)
from transect.effects.contrasts import slopes
from transect.effects.intervals import newcombe, single_pairs, wilson_clustered
from transect.effects.logistic import logistic_bootstrap
from transect.effects.matched_pairs import AdjustedPairs, PairOutcome, adjusted_pair_outcome, pair_outcome
from transect.effects.observational import associations, cut
from transect.effects.prediction_powered import PredictionPowered
from transect.effects.projection import PopulationShares
from transect.effects.several_worlds import Transported
from transect.records import Attribute, Effect
from validation.planted import COVARIATES, RATED, TWINS

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
    return subjects_contrast(y[..., 1] - y[..., 0])


def dragging_contrast(tables: Tables) -> SimulatedEstimates:
    """The same where the control is a learned direction."""
    return paired_contrast(tables, "dragging")


def averaged_contrast(tables: Tables) -> SimulatedEstimates:
    """Each subject's difference along the first attribute of a square, averaged over the second."""
    y = tables["square"]
    return subjects_contrast((y[:, :, 1] - y[:, :, 0]).mean(axis=2), pairs=2.0)


def score_contrast(tables: Tables) -> SimulatedEstimates:
    """`averaged_contrast` of scores."""
    y = tables["square"]
    return subjects_contrast((y[:, :, 1] - y[:, :, 0]).mean(axis=2), binary=False)


def interaction_contrast(tables: Tables) -> SimulatedEstimates:
    """Each subject's difference of differences."""
    y = tables["square"]
    d = y[:, :, 1, 1] - y[:, :, 1, 0] - y[:, :, 0, 1] + y[:, :, 0, 0]
    return subjects_contrast(d, reach=2.0, pairs=2.0)


def cells_contrast(tables: Tables) -> SimulatedEstimates:
    """Each subject's difference, averaged over ten pairs of images."""
    y = tables["cells"]
    return subjects_contrast((y[..., 1] - y[..., 0]).mean(axis=2), pairs=10.0)


def intended_slope(tables: Tables) -> SimulatedEstimates:
    """Each subject's slope of the score along the levels that were set."""
    levels = tables["intended"][0, 0]
    return subjects_contrast(np.stack([slopes(y[:, :, None], levels) for y in tables["score"]]), binary=False)


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
        projected = project(y, levels, TIED, {"attribute": FLAG, "other": _OTHER})
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


def subjects_contrast(
    differences: Float[np.ndarray, "s n"], *, binary: bool = True, reach: float = 1.0, pairs: float = 1.0
) -> SimulatedEstimates:
    """The interval and the test of subjects' differences, as an audit makes them."""
    d, scale, averaged = differences.T, np.full(len(differences), reach), np.full(len(differences), pairs)
    bounds = mean_difference_interval(d, binary=binary, reach=scale, pairs=averaged)
    single = single_pairs(d, averaged, scale, binary=binary)
    p, _ = sign_flip(d, single=single, resamples=_RESAMPLES - 1)
    return SimulatedEstimates(d.mean(axis=0), bounds.low, bounds.high, p)


def _association(y: Float[np.ndarray, " n"], attribute: Float[np.ndarray, " n"]) -> tuple[float, float, float, float]:
    none = np.full(len(y), "", dtype=object)
    association = associations(y, none, cut(FLAG, attribute), attribute, is_binary=True)[0]
    return association.estimate, association.low, association.high, association.p


def _family(corrected: Callable[[np.ndarray], np.ndarray]) -> Contender:
    """The smallest of twenty p-values after a correction."""

    def smallest(y: np.ndarray) -> float:
        d = y[..., 1] - y[..., 0]
        return float(np.nanmin(corrected(sign_flip(d)[0])))

    return lambda tables: SimulatedEstimates.tests(smallest(y) for y in tables["family"])


uncorrected_family = _family(lambda p: p)
holm_family = _family(holm)


_RESAMPLED_FITS: Final = 200
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
            resamples=_RESAMPLED_FITS,
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
adjusted_aipw = each(lambda t: aipw(t["outcome"], t["attribute"], {"covariate": t["covariate"]}))
"""Doubly robust, with cross-fitting."""
perceived_ols = fitted(ols, "square", _perceived)
instrumented_square = _instrumented("square", _perceived, named(hair_set="hair_set", beard_set="beard_set"))
"""Both perceived attributes, with both that were set as instruments."""
instrumented_dragging = _instrumented("dragging", _seen, lambda t: {"intended": of_pairs(t["dragging"])})
"""The perceived attribute, with the level that was set as instrument, where the control drags another along."""
rated_ols = fitted(ols, "score", _seen)
rated_instrument = _instrumented("score", _seen, named(intended="intended"))
clustered_ols = fitted(ols, "images", attribute_of("images"))
image_ols = fitted(ols, "images", attribute_of("images"), by_subject=False)
"""Each image as if it were of a separate subject."""
pair_penalised = _penalised("pairs", by_subject=True)
"""The published penalty (C = 1) and the standard deviation of resampled subjects."""
published_penalised = _penalised("images", by_subject=False)
"""As published: images are resampled."""
subject_penalised = _penalised("images", by_subject=True)


CALIPER: Final = 0.25
"""Mahalanobis distance of a pair: a quarter of a standard deviation."""


def _named(table: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return dict(zip(COVARIATES, table["covariates"].T, strict=True))


def _nearest(table: Mapping[str, np.ndarray], caliper: float) -> Matching:
    features, _ = in_metric(table["covariates"], table["attribute"], "mahalanobis")
    return greedy(make_sample(features, table["attribute"]), caliper=caliper)


def _paired(table: Mapping[str, np.ndarray], matching: Matching) -> PairOutcome:
    return pair_outcome(table["outcome"], matching.a, matching.b)


def _adjusted(table: Mapping[str, np.ndarray], matching: Matching) -> AdjustedPairs:
    return adjusted_pair_outcome(table["outcome"], _named(table), matching.a, matching.b)


faces_ols = each(lambda t: ols(t["outcome"], {"attribute": t["attribute"], **_named(t)})[0])
every_pair = each(lambda t: _paired(t, _nearest(t, np.inf)))
"""Greedy by Mahalanobis distance, however far apart a pair is."""
near_pairs = each(lambda t: _paired(t, _nearest(t, CALIPER)))
"""Greedy by Mahalanobis distance within the caliper."""
adjusted_pairs = each(lambda t: _adjusted(t, _nearest(t, CALIPER)))
"""The same pairs, adjusted for what still differs within them."""
propensity_pairs = each(lambda t: _paired(t, propensity.recommended(make_sample(t["covariates"], t["attribute"]))))
"""Cross-fitted log odds within .2 standard deviations."""


_UPPER: Final = 0.975
_HALF: Final = 1.96
_FEW: Final = 50
"""Images of each group that people rated in the world "rater bias"."""
_ALONE: Final = 0.0
"""Trust in the machine where people's ratings alone count; None estimates it (PPI++)."""


def _powered(people: np.ndarray, machine: np.ndarray, rated: int, trust: float | None) -> PredictionPowered:
    return ppi_mean(people[:rated], machine[:rated], machine[rated:], trust=trust)


def _row(powered: PredictionPowered) -> tuple[float, float, float, float]:
    return powered.estimate, powered.low, powered.high, np.nan


def _rate(trust: float | None) -> Contender:
    """The first group's rate."""
    return lambda t: SimulatedEstimates.of(
        [_row(_powered(p[0], m[0], RATED, trust)) for p, m in zip(t["people"], t["machine"], strict=True)]
    )


def _difference(rated: int, trust: float | None, people: str = "people") -> Contender:
    """The second group minus the first."""

    def row(by_people: np.ndarray, by_machine: np.ndarray) -> tuple[float, float, float, float]:
        groups = [_powered(p, m, rated, trust) for p, m in zip(by_people, by_machine, strict=True)]
        return _row(ppi_difference(*groups))

    return lambda t: SimulatedEstimates.of([row(p, m) for p, m in zip(t[people], t["machine"], strict=True)])


people_alone, people_and_machine = _difference(_FEW, _ALONE), _difference(_FEW, None)
machine_alone = _difference(_FEW, 1.0, "machine")
"""The machine's ratings, as if people had made them."""
people_rate, powered_rate = _rate(_ALONE), _rate(None)
people_difference, powered_difference = _difference(RATED, _ALONE), _difference(RATED, None)


def _twins(tables: Tables) -> list[Transported]:
    return [
        transported(photographed[:TWINS], rendered[:TWINS], rendered[TWINS:])
        for photographed, rendered in zip(tables["photographed"], tables["rendered"], strict=True)
    ]


def photographs_alone(tables: Tables) -> SimulatedEstimates:
    """The mean effect on the photographed subjects."""
    return SimulatedEstimates.of([(each.alone, each.alone_low, each.alone_high, np.nan) for each in _twins(tables)])


def corrected_rendering(tables: Tables) -> SimulatedEstimates:
    """That of all subjects as rendered, corrected by those that are photographed too."""
    return SimulatedEstimates.of([(each.estimate, each.low, each.high, np.nan) for each in _twins(tables)])


def rendering_alone(tables: Tables) -> SimulatedEstimates:
    """The mean effect on all rendered subjects."""
    rendered = tables["rendered"]
    half = _HALF * rendered.std(axis=1, ddof=1) / np.sqrt(rendered.shape[1])
    mean = rendered.mean(axis=1)
    return SimulatedEstimates.without_test(mean, mean - half, mean + half)


def student_rate(tables: Tables) -> SimulatedEstimates:
    """The powered rate with Student's interval, as of means that are no rates."""
    rows = []
    for people, machine in zip(tables["people"], tables["machine"], strict=True):
        powered = _powered(people[0], machine[0], RATED, None)
        half = float(stdtrit(powered.freedom, _UPPER)) * powered.standard_error
        rows.append((powered.estimate, powered.estimate - half, powered.estimate + half, np.nan))
    return SimulatedEstimates.of(rows)


def machine_rate(tables: Tables) -> SimulatedEstimates:
    """The machine's answers on the first group, taken as ratings."""
    return rate(tables["machine"][:, 0])


def machine_difference(tables: Tables) -> SimulatedEstimates:
    """The difference of the machine's answers, taken as ratings."""
    first, second = tables["machine"][:, 0], tables["machine"][:, 1]
    low, high = newcombe((second.sum(axis=1), first.sum(axis=1)), (second.shape[1], first.shape[1]))
    return SimulatedEstimates.without_test(second.mean(axis=1) - first.mean(axis=1), low, high)
