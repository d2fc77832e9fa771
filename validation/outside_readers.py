"""How well does a model that was trained on photographs read the world's attributes? Printed, never fitted to.

The same subjects are shown at several levels of the attribute that the model reads, everything else the same, and what
it answers is compared with what was set. Labelled photographs, where there are some, are put to it as well.
No constant of the renderer follows these answers: a world that is fitted to a model cannot audit it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from transect.datasets import LabelledImages, open_dataset
from transect.effects.outcomes import compute
from transect.errors import BadInput
from transect.generators.faceworld.attributes import attribute as attribute_of
from transect.generators.faceworld.world import FaceWorld
from transect.protocols import Target
from transect.records import Attribute, Images, Task
from transect.runs.parts import Progress
from transect.targets import as_target, resolve
from transect.targets.capabilities import positive_of, threshold_of
from transect.targets.guard import FailureBudget, guarded
from validation.discrimination import Figure, auc, by_subject, correlation, not_estimable, read_off, slope
from validation.light_by_attribute import codings

Figures = dict[str, Any]
"""Figures by name, in JSON's own types."""

LEVELS: Final = 5
"""Levels over the range of a number; an attribute with levels is shown at each of them."""

MOST_PHOTOGRAPHS: Final = 2000
"""Photographs that a reader sees unless the data set's text says limit=."""

_SUBJECTS_AT_A_TIME, _PHOTOGRAPHS_AT_A_TIME = 20, 64
_TIMEOUT, _BATCH, _MOST_FAILED = 30.0, 16, 0.9


@final
@dataclass(frozen=True, slots=True)
class Outside:
    """Models from outside, and what each reads.

    readers: attribute of FaceWorld and the target that reads it, as its spec or an object. options: of these targets,
    as `resolve` takes them. dataset: READER:PATH of labelled photographs. labels: the data set's label of an attribute
    where it has another name. Raises UnknownName for an attribute, BadInput for a label without a reader.
    """

    readers: tuple[tuple[str, Any], ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    dataset: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, _ in self.readers:
            attribute_of(name)
        if self.dataset is not None and not self.readers:
            raise BadInput("--dataset: expected a model that reads an attribute; give --reader ATTRIBUTE=TARGET")
        for name in self.labels:
            if name not in dict(self.readers):
                raise BadInput(
                    f"--dataset-label {name}: expected an attribute that a --reader reads; give --reader {name}=…"
                )


def parse_pairs(option: str, texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """NAME=VALUE of each text; raises BadInput for another form.

    >>> parse_pairs("--reader", ["smile=callable:models:smile"])
    (('smile', 'callable:models:smile'),)
    """
    pairs = [text.partition("=") for text in texts]
    for text, (name, equals, value) in zip(texts, pairs, strict=True):
        if not (name.strip() and equals and value.strip()):
            raise BadInput(f"{option} {text!r}: expected ATTRIBUTE=VALUE, for example smile=dlib:hog-face")
    return tuple((name.strip(), value.strip()) for name, _, value in pairs)


@final
@dataclass(frozen=True, slots=True)
class _Asked:
    """One target asked about one attribute."""

    attribute: Attribute
    target: Target
    resamples: int
    quiet: bool

    def table(self, where: str, count: int, parts: Iterator[tuple[Images, Mapping[str, Any]]]) -> pa.Table:
        """Answers about pictures, one row each: answer.0 and so on, and the columns that come with the pictures."""
        budget, tables = FailureBudget(self.target.name, count, limit_share=_MOST_FAILED), []
        with Progress(f"{self.target.name}, {where}", count, quiet=self.quiet) as progress:
            for images, columns in parts:
                answers = answers_of(self.target, images, budget)
                tables.append(pa.table({**columns, **{f"answer.{j}": a for j, a in enumerate(answers.T)}}))
                progress.advance(len(images))
        width = max(table.num_columns for table in tables)
        whole = next(table for table in tables if table.num_columns == width).schema
        return pa.concat_tables(tables, promote_options="default").select(whole.names)


def answers_of(target: Target, images: Images, budget: FailureBudget | None = None) -> Float[np.ndarray, "n k"]:
    """One number per image, or an embedding; NaN where there is no answer.

    A class or label that counts as yes gives its score. A detector gives its confidence or, without one, whether it
    finds anything: any box counts.
    """
    found = guarded(target, images, timeout=_TIMEOUT, batch=_BATCH, budget=budget)
    if found.task is Task.EMBEDDING:
        return found.scores
    threshold = threshold_of(target)
    said: dict[str, Any] = {"positive": positive_of(target), "threshold": 0.5 if threshold is None else threshold}
    values = compute("score", found, **said).values
    if found.task is Task.DETECTION and not np.isfinite(values[~found.failed]).all():
        values = compute("answer", found, **said).values
    return values[:, None]


def read_from_outside(
    outside: Outside, world: FaceWorld, seeds: Int[np.ndarray, " n"], *, resamples: int, quiet: bool = True
) -> list[Figures]:
    """One row per reader: area, correlation and slope on rendered faces and on photographs, and the mean of each level.

    Raises BadInput and UnknownName for targets, data sets and labels that are not there, before anything is rendered.
    """
    targets = [
        resolve(target, **outside.options) if isinstance(target, str) else as_target(target, **outside.options)
        for _, target in outside.readers
    ]
    photographs = None
    if outside.dataset is not None:  # a limit in the text comes first
        photographs = open_dataset(outside.dataset, image_size=world.image_size, limit=MOST_PHOTOGRAPHS)
    rows = []
    for (name, _), target in zip(outside.readers, targets, strict=True):
        asked = _Asked(attribute_of(name), target, resamples, quiet)
        row = _rendered(asked, world, seeds)
        row["photographs"] = None if photographs is None else _photographs(asked, photographs, outside.labels)
        rows.append(row)
        if callable(close := getattr(target, "close", None)):
            close()
    return rows


def levels_of(attribute: Attribute) -> Float[np.ndarray, " k"]:
    """The values at which each subject is shown.

    >>> levels_of(attribute_of("smile")).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    if attribute.levels:
        return np.arange(len(attribute.levels), dtype=np.float64)
    return np.linspace(*attribute.bounds, LEVELS)


def _rendered(asked: _Asked, world: FaceWorld, seeds: Int[np.ndarray, " n"]) -> Figures:
    attribute, levels = asked.attribute, levels_of(asked.attribute)

    def cells() -> Iterator[tuple[Images, Mapping[str, Any]]]:
        for start in range(0, len(seeds), _SUBJECTS_AT_A_TIME):
            some = seeds[start : start + _SUBJECTS_AT_A_TIME]
            values = np.tile(levels, len(some))
            latents = world.set(world.sample(some).repeat(len(levels)), {attribute.name: values})
            yield world.render(latents), {"subject": np.repeat(some, len(levels)), "value": values}

    table = asked.table("rendered", len(seeds) * len(levels), cells())
    value, subject = table["value"].to_numpy(), table["subject"].to_numpy()
    high = np.where(value == levels[0], 0.0, np.where(value == levels[-1], 1.0, np.nan))
    if attribute.levels:
        high = (value > 0).astype(np.float64)
    answers, missing = _answers(table, high, subject)
    complete = np.repeat(np.isfinite(answers.reshape(-1, len(levels))).all(1), len(levels))
    found = _Answers(attribute, answers[complete], value[complete], high[complete], subject[complete])
    return {
        "attribute": attribute.name,
        "unit": attribute.unit,
        "reader": asked.target.name,
        "task": str(asked.target.task),
        "image_size": world.image_size,
        "unanswered": missing,
        **found.figures(asked.resamples),
    }


def _photographs(asked: _Asked, photographs: LabelledImages, labels: Mapping[str, str]) -> Figures:
    label, inverted = label_of(asked.attribute.name, photographs, labels)
    told = next(each for each in photographs.attributes if each.name == label)
    if len(told.levels) > 2:
        raise BadInput(
            f"--dataset-label {label}: expected yes or no, or a number, got {len(told.levels)} levels; choose another"
        )
    known = np.flatnonzero(np.isfinite(photographs.column(label)))
    subjects = np.asarray(photographs.subjects)

    def pictures() -> Iterator[tuple[Images, Mapping[str, Any]]]:
        for start in range(0, len(known), _PHOTOGRAPHS_AT_A_TIME):
            rows = known[start : start + _PHOTOGRAPHS_AT_A_TIME]
            yield Images(photographs.pixels(rows)), {"row": rows}

    table = asked.table("photographs", len(known), pictures())
    value, subject = photographs.column(label)[known], subjects[known]
    value = 1 - value if inverted else value
    high = value if told.levels else (value > np.median(value)).astype(np.float64)
    answers, missing = _answers(table, high, subject)
    seen = np.isfinite(answers)
    found = _Answers(told, answers[seen], value[seen], high[seen], subject[seen])
    words = f"not {label}" if inverted else label
    facts: Figures = {"name": photographs.name, "label": words, "images": int(seen.sum()), "unanswered": missing}
    return {**facts, **found.figures(asked.resamples)}


def label_of(attribute: str, photographs: LabelledImages, labels: Mapping[str, str]) -> tuple[str, bool]:
    """The data set's label of an attribute, and whether it says the opposite.

    The stated label; else one of the attribute's name; else CelebA's. Raises BadInput where there is none.
    """
    known = {coding.label: coding for coding in codings() if coding.attribute == attribute}
    if attribute in labels:
        photographs.column(labels[attribute])
        return labels[attribute], labels[attribute] in known and known[labels[attribute]].inverted
    for name in (attribute, *known):
        if name in photographs.values:
            return name, name in known and known[name].inverted
    names = ", ".join((attribute, *known))
    raise BadInput(
        f"{photographs.name}: expected a label {names}, found none; name it, as --dataset-label {attribute}=LABEL"
    )


def _answers(
    table: pa.Table, high: Float[np.ndarray, " n"], subject: Int[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, " n"], int]:
    """One number per picture, embeddings read off, and how many pictures have no answer."""
    columns = [name for name in table.column_names if name.startswith("answer.")]
    answers = np.column_stack([table[name].to_numpy() for name in columns])
    missing = int((~np.isfinite(answers).all(1)).sum())
    return (read_off(answers, high, subject) if len(columns) > 1 else answers[:, 0]), missing


@final
@dataclass(frozen=True, slots=True)
class _Answers:
    """Answers, the value of each, whether it counts as high (1), low (0) or neither (NaN), and of whom."""

    attribute: Attribute
    answers: Float[np.ndarray, " n"]
    value: Float[np.ndarray, " n"]
    high: Float[np.ndarray, " n"]
    subject: Int[np.ndarray, " n"]

    def figures(self, resamples: int) -> Figures:
        """subjects, auc, correlation, slope, and the mean answer at each level."""
        ordered = len(self.attribute.levels) <= 2
        return {
            "subjects": len(np.unique(self.subject)),
            "auc": self._area(resamples).as_dict(),
            "correlation": self._along(correlation, ordered, resamples).as_dict(),
            "slope": self._along(slope, ordered, resamples).as_dict(),
            "levels": list(self._levels(resamples)),
        }

    def _area(self, resamples: int) -> Figure:
        ends = np.isfinite(self.high)
        answers, high, subject = self.answers[ends], self.high[ends] == 1, self.subject[ends]
        if not high.any() or high.all():
            return not_estimable("both kinds are needed", len(np.unique(subject)))
        return by_subject(lambda w: auc(answers, high, w), subject, resamples)

    def _along(self, statistic: Callable[..., np.ndarray], ordered: bool, resamples: int) -> Figure:
        if not ordered:
            return not_estimable("levels have no order")
        return by_subject(lambda w: statistic(self.value, self.answers, w), self.subject, resamples)

    def _levels(self, resamples: int) -> Iterator[Figures]:
        values = np.unique(self.value)
        if len(values) > max(LEVELS, len(self.attribute.levels)):
            return
        for value in values:
            at = self.value == value
            mean = by_subject(functools.partial(_mean, self.answers[at]), self.subject[at], resamples)
            names = self.attribute.levels
            yield {"level": names[int(value)] if names else f"{value:g}", **mean.as_dict()}


def _mean(y: Float[np.ndarray, " n"], w: Float[np.ndarray, "b n"]) -> Float[np.ndarray, " b"]:
    total = w.sum(1)
    return np.divide(w @ y, total, out=np.full(len(w), np.nan), where=total > 0)
