"""What `results.json` holds of the world that the images come from: its photometry, and what networks read from it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from transect.reports.models import Count, Estimate, Model, Probability


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


class ReadingEntry(FigureEntry):
    """How well a network reads an attribute back from held-out pictures of the world, where they show it."""

    attribute: str
    figure: Literal["auc", "r2"] | None = Field(description="area under the ROC curve, or share of variance explained")
    gate: Estimate = Field(description="what the world must reach; null for nuisances")
    met: bool | None
    visibility: str = Field(description="which pictures show the attribute")
    reason: str = Field(description="why there is no value; empty where there is one")
