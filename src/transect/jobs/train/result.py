"""What a training leaves: the file of the network, the figures of its last step, and all steps' figures as a table."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar, final

import pyarrow as pa

from transect.reports import builder
from transect.reports.blocks import Picture, TextTable, short_page
from transect.runs.result import JobResult


@final
@dataclass(frozen=True, slots=True)
class GanNumbers:
    """generator: the file that `transect.generators.load` opens. last: the last step's figures.

    A figure is None where it is not finite, or not measured in every step.
    """

    generator: str
    images: int
    steps: int
    last: Mapping[str, float | None]


@final
@dataclass(frozen=True, slots=True)
class EncoderNumbers:
    """encoder: the file that `transect invert --encoder` takes. Distances are mean lengths in the latent space."""

    encoder: str
    images: int
    steps: int
    distance: float | None
    held_out_distance: float | None


@final
@dataclass(frozen=True, slots=True)
class ClassifierNumbers:
    """classifier: the card that `transect audit classifier:FOLDER` opens. Figures of the last epoch.

    accuracy and error rates are of held-out subjects, at 0.5; the error rates are None for more than two classes.
    """

    classifier: str
    epoch: int
    rate: float
    training_loss: float
    held_out_loss: float
    accuracy: float
    false_positive_rate: float | None = None
    false_negative_rate: float | None = None


class TrainingResult(JobResult):
    """The result of a training in a folder, which holds states, sheets and the trained network."""

    folder: Path

    @property
    @abstractmethod
    def model(self) -> Path:
        """The trained network's file."""

    @property
    @abstractmethod
    def history(self) -> pa.Table:
        """A row per step or epoch."""

    @property
    def table(self) -> pa.Table:
        """The history."""
        return self.history

    def report(self, path: str | Path) -> Path:
        """Write `report.html` with the last figures and the latest sheet of samples into a folder."""
        headings, rows = self.rows()
        sheets = sorted((self.folder / "sheets").glob("*.png"))
        pictures = [Picture(sheet.read_bytes(), f"Samples after {int(sheet.stem):,} images") for sheet in sheets[-1:]]
        table = TextTable("Last figures", headings, rows)
        return builder.write(
            short_page(f"Training: {self.model.stem}", self.headline(), [table], pictures), Path(path) / "report.html"
        )

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """The file and the last figures."""
        entries = [(field.name, getattr(self.numbers, field.name)) for field in fields(self.numbers)]
        rows = []
        for name, value in entries:
            figures = value.items() if isinstance(value, Mapping) else [(name, value)]
            rows += [[key.replace("_", " "), _text(figure)] for key, figure in figures]
        return ["figure", "value"], rows


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}" if math.isfinite(value) else "not finite"
    if isinstance(value, int):
        return f"{value:,}"
    return "-" if value is None else str(value)


@final
@dataclass(frozen=True)
class GanResult(TrainingResult):
    """The result of `transect.train_gan`."""

    JOB: ClassVar[str] = "train-gan"
    NUMBERS: ClassVar[type] = GanNumbers

    numbers: GanNumbers
    folder: Path

    @property
    def model(self) -> Path:
        """The generator's file."""
        return Path(self.numbers.generator)

    @property
    def history(self) -> pa.Table:
        """A row per step: step, shown, losses."""
        return steps_of(self.folder)

    def headline(self) -> str:
        """How many images it was shown."""
        return f"Generator trained on {self.numbers.images:,} images: {self.model}"


@final
@dataclass(frozen=True)
class EncoderResult(TrainingResult):
    """The result of `transect.train_encoder`."""

    JOB: ClassVar[str] = "train-encoder"
    NUMBERS: ClassVar[type] = EncoderNumbers

    numbers: EncoderNumbers
    folder: Path

    @property
    def model(self) -> Path:
        """The encoder's file."""
        return Path(self.numbers.encoder)

    @property
    def history(self) -> pa.Table:
        """A row per step: step, shown, distances."""
        return steps_of(self.folder)

    def headline(self) -> str:
        """How far it is from the true latents."""
        return f"Encoder trained on {self.numbers.images:,} images: {self.model}"


@final
@dataclass(frozen=True)
class ClassifierResult(TrainingResult):
    """The result of `transect.train_classifier`."""

    JOB: ClassVar[str] = "train-classifier"
    NUMBERS: ClassVar[type] = ClassifierNumbers

    numbers: ClassifierNumbers
    folder: Path

    @property
    def model(self) -> Path:
        """The card of the classifier."""
        return Path(self.numbers.classifier)

    @property
    def history(self) -> pa.Table:
        """A row per epoch: losses, accuracy and error rates."""
        return epochs_of(self.folder)

    def headline(self) -> str:
        """The held-out accuracy."""
        return f"Classifier with held-out accuracy {self.numbers.accuracy:.3f}: {self.model}"


def epochs_of(folder: Path) -> pa.Table:
    """The figures of every epoch of a classifier's training."""
    from pyarrow import csv

    from transect.training.classifier import METRICS

    return csv.read_csv(folder / METRICS)


def steps_of(folder: Path) -> pa.Table:
    """The figures of every step that a training wrote down."""
    from pyarrow import json

    from transect.training.loop import METRICS

    file = folder / METRICS
    return json.read_json(file) if file.exists() and file.stat().st_size else pa.table({"step": [], "shown": []})


def last_row(history: pa.Table) -> dict[str, float | None]:
    """The figures of the last step or epoch; none where the history was lost."""
    rows: list[dict[str, float | None]] = history.slice(max(history.num_rows - 1, 0)).to_pylist()
    return dict(rows[-1]) if rows else {}
