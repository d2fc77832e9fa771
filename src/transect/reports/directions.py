"""What fits of directions found: figures of every attribute, and what to beware of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Final, final

import numpy as np
import pyarrow as pa

from transect.controls.directions import LEAK, Direction, angles, labelled_by_a_model
from transect.controls.learned import LINEAR, FittedDirections, write_directions
from transect.errors import BadInput, RunFolderError
from transect.reports.columns import Column, Table, decimals, significant
from transect.reports.content import Content
from transect.runs import model_files
from transect.runs.json_records import hidden, plain
from transect.runs.result import Unwritten
from transect.runs.wording import counted
from transect.texts import words_of

LOWEST_ACCURACY: Final = 0.6
LOWEST_R2: Final = 0.1
CLOSE: Final = 15.0
"""Degrees between two normals below which setting one attribute alone takes a long step."""
_MOST_NAMED: Final = 3


@final
@dataclass(frozen=True, slots=True)
class DirectionNumbers:
    """One attribute's fit; None where a figure does not apply or is unknown.

    quality: on held-out labels, balanced accuracy or R². offset, slope, mean: as of a `Direction`. low, high: the
    middle 99 %; shown_low, shown_high: between them labels see little and much of the attribute. of_a_model: the labels
    are a model's answers. origin: labels, method, penalty, what was balanced, seed.
    """

    name: str
    kind: str
    quality: float | None
    quality_measure: str
    labels: int
    held_out: int
    low: float
    high: float
    shown_low: float | None
    shown_high: float | None
    of_a_model: bool
    origin: Mapping[str, object]
    offset: float
    slope: float | None
    mean: float


@final
@dataclass(frozen=True, slots=True)
class DirectionsNumbers:
    """All attributes' fits. out, sha256: of the file, if written; out is reference for the shipped ones.

    fitted: the directions themselves, whose `controls()` read and set along them.
    """

    out: str
    kind: str
    sha256: str
    space: str
    origin: Mapping[str, object]
    attributes: tuple[DirectionNumbers, ...]
    dimensions: int
    condition_number: float
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    fitted: Annotated[FittedDirections, Unwritten()] = hidden(FittedDirections((), ""))

    @classmethod
    def of(cls, fitted: FittedDirections, notes: Sequence[str], out: str = "") -> DirectionsNumbers:
        """Figures and warnings of fitted directions. notes: what was averaged or left out among the labels."""
        normals = np.array([entry.normal for entry in fitted.directions])
        return cls(
            out=out,
            kind=LINEAR,
            sha256=fitted.sha256,
            space=fitted.space,
            origin=fitted.origin,
            attributes=tuple(_numbers(entry) for entry in fitted.directions),
            dimensions=normals.shape[1],
            condition_number=float(np.linalg.cond(normals)),
            warnings=tuple(warnings_of(fitted)),
            notes=tuple(notes),
            fitted=fitted,
        )

    @classmethod
    def kept(cls, fitted: FittedDirections, notes: Sequence[str], out: str | Path | None) -> DirectionsNumbers:
        """The same of directions that are written as safetensors to `out`, where there is one."""
        if out is None:
            return cls.of(fitted, notes)
        try:
            write_directions(Path(out), fitted)
        except RunFolderError as error:
            raise BadInput(f"{out}: cannot be written: {words_of(error)}") from None
        return cls.of(replace(fitted, sha256=model_files.sha256(Path(out))), notes, str(out))

    def headline(self) -> str:
        """How many directions, of which space and generator."""
        described = self.origin.get("generator")
        name = described.get("name", "unknown") if isinstance(described, Mapping) else "unknown"
        return f"{counted(len(self.attributes), 'direction')} in space {self.space} of {name}"

    def content(self, title: str) -> Content:
        """The figures of every attribute."""
        table = Table("Attributes", self.attributes, COLUMNS)
        return Content(
            title=title,
            answer=[self.headline()],
            remarks=self.notes,
            warnings=[f"Warning: {warning}" for warning in self.warnings],
            table=table,
            rows=self.rows(),
            terminal=[table, *self.notes, f"{self.out}: {self.headline()}"],
        )

    def rows(self) -> pa.Table:
        """A row for each attribute, with its figures but the origin."""
        entries = [dict(plain(entry)) for entry in self.attributes]
        return pa.Table.from_pylist([{key: entry[key] for key in entry if key != "origin"} for entry in entries])


def _balanced(entry: DirectionNumbers) -> str:
    balanced = entry.origin.get("balanced_on")
    return ", ".join(balanced) if isinstance(balanced, list | tuple) and balanced else "–"


def _quality(entry: DirectionNumbers) -> str:
    return "unknown" if entry.quality is None else f"{entry.quality_measure} {decimals(entry.quality)}"


def _range(low: float | None, high: float | None) -> str:
    return "unknown" if low is None else f"{significant(low)} to {significant(high)}"


COLUMNS: Final[Sequence[Column[DirectionNumbers]]] = (
    Column("attribute", "name"),
    Column("kind", "kind"),
    Column("method", lambda entry: entry.origin.get("method", "")),
    Column("labels", lambda entry: f"{entry.labels:,} ({entry.held_out:,} held out)", "figure"),
    Column("balanced on", _balanced),
    Column("quality", _quality, "figure"),
    Column("offset", lambda entry: decimals(entry.offset), "figure"),
    Column("range", lambda entry: _range(entry.low, entry.high), "figure"),
    Column("seen between", lambda entry: _range(entry.shown_low, entry.shown_high), "figure"),
)


def check_safetensors(path: str | Path | None) -> None:
    """Raises BadInput for a file to write with another ending."""
    ending = ".safetensors" if path is None else Path(path).suffix
    if ending != ".safetensors":
        raise BadInput(f"{path}: expected a file to write that ends in .safetensors, got {ending or 'no ending'}")


def _numbers(entry: Direction) -> DirectionNumbers:
    """The figures of the direction by the same names, None for those that are unknown."""
    names = [field.name for field in fields(DirectionNumbers) if field.name != "of_a_model"]
    figures = {name: getattr(entry, name) for name in names}
    unknown = {name: None for name in ("quality", "shown_low", "shown_high", "slope") if np.isnan(figures[name])}
    return DirectionNumbers(**{**figures, **unknown, "of_a_model": labelled_by_a_model(entry.origin)})


def warnings_of(fitted: FittedDirections) -> list[str]:
    """What users of the directions should know: labels of a model, poor fits, attributes that are hard to separate."""
    warnings = []
    if from_models := [entry for entry in fitted.directions if labelled_by_a_model(entry.origin)]:
        sources = ", ".join(dict.fromkeys(str(entry.origin["labels"]) for entry in from_models))
        names = ", ".join(entry.name for entry in from_models)
        warnings.append(f"{names}: labels are a model's ({sources}): {LEAK}")
    for entry in fitted.directions:
        measure = entry.quality_measure
        if lost := entry.origin.get("without_latents"):
            warnings.append(
                f"{entry.name}: {lost:,} labelled rows without finite latents (failed inversions) are left out"
            )
        lowest = LOWEST_R2 if measure == "R2" else LOWEST_ACCURACY
        if not np.isfinite(entry.quality):
            warnings.append(f"{entry.name}: no labels measure it; have people rate images along it: transect annotate")
            continue
        if not entry.quality >= lowest:
            warnings.append(
                f"{entry.name}: held-out {measure} is {entry.quality:.2f}, below {lowest:g}: another attribute may"
                " move along this direction"
            )
        if not np.isfinite(entry.shown_low):
            warnings.append(f"{entry.name}: held-out labels do not follow the direction; levels cover its whole range")
    return [*warnings, *_close(fitted.directions)]


def _close(directions: Sequence[Direction]) -> list[str]:
    normals = np.array([direction.normal for direction in directions])
    between = angles(normals)
    apart = np.minimum(between, 180 - between)
    pairs = [(apart[i, j], i, j) for i in range(len(directions)) for j in range(i) if apart[i, j] < CLOSE]
    condition = float(np.linalg.cond(normals))
    return [
        f"{directions[j].name} and {directions[i].name} are {degrees:.0f} degrees apart (condition number of all"
        f" {condition:.1f}): setting one alone takes a long step in the latent space"
        for degrees, i, j in sorted(pairs)[:_MOST_NAMED]
    ]
