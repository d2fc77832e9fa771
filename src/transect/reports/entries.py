"""The rows of `results.json`: effects, interactions, variance, projections, controls, plans, families of tests."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from transect.records import Basis
from transect.reports.models import Count, Estimate, JsonObject, Model, Number, Probability


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
    spec: JsonObject = Field(
        default={}, description="settings of the interval and the test: confidence, resamples, seed"
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
    same_test_as: str = Field(
        default="", description="the contrast whose test this slope repeats (three evenly spaced levels): counted once"
    )


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
