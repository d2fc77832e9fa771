"""A finished run, read back: its spec, design, images, ratings, and what is counted of each target.

It needs neither generator nor target.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final, TypeGuard, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from transect.analysis.margins import parse_margins
from transect.effects.outcomes import Outcome, Truth, asked_in, compute, offered
from transect.effects.preferences import PREFERRED
from transect.effects.verification import Rule, Threshold, Verified, find_threshold, reference_rows
from transect.errors import BadInput
from transect.experiment.outcome_choice import NON_MATCH
from transect.ratings import gates
from transect.ratings import perceived_attributes as reference
from transect.ratings import rating_tables as ratings
from transect.ratings.perceived_attributes import PerceivedAttribute
from transect.records import Attribute, Design, Predictions, Task
from transect.runs import layout, report_options, working_folders
from transect.runs import tables as columns
from transect.runs.folder import FinishedRun, slug
from transect.runs.layout import is_coded, runs_of
from transect.runs.report_options import Bins, Counting, ReportSettings
from transect.runs.spec import RunSpec, TargetEntry
from transect.runs.tables import said_of, with_coded
from transect.targets.capabilities import BoxConvention

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
        return self.reference if target.truth is None else Truth(*astuple(target.truth))

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
            return Truth(*astuple(target.truth)).of({**self.true, "": np.zeros(len(self.images))})
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
        return reference.perceived_attributes(self.seen, self.known)

    @property
    def counted_by(self) -> frozenset[str]:
        """Attributes that errors may be counted by, also as raters saw them; none of steps λ."""
        own = self.spec.counted_by
        return own | frozenset(self.perceived) if own else own

    @property
    def bins(self) -> Bins:
        """Cut points of the attributes that the settings of this very folder state."""
        return _cut_points(report_options.read(self.folder.path).bins, self.spec.observed, self.perceived)

    @property
    def people(self) -> Int[np.ndarray, " n"]:
        """Who is on each image."""
        return columns.people_of(self.images)

    def predictions(self, target: TargetEntry) -> Predictions:
        """A target's answers, image by image."""
        table = self.folder.read_table(f"predictions/{slug(target.name)}", self.parts)
        if table["id"].to_pylist() != self.images["id"].to_pylist():
            raise BadInput(
                f"{self.folder.path}: predictions of {target.name} do not belong to these images; rerun the audit"
            )
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
    return opened(FinishedRun(path, MEMORY))


def opened(folder: FinishedRun) -> Run:
    """As `read`, of a folder whose spec is read already."""
    return of_images(folder, folder.read_table("images", folder.spec.parts, without=("image",)))


def of_images(folder: FinishedRun, images: pa.Table) -> Run:
    """The run as far as its images are there: whole subjects, from the first. images: without the pictures."""
    spec, path = folder.spec, folder.path
    design = replace(spec.design, subjects=len(images) // spec.design.n_cells)
    attributes = {attribute.name: attribute for attribute in spec.attributes}
    seen = ratings.read(folder, images["id"].to_pylist()).gating(gates.reasons(path, spec, images))
    true = columns.columns_of(images, "true")
    known = {attribute.name: attribute for attribute in spec.nominal} | attributes
    judged = None if spec.truths else reference.stored(path, known)
    return Run(folder, spec, design, attributes, images, true, seen, judged)


def runs_in(place: str | Path) -> list[Run]:
    """The finished runs of a folder or an address. Raises CorruptedPart or BadInput (no run, or not finished)."""
    return [read(path) for path in runs_of(working_folders.opened(place))]


def same_images(run: Run, other: Run) -> bool:
    """Whether two runs showed the same images: one generator, one design, the same ids."""
    same = (run.spec.generator, run.design) == (other.spec.generator, other.design)
    return same and run.images["id"].to_pylist() == other.images["id"].to_pylist()


@final
class TargetOutcomes:
    """The answers of one target and what is counted of them.

    Raises CorruptedPart or BadInput where predictions are not of the run's images.
    """

    def __init__(self, run: Run, target: TargetEntry, predictions: Predictions | None = None) -> None:
        self.run, self.target = run, target
        self.predictions = run.predictions(target) if predictions is None else predictions
        self._known: dict[str, Outcome] = {}

    def outcome(self, name: str) -> Outcome:
        """One outcome; that of a pruned image has no value, with the rule as its reason."""
        if name not in self._known:
            self._known[name] = self._computed(name)
        return self._known[name]

    @property
    def in_words(self) -> bool:
        """Whether the target answers a question in words, so that an answer is a share of an image's wordings."""
        return self.target.description.question is not None

    @cached_property
    def possible(self) -> frozenset[str]:
        """Outcomes that can be computed; of a yes or no in words the score too, which is the answer."""
        asked_yes = self.in_words and self.target.task is Task.BINARY
        offered = self.run.offered(self.target, truth=self.labels is not None)
        return frozenset((*offered, *(("score",) if asked_yes else ())))

    @cached_property
    def decisions(self) -> Float[np.ndarray, " n"]:
        """Yes or no as 1 or 0, of several wordings what at least half say; NaN where there is none."""
        if "answer" not in self.possible:
            return np.full(len(self.predictions), np.nan)
        values = self.outcome("answer").values
        return np.where(np.isfinite(values), values >= 0.5, np.nan) if self.in_words else values

    @cached_property
    def mistakes(self) -> Float[np.ndarray, " n"]:
        """The errors, of yes or no 0 or 1; NaN where there is none."""
        if "error" not in self.possible:
            return np.full(len(self.predictions), np.nan)
        values = self.outcome("error").values
        if not self.in_words or self.target.task is Task.REGRESSION or self.labels is None:
            return values
        return np.where(np.isfinite(values), self.decisions != self.labels, np.nan)

    @cached_property
    def labels(self) -> Float[np.ndarray, " n"] | None:
        """The right answer of each image; None where there is none."""
        return self.run.labels(self.target)

    @cached_property
    def rule(self) -> Rule:
        """How images verify people: by the rate in the spec, else by the target's own threshold."""
        stated = self.run.spec.verification
        if stated is None or self.target.task is not Task.EMBEDDING:
            return Rule()
        threshold = self.target.description.threshold if stated.false_match_rate is None else None
        return Rule(threshold, stated.false_match_rate, stated.within)

    @cached_property
    def references(self) -> Int[np.ndarray, " n"]:
        """The row that each image is compared with."""
        return reference_rows(self.run.design, self.rule.within)

    @cached_property
    def threshold(self) -> Threshold:
        """The threshold, found among the reference images; a pruned one has no embedding there."""
        run, rows = self.run, np.unique(self.references)
        embeddings = np.where((run.seen.reasons == "")[rows, None], self.predictions.scores[rows], np.nan)
        return find_threshold(embeddings, run.people[rows], rows % run.design.n_cells, self.rule)

    @cached_property
    def verified(self) -> Verified | None:
        """The images with what is known of the person on them; None without a threshold or an experiment."""
        run, stated = self.run, self.run.spec.verification
        if stated is None or not (run.design.levels and self.rule.verifies):
            return None
        grouping = [attribute for attribute in stated.own if attribute.name in run.true]
        return Verified(
            self.threshold,
            self.outcome("distance").values,
            self.outcome(NON_MATCH).values,
            self.references,
            self.rule.within,
            {attribute.name: run.true[attribute.name][self.references] for attribute in grouping},
            {attribute.name: attribute for attribute in grouping},
        )

    def _computed(self, name: str) -> Outcome:
        description, pruned = self.target.description, self.run.seen.reasons
        outcome = compute(
            name,
            self.predictions,
            truth=self.labels,
            threshold=self.threshold.value if name == NON_MATCH else description.cut,
            positive=description.positive,
            expected_boxes=self.run.expected_boxes(self.target),
            reference=self.references,
        )
        reasons = np.where(outcome.reasons == "", pruned, outcome.reasons)
        return replace(outcome, values=np.where(reasons == "", outcome.values, np.nan), reasons=reasons)


def counting(runs: Sequence[Run], settings: ReportSettings) -> Counting:
    """What a report's settings say of these runs. Raises BadInput or UnknownName for what none of them has."""
    own = frozenset(name for run in runs for name in run.spec.counted_by)
    observed = {name: attribute for run in runs for name, attribute in run.spec.observed.items()}
    perceived = {name: seen for run in runs for name, seen in run.perceived.items()}
    by = [reference.resolved(name, own, perceived) for name in settings.by]
    keys = [(name, reference.resolved(name, (), perceived)) for name in settings.covariates]
    adjusted = [perceived[key].about if key in perceived else name for name, key in keys]
    adjustable = dict.fromkeys([*(seen.about for seen in perceived.values()), *observed])
    counted = {name for run in runs for name in run.all_outcomes}
    return Counting(
        report_options.check_error_conditions(by, [run.counted_by for run in runs]),
        _cut_points(settings.bins, observed, perceived),
        settings.boundary,
        report_options.check_covariates(adjusted, tuple(adjustable)),
        parse_margins(report_options.listed_margins(settings.margin), counted),
        tuple(settings.at_thresholds),
    )


def _cut_points(
    texts: Sequence[str], observed: Mapping[str, Attribute], perceived: Mapping[str, PerceivedAttribute]
) -> Bins:
    """Cut points by attribute, observed or as raters saw it; an observed one comes first where a name means both."""
    named = [text.partition("=") for text in texts]
    chosen = [reference.resolved(name, observed, perceived) + sign + points for name, sign, points in named]
    return report_options.parse_bins(chosen, {**observed, **{name: seen.attribute for name, seen in perceived.items()}})


def is_audit(source: object) -> TypeGuard[str | Path]:
    """Whether it is the folder of one finished study, as `transect audit` writes it."""
    return isinstance(source, str | Path) and Path(source).is_dir() and layout.is_one_run(Path(source))


def image_table(folder: Path) -> pa.Table:
    """The images of a finished audit, in their order: id, subject, attributes, and what is counted of each target."""
    run = read(folder)
    columns: dict[str, object] = {"id": run.images["id"], "subject": run.people}
    known: Mapping[str, Attribute] = {**run.held, **run.known}
    for name, values in run.true.items():
        columns.setdefault(name, _values(known.get(name), values))
    return pa.table({**columns, **_outcomes(run)})


def _values(attribute: Attribute | None, values: Float[np.ndarray, " n"]) -> pa.Array:
    if attribute is None or not attribute.levels:
        return pa.array(values, from_pandas=True)
    return pa.array([attribute.label(value) if np.isfinite(value) else None for value in values.tolist()], pa.string())


def _outcomes(run: Run) -> dict[str, pa.Array]:
    found, several = {}, len(run.spec.targets) > 1
    for target in run.spec.targets:
        answers = TargetOutcomes(run, target)
        for name in run.outcomes(target):
            if name in answers.possible:
                called = f"{target.name}: {name}" if several else name
                found[called] = pa.array(answers.outcome(name).values, from_pandas=True)
    return found
