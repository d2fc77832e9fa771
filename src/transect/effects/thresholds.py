"""At which threshold does a classifier err, on whom? Error, FPR and FNR against the threshold, by group.

Balakrishnan et al. 2020 show errors by group at the default threshold and at the one that errs least (their Fig. 16):
a group's errors may be many at one and few at the other. Denton et al. 2019, Table 1, is the table at one threshold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

from transect.effects import intervals
from transect.effects.samples import complete
from transect.errors import BadInput

MEASURES: Final = ("accuracy", "error", "fpr", "fnr")
ALL: Final = "all"
NO_IMAGE: Final = {
    "error": "no image",
    "accuracy": "no image",
    "fpr": "no image where the truth is no",
    "fnr": "no image where the truth is yes",
}


@final
@dataclass(frozen=True, slots=True)
class GroupRate:
    """One measure of one group at one threshold, with Wilson's interval (on effective images with several a subject).

    rate, low, high are NaN with a reason where the group has no image that the measure is about.
    """

    group: str
    threshold: float
    measure: str
    rate: float
    low: float
    high: float
    n_images: int
    n_subjects: int
    reason: str = ""


@final
@dataclass(frozen=True, slots=True)
class ThresholdCurves:
    """error, fpr, fnr [groups, thresholds], "all" first; NaN where a group has no image that the measure is about.

    best: the smallest threshold with the fewest errors over all images. A score of at least the threshold says yes.
    """

    groups: tuple[str, ...]
    thresholds: Float[np.ndarray, " t"]
    error: Float[np.ndarray, "g t"]
    fpr: Float[np.ndarray, "g t"]
    fnr: Float[np.ndarray, "g t"]
    best: float
    n_images: Int[np.ndarray, " g"]
    excluded: dict[str, int]
    reason: str = ""


def at_thresholds(
    scores: ArrayLike,
    truth: ArrayLike,
    groups: Sequence[str] | np.ndarray | None = None,
    *,
    thresholds: Sequence[float] | None = None,
    clusters: ArrayLike | None = None,
    confidence: float = 0.95,
) -> tuple[GroupRate, ...]:
    """Accuracy, error, FPR and FNR over all images and in each group, at thresholds.

    scores: of yes [n]; truth: 0 or 1 [n]; groups: a text per image, "" for none (default: all images are one);
    thresholds: by default 0.5 and the one that errs least (Fig. 16).

    Returns, for each threshold, all measures of "all", then of each group in sorted order.

    Raises BadInput where lengths differ or a truth is neither 0 nor 1.

    The rates at the best threshold are those of the images that chose it, which flatters them a little.

    >>> rows = at_thresholds([0.9, 0.7, 0.6, 0.1], [1, 1, 0, 0])
    >>> [(row.threshold, row.rate) for row in rows if row.measure == "error"]
    [(0.5, 0.25), (0.7, 0.0)]
    """
    chosen = thresholds
    if chosen is None:
        best = threshold_curves(scores, truth, groups).best
        chosen = (0.5, best) if np.isfinite(best) and best != 0.5 else (0.5,)
    scored = _Scored.of(scores, truth, groups, clusters)
    return tuple(row for threshold in chosen for row in _table(scored, float(threshold), confidence))


def threshold_curves(
    scores: ArrayLike,
    truth: ArrayLike,
    groups: Sequence[str] | np.ndarray | None = None,
    *,
    thresholds: ArrayLike | None = None,
) -> ThresholdCurves:
    """Error, FPR and FNR of all images and each group at every threshold (default: every score, and one above all).

    Raises BadInput where lengths differ or a truth is neither 0 nor 1.

    >>> result = threshold_curves([0.9, 0.2, 0.6, 0.4], [1, 1, 0, 0], thresholds=[0.0, 0.5, 1.0])
    >>> result.error[0], result.best
    (array([0.5, 0.5, 0.5]), 0.9)
    """
    scored = _Scored.of(scores, truth, groups, None)
    every = np.unique(scored.scores)
    above = [np.nextafter(every[-1], np.inf)] if len(every) else []
    candidates = np.concatenate([every, above])
    cuts = candidates if thresholds is None else np.unique(np.asarray(thresholds, dtype=np.float64).reshape(-1))
    masks = scored.masks()
    curves = np.stack([_curves(scored.scores[rows], scored.truth[rows], cuts) for rows in masks.values()], axis=1)
    errors = _curves(scored.scores, scored.truth, candidates)[0]
    best = float(candidates[np.argmin(errors)]) if len(every) else np.nan
    counts = np.array([int(rows.sum()) for rows in masks.values()])
    return ThresholdCurves(
        tuple(masks), cuts, curves[0], curves[1], curves[2], best, counts, scored.excluded, scored.reason
    )


def _curves(
    scores: Float[np.ndarray, " n"], truth: Float[np.ndarray, " n"], cuts: Float[np.ndarray, " t"]
) -> Float[np.ndarray, "3 t"]:
    """Error, FPR and FNR at each threshold, from the sorted scores of either truth."""
    no, yes = np.sort(scores[truth == 0]), np.sort(scores[truth == 1])
    alarms = len(no) - np.searchsorted(no, cuts, side="left")
    misses = np.searchsorted(yes, cuts, side="left")
    below = np.array([len(no) + len(yes), len(no), len(yes)], dtype=np.float64)[:, None]
    above = np.stack([alarms + misses, alarms, misses]).astype(np.float64)
    return np.asarray(np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0))


@dataclass(frozen=True, slots=True)
class _Scored:
    scores: Float[np.ndarray, " n"]
    truth: Float[np.ndarray, " n"]
    groups: np.ndarray
    subjects: Int[np.ndarray, " n"]
    n_subjects: int
    excluded: dict[str, int]
    reason: str

    @classmethod
    def of(
        cls,
        scores: ArrayLike,
        truth: ArrayLike,
        groups: Sequence[str] | np.ndarray | None,
        clusters: ArrayLike | None,
    ) -> _Scored:
        sample = complete(scores, {"truth": truth}, clusters=clusters)
        label = sample.x[:, 0]
        if not np.isin(label, (0.0, 1.0)).all():
            raise BadInput(
                f"truth: expected 0 or 1, got {label[~np.isin(label, (0.0, 1.0))][0]:g}; compare it with a number"
            )
        texts = np.array([""] * len(sample.rows) if groups is None else [str(group) for group in groups], dtype=object)
        if len(texts) != len(sample.rows):
            raise BadInput(
                f"groups: expected one per image, {len(sample.rows)}, got {len(texts)}; pass one for each image"
            )
        excluded = {"no score" if reason == "no outcome" else reason: n for reason, n in sample.excluded.items()}
        return cls(sample.y, label, texts[sample.rows], sample.groups, sample.n_groups, excluded, sample.reason)

    def masks(self) -> dict[str, Bool[np.ndarray, " n"]]:
        names = sorted({name for name in self.groups.tolist() if name})
        return {ALL: np.ones(len(self.scores), dtype=bool), **{name: self.groups == name for name in names}}


def _table(scored: _Scored, threshold: float, confidence: float) -> tuple[GroupRate, ...]:
    wrong = ((scored.scores >= threshold) != (scored.truth == 1)).astype(np.float64)
    rows = []
    for group, mask in scored.masks().items():
        about = {"accuracy": mask, "error": mask, "fpr": mask & (scored.truth == 0), "fnr": mask & (scored.truth == 1)}
        rows += [
            _rate(
                scored,
                group,
                threshold,
                measure,
                about[measure],
                1 - wrong if measure == "accuracy" else wrong,
                confidence,
            )
            for measure in MEASURES
        ]
    return tuple(rows)


def _rate(
    scored: _Scored,
    group: str,
    threshold: float,
    measure: str,
    rows: Bool[np.ndarray, " n"],
    values: Float[np.ndarray, " n"],
    confidence: float,
) -> GroupRate:
    counts = np.bincount(scored.subjects[rows], minlength=max(scored.n_subjects, 1)).astype(np.float64)
    sums = np.bincount(scored.subjects[rows], weights=values[rows], minlength=max(scored.n_subjects, 1)).astype(
        np.float64
    )
    low, high = intervals.wilson_clustered(sums[:, None], counts[:, None], confidence)
    n = int(counts.sum())
    rate = float(sums.sum() / n) if n else np.nan
    subjects = int((counts > 0).sum())
    return GroupRate(
        group, threshold, measure, rate, float(low[0]), float(high[0]), n, subjects, "" if n else NO_IMAGE[measure]
    )
