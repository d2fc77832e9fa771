"""`transect.fit_directions`: directions of attributes in a generator's latent space, fitted to labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, final

import numpy as np
from jaxtyping import Float

from transect import __version__
from transect.controls.directions import DECISION, METHODS, Direction, fit_direction, in_decisions
from transect.controls.learned import FittedDirections, LearnedControls, in_space
from transect.datasets import is_dataset
from transect.errors import BadInput, UnknownName
from transect.jobs.directions.labels import LabelledRows, Labels, from_table, from_target, from_truth, name_of
from transect.jobs.directions.result import DirectionsResult, result_of
from transect.protocols import Generator, Target
from transect.records import Latents
from transect.runs.capabilities import description
from transect.runs.table_inputs import TableLike, as_names, choice

if TYPE_CHECKING:
    from transect.inversion.pictures import InvertedPhotographs


MOST_LEVELS: Final = 10
LABEL, VALUES = "label", ("label", DECISION)
"""What a continuous attribute's values are: the label's, or the decision's, as a binary one's always are."""


def fit_linear(
    generator: Generator,
    latents: Latents,
    labels: Labels,
    names: Sequence[str] = (),
    *,
    balance: Sequence[str] = (),
    method: str | None = None,
    space: str = "",
    seed: int = 0,
    signed: bool = False,
) -> FittedDirections:
    """A direction for each attribute of the labels (or each of `names`), in the generator's space or in `space`.

    latents: the labelled subjects as the generator samples them. balance: attributes of the labels on which binary
    ones are balanced, as Denton et al. 2019 §3 did; a continuous one is fitted as it is. method: logistic (default),
    svm or ridge, for binary ones. seed: which labels are held out. signed: continuous attributes are set by the signed
    distance from their hyperplane, as binary ones are, and not in the label's unit.

    Raises BadInput for unusable labels, attributes that are collinear (naming them, with the condition number),
    a space that the generator has no way to; UnknownName for a name without labels.
    """
    if method not in (None, *METHODS["binary"]):
        raise BadInput(f"--method: expected {' or '.join(METHODS['binary'])}, for binary attributes, got {method!r}")
    moved, rows, wanted = _rows(generator, latents, labels, (*names, *balance), names, space)
    directions = tuple(_direction(name, rows, labels, balance, method, seed) for name in wanted)
    if signed:
        directions = tuple(map(in_decisions, directions))
    if moved.space == "z":  # its coordinates vary alike and apart, whatever the sample: the way is the normal
        directions = tuple(replace(direction, along=None) for direction in directions)
    LearnedControls(directions, moved.space)  # refuses collinear attributes
    return FittedDirections(directions, moved.space, origin_of(generator, moved, labels.source, seed, labels.facts))


def _rows(
    generator: Generator, latents: Latents, labels: Labels, known: Sequence[str], names: Sequence[str], space: str
) -> tuple[Latents, Float[np.ndarray, "n d"], list[str]]:
    """Latents in the space of the fit, as rows too, and what is fitted. Raises UnknownName for names without labels."""
    for name in known:
        if name not in labels.columns:
            raise UnknownName("attribute", name, labels.columns)
    moved = in_space(generator, latents, space or latents.space)
    rows = np.asarray(moved.values, dtype=np.float64).reshape(len(moved), -1)
    return moved, rows, list(names or labels.columns)


def origin_of(
    generator: Generator, moved: Latents, source: str, seed: int, facts: Mapping[str, object]
) -> dict[str, object]:
    """Where directions come from. moved: the latents in their space; source: of the labels."""
    return {
        "generator": description(generator),
        "source": source,
        "subjects": len(moved),
        "first_seed": int(moved.seeds.min()) if len(moved) else 0,
        "seed": seed,
        "transect": __version__,
        **facts,
    }


def _direction(
    name: str, rows: Float[np.ndarray, "n d"], labels: Labels, balance: Sequence[str], method: str | None, seed: int
) -> Direction:
    kind = labels.kinds[name]
    others = {other: _levels(other, labels) for other in balance if other != name} if kind == "binary" else {}
    chosen = method if method in METHODS[kind] or kind == "binary" else None
    column = labels.columns[name]
    known = np.isfinite(column)
    for values in others.values():
        known &= np.isfinite(values)
    cells = {other: values[known] for other, values in others.items()}
    return fit_direction(
        name, rows[known], column[known], kind, method=chosen, balance=cells, source=labels.source, seed=seed
    )


def _levels(name: str, labels: Labels) -> Float[np.ndarray, " n"]:
    column = labels.columns[name]
    count = len(np.unique(column[np.isfinite(column)]))
    if count > MOST_LEVELS:
        raise BadInput(
            f"--balance {name}: expected at most {MOST_LEVELS} values, got {count}; compare it, as '{name}>0.5'"
        )
    return column


TRUTH: Final = "truth"
_TARGET: Final = "target:"


@final
@dataclass(frozen=True, slots=True)
class DirectionsOptions:
    """Settings that few fits change.

    labelled_by: who gave a table's labels, as "people", or "model:NAME" (reports then warn). population, image_size,
    device: of a generator given by name. target: options of a target given as "target:SPEC" (task, labels, positive,
    threshold, output, preprocess). values: of a continuous attribute, "label" (in the label's unit) or "decision" (the
    signed distance from the hyperplane, as Balakrishnan et al. 2020 state levels).
    """

    labelled_by: str = ""
    population: str | None = None
    image_size: int | None = None
    device: str | None = None
    target: Mapping[str, object] = field(default_factory=dict)
    values: str = LABEL


def fit_directions(
    generator: str | Path | Generator,
    labels: TableLike | Target | Labels,
    attributes: str | Sequence[str] = (),
    *,
    balance: str | Sequence[str] = (),
    method: str | None = None,
    latents: str | Path | None = None,
    space: str = "",
    subjects: int = 2000,
    seed: int = 0,
    quiet: bool = False,
    options: DirectionsOptions | None = None,
) -> DirectionsResult:
    """Fit a direction per attribute to labels of a generator's subjects, and measure it on labels it did not see.

    generator: a name, a safetensors file or an object; faceworld means its latent view. labels: a table (a path, an
    Arrow table, a data frame or columns by name) with a column seed, subject or id and one per attribute; a data set
    as READER:PATH, by the ids of `latents`; "truth" where the generator knows it; a target (an object, or
    "target:SPEC"), whose answers are the labels; or `Labels`. attributes: what to fit, as "age" or compared,
    "smile>0.5" (default: every column of a table). balance: attributes in which a binary one's classes are made equal.
    method: logistic (default), svm or ridge, for binary ones.
    latents: a file of inverted photographs as the subjects. space: z, w or w+ (default: the generator's own).
    subjects: how many to label by truth or target. seed: of subjects and held-out rows. quiet: no progress on standard
    error.

    80 % of the labels are fitted: ridge regression for continuous attributes (R²), logistic regression or a linear SVM
    for binary ones (balanced accuracy). Rows without a label are left out.
    Raises BadInput for too few labels, one class, or collinear attributes, UnknownName for an unknown attribute.

    Sources: Denton et al. 2019, arXiv:1906.06439, §3; Balakrishnan et al. 2020, arXiv:2007.06570, §4.1.1.
    """
    options = options or DirectionsOptions()
    attributes, balance = as_names(attributes), as_names(balance)
    source = _generator(generator, latents, options)
    rows, labelled = _labelled(source, labels, attributes, balance, subjects, seed, quiet, options)
    balanced = [name_of(text) for text in balance]
    names = [name_of(text) for text in attributes] or [name for name in labelled.columns if name not in balanced]
    signed = choice("values", options.values, VALUES) == DECISION
    fitted = fit_linear(
        source, rows, labelled, names, balance=balanced, method=method, space=space, seed=seed, signed=signed
    )
    return result_of(fitted, labelled.notes)


def _generator(
    generator: str | Path | Generator, latents: str | Path | None, options: DirectionsOptions
) -> Generator | InvertedPhotographs:
    from transect.experiment import worlds

    name = str(generator) if isinstance(generator, str | Path) else generator
    source: Generator = worlds.generator_of(name, options.image_size, options.population, options.device, learned=True)
    return source if latents is None else worlds.inverted(source, latents)


def _labelled(
    generator: Generator | InvertedPhotographs,
    labels: TableLike | Target | Labels,
    attributes: Sequence[str],
    balance: Sequence[str],
    subjects: int,
    seed: int,
    quiet: bool,
    options: DirectionsOptions,
) -> tuple[Latents, Labels]:
    """The labelled subjects, and their labels."""
    from transect.inversion.pictures import InvertedPhotographs
    from transect.jobs.directions.labels import labels_of_photographs

    photographs = generator if isinstance(generator, InvertedPhotographs) else None
    target = _target(labels, options)
    if isinstance(labels, Labels):
        return generator.sample(labels.seeds), labels
    if target is None and not (isinstance(labels, str) and labels == TRUTH):
        wanted = [*attributes, *balance] if attributes else []
        if photographs is None:
            _refuse_dataset(labels)
            labelled = from_table(labels, wanted, options.labelled_by)
        else:
            table = LabelledRows.of_dataset(str(labels)) if is_dataset(labels) else LabelledRows.of(labels)
            labelled = labels_of_photographs(table, photographs, wanted, options.labelled_by)
        return generator.sample(labelled.seeds), labelled
    if options.labelled_by:
        raise BadInput("--labelled-by is of a table's labels, got truth or a target; drop it")
    from transect.designs import population_design

    count = subjects if photographs is None else photographs.subjects
    rows = generator.sample(population_design("", images=count, seed=seed).subject_seeds())
    if target is None:
        if not attributes:
            raise BadInput("--labels truth: expected --attribute NAME, got none; see: transect attributes")
        return rows, from_truth(generator, rows, [*attributes, *balance])
    if len(attributes) != 1 or balance:
        raise BadInput(
            "--labels target: expected one --attribute NAME for what the target predicts, and no --balance, whose "
            "labels it does not give; write its answers into a table to balance them"
        )
    return rows, from_target(generator, rows, target, attributes[0], quiet=quiet)


def _refuse_dataset(labels: object) -> None:
    if is_dataset(labels):
        raise BadInput(
            f"--labels {labels}: expected --latents with the codes of its photographs, got none; make them: transect"
            " encode"
        )


def _target(labels: object, options: DirectionsOptions) -> Target | None:
    """The target whose answers are the labels; None where they come from elsewhere."""
    if isinstance(labels, str) and labels.startswith(_TARGET):
        from transect.experiment import opened_targets

        target: Target = opened_targets.resolve_targets(labels.removeprefix(_TARGET), dict(options.target))[0]
        return target
    return labels if isinstance(labels, Target) else None
