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
