"""The figures of the checks as records: what `transect verify … --json` prints and the JSON Schema describes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, final

from pydantic import TypeAdapter

from transect.jobs.verify.by_attribute import EffectRow
from transect.jobs.verify.estimators import ProvenRow
from transect.jobs.verify.marks import MarksFigures
from transect.jobs.verify.run_files import RunFiles
from transect.jobs.verify.sharpness import SharpnessRow
from transect.jobs.verify.world import PhotometryRow

Record = TypeVar("Record")


@dataclass(frozen=True, slots=True)
class Measured:
    """A value with its 95 % interval; None with the reason where it is not estimable."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    reason: str


@final
@dataclass(frozen=True, slots=True)
class ShareFound:
    """The share of a group's faces that a detector finds, with Wilson's interval; None with the reason."""

    target: str
    by: str
    group: str
    n: int | None
    found: int | None
    share: float | None
    low: float | None
    high: float | None
    reason: str


@final
@dataclass(frozen=True, slots=True)
class ShareOfPhotographs:
    """The share of photographs of one group in which a detector finds the face."""

    target: str
    group: str
    n: int
    share: float


@final
@dataclass(frozen=True, slots=True)
class AttributeRead(Measured):
    """How well a network reads one attribute back from held-out pictures. figure: r2, auc or accuracy."""

    attribute: str
    role: str
    figure: str
    gate: float | None
    met: bool | None
    visibility: str


@final
@dataclass(frozen=True, slots=True)
class Recognition:
    """The same pairs, compared by dlib's recognition network."""

    model: str
    identities: Measured
    other_people: Measured


@final
@dataclass(frozen=True, slots=True)
class Identity(Measured):
    """How well people are distinguished: the area under the ROC curve, and its gate."""

    pictures_each: int
    gate: float
    met: bool
    same_person: Measured
    recognition: Recognition | None


@final
@dataclass(frozen=True, slots=True)
class Control(Measured):
    """Groups that differ in one attribute, which a network must distinguish."""

    attribute: str


@final
@dataclass(frozen=True, slots=True)
class RegionError:
    """Distance between dlib's landmarks and the world's own, in interocular distances. offset: mean x and y."""

    mean: float
    median: float
    offset: tuple[float, float]


@final
@dataclass(frozen=True, slots=True)
class LandmarkErrors:
    """Errors by region of the face."""

    n: int
    not_found: int
    regions: dict[str, RegionError]


@final
@dataclass(frozen=True, slots=True)
class LevelAnswered(Measured):
    """The mean answer at one level of an attribute or label. level: its name, or the value as text."""

    level: str


@final
@dataclass(frozen=True, slots=True)
class PhotographsRead:
    """How a model's answers follow a label of photographs; see `OutsideReading`. images: those with an answer."""

    name: str
    label: str
    images: int
    subjects: int
    unanswered: int
    auc: Measured
    correlation: Measured
    slope: Measured
    levels: tuple[LevelAnswered, ...]


@final
@dataclass(frozen=True, slots=True)
class OutsideReading:
    """How a model from outside reads an attribute of rendered faces, and of photographs where they were given.

    auc: area under the ROC curve of the highest level against the lowest (of the first against all others, where
    levels have names). correlation and slope (per unit of the attribute): over all levels. levels: the mean answer
    at each. unanswered: pictures without an answer; a subject enters whose every level was answered.
    """

    attribute: str
    unit: str
    reader: str
    task: str
    image_size: int
    subjects: int
    unanswered: int
    auc: Measured
    correlation: Measured
    slope: Measured
    levels: tuple[LevelAnswered, ...]
    photographs: PhotographsRead | None


@final
@dataclass(frozen=True, slots=True)
class WorldFigures:
    """`transect verify world`: the rendered world next to photographs. Parts that were not requested are empty.

    photometry: ninety rows, a statistic in a fifth of cheek luminance each. medians_inside: how many rendered medians
    lie between the photographs' quartiles. by_attribute: each measure of a face by each label, share_within: the share
    of these whose coefficients agree. sharpness: populations beside photographs. targets: shares of
    faces that detectors find. null_auc: how well a network separates groups that do not differ. control_auc: the same
    for groups that do. readers: how models from outside read attributes.
    """

    renderer_version: str
    population: str
    image_size: int
    sizes: dict[str, int]
    epochs: int
    first_seeds: dict[str, int]
    interval: str
    found_rule: str
    photographs: tuple[ShareOfPhotographs, ...]
    versions: dict[str, str]
    photometry: tuple[PhotometryRow, ...] = ()
    subjects: int | None = None
    faces_per_fifth: tuple[int, ...] = ()
    unmeasured: int | None = None
    medians_inside: int | None = None
    medians_outside: tuple[tuple[int, str], ...] = ()
    share_inside: float | None = None
    darkest_cheek: float | None = None
    photometry_passes: bool | None = None
    targets: tuple[ShareFound, ...] = ()
    attributes: tuple[AttributeRead, ...] = ()
    identity_auc: float | None = None
    identity: Identity | None = None
    null_auc: tuple[Measured, ...] = ()
    control_auc: Control | None = None
    landmarks: LandmarkErrors | None = None
    readers: tuple[OutsideReading, ...] = ()
    by_attribute: tuple[EffectRow, ...] = ()
    share_within: float | None = None
    sharpness: tuple[SharpnessRow, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class ModelPerformance:
    """How good the audited model is on held-out subjects; None where there is nobody to count."""

    pictures: int
    accuracy: float
    false_positive_rate: float | None
    false_negative_rate: float | None


@final
@dataclass(frozen=True, slots=True)
class TrueEffect:
    """The effect of an attribute on the rate of errors and on the score, by intervention on every subject."""

    attribute: str
    origin: float
    to: float
    effect: float
    standard_error: float
    score_effect: float
    score_standard_error: float
    rate: float
    subjects: int
    interventions: int


@final
@dataclass(frozen=True, slots=True)
class MethodFigures:
    """One method's estimates of one attribute's effect at one number of images; see `images.comparison.summary`."""

    method: str
    kind: str
    attribute: str
    images: int
    mean: float | None
    bias: float | None
    rmse: float | None
    coverage: float | None
    half_width: float | None
    low: float | None
    high: float | None
    repeats: int
    not_estimable: int
    no_interval: int


@final
@dataclass(frozen=True, slots=True)
class MethodOverall:
    """One method over all attributes at one number of images."""

    method: str
    kind: str
    images: int
    rmse: float
    coverage: float
    attributes: int


@final
@dataclass(frozen=True, slots=True)
class ImagesFigures:
    """`transect verify images`: a model's true effects next to what each method estimates."""

    renderer_version: str
    sizes: dict[str, int | list[int]]
    interventions: int
    model: ModelPerformance
    truth: tuple[TrueEffect, ...]
    rows: tuple[MethodFigures, ...]
    overall: tuple[MethodOverall, ...]


@final
@dataclass(frozen=True, slots=True)
class VerifyNumbers:
    """The figures of one check; the others are empty. check: world, estimators, images, marks or run."""

    check: str
    world: WorldFigures | None = None
    estimators: tuple[ProvenRow, ...] = ()
    images: ImagesFigures | None = None
    marks: MarksFigures | None = None
    run: RunFiles | None = None


def record_of(kind: type[Record], figures: object) -> Record:
    """Figures read from JSON as a record; raises pydantic's ValidationError where they are not of that kind.

    >>> record_of(ShareOfPhotographs, {"target": "dlib:hog-face", "group": "A", "n": 700, "share": 0.97}).share
    0.97
    """
    return TypeAdapter(kind).validate_python(figures)
