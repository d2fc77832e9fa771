"""What a page is made of besides effects and rates: sections of figures and tables, and pictures of the run.

A figure has panels, a panel series, a series points. What cannot be estimated is None with its reason. Proportions are
fractions; `unit` says how a value is printed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Final, Literal, final, get_args

from pydantic import ConfigDict, Field

from transect.errors import BadInput

Count = Annotated[int, Field(ge=0)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Estimate = Number | None
Unit = Literal["proportion", "points", "number"]
"""proportion: shown in per cent; points: a difference of proportions, in percentage points; number: as it is."""
ColumnUnit = Literal["proportion", "points", "number", "count", "p", "text"]
_COLUMN_UNITS: Final[tuple[ColumnUnit, ...]] = get_args(ColumnUnit)
PageName = Literal["findings", "numbers"]
FigureKind = Literal["curves", "bars", "rows", "violins", "scatter"]


class Record:
    """Base of the records of `results.json`: read back without unknown keys."""

    __slots__ = ()
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Point(Record):
    """One value: its position on the axis (x, or a label), its interval and n; None with a reason.

    n: images or subjects, as the figure's caption says. counts: images between the edges of a panel of violins.
    """

    x: Estimate = None
    label: str = ""
    value: Estimate
    low: Estimate = None
    high: Estimate = None
    n: Count | None = None
    reason: str = ""
    counts: Sequence[Count] = ()


@final
@dataclass(frozen=True, slots=True)
class Series(Record):
    """Points that belong together: one entry of a figure's key. drawn: in a scatter, dots sized by n or a line."""

    name: str
    points: Sequence[Point]
    drawn: Literal["marks", "line"] = "marks"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Panel(Record):
    """One pair of axes. edges: of the bins of violins, one more than there are counts."""

    heading: str
    x_words: str = ""
    y_words: str
    unit: Unit = "number"
    series: Sequence[Series]
    edges: Sequence[Number] = ()

    def __post_init__(self) -> None:
        for series in self.series:
            for point in series.points:
                if point.counts and len(point.counts) + 1 != len(self.edges):
                    raise ValueError(f"expected one count per bin, {len(self.edges) - 1}, got {len(point.counts)}")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Figure(Record):
    """Panels of one kind. curves: lines with bands over x; bars, rows (dots) and violins: by label.

    scatter: dots over x whose area grows with n, and lines. same_axis: all panels share the vertical axis. folded: the
    page shows it on request.
    """

    kind: FigureKind
    title: str
    caption: str = ""
    same_axis: bool = True
    folded: bool = False
    panels: Sequence[Panel]


@final
@dataclass(frozen=True, slots=True)
class Table(Record):
    """Rows of texts and numbers; units: how each column's numbers are printed.

    shaded: numbers are from -1 to 1; their size is the shade of their cell, and their sign its color, as in a matrix.
    """

    title: str
    columns: Sequence[str]
    units: Sequence[ColumnUnit]
    rows: Sequence[Sequence[str | Number | None]]
    shaded: bool = False

    def __post_init__(self) -> None:
        for length in [len(self.units), *(len(row) for row in self.rows)]:
            if length != len(self.columns):
                raise ValueError(f"table {self.title}: expected {len(self.columns)} cells, got {length}")


def column_unit(name: str) -> ColumnUnit:
    """The unit of a table's column by its name. Raises ValueError for another."""
    return _COLUMN_UNITS[_COLUMN_UNITS.index(name)]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Section(Record):
    """One analysis. key: its kind; study, target: "" where it is about several.

    group: the heading that sections share which stand together, such as those on one question; "" of one that stands
    alone. page: that of findings, or that of all numbers. text: paragraphs that say what was done and what it rests on.
    sources: works that the methods are taken from.
    """

    key: str
    study: str = ""
    target: str = ""
    title: str
    group: str = ""
    page: PageName = "findings"
    text: Sequence[str] = ()
    warnings: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    sources: Sequence[str] = ()


@final
@dataclass(frozen=True, slots=True)
class RatedPicture:
    """One image of the page on raters: what they answered, and why it is left out ("" where it is not)."""

    study: str
    id: str
    answer_text: str
    left_out: str = ""


@final
@dataclass(frozen=True, slots=True)
class PictureGroup:
    """Images under one label."""

    label: str
    pictures: Sequence[RatedPicture]


@final
@dataclass(frozen=True, slots=True)
class PictureGallery:
    """Groups of images, side by side by score or one below the other."""

    title: str
    text: str
    layout: Literal["by-score", "rows"]
    groups: Sequence[PictureGroup]


@final
@dataclass(frozen=True, slots=True)
class RaterPage:
    """The page on raters. facts: counts by name, None where not known."""

    title: str
    facts: Mapping[str, int | None]
    sections: Sequence[Section]
    galleries: Sequence[PictureGallery]
    galleries_left_out: int = 0


Box = tuple[float, float, float, float]
"""x0, y0, x1, y1 in pixels of the image."""

_PNG = b"\x89PNG\r\n\x1a\n"


@final
@dataclass(frozen=True, slots=True)
class Example:
    """One image of a run and the target's answer on it.

    png: the image as it was stored. boxes: what a detector drew; expected_box: where the renderer put the face.
    failed: there is no valid answer (then `answer` is the reason); wrong: the answer differs from the truth.
    answer_yes: whether the answer is yes, None where the task has none or it failed.

    Raises BadInput when `png` is not a PNG image.
    """

    study: str
    target: str
    subject: int
    cell: Mapping[str, float]
    png: bytes = field(repr=False)
    answer: str
    boxes: tuple[Box, ...] = ()
    expected_box: Box | None = None
    failed: bool = False
    wrong: bool = False
    answer_yes: bool | None = None

    def __post_init__(self) -> None:
        if self.png[:8] != _PNG or self.png[12:16] != b"IHDR":
            raise BadInput(f"example of subject {self.subject}: expected a PNG image, got {self.png[:8]!r}")

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels, from the PNG header."""
        return int.from_bytes(self.png[16:20], "big"), int.from_bytes(self.png[20:24], "big")


@final
@dataclass(frozen=True, slots=True)
class Strip:
    """One transect: the images of one subject over the levels of an attribute, in order."""

    title: str
    examples: tuple[Example, ...]

    def __post_init__(self) -> None:
        if not self.examples:
            raise BadInput(f"strip {self.title!r}: expected at least one example, got none")
        if len({(example.study, example.target) for example in self.examples}) > 1:
            raise BadInput(f"strip {self.title!r}: expected one study and one target, got several")


@final
@dataclass(frozen=True, slots=True)
class MeanFace:
    """Mean pictures of one group's right and wrong answers (PNG, None without one), and how many answers they are of.

    measure: what is right or wrong; by, group: the condition and the group, "" for all images.
    """

    study: str
    target: str
    measure: str
    by: str
    group: str
    right: int
    wrong: int
    right_png: bytes | None = field(default=None, repr=False)
    wrong_png: bytes | None = field(default=None, repr=False)


@final
@dataclass(frozen=True, slots=True)
class Gallery:
    """The examples of a report. failures_total: how many images failed or were wrong, if more than are given here.

    flips: images two by two, a subject's own and one on which the answer is another; a strip per attribute and way.
    faces: mean faces of right and wrong answers, by study, target and measure.
    """

    strips: tuple[Strip, ...] = ()
    failures: tuple[Example, ...] = ()
    failures_total: int | None = None
    flips: tuple[Strip, ...] = ()
    faces: tuple[MeanFace, ...] = ()

    def __post_init__(self) -> None:
        for strip in self.flips:
            if len(strip.examples) % 2:
                raise BadInput(f"flips {strip.title!r}: expected pairs of examples, got {len(strip.examples)}")

    @property
    def total(self) -> int:
        """How many images failed or were wrong in all; never fewer than are given."""
        return max(len(self.failures), self.failures_total or 0)
