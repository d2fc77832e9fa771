"""Dawid and Skene's model: the true levels and each rater's confusion matrix, estimated together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from transect.annotation.agreement.coefficients import ratings_array
from transect.errors import BadInput

SOURCE: Final = (
    "Dawid & Skene 1979, Maximum likelihood estimation of observer error-rates using the EM algorithm, "
    "doi:10.2307/2346806"
)


@final
@dataclass(frozen=True, slots=True)
class DawidSkene:
    """shares [units, levels]: how probable each level is; NaN for a unit without an answer. confusion [raters, levels,
    levels]: how probable each answer of a rater is for each true level. prior [levels]. iterations: of the algorithm.
    """

    shares: Float[np.ndarray, "units levels"]
    confusion: Float[np.ndarray, "raters levels levels"]
    prior: Float[np.ndarray, " levels"]
    iterations: int

    @property
    def level(self) -> Float[np.ndarray, " units"]:
        """The most probable level of each unit; NaN for one without an answer."""
        known = np.isfinite(self.shares).all(axis=1)
        best = np.where(known, np.argmax(np.nan_to_num(self.shares), axis=1), np.nan)
        return np.asarray(best, dtype=np.float64)


def dawid_skene(
    ratings: ArrayLike, levels: int, *, iterations: int = 200, tolerance: float = 1e-8, prior_counts: float = 0.01
) -> DawidSkene:
    """Fit the model by expectation-maximization, starting from the shares of the raters' answers.

    ratings [units, raters]: levels 0 to levels - 1, NaN for no answer. prior_counts: the count added to every cell of a
    confusion matrix, so that an answer never seen is improbable, not impossible. Raises BadInput for other values.
    Source: Dawid & Skene 1979.
    """
    table = ratings_array(ratings)
    known = np.isfinite(table)
    answers = table[known]
    if levels < 2 or not np.isin(answers, np.arange(levels)).all():
        raise BadInput(f"ratings: expected whole levels from 0 to {levels - 1}, got others; give indices of levels")
    indicators = np.stack([table == level for level in range(levels)], axis=2).astype(float)  # [units, raters, levels]
    rated = known.any(axis=1)
    shares = indicators.sum(axis=1) / np.maximum(known.sum(axis=1), 1)[:, None]
    steps = 0
    while True:
        steps += 1
        prior = shares[rated].mean(axis=0) if rated.any() else np.full(levels, 1 / levels)
        confusion = np.einsum("ut,url->rtl", shares * rated[:, None], indicators) + prior_counts
        confusion /= confusion.sum(axis=2, keepdims=True)
        log = np.log(np.maximum(prior, 1e-300)) + np.einsum("url,rtl->ut", indicators, np.log(confusion))
        new = np.exp(log - log.max(axis=1, keepdims=True))
        new /= new.sum(axis=1, keepdims=True)
        moved = float(np.abs(new - shares)[rated].max(initial=0.0))
        shares = new
        if moved < tolerance or steps >= iterations:
            break
    return DawidSkene(np.where(rated[:, None], shares, np.nan), confusion, prior, steps)
