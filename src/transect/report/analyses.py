"""Analyses beyond effects and rates, as the page draws them: sections of figures and tables, all in `results.json`.

A figure has panels, a panel series, a series points. What cannot be estimated is null with its reason. Proportions are
fractions; `unit` says how a value is printed.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from transect.report.models import Count, Estimate, Model, Number

Unit = Literal["proportion", "points", "number"]
"""proportion: shown in per cent; points: a difference of proportions, in percentage points; number: as it is."""
Kind = Literal["curves", "bars", "rows", "violins", "scatter"]


class PointEntry(Model):
    """One value: its place on the axis (x, or a label), interval, what it rests on; null with a reason."""

    x: Estimate = None
    label: str = ""
    value: Estimate
    low: Estimate = None
    high: Estimate = None
    n: Count | None = Field(default=None, description="images or subjects; the figure's caption says which")
    reason: str = ""
    counts: list[Count] = Field(default=[], description="violins: images between the panel's edges")


class SeriesEntry(Model):
    """Points that belong together: one line of a figure's key."""

    name: str
    points: list[PointEntry]
    drawn: Literal["marks", "line"] = Field(default="marks", description="scatter: dots sized by n, or a line")


class PanelEntry(Model):
    """One pair of axes. edges: where the bins of violins end."""

    heading: str
    x_words: str = ""
    y_words: str
    unit: Unit = "number"
    series: list[SeriesEntry]
    edges: list[Number] = Field(default=[])

    @model_validator(mode="after")
    def _bins_fit(self) -> PanelEntry:
        for series in self.series:
            for point in series.points:
                if point.counts and len(point.counts) + 1 != len(self.edges):
                    raise ValueError(f"expected one count per bin, {len(self.edges) - 1}, got {len(point.counts)}")
        return self


class FigureEntry(Model):
    """Panels of one kind. curves: lines with bands over x; bars: by label; rows: dots by label; violins: by label.

    scatter: dots over x whose area grows with n, and lines.
    """

    kind: Kind
    title: str
    caption: str = ""
    same_axis: bool = Field(default=True, description="whether all panels share the vertical axis")
    panels: list[PanelEntry]


class TableEntry(Model):
    """Rows of texts and numbers; units: how each column's numbers are printed."""

    title: str
    columns: list[str]
    units: list[Unit | Literal["count", "p", "text"]]
    rows: list[list[str | Number | None]]

    @model_validator(mode="after")
    def _rows_fit(self) -> TableEntry:
        for length in [len(self.units), *(len(row) for row in self.rows)]:
            if length != len(self.columns):
                raise ValueError(f"table {self.title}: expected {len(self.columns)} cells, got {length}")
        return self


class SectionEntry(Model):
    """One analysis. key: its place among the kinds of sections; study, target: "" where it is about several."""

    key: str
    study: str = ""
    target: str = ""
    title: str
    text: list[str] = Field(default=[], description="paragraphs that say what was done and what it rests on")
    warnings: list[str] = Field(default=[])
    figures: list[FigureEntry] = Field(default=[])
    tables: list[TableEntry] = Field(default=[])
    sources: list[str] = Field(default=[])
