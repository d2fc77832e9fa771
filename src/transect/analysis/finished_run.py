"""A finished run, read back: its spec, design, images and ratings; needs neither generator nor target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from transect.effects.outcomes import offered
from transect.effects.preferences import PREFERRED
from transect.effects.said_outcomes import asked_in
from transect.effects.truth import Truth
from transect.errors import BadInput
from transect.ratings import gates, reference
from transect.ratings import seen as ratings
from transect.ratings.perceived_attributes import PerceivedAttribute, perceived_attributes
from transect.records import Attribute, Design, Predictions, Task
from transect.runs import tables as columns
from transect.runs.answer_tables import said_of
from transect.runs.coded_tables import with_coded
from transect.runs.folder import FinishedRun, slug
from transect.runs.part_names import is_coded
from transect.runs.spec import RunSpec, StatedTruth, TargetEntry
from transect.targets.boxes import BoxConvention

MEMORY: Final = 1 << 28
"""Bytes of a run's tables that are kept once read; parts beyond, pictures of a large run, are read when needed."""


@final
@dataclass(frozen=True, slots=True)
class Run:
    """One finished run, read back. images: the table without the pictures."""

    folder: FinishedRun
    spec: RunSpec
    design: Design
    attributes: Mapping[str, Attribute]
    images: pa.Table
    true: Mapping[str, Float[np.ndarray, " n"]]
    seen: ratings.Ratings
    reference: Truth | None = None
    """What raters' answers are the reference for, where no target has a truth."""

    def truth(self, target: TargetEntry) -> Truth | None:
        """The truth stated for the target, else the one that raters are the reference for; None without either."""
        return self.reference if target.truth is None else _truth(target.truth)

    @property
    def truth_text(self) -> str | None:
        """The truth of all targets, or of each where they differ."""
        if not self.spec.truths and self.reference is not None:
            return f"{self.reference.text} (as raters saw it)"
        texts = {target.name: target.truth and target.truth.text for target in self.spec.targets}
        if len(set(texts.values())) == 1:
            return next(iter(texts.values()))
        return "; ".join(f"{name}: {text or 'none'}" for name, text in texts.items())

    def labels(self, target: TargetEntry) -> Float[np.ndarray, " n"] | None:
        """The right answer of each image: the world's or the labels', else the raters'; None where there is none."""
        if target.truth is not None:
            return _truth(target.truth).of({**self.true, "": np.zeros(len(self.images))})
        if self.reference is None or target.task is Task.EMBEDDING:
            return None
        name = self.reference.attribute
        seen = self.seen.value_of(name, self.known)
        nobody = np.full(len(self.images), np.nan)
        return reference.labels(self.reference, nobody if seen is None else seen, target.task, self.known.get(name))

    def outcomes(self, target: TargetEntry) -> tuple[str, ...]:
        """What is counted on a target; its errors too, where raters are the reference."""
        judged = self.reference is not None and "error" in self.offered(target, truth=True)
        return target.outcomes if not judged or "error" in target.outcomes else (*target.outcomes, "error")

    @property
    def all_outcomes(self) -> tuple[str, ...]:
        """What is counted on any target, and of two images at once the preference."""
        of_targets = (name for target in self.spec.targets for name in self.outcomes(target))
        return tuple(dict.fromkeys((*of_targets, *([PREFERRED] if self.spec.pairs else []))))

    def offered(self, target: TargetEntry, *, truth: bool) -> tuple[str, ...]:
        """The outcomes that a target can have. truth: whether the right answers are known."""
        return offered(target.task, truth, asked_in(target.description.facts))

    @property
    def parts(self) -> int:
        """Parts of each table."""
        return self.spec.parts

    @property
    def others(self) -> Mapping[str, Attribute]:
        """Attributes whose levels have no order, varied or not."""
        return {attribute.name: attribute for attribute in self.spec.nominal}

    @property
    def held(self) -> Mapping[str, Attribute]:
        """Attributes of observed images that they are not compared by; adjustments hold them equal."""
        return {attribute.name: attribute for attribute in self.spec.held}

    @property
    def known(self) -> Mapping[str, Attribute]:
        """Attributes that ratings may be of."""
        return {**self.others, **self.attributes}

    @property
    def perceived(self) -> Mapping[str, PerceivedAttribute]:
        """Attributes as raters saw them, by name with `perceived_`."""
        return perceived_attributes(self.seen, self.known)

    @property
    def counted_by(self) -> frozenset[str]:
        """Attributes that errors may be counted by, also as raters saw them; none of steps λ."""
        own = self.spec.counted_by
        return own | frozenset(self.perceived) if own else own

    @property
    def people(self) -> Int[np.ndarray, " n"]:
        """Who is on each image."""
        return columns.people_of(self.images)

    def predictions(self, target: TargetEntry) -> Predictions:
        """A target's answers, image by image."""
        table = self.folder.read_table(f"predictions/{slug(target.name)}", self.parts)
        if table["id"].to_pylist() != self.images["id"].to_pylist():
            raise BadInput(f"{self.folder.path}: predictions of {target.name} are not of these images; rerun the audit")
        return self._with_words(target, columns.predictions_of(table, target.task))

    def _with_words(self, target: TargetEntry, answers: Predictions) -> Predictions:
        """The answers with what was said, of a target that answers in words."""
        if target.description.question is None:
            return answers
        ids = self.images["id"].to_pylist()
        try:
            said = said_of(self.folder.read_table(f"answers/{target.slug}", self.parts), ids)
            if is_coded(target.description.facts):
                said = with_coded(said, ids, self.folder.read_table(f"coded/{target.slug}", self.parts))
        except ValueError as error:
            raise BadInput(f"{self.folder.path}: answers of {target.name}: {error}; rerun the audit") from None
        return replace(answers, said=said)

    def expected_boxes(self, target: TargetEntry) -> Float[np.ndarray, "n 4"] | None:
        """Where a detector's box should be; None where that is not known."""
        convention = target.description.box_convention
        faces = columns.face_boxes_of(self.images)
        return BoxConvention(**convention).expected_box(faces) if convention and faces is not None else None


def read(path: Path) -> Run:
    """One finished run. Raises CorruptedPart or BadInput (not finished)."""
    folder = FinishedRun(path, MEMORY)
    return of_images(folder, folder.read_table("images", folder.spec.parts, without=("image",)))


def of_images(folder: FinishedRun, images: pa.Table) -> Run:
    """The run as far as its images are there: whole subjects, from the first. images: without the pictures."""
    spec, path = folder.spec, folder.path
    design = replace(spec.design, subjects=len(images) // spec.design.n_cells)
    attributes = {attribute.name: attribute for attribute in spec.attributes}
    seen = ratings.read(path, images["id"].to_pylist()).gating(gates.reasons(path, spec, images))
    true = columns.columns_of(images, "true")
    known = {attribute.name: attribute for attribute in spec.nominal} | attributes
    judged = None if spec.truths else reference.stored(path, known)
    return Run(folder, spec, design, attributes, images, true, seen, judged)


def _truth(stated: StatedTruth) -> Truth:
    return Truth(stated.text, stated.attribute, stated.comparison, stated.value)
