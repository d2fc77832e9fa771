"""What a reading of a photograph should be once an attribute was set on it: stated for a level, or moved the same way.

Latents lie along a direction, so that unedited images show which reading to expect at a value. Photographs all lie
at the level "as it is": what is expected of another level has to be stated, or is the way in which the reading
moves.

Did an edit do what it should, and nothing else? Gates for images that were moved in a latent space.

Each gate compares an edited image with the subject's own, and what is allowed is what unedited images of other
subjects show: a reference sample sets every limit. Measures (attribute models, an embedding, a realism score) are
handed in; what is not measured is no gate, with the reason. Balakrishnan et al. 2020, arXiv:2007.06570, §4.1.3,
remove such images after people looked at them; here they are counted by cell and kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias, final

import numpy as np
from jaxtyping import Bool, Float, Int

from transect.records import Images


@final
@dataclass(frozen=True, slots=True)
class Stated:
    """A reading for each level; at the level "as it is" that of the photograph itself.

    >>> glasses = Stated({1.0: 0.0, 2.0: 1.0}, 0.0, 0.5)
    >>> seen, levels = np.array([0.9, 0.1, 0.9, 0.2]), np.array([0.0, 1.0, 1.0, 2.0])
    >>> (glasses.excess(seen, np.full(4, 0.9), levels) > 0).tolist()
    [False, False, True, True]
    """

    readings: Mapping[float, float]
    as_it_is: float
    tolerance: float

    def excess(
        self,
        edited: Float[np.ndarray, " n"],
        unedited: Float[np.ndarray, " n"],
        values: Float[np.ndarray, " n"],
    ) -> Float[np.ndarray, " n"]:
        """Distance to the stated reading beyond the tolerance; NaN for levels of which none is stated."""
        wanted = np.array([self.readings.get(value, np.nan) for value in values.tolist()], dtype=np.float64)
        wanted = np.where(values == self.as_it_is, unedited, wanted)
        return np.asarray(np.abs(edited - wanted) - self.tolerance)


@final
@dataclass(frozen=True, slots=True)
class Moved:
    """The reading rises where the level was raised above "as it is", and falls where it was lowered.

    >>> exposure = Moved(0.0)
    >>> seen, levels = np.array([0.5, 0.7, 0.4, 0.5]), np.array([0.0, 1.0, 1.0, -1.0])
    >>> (exposure.excess(seen, np.full(4, 0.5), levels) > 0).tolist()
    [False, False, True, True]
    """

    as_it_is: float
    tolerance: float = np.nan

    def excess(
        self,
        edited: Float[np.ndarray, " n"],
        unedited: Float[np.ndarray, " n"],
        values: Float[np.ndarray, " n"],
    ) -> Float[np.ndarray, " n"]:
        """1 where the reading stays or moves the other way, else -1; at the level as it is -1."""
        way = np.sign(values - self.as_it_is)
        moved = way * (edited - unedited)
        fails = np.where((way != 0) & (moved <= 0), 1.0, -1.0)
        return np.asarray(np.where(np.isfinite(moved), fails, np.nan))


SHIFT, DRIFT, IDENTITY, REALISM, RANGE = "intended shift", "off-target drift", "identity", "realism", "image in range"
OUTSIDE: Final = "outside the mask"
"""Of edits inside a mask alone: every pixel outside is that of the subject's own image."""
GATES: Final = (SHIFT, DRIFT, IDENTITY, REALISM, RANGE, OUTSIDE)
REFERENCE: Final = 100
"""Unedited subjects, none of them of the study, whose images set the limits."""
KEPT: Final = 97.5
"""Percentile of what unedited images show that is still allowed."""
SAME_PERSON: Final = 5.0
"""Percentile of distances between different people below which an edit stays the subject."""
LEAST_SHIFT: Final = 0.5
"""Standard deviations of an attribute, over unedited images, by which a reading may always miss what is expected."""
MOST_DRIFT: Final = 1.0
"""Standard deviations of an attribute, over unedited images, that it may move when others are set."""
FEWEST: Final = 20
_MARGIN: Final = 0.01
YES_OR_NO: Final = 0.5
"""By how much the reading of a level, or of yes or no, may miss it."""
_FOLDS: Final = 5
_UNREAD: Final = "no rater, model or truth reads it"


@final
@dataclass(frozen=True, slots=True)
class Measured:
    """What is measured on images, one row each; empty arrays where nothing is. levels: readings whose values are levels
    (they drift by changing). realism: higher is more real. saturated: share of channel values at either end of the
    range.
    """

    readings: Mapping[str, Float[np.ndarray, " n"]]
    saturated: Float[np.ndarray, " n"]
    identity: Float[np.ndarray, "_ k"] = field(default_factory=lambda: np.empty((0, 0)))
    realism: Float[np.ndarray, " _"] = field(default_factory=lambda: np.empty(0))
    levels: frozenset[str] = frozenset()
    people: Int[np.ndarray, " _"] = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def take(self, rows: Int[np.ndarray, " m"] | Bool[np.ndarray, " n"]) -> Measured:
        """The chosen rows."""
        return Measured(
            {name: column[rows] for name, column in self.readings.items()},
            self.saturated[rows],
            self.identity[rows] if len(self.identity) else self.identity,
            self.realism[rows] if len(self.realism) else self.realism,
            self.levels,
            self.people[rows] if len(self.people) else self.people,
        )


def saturated(images: Images) -> Float[np.ndarray, " n"]:
    """The share of each image's channel values that are 0 or 255: what was cut at the ends of the range."""
    flat = images.pixels.reshape(len(images), -1)
    return np.asarray(((flat == 0) | (flat == 255)).mean(axis=1))


def distances(first: Float[np.ndarray, "n k"], second: Float[np.ndarray, "n k"]) -> Float[np.ndarray, " n"]:
    """1 - cosine similarity of the rows; NaN where a row is 0 or NaN."""
    with np.errstate(invalid="ignore", divide="ignore"):
        lengths = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
        return np.asarray(np.where(lengths > 0, 1 - (first * second).sum(axis=1) / lengths, np.nan))


@final
@dataclass(frozen=True, slots=True)
class Expected:
    """The reading to expect at a value along a direction: a rising step curve through unedited subjects."""

    values: Float[np.ndarray, " m"]
    readings: Float[np.ndarray, " m"]
    tolerance: float

    def at(self, values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """The expected readings; beyond what was seen those of the end."""
        return np.asarray(np.interp(values, self.values, self.readings))

    def excess(
        self,
        edited: Float[np.ndarray, " n"],
        unedited: Float[np.ndarray, " n"],  # noqa: ARG002  (as the others have it)
        values: Float[np.ndarray, " n"],
    ) -> Float[np.ndarray, " n"]:
        """Distance to the expected reading beyond the tolerance."""
        return np.asarray(np.abs(edited - self.at(values)) - self.tolerance)


Intended: TypeAlias = Stated | Moved | Expected
"""What the reading of an attribute should be at each of its values. `excess` is above 0 where a reading misses what was
set, and NaN where that cannot be said; `tolerance` is NaN where a reading only has to move one way."""


@final
@dataclass(frozen=True, slots=True)
class Limits:
    """What unedited images of other subjects allow, and why a gate has no limit.

    expected: by varied attribute; spreads: standard deviations by read attribute. identity: largest distance to the
    own image; realism: lowest score; saturated: largest share. NaN with a reason in `reasons` where there is none.
    """

    expected: Mapping[str, Intended]
    spreads: Mapping[str, float]
    identity: float
    realism: float
    saturated: float
    reasons: Mapping[str, str]


def limits_of(
    reference: Measured,
    values: Mapping[str, Float[np.ndarray, " m"]],
    varied: Sequence[str],
    intended: Mapping[str, Intended | str] | None = None,
) -> Limits:
    """Limits from unedited images of subjects that lie at `values`. intended: of photographs, what is expected of each
    varied attribute, or why nothing is. A gate has none where its measure is missing, or fewer than 20 reference images
    have it.
    """
    reasons: dict[str, str] = {}
    expected: dict[str, Intended] = {}
    for name in varied:
        readings = reference.readings.get(name)
        limits: Intended | str = _UNREAD
        if intended is None:
            limits = _expected(values[name], readings, name in reference.levels)
        elif readings is not None:
            limits = intended[name]
        if isinstance(limits, str):
            reasons[f"{SHIFT}: {name}"] = limits
        else:
            expected[name] = limits
    spreads = {name: float(np.nanstd(column)) for name, column in reference.readings.items() if _enough(column)}
    if not set(reference.readings) - set(varied):
        reasons[DRIFT] = "no attribute other than those that vary is read"
    identity = _between(reference.identity, reference.people)
    realism = float(np.nanpercentile(reference.realism, 100 - KEPT)) if _enough(reference.realism) else np.nan
    if np.isnan(identity):
        few = f"fewer than {FEWEST} people to compare with"
        reasons[IDENTITY] = few if len(reference.identity) else "no embedding of faces was given"
    if np.isnan(realism):
        reasons[REALISM] = "no score of realism was given"
    most = float(np.percentile(reference.saturated, KEPT)) + _MARGIN if _enough(reference.saturated) else np.nan
    return Limits(expected, spreads, identity, realism, most, reasons)


def _enough(column: np.ndarray) -> bool:
    return int(np.isfinite(column).sum()) >= FEWEST


def _expected(values: np.ndarray, readings: np.ndarray | None, levels: bool) -> Expected | str:
    from sklearn.isotonic import IsotonicRegression

    if readings is None:
        return _UNREAD
    known = np.isfinite(values) & np.isfinite(readings)
    if known.sum() < FEWEST:
        return f"{int(known.sum())} reference images have a reading, {FEWEST} are needed"
    x, y = values[known], readings[known]
    places = np.unique(x)
    curve = IsotonicRegression(out_of_bounds="clip").fit(x, y).predict(places)
    if levels and bool(np.isin(y, (0, 1)).all()):
        return Expected(places, curve, YES_OR_NO)
    left = np.empty(len(x))
    for fold in range(_FOLDS):  # a step curve is nearer to the images that it was drawn through than to others
        inside = np.arange(len(x)) % _FOLDS == fold
        model = IsotonicRegression(out_of_bounds="clip").fit(x[~inside], y[~inside])
        left[inside] = np.abs(y[inside] - model.predict(x[inside]))
    return Expected(places, curve, max(float(np.percentile(left, KEPT)), LEAST_SHIFT * float(y.std())))


def _between(embeddings: Float[np.ndarray, "n k"], people: Int[np.ndarray, " _"]) -> float:
    """The distance below which 5 % of pairs of different people lie."""
    n = len(embeddings)
    if n < FEWEST or (len(people) and len(np.unique(people)) < FEWEST):
        return np.nan
    first, second = np.triu_indices(n, 1)
    if len(people):
        others = people[first] != people[second]
        first, second = first[others], second[others]
    apart = distances(embeddings[first], embeddings[second])
    return float(np.nanpercentile(apart, SAME_PERSON)) if np.isfinite(apart).any() else np.nan


@final
@dataclass(frozen=True, slots=True)
class Judged:
    """Which edits fail which gate; a gate without limit or measure is not there. unknown: edits whose measure has no
    value neither pass nor fail. drift: in standard deviations (of levels: 1 where it changed), NaN where it is not
    read. distance: of identity.
    """

    fails: Mapping[str, Bool[np.ndarray, " n"]]
    unknown: Mapping[str, Bool[np.ndarray, " n"]]
    drift: Mapping[str, Float[np.ndarray, " n"]]
    distance: Float[np.ndarray, " n"]

    @property
    def failed(self) -> Bool[np.ndarray, " n"]:
        """Whether any gate fails."""
        failing = np.zeros(len(self.distance), dtype=bool)
        for column in self.fails.values():
            failing |= column
        return failing


def judge(
    limits: Limits, edited: Measured, unedited: Measured, intended: Mapping[str, Float[np.ndarray, " n"]]
) -> Judged:
    """Every gate on every edit. unedited: of the subject's own image, row by row; intended: set values."""
    n = len(edited.saturated)
    fails: dict[str, np.ndarray] = {}
    unknown: dict[str, np.ndarray] = {}

    def gate(name: str, excess: np.ndarray) -> None:
        """Fails where the excess is above 0."""
        known = np.isfinite(excess)
        fails[name] = fails.get(name, np.zeros(n, dtype=bool)) | (known & (excess > 0))
        unknown[name] = unknown.get(name, np.zeros(n, dtype=bool)) | ~known

    for name, curve in limits.expected.items():
        gate(SHIFT, curve.excess(edited.readings[name], unedited.readings[name], intended[name]))
    drift = {
        name: _drift(edited, unedited, name, spread) for name, spread in limits.spreads.items() if name not in intended
    }
    for name, moved in drift.items():
        gate(DRIFT, moved - (YES_OR_NO if name in edited.levels else MOST_DRIFT))
    apart = distances(edited.identity, unedited.identity) if len(edited.identity) else np.full(n, np.nan)
    if np.isfinite(limits.identity):
        gate(IDENTITY, apart - limits.identity)
    if np.isfinite(limits.realism):
        gate(REALISM, limits.realism - edited.realism)
    if np.isfinite(limits.saturated):
        gate(RANGE, edited.saturated - np.maximum(limits.saturated, unedited.saturated + _MARGIN))
    return Judged(fails, unknown, drift, apart)


def _drift(edited: Measured, unedited: Measured, name: str, spread: float) -> Float[np.ndarray, " n"]:
    change = np.abs(edited.readings[name] - unedited.readings[name])
    if name in edited.levels:
        return np.where(np.isfinite(change), (change > 0).astype(float), np.nan)
    return np.asarray(change / spread) if spread > 0 else np.where(change > 0, np.inf, change)
