"""Fit a direction per attribute, evaluate it on held-out labels, and write it.

Ridge regression for continuous attributes (R²), logistic regression or a linear support vector machine for binary ones
(balanced accuracy), on 80 % of the labels. With --latents, all inverted photographs are the subjects, and a table's
column id names them. Use the file with: transect audit --directions OUT.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar, Final, Literal, final

from transect.controls.directions import DECISION
from transect.controls.fitting import Labels, fit_linear
from transect.datasets import is_dataset
from transect.designs import population_design
from transect.errors import BadInput
from transect.experiment import opened_targets, worlds
from transect.experiment.direction_labels import (
    LabelledRows,
    from_table,
    from_target,
    from_truth,
    labels_of_photographs,
    name_of,
)
from transect.inversion.pictures import InvertedPhotographs
from transect.job import Content, Job, Option, function
from transect.protocols import Generator, Target
from transect.records import Latents
from transect.reports.directions import DirectionsNumbers, check_safetensors
from transect.runs.table_inputs import TableLike, as_names
from transect.targets import settings

TRUTH: Final = "truth"
_TARGET: Final = "target:"


@final
@dataclass(frozen=True, slots=True)
class TargetSettings:
    """How the answers of a target are read, as `transect.ModelSettings` says; None leaves each at its default."""

    task: Annotated[str | None, settings.TASK] = None
    preprocess: Annotated[Path | None, settings.PREPROCESS] = None
    classes: Annotated[Sequence[str] | None, settings.LABELS] = None
    positive: Annotated[str | None, settings.POSITIVE] = None
    threshold: Annotated[float | None, settings.THRESHOLD] = None
    output: Annotated[str | None, settings.OUTPUT] = None
    output_name: Annotated[str | None, settings.OUTPUT_NAME] = None
    isolate: Annotated[bool | None, settings.ISOLATE] = None

    def given(self) -> dict[str, object]:
        """Those that are not None, as `resolve_targets` takes them."""
        known = {each.name: getattr(self, each.name) for each in dataclasses.fields(self)}
        known["labels"] = known.pop("classes")
        return {name: value for name, value in known.items() if value is not None}


@final
@dataclass(frozen=True, slots=True)
class DirectionsOptions:
    """Settings that few fits change.

    labelled_by: who gave a table's labels, as "people", or "model:NAME" (reports then warn). population, image_size,
    device: of a generator given by name. target: how a target given as "target:SPEC" is read. values: of a continuous
    attribute, "label" (in the label's unit) or "decision" (the signed distance from the hyperplane, as Balakrishnan et
    al. 2020 state levels).
    """

    labelled_by: Annotated[str, Option("Source of a table's labels: people, or model:NAME (reports then warn).")] = ""
    population: Annotated[
        str | None, Option("FaceWorld's population: a built-in name or a TOML file.", default="balanced")
    ] = None
    image_size: Annotated[
        int | None,
        Option("Width and height of the images that a target is shown; default 128 or its own.", names=("--size",)),
    ] = None
    device: Annotated[str | None, Option("Where images are computed: cpu, cuda, cuda:1, …", default="cpu")] = None
    target: TargetSettings = field(default_factory=TargetSettings)
    values: Annotated[
        Literal["label", "decision"],
        Option(
            "For continuous attributes: label (in the label's unit), or decision (signed distance from the "
            "hyperplane, as for binary ones)."
        ),
    ] = "label"


@final
@dataclass(frozen=True)
class Directions(Job[DirectionsNumbers]):
    """Fit a direction per attribute to labels of a generator's subjects, and measure it on labels it did not see.

    generator: a name, a safetensors file or an object; faceworld means its latent view. labels: a table (a path, an
    Arrow table, a data frame or columns by name) with a column seed, subject or id and one per attribute; a data set
    as READER:PATH, by the ids of `latents`; "truth" where the generator knows it; a target (an object, or
    "target:SPEC"), whose answers are the labels; or `Labels`. attributes: what to fit, as "age" or compared,
    "smile>0.5" (default: every column of a table). balance: attributes in which a binary one's classes are made equal.

    80 % of the labels are fitted: ridge regression for continuous attributes (R²), logistic regression or a linear SVM
    for binary ones (balanced accuracy). Rows without a label are left out. `numbers.fitted` has the directions.
    Raises BadInput for too few labels, one class, or collinear attributes, UnknownName for an unknown attribute.

    Sources: Denton et al. 2019, arXiv:1906.06439, §3; Balakrishnan et al. 2020, arXiv:2007.06570, §4.1.1.
    """

    OUT: ClassVar = None
    KEPT: ClassVar = False

    generator: Annotated[
        str | Path | Generator,
        Option(
            "Whose latent space: faceworld (its latent view) or a network's FILE.safetensors.",
            str,
            opens="model",
            default="faceworld",
        ),
    ]
    labels: Annotated[
        TableLike | Target | Labels,
        Option(
            "truth (faceworld's own), a CSV or Parquet FILE (column seed, subject or id, and one per attribute; "
            "several rows of a subject are averaged), with --latents a data set READER:PATH (transect list datasets), "
            "or target:SPEC, whose answers are the labels.",
            str,
            opens="model",
        ),
    ]
    attributes: Annotated[
        str | Sequence[str],
        Option(
            "What to fit: NAME, or NAME compared with a value, such as 'smile>0.5' or 'hat==cap'; repeatable. Default: "
            "every column of a table. With target: the attribute that the target predicts.",
            names=("--attribute",),
        ),
    ] = ()
    _: KW_ONLY
    balance: Annotated[
        str | Sequence[str],
        Option("Balance a binary attribute's classes on this other one, such as 'face_shape>0.5'; repeatable."),
    ] = ()
    method: Annotated[
        str | None, Option("For binary attributes: logistic (default), svm or ridge; for continuous ones: ridge.")
    ] = None
    latents: Annotated[
        str | Path | None,
        Option("Inverted photographs as subjects; see: transect invert.", opens="data"),
    ] = None
    space: Annotated[str, Option("Latent space: the generator's own (z), or w or w+ of a StyleGAN2.")] = ""
    subjects: Annotated[int, Option("Subjects to label by truth or target; a table brings its own.")] = 2000
    seed: Annotated[int, Option("Seed of the subjects and of the held-out labels.")] = 0
    out: Annotated[
        str | Path | None,
        Option(
            "The safetensors file of directions to write.",
            Path,
            metavar="OUT",
            argument=True,
            opens="write",
            needed=True,
        ),
    ] = None
    options: DirectionsOptions = field(default_factory=DirectionsOptions)

    def place(self) -> None:
        """No page before one asks for it: `out` is a file."""

    def compute(self) -> DirectionsNumbers:
        """Label, fit and measure; write the file."""
        check_safetensors(self.out)
        attributes, balance = as_names(self.attributes), as_names(self.balance)
        options, given = self.options, self.generator
        name = str(given) if isinstance(given, Path) else given
        made = worlds.generator_of(name, options.image_size, options.population, options.device, learned=True)
        source = made if self.latents is None else InvertedPhotographs.open(made, self.latents)
        rows, labelled = self._labelled(source, attributes, balance)
        balanced = [name_of(text) for text in balance]
        names = [name_of(text) for text in attributes] or [name for name in labelled.columns if name not in balanced]
        signed = self.options.values == DECISION
        fitted = fit_linear(
            source, rows, labelled, names,
            balance=balanced, method=self.method, space=self.space, seed=self.seed, signed=signed,
        )  # fmt: skip
        return DirectionsNumbers.kept(fitted, labelled.notes, self.out)

    def _labelled(
        self, generator: Generator | InvertedPhotographs, attributes: Sequence[str], balance: Sequence[str]
    ) -> tuple[Latents, Labels]:
        labels = self.labels
        target = self._target()
        if target is not None or (isinstance(labels, str) and labels == TRUTH):
            return self._answered(generator, target, attributes, balance)
        known = self._read(generator, [*attributes, *balance] if attributes else [])
        return generator.sample(known.seeds), known

    def _target(self) -> Target | None:
        """The target whose answers are the labels; None where they come from elsewhere."""
        labels = self.labels
        if isinstance(labels, str) and labels.startswith(_TARGET):
            given = self.options.target.given()
            return opened_targets.resolve_targets(labels.removeprefix(_TARGET), given)[0]
        return labels if isinstance(labels, Target) else None

    def _read(self, generator: Generator | InvertedPhotographs, wanted: Sequence[str]) -> Labels:
        """Labels of a table or a data set, or those that are given as they are."""
        labels, by = self.labels, self.options.labelled_by
        if isinstance(labels, Labels):
            return labels
        if isinstance(generator, InvertedPhotographs):
            table = LabelledRows.of_dataset(str(labels)) if is_dataset(labels) else LabelledRows.of(labels)
            return labels_of_photographs(table, generator, wanted, by)
        if is_dataset(labels):
            raise BadInput(
                f"--labels {labels}: needs --latents with the codes of its photographs; make them: "
                "transect invert encode"
            )
        return from_table(labels, wanted, by)

    def _answered(
        self,
        generator: Generator | InvertedPhotographs,
        target: Target | None,
        attributes: Sequence[str],
        balance: Sequence[str],
    ) -> tuple[Latents, Labels]:
        """Subjects that are labelled by truth, or by a target."""
        if self.options.labelled_by:
            raise BadInput("--labelled-by applies to labels in a table; drop it")
        count = generator.subjects if isinstance(generator, InvertedPhotographs) else self.subjects
        rows = generator.sample(population_design("", images=count, seed=self.seed).subject_seeds())
        if target is None:
            if not attributes:
                raise BadInput("--labels truth needs --attribute NAME; see: transect list attributes")
            return rows, from_truth(generator, rows, [*attributes, *balance])
        if len(attributes) != 1 or balance:
            raise BadInput(
                "--labels target: expected one --attribute NAME for what the target predicts, and no --balance, which "
                "needs labels from elsewhere; write its answers into a table to balance them"
            )
        return rows, from_target(generator, rows, target, attributes[0], quiet=self.quiet)

    def content(self, numbers: DirectionsNumbers) -> Content:
        """The figures of every attribute."""
        return numbers.content("Fitted directions")


fit_directions = function(Directions, "fit_directions")
