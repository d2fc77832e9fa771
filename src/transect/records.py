"""The nouns that cross the borders between stages; all are frozen.

Axes: n images (or latents), d latent dimensions, k columns of scores, h and w pixels. Attribute values are
float64 everywhere: binary 0 or 1, categorical the index of the level; names of levels are for people.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final, Literal, final

import numpy as np
from jaxtyping import Float, Int

from transect.errors import BadInput
from transect.spoken_answers import Said

Kind = Literal["continuous", "ordinal", "binary", "categorical"]
Role = Literal["attribute", "nuisance"]
Basis = Literal["experimental", "observational"]

SUBJECTS_PER_SEED = 1 << 32
"""Subject i of run seed s has the subject seed s * SUBJECTS_PER_SEED + i, so that runs never share subjects."""
MOST_CELLS = 100_000
MOST_IMAGES = 200_000_000
_OF_AN_IMAGE = 4096
"""Bytes that the picture of an image takes at least."""

FITTED: Final = "fitted from"
"""How the source of an attribute begins whose direction was fitted to labels."""


@final
@dataclass(frozen=True, slots=True)
class Attribute:
    """An observable characteristic: an appearance as an onlooker sees it, never an identity.

    Continuous and ordinal attributes have a range [low, high] in `unit`; binary and categorical ones have
    `levels`, whose index is the value.

    >>> Attribute("glasses", "binary", "wears glasses", levels=("off", "on")).parse("on")
    1.0
    """

    name: str
    kind: Kind
    meaning: str
    unit: str = ""
    low: float = 0.0
    high: float = 1.0
    levels: tuple[str, ...] = ()
    role: Role = "attribute"
    source: str = ""

    def __post_init__(self) -> None:
        if self.kind in ("binary", "categorical") and len(self.levels) < 2:
            raise BadInput(f"attribute {self.name}: a {self.kind} attribute needs at least two levels")
        if self.kind in ("continuous", "ordinal") and not self.low < self.high:
            raise BadInput(f"attribute {self.name}: expected low < high, got {self.low} and {self.high}")

    @property
    def discrete(self) -> bool:
        """Whether the attribute has named levels instead of a range."""
        return self.kind in ("binary", "categorical")

    @property
    def nominal(self) -> bool:
        """Whether values are names in no order, so that their numbers mean nothing: more than two levels."""
        return self.discrete and len(self.levels) > 2

    @property
    def optional(self) -> bool:
        """Whether the first of several levels is "none", so that any other says that something is there."""
        return self.nominal and self.levels[0] == "none"

    @property
    def listing(self) -> str:
        """The command that lists its range: that of directions for fitted attributes, else of attributes."""
        fitted = self.source.startswith(FITTED)
        return "transect directions show FILE (or reference)" if fitted else "transect list attributes"

    @property
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest allowed value."""
        return (0.0, float(len(self.levels) - 1)) if self.discrete else (self.low, self.high)

    def parse(self, text: str) -> float:
        """The value that `text` names: a level's name or a number. Raises BadInput when it is neither."""
        if text in self.levels:
            return float(self.levels.index(text))
        try:
            value = float(text)
        except ValueError:
            wanted = f"one of {', '.join(self.levels)}" if self.discrete else "a number"
            raise BadInput(f"{self.name}: expected {wanted}, got {text!r}") from None
        return self.check(value)

    def check(self, value: float) -> float:
        """The value itself if it is allowed; raises BadInput with the range otherwise."""
        low, high = self.bounds
        whole = not self.discrete or float(value).is_integer()
        if not (math.isfinite(value) and low <= value <= high and whole):
            allowed = f"one of {', '.join(self.levels)}" if self.discrete else f"between {low:g} and {high:g}"
            unit = f" {self.unit}" if self.unit and not self.discrete else ""
            fitted = ", the range of the labels that it was fitted to" if self.source.startswith(FITTED) else ""
            raise BadInput(f"{self.name}: expected {allowed}{unit}{fitted}, got {value:g}; see: {self.listing}")
        return float(value)

    def label(self, value: float) -> str:
        """How people read the value.

        >>> Attribute("age", "continuous", "apparent age", unit="years", low=18, high=80).label(30)
        '30'
        """
        if self.discrete and float(value).is_integer() and 0 <= value < len(self.levels):
            return self.levels[int(value)]
        return f"{value:.4g}"


@final
@dataclass(frozen=True, slots=True)
class Latents:
    """What a generator renders: one row per image.

    seeds: the subject's seed of each row. values: coordinates in `space` (FaceWorld: exogenous noise u;
    learned generators: z, w, ...). settings: exact interventions do(name = value), applied by a causal
    model when it reads the latents; NaN where a row is not intervened on; empty for learned latents.
    """

    seeds: Int[np.ndarray, " n"]
    values: Float[np.ndarray, "n ..."]
    space: str = "u"
    settings: Mapping[str, Float[np.ndarray, " n"]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.seeds)

    def take(self, rows: Int[np.ndarray, " m"] | slice) -> Latents:
        """The chosen rows, in the chosen order (repeats allowed)."""
        settings = {name: column[rows] for name, column in self.settings.items()}
        return replace(self, seeds=self.seeds[rows], values=self.values[rows], settings=settings)

    def repeat(self, times: int) -> Latents:
        """Each row `times` times in a row: subject-major order."""
        return self.take(np.repeat(np.arange(len(self)), times))


@final
@dataclass(frozen=True, slots=True)
class Images:
    """Images: pixels uint8 [n, h, w, 3], sRGB; face_boxes x0, y0, x1, y1 in pixels where the source knows them.

    landmarks: x and y in pixels of k points of each face (5 or 68, see `targets.alignment`), NaN where there are none;
    pixel i spans i to i + 1. None unless a target asks for them. Raises BadInput when `pixels` are not images.

    >>> len(Images(np.zeros((2, 64, 64, 3), dtype=np.uint8)))
    2
    """

    pixels: np.ndarray
    face_boxes: Float[np.ndarray, "n 4"] | None = None
    landmarks: Float[np.ndarray, "n k 2"] | None = None

    def __post_init__(self) -> None:
        kind = getattr(self.pixels, "dtype", type(self.pixels).__name__)
        shape = tuple(getattr(self.pixels, "shape", ()))
        if kind != np.uint8 or len(shape) != 4 or shape[3] != 3 or 0 in shape[1:]:
            message = f"not images: expected uint8 [n, h, w, 3], got {kind} {list(shape)}; convert to 8-bit sRGB"
            raise BadInput(message)

    def __len__(self) -> int:
        return len(self.pixels)

    def take(self, rows: Int[np.ndarray, " m"] | slice) -> Images:
        """The chosen rows, in the chosen order."""
        beside = (None if part is None else part[rows] for part in (self.face_boxes, self.landmarks))
        return Images(self.pixels[rows], *beside)


class Task(StrEnum):
    """What a target answers."""

    BINARY = "binary"
    MULTICLASS = "multiclass"
    MULTILABEL = "multilabel"
    DETECTION = "detection"
    REGRESSION = "regression"
    EMBEDDING = "embedding"


@final
@dataclass(frozen=True, slots=True)
class Predictions:
    """A target's answers, one row per image.

    scores float64 [n, k]: binary, regression and detection have k = 1 (detection: confidence of the best box,
    0 without a box, NaN where the detector gives no confidence); multiclass, multilabel and embedding have one
    column per class, label or dimension, named in `labels` where they have names. boxes: per image float64
    [m, 5]: x0, y0, x1, y1 in pixels of the image given, and confidence (NaN where there is none).
    failures: per image the reason why there is no valid answer, "" where there is one; a failed row's
    scores are NaN and it has no boxes. said: per image what a model said in words, None of other targets.
    """

    task: Task
    scores: Float[np.ndarray, "n k"]
    failures: tuple[str, ...]
    boxes: tuple[Float[np.ndarray, "_ 5"], ...] | None = None
    labels: tuple[str, ...] = ()
    said: tuple[tuple[Said, ...], ...] | None = None

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def failed(self) -> np.ndarray:
        """Boolean [n]: which images have no valid answer."""
        return np.array([bool(reason) for reason in self.failures], dtype=bool)


DECLARED: Final = "as the answer says"
"""Ends the reason of an answer that says why it has none: no face, a refusal, unsafe content."""


def declared(reason: str) -> bool:
    """Whether the target itself said that it has no answer about an image: an outcome, and no fault.

    >>> declared("no face: as the answer says"), declared("timed out after 30 s")
    (True, False)
    """
    return reason.endswith(DECLARED)


@final
@dataclass(frozen=True, slots=True)
class Question:
    """One question that a rater answers about one image: levels in order, or none for a number."""

    name: str
    text: str
    levels: tuple[str, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Annotations:
    """Answers of raters: row r says that rater[r] gave value[r] (level index or number) to image[r]; NaN: no answer."""

    question: Question
    image: Int[np.ndarray, " r"]
    rater: tuple[str, ...]
    value: Float[np.ndarray, " r"]


@final
@dataclass(frozen=True, slots=True)
class Design:
    """Which images do we compare?

    A transect design shows each of `subjects` subjects at every cell of the grid of `levels` (insertion order,
    last attribute fastest), all else held fixed. A population design (no levels) shows each subject once, as the
    population made it. `hold` names attributes that keep the subject's own value although they lie downstream.

    Raises BadInput for more than MOST_CELLS cells or MOST_IMAGES images, before anything of that size is made.

    >>> Design({"glasses": (0.0, 1.0), "age": (20.0, 40.0, 60.0)}, subjects=10).n_images
    60
    """

    levels: Mapping[str, tuple[float, ...]]
    subjects: int
    seed: int = 0
    population: str = "balanced"
    hold: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.n_cells > MOST_CELLS:
            raise BadInput(f"levels: expected at most {MOST_CELLS:,} cells, got {self.n_cells:,}; give fewer levels")
        if self.n_images > MOST_IMAGES:
            raise BadInput(
                f"subjects: expected at most {MOST_IMAGES:,} images, got {self.n_images:,} ({self.subjects:,} "
                f"subjects x {self.n_cells:,}), which would take {self.n_images * _OF_AN_IMAGE >> 30:,} GiB "
                "and more; use fewer"
            )

    @property
    def basis(self) -> Basis:
        """Experimental: set by us. Observational: as they come in the population."""
        return "experimental" if self.levels else "observational"

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of levels of each varied attribute; () for a population design."""
        return tuple(len(values) for values in self.levels.values())

    @property
    def n_cells(self) -> int:
        """Images per subject."""
        return math.prod(self.shape)

    @property
    def n_images(self) -> int:
        """Images in all."""
        return self.subjects * self.n_cells

    def cells(self) -> list[dict[str, float]]:
        """The settings of each cell, in order; [{}] for a population design."""
        return [dict(zip(self.levels, values, strict=True)) for values in itertools.product(*self.levels.values())]

    def subject_seeds(self, start: int = 0, stop: int | None = None) -> Int[np.ndarray, " n"]:
        """Seeds of subjects start..stop-1."""
        end = self.subjects if stop is None else min(stop, self.subjects)
        return self.seed * SUBJECTS_PER_SEED + np.arange(start, end, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number and its interval, of 95 % where nothing else is said; NaN where there is none, for the reason.

    Records of one number extend it by what it compares, how it was tested and what it rests on.

    >>> Estimate(0.5, 0.25, 0.75)
    Estimate(estimate=0.5, low=0.25, high=0.75, reason='')
    """

    estimate: float = math.nan
    low: float = math.nan
    high: float = math.nan
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateWithTest(Estimate):
    """An estimate, its two-sided p, and how the interval and p were made; "" and NaN where there is none."""

    p: float = math.nan
    interval_method: str = ""
    test_method: str = ""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Effect(EstimateWithTest):
    """An effect: what is estimated, the estimate, its interval and test.

    estimate, low, high: in `unit` ("proportion" in ±1); NaN with `reason` where not estimable. kind: "contrast" (`to`
    minus `origin`), "slope" (per unit) or "interaction" (see spec, which recreates it). p_adjusted: within the report's
    family. same_test_as: whose test it repeats, counted once. excluded: reason -> images. always_*: whenever one stops.
    """

    name: str
    attribute: str
    target: str
    outcome: str
    unit: str
    n_subjects: int
    n_images: int
    kind: str = "contrast"
    origin: float = math.nan
    to: float = math.nan
    basis: Basis = "experimental"
    p_adjusted: float = math.nan
    excluded: Mapping[str, int] = field(default_factory=dict)
    spec: Mapping[str, Any] = field(default_factory=dict)
    sources: Sequence[str] = ()
    always_low: float = math.nan
    always_high: float = math.nan
    always_method: str = ""
    always_reason: str = ""
    same_test_as: str = ""

    @property
    def estimable(self) -> bool:
        """Whether there is an estimate."""
        return math.isfinite(self.estimate)

    def citation(self) -> tuple[str, ...]:
        """The works that describe how this number was made."""
        return tuple(self.sources)


@final
@dataclass(frozen=True, slots=True)
class Quote:
    """What one target would cost at most for images that it never saw.

    calls: 0 for a target that is not metered; cost: in `currency`. tokens: at most, 0 where none are counted. The rest
    is None where it is not known. answers_kept: on disk, which are free. calls_spent, money_spent: of all programs so
    far. calls_left, money_left, tokens_left: of the budget, None for no limit. answers_of: the same for targets that
    read the same kept answers. shared_with: the target before it that asks for them; this one makes no calls.
    """

    target: str
    images: int
    calls: int = 0
    cost: float = 0.0
    currency: str = ""
    metered: bool = True
    answers_kept: int | None = None
    calls_spent: int | None = None
    money_spent: float | None = None
    calls_left: int | None = None
    money_left: float | None = None
    answers_of: str = ""
    shared_with: str = ""
    tokens: int = 0
    tokens_left: int | None = None


@final
@dataclass(frozen=True, slots=True)
class CallCounts:
    """Calls to one target under one request, by all programs since its file of answers was created.

    images: asked about; answered: those with a final answer; calls: sent, and paid where calls have a price. failed:
    why calls brought no final answer, with how many calls each; a call that found no connection is there and not in
    `calls`. Calls beyond one for each image are retries.

    >>> CallCounts(images=10, answered=9, calls=13, failed={"HTTP 503": 4}).retries
    3
    """

    images: int
    answered: int
    calls: int
    failed: Mapping[str, int] = field(default_factory=dict)

    @property
    def retries(self) -> int:
        """Calls that were repeated."""
        return max(self.calls - self.images, 0)
