"""What fitting twins found: how many photographs have one, what is left between the two, and the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, final

import numpy as np
import pyarrow as pa

from transect.datasets.labelled import LabelledImages
from transect.inversion.twin_pictures import NAMES, SIGNED
from transect.inversion.twin_rows import latents_of_rows, rows_of_twins
from transect.records import Latents
from transect.reports.blocks import Answer, Block, Page, Paragraph, Part, Picture, TextTable, summary
from transect.reports.environment import decimals
from transect.reports.short_page import ShortPageResult
from transect.runs.wording import counted

UNITS: Final = {"tilt": "°", "ita": "°", "lightness": " L*", "side_light": " L*"}
"""Of points in distances between the eyes; of colors 0 to 1."""
WORDS: Final = {
    "points": "points",
    "jaw": "jaw",
    "brows": "brows",
    "nose": "nose",
    "eyes": "eyes",
    "mouth": "mouth",
    "tilt": "tilt",
    "ita": "tone (ITA)",
    "lightness": "lightness",
    "side_light": "side light",
    "color": "color",
}
APART: Final = 3.0
"""Tones of Monk's scale between two that fit as well, from which a photograph does not tell its tone."""
_GROUPS: Final = 6
"""The most values of a label whose groups are listed."""
NOT_SHOWN: Final = (
    "A twin is not the person. Pose, proportions, tone and light are fitted; hair, clothes, glasses and background are "
    "those of an average subject, and no residual sees them. A small residual does not say that a model takes the two "
    "for alike: ask it."
)
_HEADINGS: Final = ("residual", "median size", "median", "largest", "of")
_CAPTION: Final = (
    "Points in distances between the eyes (all: root mean square; parts: mean), tilt of the line between the eyes, "
    "ITA, L* and color of the skin, L* of the right cheek less that of the left. With a sign: twin minus photograph."
)
_SHEET: Final = (
    "Photograph, twin, and the difference: grey where both are equal, light where the twin is lighter. From the "
    "smallest to the largest residual of points, evenly; the number is in distances between the eyes. Both are grey "
    "where the photograph ends."
)


@final
@dataclass(frozen=True, slots=True)
class ResidualSummary:
    """One residual over all twins: median of sizes, median with sign, and the largest, with its photograph's id."""

    name: str
    size: float
    median: float
    largest: float
    worst: str


@final
@dataclass(frozen=True, slots=True)
class TwinGroup:
    """Photographs of one level of a label: how many, how many have no twin, and the median residual of points."""

    label: str
    level: str
    photographs: int
    left_out: int
    points: float


@final
@dataclass(frozen=True, slots=True)
class TwinsNumbers:
    """The summary of a run of twins. left_out: reason -> photographs. at_bounds: setting -> twins at an end of it.
    tone_open: photographs to which tones fit as well that lie APART or more.

    pictures: a table for `--dataset parquet:`, both pictures of each pair; pairs: their rows there. notes: what a data
    set says.
    """

    out: str
    photographs: int
    fitted: int
    left_out: Mapping[str, int]
    marks: str
    size: int
    residuals: tuple[ResidualSummary, ...]
    groups: tuple[TwinGroup, ...]
    at_bounds: Mapping[str, int]
    tone_open: int
    pictures: str
    pairs: str
    sheet: str


@final
@dataclass(frozen=True, slots=True)
class TwinsResult(ShortPageResult[TwinsNumbers]):
    """The result of `transect.fit_twins`. table: a row per photograph; latents: of the twins."""

    JOB: ClassVar[str] = "twins"
    TITLE: ClassVar[str] = "Rendered twins of photographs"
    TABLE: ClassVar[str] = "What is left between photograph and twin"

    @property
    def table(self) -> pa.Table:
        """id, reason, confidence, residuals, place, settings, identity code, points, both pictures (PNG)."""
        return rows_of_twins(Path(self.numbers.out))

    @property
    def latents(self) -> tuple[tuple[str, ...], Latents]:
        """Ids of the photographs with a twin, and the latents that FaceWorld renders, at any size."""
        return latents_of_rows(self.table)

    def headline(self) -> str:
        """How many photographs have a twin, and how many are left out."""
        numbers = self.numbers
        have = "has" if numbers.fitted == 1 else "have"
        return f"{numbers.fitted:,} of {counted(numbers.photographs, 'photograph')} {have} a rendered twin"

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """The residuals."""
        return _HEADINGS, [
            [
                WORDS[each.name],
                _number(each.name, each.size),
                _signed(each.name, each.median) if each.name in SIGNED else "–",
                _signed(each.name, each.largest) if each.name in SIGNED else _number(each.name, each.largest),
                each.worst,
            ]
            for each in self.numbers.residuals
        ]

    def notes(self) -> Sequence[str]:
        """Who is left out and why, settings at an end of their range, and what a twin is not."""
        numbers = self.numbers
        reasons = "; ".join(f"{reason} ({count:,})" for reason, count in numbers.left_out.items())
        said = [f"Left out: {reasons}."] if reasons else []
        if numbers.at_bounds:
            ends = ", ".join(f"{name.replace('_', ' ')} of {count:,}" for name, count in numbers.at_bounds.items())
            said.append(f"Settings that stopped at the end of their range: {ends}. There the photograph goes beyond.")
        if numbers.tone_open:
            said.append(
                f"The tone of the skin is open on {numbers.tone_open:,} of {numbers.fitted:,}: tones {APART:g} or more"
                " apart fit as well, since colors alone do not tell dark skin in much light from light skin in little."
            )
        return [*said, NOT_SHOWN]

    def lines(self) -> Sequence[str]:
        """The notes, and where the files are."""
        numbers = self.numbers
        places = [("pictures", numbers.pictures), ("pairs", numbers.pairs), ("sheet", numbers.sheet)]
        return [*self.notes(), *(f"{name}: {place}" for name, place in places if numbers.fitted)]

    def page(self) -> Page:
        """What the page shows, the residuals first."""
        numbers = self.numbers
        answers = [f"{self.headline()}, {sum(numbers.left_out.values()):,} left out."]
        points = next((each for each in numbers.residuals if each.name == "points"), None)
        if points is not None and numbers.fitted:
            answers.append(
                f"Points lie {decimals(points.size)} distances between the eyes apart (median; at most "
                f"{decimals(points.largest)}, {points.worst})."
            )
        table = TextTable(self.TABLE, *self.rows(), "", (1, 2, 3))
        parts = [Part("residuals", self.TABLE, (Paragraph(_CAPTION, "fine"), table))]
        if numbers.groups:
            parts.append(Part("groups", "By label", tuple(self._by_label())))
        if numbers.fitted:
            parts.append(Part("sheet", "Pictures", (Picture(Path(numbers.sheet).read_bytes(), _SHEET),)))
        return Page(self.title(), (summary(Answer(answers, self.notes())), *parts))

    def _by_label(self) -> Sequence[Block]:
        rows = [
            [group.label, group.level, f"{group.photographs:,}", f"{group.left_out:,}", _number("points", group.points)]
            for group in self.numbers.groups
        ]
        headings = ("label", "level", "photographs", "no twin", "points")
        said = (
            "If a group loses more photographs, or is fitted worse, comparisons are about the rest of it. Points: the "
            "median residual, in distances between the eyes."
        )
        return Paragraph(said), TextTable("Twins by label", headings, rows, "", (2, 3, 4))


def _number(name: str, value: float) -> str:
    if not np.isfinite(value):
        return "unknown"
    return f"{value:.1f}{UNITS[name]}" if name in UNITS else decimals(value)


def _signed(name: str, value: float) -> str:
    if not np.isfinite(value):
        return "unknown"
    return f"{value:+.1f}{UNITS[name]}"


def summaries(fitted: pa.Table) -> tuple[ResidualSummary, ...]:
    """Of the rows that have a twin; NaN and no id where there are none."""
    found = []
    ids = fitted["id"].to_pylist()
    for name in NAMES:
        values = fitted[name].to_numpy().astype(np.float64)
        known = np.isfinite(values)
        if not known.any():
            found.append(ResidualSummary(name, np.nan, np.nan, np.nan, ""))
            continue
        worst = int(np.argmax(np.where(known, np.abs(values), -1.0)))
        size, median = float(np.median(np.abs(values[known]))), float(np.median(values[known]))
        found.append(ResidualSummary(name, size, median, float(values[worst]), ids[worst]))
    return tuple(found)


def groups_of(labelled: LabelledImages | None, table: pa.Table) -> tuple[TwinGroup, ...]:
    """For each label with few values: photographs, those without a twin, and the median residual of points."""
    if labelled is None:
        return ()
    lacking = np.array([bool(reason) for reason in table["reason"].to_pylist()])
    points = table["points"].to_numpy()
    found = []
    for attribute in labelled.attributes:
        values = labelled.column(attribute.name)
        levels = np.unique(values[np.isfinite(values)])
        if 1 < len(levels) <= _GROUPS:
            for level in levels.tolist():
                rows = values == level
                known = points[rows & ~lacking]
                median = float(np.median(known)) if len(known) else float("nan")
                left = int((rows & lacking).sum())
                found.append(TwinGroup(attribute.name, attribute.label(level), int(rows.sum()), left, median))
    return tuple(found)


def tone_open(fitted: pa.Table) -> int:
    """Twins with tones that fit as well and lie APART or more."""
    span = fitted["tone_high"].to_numpy().astype(np.float64) - fitted["tone_low"].to_numpy().astype(np.float64)
    return int((span >= APART).sum())


def left_out_of(table: pa.Table, before: Mapping[str, int]) -> dict[str, int]:
    """Photographs without a twin by reason, most first. before: what the data set left out itself."""
    counts = Counter(before) + Counter(reason for reason in table["reason"].to_pylist() if reason)
    return dict(counts.most_common())
