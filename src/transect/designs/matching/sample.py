"""The metric of distances (weighted blocks, standard units, Mahalanobis), and what every method takes and gives.
Rows are images; a is the treated image of a pair (treatment 1), b the control (0), by position in the sample.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, final

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike
from typing_extensions import TypedDict  # pydantic reads typing's own only from Python 3.12 on

from transect.errors import BadInput

Layers = Literal["flatten", "average"]
Metric = Literal["euclidean", "standardized", "mahalanobis"]
Rows = Int[np.ndarray, " m"]
Columns = Int[np.ndarray, " b"]
"""Controls, which are searched for the rows."""

_MOST_COLUMNS: Final = 4096
_ROUNDING: Final = 1e-10


def layered(latents: Float[np.ndarray, "n ..."], layers: Layers) -> Float[np.ndarray, "n d"]:
    """Latents of one vector per layer (w+, [n, layers, d]) side by side, or their mean over layers."""
    if layers == "flatten" or latents.ndim < 3:
        return latents.reshape(len(latents), -1)
    return np.asarray(latents.mean(axis=tuple(range(1, latents.ndim - 1))))


def weighted(blocks: Sequence[Float[np.ndarray, "_ _"]], weights: Sequence[float]) -> Float[np.ndarray, "n d"]:
    """Blocks side by side so that the squared distance is the weighted sum of the blocks' squared distances."""
    if any(not 0 < weight < np.inf for weight in weights):
        raise BadInput(f"features: expected weights above 0, got {', '.join(f'{weight:g}' for weight in weights)}")
    rows = {len(block) for block in blocks}
    if len(rows) > 1:
        raise BadInput(f"features: expected as many rows in every block, got {', '.join(map(str, sorted(rows)))}")
    if len(blocks) == 1 and weights[0] == 1:
        return blocks[0]
    kind = np.result_type(*(block.dtype for block in blocks))
    scaled = [np.asarray(block, kind) * kind.type(weight**0.5) for block, weight in zip(blocks, weights, strict=True)]
    return np.concatenate(scaled, axis=1)


def in_metric(
    features: Float[np.ndarray, "n d"], treatment: Float[np.ndarray, " n"], metric: Metric
) -> tuple[Float[np.ndarray, "n _"], int]:
    """Features whose Euclidean distance is the wanted one, and how many dimensions were dropped (constant, redundant).

    standardized: by the standard deviation within groups, pooled. mahalanobis: by the inverse of the covariance within
    groups, pooled, so that a difference between groups does not count as spread. Rubin 1980.

    Raises BadInput when nothing varies within the groups, or for Mahalanobis above 4,096 columns.
    """
    if metric == "euclidean":
        return features, 0
    if metric == "mahalanobis" and features.shape[1] > _MOST_COLUMNS:
        raise BadInput(f"mahalanobis: expected at most {_MOST_COLUMNS} columns, got {features.shape[1]}; average w+")
    whole = np.isfinite(features).all(axis=1) & np.isfinite(treatment)
    known = np.asarray(features[whole], dtype=np.float64)
    within, freedom = _within(known, treatment[whole])
    spread = np.sqrt((within**2).sum(axis=0) / freedom)
    varying = np.flatnonzero(spread > _ROUNDING * np.abs(known).max(axis=0, initial=0.0))
    if not len(varying):
        raise BadInput("features: nothing varies within the groups; give features that vary, or --metric euclidean")
    standard = np.asarray(features[:, varying], dtype=np.float64) / spread[varying]
    standard[~whole] = np.nan  # infinity would be lost in products, with a warning
    if metric == "standardized":
        return standard, features.shape[1] - len(varying)
    values, vectors = np.linalg.eigh(
        (within[:, varying] / spread[varying]).T @ (within[:, varying] / spread[varying]) / freedom
    )
    telling = values > _ROUNDING * values.max()
    return standard @ (vectors[:, telling] / np.sqrt(values[telling])), features.shape[1] - int(telling.sum())


def _within(x: Float[np.ndarray, "n d"], treatment: Float[np.ndarray, " n"]) -> tuple[Float[np.ndarray, "n d"], int]:
    """Each row less the mean of its group, and the degrees of freedom left."""
    values, group = np.unique(treatment, return_inverse=True)
    if len(values) > len(x) // 2:  # a dose: every image is of one group
        values, group = values[:1], np.zeros(len(x), dtype=np.int64)
    means = np.stack([x[group == g].mean(axis=0) for g in range(len(values))])
    return x - means[group], max(len(x) - len(values), 1)


MISSING: Final = "missing value"
NO_REFERENCE: Final = "no valid reference"
NO_STRATUM: Final = "exact"
SAME_IDENTITY: Final = "identity"
SECOND: Final = "second distance"
DOSE: Final = "dose"
CALIPER: Final = "caliper"
IDENTITY_USED: Final = "identity used"
TAKEN: Final = "partners taken"
BOTH_GROUPS: Final = "identity in both groups"
OTHER_GROUP: Final = "no match"

_ROWS_AT_ONCE = 4096


@final
@dataclass(frozen=True, slots=True)
class Sample:
    """The images of a data set, and which of them may be paired.

    features: float [n, d], where distance is measured (Euclidean); may be a memory map and is never copied whole.
    treatment: float64 [n], 1 treated and 0 control; for continuous treatments the dose. exact: int64 [n], the stratum
    of each image; pairs lie within one. identity: int64 [n]; an identity enters one pair at most. second: float [n, e],
    another embedding in which the images of a pair must be within `second_threshold`. ineligible: row -> reason.
    dose_gap: the least difference in treatment of a pair, 0 for two groups.
    """

    features: Float[np.ndarray, "n d"]
    treatment: Float[np.ndarray, " n"]
    exact: Int[np.ndarray, " n"]
    identity: Int[np.ndarray, " n"]
    second: Float[np.ndarray, "n e"] | None = None
    second_threshold: float = float("inf")
    ineligible: Mapping[int, str] = field(default_factory=dict)
    dose_gap: float = 0.0

    def __len__(self) -> int:
        return len(self.treatment)

    @property
    def eligible(self) -> Bool[np.ndarray, " n"]:
        """Which images may enter a pair at all."""
        mask = np.ones(len(self), dtype=bool)
        mask[list(self.ineligible)] = False
        return mask

    @property
    def rows(self) -> Int[np.ndarray, " a"]:
        """Eligible treated images; with a dose, every eligible image."""
        wanted = np.ones(len(self), dtype=bool) if self.dose_gap else self.treatment == 1
        return np.flatnonzero(wanted & self.eligible)

    @property
    def columns(self) -> Int[np.ndarray, " b"]:
        """Eligible control images; with a dose, every eligible image."""
        wanted = np.ones(len(self), dtype=bool) if self.dose_gap else self.treatment == 0
        return np.flatnonzero(wanted & self.eligible)


@final
@dataclass(frozen=True, slots=True)
class SharedRange:
    """Where the log odds of both groups overlap, and how many treated and control images lie inside."""

    low: float
    high: float
    treated: int
    control: int


class Facts(TypedDict, total=False):
    """What a method measured about its own result; each method fills its keys.

    propensity: accuracies, area_under_curve, caliper (in its own units and in standard deviations), shared_range, and a
    warning where the groups barely overlap. optimal: total_distance, rounds, and gap, how far the total can lie above
    the optimum. overlap: effective numbers of images. recall: of approximate search.
    """

    accuracy_in_sample: float
    accuracy_cross_validated: float
    accuracy_majority: float
    area_under_curve: float
    warning: str
    caliper: float
    caliper_sd: float
    shared_range: SharedRange
    total_distance: float
    rounds: int
    gap: float
    effective_treated: float
    effective_controls: float
    recall: float


@final
@dataclass(frozen=True, slots=True)
class Matching:
    """Pairs, and why the other treated images have none.

    a, b: int64 [m], treated and control image of each pair, in the order in which they were found; with 1:k matching a
    treated image is in several pairs. distance: float64 [m]. refused: treated image -> reason. near: treated image
    without a pair -> (nearest control of its stratum whatever the constraints, distance). least_caliper: without any
    pair, the smallest caliper that would leave one (inf: none would); NaN where there are pairs.
    """

    method: str
    a: Int[np.ndarray, " m"]
    b: Int[np.ndarray, " m"]
    distance: Float[np.ndarray, " m"]
    refused: Mapping[int, str] = field(default_factory=dict)
    near: Mapping[int, tuple[int, float]] = field(default_factory=dict)
    least_caliper: float = float("nan")
    facts: Facts = field(default_factory=Facts)

    def __len__(self) -> int:
        return len(self.a)

    @property
    def refusals(self) -> dict[str, int]:
        """How many treated images were refused for what; the most frequent reason first."""
        return dict(Counter(self.refused.values()).most_common())


def make_sample(
    features: Float[np.ndarray, "n ..."],
    treatment: ArrayLike,
    *,
    exact: Sequence[ArrayLike] = (),
    identity: ArrayLike | None = None,
    second: Float[np.ndarray, "n e"] | None = None,
    second_threshold: float = float("inf"),
    ineligible: Mapping[int, str] | None = None,
    dose_gap: float = 0.0,
) -> Sample:
    """A checked sample; rows with a value that is not finite, or without treatment or identity, are ineligible."""
    dose = np.asarray(treatment, dtype=np.float64)
    flat = features.reshape(len(features), -1)
    columns: dict[str, ArrayLike | None] = {"features": flat, "identity": identity, "second embedding": second}
    columns |= {f"exact column {i + 1}": column for i, column in enumerate(exact)}
    lengths = {name: len(np.asarray(column)) for name, column in columns.items() if column is not None}
    for name, length in lengths.items():
        if length != len(dose):
            raise BadInput(f"matching: expected {len(dose)} rows in {name} as in the treatment, got {length}")
    lacking = ~np.isfinite(dose) | ~_complete(flat)
    if second is not None:
        lacking |= ~_complete(second)
    if identity is not None:
        lacking |= absent(identity)
    for column in exact:
        lacking |= absent(column)
    reasons = dict.fromkeys(np.flatnonzero(lacking).tolist(), MISSING) | dict(ineligible or {})
    people = np.arange(len(dose)) if identity is None else codes([identity], len(dose))
    sample = Sample(flat, dose, codes(exact, len(dose)), people, second, second_threshold, reasons, dose_gap)
    _check_groups(sample)
    return sample


def codes(columns: Sequence[ArrayLike], n: int) -> Int[np.ndarray, " n"]:
    """One number per distinct combination of values; zeros without columns.

    >>> codes([["x", "y", "x"], [1, 1, 2]], 3)
    array([0, 2, 1])
    """
    code = np.zeros(n, dtype=np.int64)
    for column in columns:
        texts = np.array([str(value) for value in np.asarray(column).tolist()], dtype=str)
        _, inverse = np.unique(texts, return_inverse=True)
        _, code = np.unique(code * (len(texts) + 1) + inverse, return_inverse=True)
    return code.astype(np.int64)


def in_blocks(n: int, size: int = _ROWS_AT_ONCE) -> list[slice]:
    """Slices that cover n rows, `size` at a time."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def _complete(values: np.ndarray) -> Bool[np.ndarray, " n"]:
    """Rows in which every value is finite, block by block."""
    return np.concatenate(
        [np.zeros(0, dtype=bool), *(np.isfinite(values[s]).all(axis=1) for s in in_blocks(len(values)))]
    )


def absent(column: ArrayLike) -> Bool[np.ndarray, " n"]:
    """Where an identity or stratum is None, NaN or an empty text."""
    values = np.asarray(column).tolist()
    return np.array([value is None or value == "" or value != value for value in values], dtype=bool)


def _check_groups(sample: Sample) -> None:
    known = sample.treatment[np.isfinite(sample.treatment)]
    if sample.dose_gap == 0 and not np.isin(known, (0.0, 1.0)).all():
        values = ", ".join(f"{value:g}" for value in np.unique(known)[:5])
        raise BadInput(f"matching: expected a treatment of 0 and 1, got {values}; name groups or a dose gap")
    for name, group, value in (("treated", sample.rows, 1), ("control", sample.columns, 0)):
        if len(group) == 0:
            raise BadInput(
                f"matching: expected at least one {name} image (treatment {value}) without missing values, got none; "
                f"{len(sample.ineligible)} of {len(sample)} images are not eligible"
            )
    usable = np.union1d(sample.rows, sample.columns)
    first = np.asarray(sample.features[usable[0]])
    if all(
        (np.asarray(sample.features[part]) == first).all()
        for part in np.array_split(usable, len(in_blocks(len(usable))))
    ):
        raise BadInput(
            "matching: the features are the same for all images, so that every distance is 0; give features that vary"
        )
