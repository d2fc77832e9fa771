"""The rows of `results.json`: the frozen base model, effects and what stands beside them, verdicts, the world,
pictures, standing limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from transect.records import Basis, Effect
from transect.reports.records import Count, Estimate, Number
from transect.runs.json_records import plain

__all__ = ["Count", "Estimate", "JsonObject", "Model", "Number", "Probability"]

Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
JsonObject = dict[str, Any]


class Model(BaseModel):
    """Frozen, nothing unknown, no silent conversion of text into numbers."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @classmethod
    def made_of(cls, **values: object) -> Self:
        """The entry of some values, which may be records; what is not finite is null."""
        return cls.model_validate(plain(values))


class OfTarget(Model):
    """A row about one target of one study; the page refuses rows of studies and targets that it does not know."""

    study: str
    target: str


class OfOutcome(OfTarget):
    """A row about one outcome of a target."""

    outcome: str


class EstimatedEntry(OfOutcome):
    """An estimate, its interval and test, and what it rests on; null with a reason where it is not estimable."""

    name: str
    estimate: Estimate
    low: Estimate
    high: Estimate
    p: Probability | None
    p_adjusted: Probability | None = Field(description="within its family of tests; see families")
    unit: str
    n_subjects: Count
    n_images: Count
    excluded: dict[str, Count] = Field(description="reason: number of images left out")
    reason: str = Field(description="why there is no estimate; empty where there is one")
    interval_method: str
    test_method: str
    sources: list[str]
    spec: JsonObject = Field(default={}, description="settings of the interval and the test: confidence, seed")
    same_test_as: str = Field(
        default="",
        description="the effect whose test this one repeats, counted once: of a slope over three evenly spaced levels "
        "its contrast, of an outcome that mirrors another (error = 1 - answer) that one's",
    )


class EffectEntry(EstimatedEntry):
    """A contrast of two levels of an attribute, or a slope along it: `records.Effect` of a study."""

    attribute: str
    kind: Literal["contrast", "slope"]
    origin: Estimate = Field(alias="from", description="level that is compared with")
    to: Estimate
    basis: Basis
    always_low: Estimate = Field(
        default=None, description="of the interval that is valid whenever one stops or extends"
    )
    always_high: Estimate = None
    always_method: str = ""
    always_reason: str = Field(
        default="", description="why there is no always-valid interval; empty where there is one"
    )

    @classmethod
    def of_effect(cls, study: str, effect: Effect) -> Self:
        """The effect of a study, whose fields it has; its first level is `from`."""
        values = plain(effect)
        return cls.model_validate({"study": study, "from": values.pop("origin"), **values})


class ComparedEntry(EstimatedEntry):
    """A comparison of one or several attributes at two levels each.

    In `interactions` of order 2 and 3; in `negative_controls` of order 1.
    """

    attributes: list[str]
    origins: list[Number] = Field(alias="from", description="the level of each attribute that is compared with")
    to: list[Number]
    order: Annotated[int, Field(ge=1, le=3)]
    spec: JsonObject
    detectable: Estimate = Field(
        default=None,
        description="of a negative control: the smallest difference that it finds with a power of 80 %, at alpha over "
        "its family; null where it finds none so often, or is not tested",
    )


class ProjectedEntry(Model):
    """One quantity of a population."""

    quantity: Literal["expected rate", "rate of a group", "disparate impact", "ratio of rates", "disparate treatment"]
    attribute: str
    origin: Estimate = Field(alias="from")
    to: Estimate
    estimate: Estimate
    low: Estimate
    high: Estimate
    n_subjects: Count
    n_images: Count
    method: str
    reason: str


class ProjectionEntry(OfOutcome):
    """What a population of stated shares would get, from the cells of one study."""

    unit: str
    population: str
    source: str
    independent: bool = Field(description="the shares were given attribute by attribute")
    equal: list[str] = Field(description="attributes taken at equal shares of their levels")
    rows: list[ProjectedEntry]
    sources: list[str]


class PlanEntry(OfOutcome):
    """What one contrast's subjects could detect, and how many subjects a difference of `target_difference` needs."""

    name: str
    unit: str
    n_subjects: Count
    power: Probability
    detectable_difference: Estimate = Field(
        description="the smallest difference that is detected with this power, at alpha over the family"
    )
    target_difference: Estimate
    subjects_needed: Count | None


class TestFamily(Model):
    """One family of tests: how many, by which method corrected, and which."""

    __test__ = False  # no test of pytest's

    name: str
    method: str
    alpha: Probability
    size: Count
    significant: Count
    members: list[str]


MOST: Final = 10
"""Verdicts in a terminal."""
MARKS: Final = {
    "found": "▲",
    "not judged": "!",
    "cannot tell": "?",
    "no difference": "=",
    "not estimable": "–",
    "check": "✓",
}
"""The mark of each kind of verdict, in the order of the page; every shape is different, so color is never needed."""


def kind_of(verdict: str, *, check: bool) -> str:
    """The kind of a verdict: a check is one that was passed; one that failed stands with the other verdicts."""
    return "check" if verdict == "found" and check else verdict


class VerdictEntry(OfOutcome):
    """What the audit concludes about one attribute and one outcome of a target."""

    attribute: str
    verdict: Literal["found", "not judged", "no difference", "cannot tell", "not estimable"]
    effect: Count | None = Field(description="index into effects: the one that the verdict rests on")
    check: bool = Field(description="the target is meant to react to the attribute")
    margin: Estimate = Field(description="differences up to it count as none, in the outcome's unit; null: none stated")
    low: Estimate = Field(description="lowest end of the 90 % intervals of all pairs of levels")
    high: Estimate = Field(description="highest end of the 90 % intervals of all pairs of levels")
    subjects_needed: Count | None = Field(
        default=None, description="subjects that would rule out a difference of the margin; null where not known"
    )
    subjects_to_confirm: Count | None = Field(
        default=None,
        description="subjects that would find a difference as large as the one measured; null: not known, none needed",
    )
    reason: str = Field(default="", description="why nothing is estimable, or judged")
    text: str = Field(default="", description="the verdict in words, as the page has it")


class FoundInteraction(Model):
    """A significant interaction, with an interval that allows for its being picked."""

    interaction: Count = Field(description="index into interactions")
    low: Estimate
    high: Estimate
    confidence: Number
    text: str = Field(default="", description="the finding in words, as the page has it")


class PhotometryEntry(Model):
    """How the world's faces are lit, beside photographs: 18 statistics in each fifth of cheek luminance."""

    subjects: Count
    medians: Count
    medians_inside: Count = Field(description="between the photographs' quartiles")
    medians_outside: Count = Field(description="beyond the photographs' 5 to 95 %")
    share_inside: Probability | None = Field(description="smallest share of faces within the photographs' 5 to 95 %")
    fewest_of_a_fifth: Count


class FigureEntry(Model):
    """A measured figure, its interval and what it rests on."""

    value: Estimate
    low: Estimate
    high: Estimate
    n: Count


class OutsideEntry(Model):
    """How a model that was not trained on the world reads an attribute, there and on photographs where it saw some."""

    reader: str
    unit: str = Field(description="of the attribute, that slopes are per; empty for a share")
    image_size: Count = Field(description="pixels of the rendered faces that it read")
    auc: FigureEntry = Field(description="area under the ROC curve of the highest level against the lowest")
    correlation: FigureEntry = Field(description="of its answer with the attribute, over the range")
    slope: FigureEntry = Field(description="of its answer, per unit of the attribute")
    photographs: str = Field(default="", description="the data set; empty without one")
    label: str = Field(default="", description="the data set's label")
    photographs_auc: FigureEntry | None = None
    photographs_correlation: FigureEntry | None = None
    photographs_slope: FigureEntry | None = None


class ReadingEntry(FigureEntry):
    """How well a network reads an attribute back from held-out pictures of the world, where they show it."""

    attribute: str
    figure: Literal["auc", "r2"] | None = Field(description="area under the ROC curve, or share of variance explained")
    gate: Estimate = Field(description="what the world must reach; null for nuisances")
    met: bool | None
    visibility: str = Field(description="which pictures show the attribute")
    reason: str = Field(description="why there is no value; empty where there is one")
    outside: list[OutsideEntry] = Field(
        default=[], description="what models from outside read; printed, never fitted to"
    )


class ExampleEntry(OfTarget):
    """One image that the page shows (its pixels stand in the page alone)."""

    subject: int
    cell: dict[str, Number]
    answer: str
    boxes: list[list[Number]]
    expected_box: list[Number] | None
    failed: bool
    wrong: bool
    answer_yes: bool | None = Field(default=None, description="the answer yes or no, where the task has one")


class StripEntry(Model):
    """One transect that the page shows."""

    title: str
    examples: list[ExampleEntry]


class MeanFaceEntry(OfTarget):
    """Mean faces of one group's right and wrong answers that the page shows, and how many answers there are."""

    measure: str = Field(description="what is right or wrong, as in the tables of errors by condition")
    by: str = Field(description='the condition, "" for all images')
    group: str
    right: Count
    wrong: Count


class GalleryEntry(Model):
    """What the page shows of the images, and of how many."""

    strips: list[StripEntry] = Field(default=[])
    failures: list[ExampleEntry] = Field(default=[])
    flips: list[StripEntry] = Field(default=[], description="images two by two, a subject's own and one that flips")
    flips_shown: Count = Field(default=0, description="attributes and ways whose flips the page shows")
    flips_total: Count = 0
    faces: list[MeanFaceEntry] = Field(default=[])
    faces_total: Count = 0
    strips_shown: Count = 0
    strips_total: Count = 0
    failures_shown: Count = 0
    failures_total: Count = 0


RENDERED_LIMIT: Final = (
    "Effects on rendered faces are evidence about the target; confirm them on photographs before acting on them."
)
"""What no audit of rendered images can show."""
STANDING_LIMITS: Final = (
    RENDERED_LIMIT,
    "An effect holds for the levels, population and settings that are listed here; other ranges were not tried.",
    "Attributes that were not varied were not tested: no effect shown does not mean no bias.",
)
"""What no audit of this kind can show; added to the limits of every report."""


def with_standing(limits: Sequence[str], *, photographs: bool) -> list[str]:
    """The limits of a report with the standing ones, each once. photographs: whether every image is a photograph."""
    standing = [limit for limit in STANDING_LIMITS if not (photographs and limit == RENDERED_LIMIT)]
    return [*limits, *(limit for limit in standing if limit not in limits)]
