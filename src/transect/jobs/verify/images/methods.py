"""What does each method estimate from one sample? Observation, adjustment and experiment, as a user calls them.

All estimate the same: the average effect, on the subjects of the population who do not smile, of an audited attribute's
higher value in place of the lower on the rate at which the model sees a smile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float

from transect.effects import aipw, contrasts, g_computation, mean_difference_interval, newcombe
from transect.generators.faceworld.attributes import attribute
from transect.jobs.verify.images.sizes import AUDITED, HIDDEN
from transect.records import Design, Effect

Columns = Mapping[str, Float[np.ndarray, " n"]]
Answer = tuple[float, float, float]
"""Estimate, low and high; NaN where there is none."""

NOT_ESTIMABLE: Final = (np.nan, np.nan, np.nan)
_RESAMPLES: Final = 1000


@final
@dataclass(frozen=True, slots=True)
class Method:
    """One way to answer from observed images. recorded: what is adjusted for in addition to the audited attributes.

    kind: observation or adjustment. omitted: an audited attribute that was not annotated. why: what theory predicts.
    """

    name: str
    kind: str
    why: str
    answer: Callable[[str, Columns, Sequence[str]], Answer]
    recorded: tuple[str, ...] = ()
    omitted: str = ""

    def covariates(self, name: str) -> tuple[str, ...]:
        """What the effect of `name` is adjusted for.

        >>> METHODS[3].covariates("age")
        ('skin_tone', 'hair_length', 'glasses')
        """
        return (*(covariate for covariate in AUDITED if covariate not in (name, self.omitted)), *self.recorded)

    def applies(self, name: str) -> bool:
        """Whether the method can estimate the effect of an attribute, which it must have."""
        return name != self.omitted


def difference_of_groups(name: str, columns: Columns, covariates: Sequence[str]) -> Answer:
    """The disaggregated table: rate of the group with the higher value minus that of the other, Newcombe's interval.

    >>> columns = {"age": np.repeat([0.0, 1.0], 10), "wrong": np.repeat([0.0, 1.0, 0.0], [10, 5, 5])}
    >>> round(difference_of_groups("age", columns, ())[0], 3)
    0.5
    """
    del covariates
    has, wrong = columns[name] == 1, columns["wrong"]
    if has.all() or not has.any():
        return NOT_ESTIMABLE
    higher, lower = wrong[has], wrong[~has]
    low, high = newcombe((higher.sum(), lower.sum()), (len(higher), len(lower)))
    return float(higher.mean() - lower.mean()), float(low), float(high)


def by_regression(name: str, columns: Columns, covariates: Sequence[str]) -> Answer:
    """Logistic regression of the error on the attribute and the covariates, standardized to a difference of rates."""
    return _answer(g_computation(columns["wrong"], {name: columns[name]}, {key: columns[key] for key in covariates}))


def by_weighting(name: str, columns: Columns, covariates: Sequence[str]) -> Answer:
    """Augmented inverse-probability weighting on the covariates, with cross-fitting."""
    return _answer(aipw(columns["wrong"], {name: columns[name]}, {key: columns[key] for key in covariates}))


def _answer(effect: Effect) -> Answer:
    return effect.estimate, effect.low, effect.high


METHODS: Final = (
    Method(
        "difference of groups", "observation", "includes everything correlated with the group", difference_of_groups
    ),
    Method("logistic regression", "adjustment", "the width of the smile is not annotated", by_regression),
    Method("AIPW", "adjustment", "the width of the smile is not annotated", by_weighting),
    Method("AIPW, no lipstick", "adjustment", "neither is lipstick", by_weighting, omitted=HIDDEN),
    Method("AIPW, smile measured", "adjustment", "everything that matters is known", by_weighting, ("smile",)),
)
"""The methods on observed images."""

TRANSECTS: Final = "transects"
"""The experiment: the only method that needs to set the attribute, and nothing else."""


def by_transects(
    name: str, low: Float[np.ndarray, "n k"], high: Float[np.ndarray, "n k"], seed: int
) -> Float[np.ndarray, "k 3"]:
    """Estimate and interval of k experiments on n subjects each, as an audit makes them.

    low, high: the errors (0 or 1) of each subject with the attribute at its two values.

    >>> by_transects("age", np.zeros((40, 1)), np.ones((40, 1)), 0)[0, 0]
    np.float64(1.0)
    """
    design = Design({name: AUDITED[name]}, subjects=len(low))
    none = np.full((len(low), 2), "", dtype=object)
    rows = [
        contrasts(np.stack(pair, axis=1), none, design, {name: attribute(name)})[0]
        for pair in zip(low.T, high.T, strict=True)
    ]
    d = np.stack([contrast.differences for contrast in rows], axis=1)
    base = np.array([contrast.base for contrast in rows])
    interval = mean_difference_interval(d, binary=True, base=base, resamples=_RESAMPLES, seed=seed)
    return np.stack([d.mean(axis=0), interval.low, interval.high], axis=1)
