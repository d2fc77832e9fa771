"""What a training leaves: the file of the network, the figures of its last step, and all steps' figures as a table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, final

import pyarrow as pa

from transect.reports.blocks import Picture, TextTable
from transect.reports.builder import ShortPageResult
from transect.runs.result import Numbers_co
from transect.runs.wording import counted, spaced

JUDGE: Final = (
    "Conditions are judged by the network that ships, which learned from FaceWorld and took no part in this training. "
    "It errs too: the last column is how often it reads FaceWorld's own pictures of the same size as they are."
)


@final
@dataclass(frozen=True, slots=True)
class ConditionShare:
    """Of `pictures` pictures made with a level of a condition, the share that the shipped network reads so.

    low, high: Wilson's 95 % interval over pictures. own: the same share of FaceWorld's own pictures of that level, NaN
    for another source. NaN with a `reason` where the network does not read the attribute.
    """

    condition: str
    level: str
    pictures: int
    share: float
    low: float
    high: float
    own: float
    reason: str


@final
@dataclass(frozen=True, slots=True)
class GanNumbers:
    """generator: the file that `transect.generators.load` opens. last: the last step's figures. conditions: of a
    conditional GAN, how often each level is obeyed.

    A figure is None where it is not finite, or not measured in every step.
    """

    generator: str
    images: int
    steps: int
    last: Mapping[str, float | None]
    conditions: tuple[ConditionShare, ...] = ()


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


@dataclass(frozen=True)
class TrainingResult(ShortPageResult[Numbers_co]):
    """The result of a training in a folder, which holds states, sheets and the trained network."""

    TABLE: ClassVar[str] = "Last figures"

    folder: Path

    @property
    def model(self) -> Path:
        """The trained network's file: the first of the numbers."""
        return Path(next(iter(self.to_json().values())))

    @property
    def table(self) -> pa.Table:
        """The history: a row per step with step, shown and losses."""
        return steps_of(self.folder)

    def title(self) -> str:
        """What was trained."""
        return f"Training: {self.model.stem}"

    def pictures(self) -> Sequence[Picture]:
        """The latest sheet of samples."""
        sheets = sorted((self.folder / "sheets").glob("*.png"))[-1:]
        return [Picture(sheet.read_bytes(), f"Samples after {counted(int(sheet.stem), 'image')}") for sheet in sheets]

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """The file and the last figures."""
        rows = []
        for name in self.to_json():
            value = getattr(self.numbers, name)
            if isinstance(value, tuple):
                continue  # a table of its own
            figures = value.items() if isinstance(value, Mapping) else [(name, value)]
            rows += [[spaced(key), _text(figure)] for key, figure in figures]
        return ["figure", "value"], rows


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}" if math.isfinite(value) else "not finite"
    if isinstance(value, int):
        return f"{value:,}"
    return "-" if value is None else str(value)


def _share(row: ConditionShare) -> str:
    if not math.isfinite(row.share):
        return f"not estimable: {row.reason}"
    return f"{_percent(row.share)} [{100 * row.low:.0f}, {100 * row.high:.0f}]"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if math.isfinite(share) else "-"


@final
@dataclass(frozen=True)
class GanResult(TrainingResult[GanNumbers]):
    """The result of `transect.train_gan`. model: the generator's file; folder: of states and sheets."""

    JOB: ClassVar[str] = "train-gan"

    def tables(self) -> Sequence[TextTable]:
        """The last figures, and of a conditional GAN the conditions obeyed."""
        obeyed = (
            [TextTable("Conditions obeyed", *self.conditions(), numbers=(2, 3, 4))] if self.numbers.conditions else []
        )
        return [*super().tables(), *obeyed]

    def conditions(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """How often the shipped network reads each level as it was asked for."""
        rows = [
            (row.condition, row.level, str(row.pictures), _share(row), _percent(row.own))
            for row in self.numbers.conditions
        ]
        return ("condition", "level", "pictures", "read as asked", "FaceWorld's own, read so"), rows

    def notes(self) -> Sequence[str]:
        """Who judges the conditions."""
        return [JUDGE] if self.numbers.conditions else []

    def headline(self) -> str:
        """How many images it was shown."""
        return f"Generator trained on {counted(self.numbers.images, 'image')}: {self.model}"


@final
@dataclass(frozen=True)
class EncoderResult(TrainingResult[EncoderNumbers]):
    """The result of `transect.train_encoder`. model: the encoder's file; folder: of states and sheets."""

    JOB: ClassVar[str] = "train-encoder"

    def headline(self) -> str:
        """How many images it was shown."""
        return f"Encoder trained on {counted(self.numbers.images, 'image')}: {self.model}"


@final
@dataclass(frozen=True)
class ClassifierResult(TrainingResult[ClassifierNumbers]):
    """The result of `transect.train_classifier`. model: the classifier's card; folder: of states."""

    JOB: ClassVar[str] = "train-classifier"

    @property
    def table(self) -> pa.Table:
        """The history: a row per epoch with losses, accuracy and error rates."""
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
