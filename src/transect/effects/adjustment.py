"""What does each perceived attribute add to the odds of an error, the others held equal? The paper's table, and ours.

`balakrishnan` is the estimator of Balakrishnan et al. 2020 (Section 5.5, Fig. 15) by name: one-hot levels, logistic
regression with scikit-learn's L2 penalty at C = 1, SD over 1,000 bootstraps of images. Images of one subject resemble
each other, so that bars over images are too short; bars over subjects are reported with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from transect.effects.encoding import Indicators, one_hot
from transect.effects.logistic import SOURCE, LogisticBootstrap, logistic_bootstrap
from transect.effects.samples import Columns

RESAMPLES: Final = 1000


@final
@dataclass(frozen=True, slots=True)
class CoefficientTable:
    """One row per level, sorted by the size of its coefficient: log odds of an error per unit (0 to 1).

    image_sd, subject_sd: SD over bootstraps of images (as published) and of subjects (as recommended). images: how many
    have the level. notes: what a reader must know of a row, "" else. reason: why there is no row at all.
    """

    names: tuple[str, ...]
    attributes: tuple[str, ...]
    coefficients: Float[np.ndarray, " k"]
    image_sd: Float[np.ndarray, " k"]
    subject_sd: Float[np.ndarray, " k"]
    images: np.ndarray
    notes: tuple[str, ...]
    by_image: LogisticBootstrap
    by_subject: LogisticBootstrap
    edges: Mapping[str, tuple[float, ...]]
    reason: str = ""
    source: str = SOURCE


def balakrishnan(
    errors: ArrayLike,
    perceived: Columns,
    clusters: ArrayLike,
    *,
    edges: Mapping[str, Sequence[float]] | None = None,
    levels: Mapping[str, Sequence[str]] | None = None,
    penalty: float = 1.0,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> CoefficientTable:
    """Penalised log odds of an error by perceived level, with both bootstraps, the largest coefficients first.

    errors: 0 or 1 per image, NaN where there is no valid answer; perceived: a column per attribute; clusters: the
    subject of each image; edges, levels: how columns are discretised, as in `one_hot`.

    Returns CoefficientTable; where all errors are equal its coefficients are NaN, with the reason.

    Raises BadInput or UnknownName as `one_hot` and `logistic_bootstrap` do.

    >>> beard = np.tile([0.0, 1.0], 40)
    >>> errors = np.where(np.arange(80) % 5 == 0, 1 - beard, beard)
    >>> result = balakrishnan(errors, {"beard": beard}, np.arange(80) // 2, resamples=50)
    >>> result.names[0] in ("beard: 0", "beard: 1"), bool(np.isclose(*np.abs(result.coefficients)))
    (True, True)
    """
    indicators = one_hot(perceived, edges=edges, levels=levels)
    by_image, by_subject = (
        logistic_bootstrap(
            errors,
            indicators.x,
            names=indicators.names,
            clusters=clusters,
            unit=unit,
            penalty=penalty,
            resamples=resamples,
            seed=seed,
        )
        for unit in ("image", "subject")
    )
    return _sorted(indicators, by_image, by_subject, _images(errors, indicators))


def _images(errors: ArrayLike, indicators: Indicators) -> np.ndarray:
    """How many complete images have each level."""
    complete = np.isfinite(np.asarray(errors, dtype=np.float64)) & np.isfinite(indicators.x).all(axis=1)
    return np.asarray(indicators.x[complete].sum(axis=0).astype(np.int64))


def _sorted(
    indicators: Indicators, by_image: LogisticBootstrap, by_subject: LogisticBootstrap, images: np.ndarray
) -> CoefficientTable:
    order = np.argsort(-np.abs(np.nan_to_num(by_image.coefficients)), kind="stable")
    return CoefficientTable(
        names=tuple(indicators.names[place] for place in order),
        attributes=tuple(indicators.attributes[place] for place in order),
        coefficients=by_image.coefficients[order],
        image_sd=by_image.standard_deviations[order],
        subject_sd=by_subject.standard_deviations[order],
        images=images[order],
        notes=tuple(by_image.notes[place] for place in order),
        by_image=by_image,
        by_subject=by_subject,
        edges=indicators.edges,
        reason=by_image.reason,
    )
