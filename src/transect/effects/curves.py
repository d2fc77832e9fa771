"""Bands that hold a whole curve at once, and errors along the threshold."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike
from scipy.special import ndtr

from transect.effects import clusters, intervals
from transect.effects.intervals import hall
from transect.effects.samples import complete
from transect.errors import BadInput
from transect.records import Estimate

SOURCE: Final = (
    "Montiel Olea and Plagborg-Møller 2019, Simultaneous confidence bands: theory, implementation, and an application "
    "to SVARs, doi:10.1002/jae.2656"
)
SKEWED: Final = (
    "Hall 1992, On the removal of skewness by transformation, Journal of the Royal Statistical Society B 54(1)"
)
SOURCES: Final = (
    SOURCE,
    intervals.SOURCES[intervals.CLOPPER_PEARSON],
    intervals.SOURCES[intervals.PAIRED_SCORE],
    SKEWED,
)

FEWEST: Final = 20
"""Subjects at every level from which a curve has a band."""
RATE: Final = "sup-t, Clopper-Pearson on effective images"
PAIRED: Final = "sup-t, paired score"
MEAN: Final = "sup-t, Student t with Hall's correction for skewness"
_DRAWS: Final = 20_000
_FEW_LEVELS: Final = 16


@final
@dataclass(frozen=True, slots=True)
class Band:
    """A band over k levels: low and high float64 [k]. Without one they are NaN, method is empty and reason says why.

    factor: standard errors that every level is allowed to be off; NaN without a band.
    """

    low: Float[np.ndarray, " k"]
    high: Float[np.ndarray, " k"]
    factor: float
    method: str
    reason: str


def rate_band(
    successes: Float[np.ndarray, "n k"], counts: Float[np.ndarray, "n k"], *, confidence: float = 0.95, seed: int = 0
) -> Band:
    """Band of k pooled rates; subject i has `counts[i]` images at each level, `successes[i]` of them successes.

    Each level has Clopper and Pearson's interval on its effective images (`intervals.clopper_pearson_clustered`) at the
    confidence of the sup-t factor. Wilson's covers rare rates of few subjects too rarely at such confidences.
    """
    if reason := _too_few(counts > 0):
        return _none(counts.shape[1], reason)
    total, hits = counts.sum(axis=0), successes.sum(axis=0)
    factor = critical_value(successes - hits / total * counts, confidence=confidence, seed=seed)
    low, high = intervals.clopper_pearson_clustered(successes, counts, _alone(factor))
    return Band(low, high, factor, RATE, "")


def difference_band(
    differences: Float[np.ndarray, "n k"],
    pairs: int = 1,
    who: Int[np.ndarray, " n"] | None = None,
    *,
    confidence: float = 0.95,
    seed: int = 0,
) -> Band:
    """Band of k mean differences of proportions; NaN where a subject has none. pairs: that one subject averages over.

    Each level has the paired score interval (Tango 1998) at the confidence of the sup-t factor. Where subjects average
    over several pairs, the factor is of Student's t, since their design effect is estimated.
    """
    if who is not None:
        return _difference_band_of_people(differences, pairs, who, confidence, seed)
    valid = np.isfinite(differences)
    if reason := _too_few(valid):
        return _none(differences.shape[1], reason)
    n, d = valid.sum(axis=0), np.where(valid, differences, 0.0)
    freedom = float(n.min() - 1) if pairs > 1 else None
    residual = np.where(valid, d - d.sum(axis=0) / n, 0.0)
    factor = critical_value(residual, freedom=freedom, confidence=confidence, seed=seed)
    low, high = intervals.paired_score_clustered(d, n, np.full(len(n), float(pairs)), _alone(factor))
    return Band(low, high, factor, PAIRED, "")


def _difference_band_of_people(
    differences: Float[np.ndarray, "n k"], pairs: int, who: Int[np.ndarray, " n"], confidence: float, seed: int
) -> Band:
    totals, counts = clusters.by_person(differences, who)
    if reason := _too_few(counts > 0):
        return _none(differences.shape[1], reason)
    residual = totals - totals.sum(axis=0) / counts.sum(axis=0) * counts
    freedom = float(intervals.degrees_of_freedom(counts).min())
    factor = critical_value(residual, freedom=freedom, confidence=confidence, seed=seed)
    pairs_of_each = np.full(differences.shape[1], float(pairs))
    low, high = clusters.paired_score(differences, who, pairs_of_each, _alone(factor))
    return Band(low, high, factor, PAIRED, "")


def mean_band(
    totals: Float[np.ndarray, "n k"],
    counts: Float[np.ndarray, "n k"] | None = None,
    *,
    confidence: float = 0.95,
    seed: int = 0,
) -> Band:
    """Band of k means of images, of which subject i contributes `counts[i]` (default: one, none where NaN).

    The factor is of Student's t. Each level reaches as far as the symmetric interval, and as far as Hall's
    transformation of a skewed mean; either alone covers too little for skewed scores of few subjects. Few subjects
    show too little skewness, so that to either side it is taken one standard error, sqrt(6 / n), further than seen.
    """
    if counts is None:
        counts = np.isfinite(totals).astype(np.float64)
        totals = np.where(np.isfinite(totals), totals, 0.0)
    if reason := _too_few(counts > 0):
        return _none(counts.shape[1], reason)
    n, images = (counts > 0).sum(axis=0), counts.sum(axis=0)
    mean = totals.sum(axis=0) / images
    residual = np.where(counts > 0, totals - mean * counts, 0.0) * (n / images)
    spread = np.sqrt((residual**2).sum(axis=0) / n)
    if (spread <= 1e-12 * np.maximum(np.abs(mean), 1e-300)).any():
        return _none(len(n), "a level does not vary: no band")
    factor = critical_value(residual, freedom=float(n.min() - 1), confidence=confidence, seed=seed)
    skewness = (residual**3).sum(axis=0) / n / spread**3 * np.sqrt(n * (n - 1)) / (n - 2)
    unseen = np.sqrt(6 / n)
    half = factor * spread / np.sqrt(n - 1)
    error = spread / np.sqrt(n)
    low = np.minimum(mean - half, mean - error * hall(factor, (skewness - unseen) / np.sqrt(n)))
    high = np.maximum(mean + half, mean - error * hall(-factor, (skewness + unseen) / np.sqrt(n)))
    return Band(low, high, factor, MEAN, "")


def critical_value(
    residuals: Float[np.ndarray, "n k"], *, freedom: float | None = None, confidence: float = 0.95, seed: int = 0
) -> float:
    """The sup-t factor: quantile of the largest of k correlated standard normal (or Student) errors, in size."""
    k = residuals.shape[1]
    if not k:
        return float("nan")
    size = np.sqrt((residuals**2).sum(axis=0))
    scaled = residuals / np.where(size > 0, size, 1.0)
    correlation = scaled.T @ scaled
    np.fill_diagonal(correlation, 1.0)
    values, vectors = np.linalg.eigh(correlation)
    # The symmetric root: other roots turn with the last bits of correlations that are nearly 0.
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    drawn, scale = (_kept_errors if k <= _FEW_LEVELS else _errors)(k, freedom, seed)
    largest = np.abs(drawn @ root).max(axis=1)
    if scale is not None:
        largest = largest / scale
    return float(np.quantile(largest, confidence))


def _errors(
    k: int, freedom: float | None, seed: int
) -> tuple[Float[np.ndarray, "draws k"], Float[np.ndarray, " draws"] | None]:
    """Independent errors of k levels, and what Student's are divided by."""
    rng = np.random.Generator(np.random.Philox(seed))
    errors = rng.standard_normal((_DRAWS, k))
    scale = None if freedom is None else np.sqrt(rng.chisquare(freedom, _DRAWS) / freedom)
    errors.flags.writeable = False  # they are kept
    if scale is not None:
        scale.flags.writeable = False
    return errors, scale


_kept_errors = functools.lru_cache(maxsize=4)(_errors)
"""Kept for the next curve of as many levels: 11 MB at most."""


def _alone(factor: float) -> float:
    """The confidence of one level's interval with this factor."""
    return float(2 * ndtr(factor) - 1)


def _too_few(present: Bool[np.ndarray, "n k"]) -> str:
    fewest = int(present.sum(axis=0).min()) if present.shape[1] else 0
    return f"fewer than {FEWEST} subjects at a level ({fewest}): no band" if fewest < FEWEST else ""


def _none(k: int, reason: str) -> Band:
    return Band(np.full(k, np.nan), np.full(k, np.nan), float("nan"), "", reason)


MEASURES: Final = ("accuracy", "error", "fpr", "fnr")
ALL: Final = "all"
NO_IMAGE: Final = {
    "error": "no image",
    "accuracy": "no image",
    "fpr": "no image where the truth is no",
    "fnr": "no image where the truth is yes",
}


TUNED: Final = "the same images chose the threshold: no interval; state a threshold"
"""Why a rate has no interval."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRate(Estimate):
    """One measure of one group at one threshold, with Wilson's interval (on effective images with several a subject).

    The estimate is NaN with a reason where the group has no image that the measure is about; low and high also
    where the images chose the threshold.
    """

    group: str
    threshold: float
    measure: str
    n_images: int
    n_subjects: int


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
) -> tuple[GroupRate, ...]:
    """Accuracy, error, FPR and FNR of "all", then of each group in sorted order, at 0.5 and where least err (Fig. 16).

    scores: of yes [n]; truth: 0 or 1 [n]; groups: a text per image, "" for none. The rates at the best threshold are
    those of the images that chose it: they flatter it, and have no interval.
    """
    chosen, best = thresholds, np.nan
    if chosen is None:
        best = threshold_curves(scores, truth, groups).best
        chosen = (0.5, best) if np.isfinite(best) and best != 0.5 else (0.5,)
    scored = _Scored.of(scores, truth, groups, clusters)
    rows = (row for threshold in chosen for row in _table(scored, float(threshold)))
    return tuple(of_tuned(row) if row.threshold == best != 0.5 else row for row in rows)


def of_tuned(row: GroupRate) -> GroupRate:
    """A rate at a threshold that the same images chose, whose intervals covered 85 to 89 %: without one."""
    return replace(row, low=np.nan, high=np.nan, reason=row.reason or TUNED)


def threshold_curves(
    scores: ArrayLike,
    truth: ArrayLike,
    groups: Sequence[str] | np.ndarray | None = None,
    *,
    thresholds: ArrayLike | None = None,
) -> ThresholdCurves:
    """Error, FPR and FNR of all images and each group at every threshold (default: every score, and one above all)."""
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
        cls, scores: ArrayLike, truth: ArrayLike, groups: Sequence[str] | np.ndarray | None, clusters: ArrayLike | None
    ) -> _Scored:
        sample = complete(scores, {"truth": truth}, clusters=clusters)
        label = sample.x[:, 0]
        if not np.isin(label, (0.0, 1.0)).all():
            raise BadInput(
                f"truth: expected 0 or 1, got {label[~np.isin(label, (0.0, 1.0))][0]:g}; compare it with a number"
            )
        texts = np.array([""] * len(sample.rows) if groups is None else [str(group) for group in groups], dtype=object)
        if len(texts) != len(sample.rows):
            raise BadInput(f"groups: expected one per image, {len(sample.rows)}, got {len(texts)}")
        excluded = {"no score" if reason == "no outcome" else reason: n for reason, n in sample.excluded.items()}
        return cls(sample.y, label, texts[sample.rows], sample.groups, sample.n_groups, excluded, sample.reason)

    def masks(self) -> dict[str, Bool[np.ndarray, " n"]]:
        names = sorted({name for name in self.groups.tolist() if name})
        return {ALL: np.ones(len(self.scores), dtype=bool), **{name: self.groups == name for name in names}}


def _table(scored: _Scored, threshold: float) -> tuple[GroupRate, ...]:
    wrong = ((scored.scores >= threshold) != (scored.truth == 1)).astype(np.float64)
    rows = []
    for group, mask in scored.masks().items():
        about = {"accuracy": mask, "error": mask, "fpr": mask & (scored.truth == 0), "fnr": mask & (scored.truth == 1)}
        rows += [
            _rate(scored, group, threshold, measure, about[measure], 1 - wrong if measure == "accuracy" else wrong)
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
) -> GroupRate:
    found, n = intervals.share_by_subject(values[rows].astype(np.float64), scored.subjects[rows]), int(rows.sum())
    return GroupRate(
        found.estimate,
        found.low,
        found.high,
        "" if n else NO_IMAGE[measure],
        group=group,
        threshold=threshold,
        measure=measure,
        n_images=n,
        n_subjects=len(np.unique(scored.subjects[rows])),
    )
