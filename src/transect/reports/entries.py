"""What `results.json` holds beyond effects and rates: interactions, variance, projections, controls, plans."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from transect.reports.models import Count, Estimate, JsonObject, Model, Number, Probability


class ComparedEntry(Model):
    """A comparison of one or several attributes at two levels each; null with a reason where it is not estimable.

    In `interactions` of order 2 and 3; in `negative_controls` of order 1.
    """

    study: str
    target: str
    outcome: str
    name: str
    attributes: list[str]
    origins: list[Number] = Field(alias="from", description="the level of each attribute that is compared with")
    to: list[Number]
    order: Annotated[int, Field(ge=1, le=3)]
    estimate: Estimate
    low: Estimate
    high: Estimate
    p: Probability | None
    p_adjusted: Probability | None = Field(description="within its own family; see families")
    unit: str
    n_subjects: Count
    n_images: Count
    excluded: dict[str, Count]
    reason: str
    interval_method: str
    test_method: str
    sources: list[str]
    spec: JsonObject


class IndexEntry(Model):
    """The shares of variance that are one attribute's, with intervals."""

    attribute: str
    first: Estimate
    first_low: Estimate
    first_high: Estimate
    total: Estimate
    total_low: Estimate
    total_high: Estimate
    shapley: Estimate
    shapley_low: Estimate
    shapley_high: Estimate


class VarianceEntry(Model):
    """Sobol indices and Shapley effects of one outcome; null with a reason where cells do not spread beyond scatter."""

    study: str
    target: str
    outcome: str
    variance: Estimate = Field(description="of the cell means, scatter between subjects taken off")
    indices: list[IndexEntry]
    n_subjects: Count
    n_images: Count
    n_missing: Count
    method: str
    reason: str
    sources: list[str]


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


class ProjectionEntry(Model):
    """What a population of stated shares would get, from the cells of one study."""

    study: str
    target: str
    outcome: str
    unit: str
    population: str
    source: str
    independent: bool = Field(description="the shares were given attribute by attribute")
    equal: list[str] = Field(description="attributes taken at equal shares of their levels")
    rows: list[ProjectedEntry]
    sources: list[str]


class PlanEntry(Model):
    """What one contrast's subjects could find, and how many subjects an effect of `wanted` would need."""

    study: str
    target: str
    outcome: str
    name: str
    unit: str
    n_subjects: Count
    power: Probability
    found: Estimate = Field(description="the smallest difference found with this power, at alpha over the family")
    wanted: Estimate
    subjects_wanted: Count | None


class TestFamily(Model):
    """One family of tests: how many, by which method corrected, and which."""

    __test__ = False  # no test of pytest's

    name: str
    method: str
    alpha: Probability
    size: Count
    significant: Count
    members: list[str]
