"""Train a ResNet to predict an attribute, for: transect audit classifier:OUT. Rerun the command to resume."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, asdict, dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar, final

import numpy as np
import pyarrow as pa

from transect.job import Content, Job, Option, function
from transect.reports.trainings import figures_table
from transect.training.options import ClassifierOptions, Device, PicturesSource, Population
from transect.training.pictures import LABEL, Label, Pictures, count_of, source_of
from transect.training.schedules import Schedule, schedule_named


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


@final
@dataclass(frozen=True)
class TrainClassifier(Job[ClassifierNumbers]):
    """Train a ResNet to predict an attribute, for `transect.audit(["classifier:OUT"])`.

    source: faceworld, READER:PATH, pixels uint8 [n, h, h, 3], or an object that renders rows. label: an attribute with
    levels, a cut as "smile>0.5", or with pixels a class per picture (0, 1, ...; -1 for none). schedule: a name, or a
    record. Call again to resume after the last finished epoch. The table of the result has a row per epoch: losses,
    accuracy and error rates.

    Raises BadInput and UnknownName for settings that do not fit, and RunFolderError for a folder of another training.

    Sources: Balakrishnan et al. 2020, arXiv:2007.06570, §5.1; Denton et al. 2019, arXiv:1906.06439, §5.1.
    """

    OUT: ClassVar = None
    KEPT: ClassVar = False
    RESUMES_FROM: ClassVar = "finished parts"

    source: PicturesSource
    label: Annotated[
        str | Sequence[int] | np.ndarray,
        Option("Attribute to learn: with levels, or a cut, such as 'smile>0.5'; see: transect list attributes.", str),
    ]
    out: Annotated[str | Path, Option("The folder of states, metrics.csv and the classifier.", opens="write")]
    _: KW_ONLY
    schedule: Annotated[
        str | Schedule,
        Option("quick, balakrishnan-2020 or denton-2019.", str),
    ] = "quick"
    count: Annotated[int, Option("Pictures that FaceWorld draws; a data set is used whole.")] = 10_000
    population: Population = "balanced"
    seed: Annotated[int, Option("Seed of weights, order and who is held out.")] = 0
    device: Device = "cpu"
    options: ClassifierOptions = field(default_factory=ClassifierOptions)

    def place(self) -> None:
        """No page before one asks for it."""

    def compute(self) -> ClassifierNumbers:
        """Train, or go on."""
        from transect.training.classifier import Plan, train

        options, folder, label = self.options, Path(self.out), self.label
        names = ("architecture", "epochs", "batch", "balanced")
        changes = {"size": self.options.image_size, **{name: getattr(self.options, name) for name in names}}
        given = self.schedule
        chosen = schedule_named(given, **changes) if isinstance(given, str) else given.with_settings(**changes)
        classes = None if isinstance(label, str) else np.asarray(label)
        pictures = source_of(self.source, chosen.size, str(self.population), classes)
        learned = Label.parse(label if isinstance(label, str) else LABEL, pictures.attributes)
        how = options.precision, options.held_out, options.weights
        plan = Plan(chosen, learned, self.seed, self.device, *how)
        data = Pictures(pictures, count_of(pictures, self.count), folder / "pictures", quiet=self.quiet)
        card = train(data, plan, folder, quiet=self.quiet)
        return ClassifierNumbers(str(card), **self._epochs().to_pylist()[-1])

    def _epochs(self) -> pa.Table:
        from pyarrow import csv

        from transect.training.classifier import METRICS

        return csv.read_csv(Path(self.out) / METRICS)

    def content(self, numbers: ClassifierNumbers) -> Content:
        """The held-out accuracy, and the last figures."""
        table = figures_table(asdict(numbers))
        return Content(
            title=f"Training: {Path(numbers.classifier).stem}",
            answer=[f"Classifier with held-out accuracy {numbers.accuracy:.3f}: {numbers.classifier}"],
            table=table,
            rows=self._epochs,
            terminal=[table],
        )


train_classifier = function(TrainClassifier)
