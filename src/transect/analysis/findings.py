"""From a run folder's tables to its findings: effects, rates, answers and pictures; needs neither generator nor
target.

run.json holds what a target's answers mean (task, threshold, labels, box convention), so that a run can be analysed
again years later, on a machine that lacks the target.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, Int, UInt8

from transect.analysis import finished_run
from transect.analysis.asked_answers import Asked, coding_of, preferred
from transect.analysis.finished_run import Run, TargetOutcomes
from transect.analysis.sections.answers import Answers
from transect.analysis.sections.error_rates import face_groups
from transect.effects.analysis import (
    CONFIDENCE,
    Analysis,
    analyse_population,
    analyse_transects,
    mirrors_of,
    with_mirrors,
)
from transect.effects.observational import Groups, cut, pairs
from transect.effects.outcomes import FACE, IOU, Outcome, Truth, category
from transect.effects.rates import HIGHEST_ORDER, Rate
from transect.effects.samples import SAME_FOR_ALL, Measure, same_for_all
from transect.errors import BadInput
from transect.experiment.outcome_choice import NON_MATCH
from transect.records import Attribute, Design, Effect, Predictions, Task
from transect.reports import selection
from transect.reports.records import Gallery, MeanFace
from transect.runs.layout import CONTROL
from transect.runs.parts import stage
from transect.runs.pictures import pixels_of_png, saved
from transect.runs.report_options import UNSET, Bins, Counting
from transect.runs.spec import RunSpec, TargetEntry
from transect.runs.wording import readable
from transect.targets.words.asked import asked_of

SIDE: Final = 64
"""Longest side of a mean picture, in pixels."""
MOST: Final = 512
"""Images of one mean, where not all can be read in reasonable time."""


def means(
    chosen: Bool[np.ndarray, "k n"], pictures: Iterable[tuple[int, UInt8[np.ndarray, "h w 3"]]]
) -> list[bytes | None]:
    """The mean of each group as PNG, None for a group without an image."""
    sums: list[np.ndarray | None] = [None] * len(chosen)
    for row, pixels in pictures:
        from PIL import Image

        image = Image.fromarray(pixels)
        image.thumbnail((SIDE, SIDE), Image.Resampling.BOX)
        small = np.asarray(image, dtype=np.float64)
        for place in np.flatnonzero(chosen[:, row]):
            before = sums[place]
            sums[place] = small if before is None else before + small
    counts = chosen.sum(axis=1)
    return [
        None if total is None else saved(np.round(total / n).astype(np.uint8), optimize=True)
        for total, n in zip(sums, counts, strict=True)
    ]


def evenly(rows: Bool[np.ndarray, " n"], most: int = MOST) -> Bool[np.ndarray, " n"]:
    """At most `most` of the rows, evenly spaced in their order."""
    places = np.flatnonzero(rows)
    if len(places) > most:
        places = places[np.round(np.linspace(0, len(places) - 1, most)).astype(np.int64)]
    chosen = np.zeros(len(rows), dtype=np.bool_)
    chosen[places] = True
    return chosen


def mean_faces_of(run: Run, answers: Answers) -> tuple[MeanFace, ...]:
    """Means of at most `mean_faces.MOST` evenly spaced images each; none for steps λ, which have no such section."""
    groups = [] if answers.steps else face_groups(answers)
    if not groups:
        return ()
    chosen = np.array([evenly(rows) for group in groups for rows in (group.right, group.wrong)])
    rows_per_part = run.spec.rows_per_part

    def pictures() -> Iterator[tuple[int, UInt8[np.ndarray, "h w 3"]]]:
        wanted = np.flatnonzero(chosen.any(axis=0))
        for part in range(run.parts):
            rows = wanted[wanted // rows_per_part == part].tolist()
            if rows:
                stored = run.folder.read_part("images", part, only=("image",))["image"]
                yield from ((row, pixels_of_png(stored[row - part * rows_per_part].as_py())) for row in rows)

    pictures_by_group = means(chosen, pictures())
    found = []
    for i, group in enumerate(groups):
        counts = int(group.right.sum()), int(group.wrong.sum())
        faces = pictures_by_group[2 * i : 2 * i + 2]
        found.append(MeanFace(run.spec.name, answers.target, group.measure, group.by, group.group, *counts, *faces))
    return tuple(found)


def gallery_of(answered: TargetOutcomes) -> Gallery:
    """The strips, flips and failures of one target, chosen by the rules of `reports.selection`."""
    run, target, predictions = answered.run, answered.target, answered.predictions
    decisions = answered.decisions
    wrong = np.zeros(len(predictions), dtype=bool)
    outcomes = [answered.outcome(name) for name in run.outcomes(target)]
    values = {outcome.name: outcome.values for outcome in outcomes}
    for outcome in outcomes:
        if outcome.name in (*selection.WRONG, NON_MATCH) and outcome.is_binary:
            wrong |= outcome.values == 1
    answers = selection.answer_texts(predictions, decisions)
    if answered.in_words:
        wrong |= (answered.mistakes == 1) & (target.task is Task.BINARY)
        answers = selection.quoted(predictions, answers)
    if "distance" in values:  # of embeddings: how far from the reference, and whether the two still match
        decisions = 1 - values[NON_MATCH] if NON_MATCH in values else decisions
        answers = selection.distance_texts(predictions, values["distance"], decisions)
    shown = selection.Shown(
        study=run.spec.name,
        target=target.name,
        design=run.design,
        attributes=run.attributes,
        subjects=run.images["subject"].to_numpy(),
        true=run.true,
        predictions=predictions,
        answers=answers,
        decisions=decisions,
        wrong=wrong,
        expected_boxes=run.expected_boxes(target),
        in_steps=run.spec.generator.steps is not None,
    )
    rows_per_part = run.spec.rows_per_part

    def pictures(part: int) -> pa.Table:
        return run.folder.read_part("images", part, only=("image",))

    def png_of(rows: Sequence[int]) -> dict[int, bytes]:
        return selection.stored_images(pictures, rows_per_part, rows)

    return selection.choose(shown, png_of)


def merge(galleries: Sequence[Gallery]) -> Gallery:
    """One gallery of several, in order."""
    return Gallery(
        tuple(strip for gallery in galleries for strip in gallery.strips),
        tuple(failure for gallery in galleries for failure in gallery.failures),
        sum(gallery.total for gallery in galleries),
        tuple(flip for gallery in galleries for flip in gallery.flips),
        tuple(face for gallery in galleries for face in gallery.faces),
    )


LevelLabels = Mapping[float, str]
"""What is compared of one attribute: value and label of each level, or center and range of each group."""


@final
@dataclass(frozen=True, slots=True)
class TransectOutcome:
    """One outcome of one target under a transect design: values [subjects, *shape], NaN where `reasons` states why.

    people: who is on each subject's images; several photographs may show one person.
    """

    measure: Measure
    values: Float[np.ndarray, "n ..."]
    reasons: np.ndarray
    people: Int[np.ndarray, " n"]


@final
@dataclass(frozen=True, slots=True)
class Findings:
    """The findings of one run folder: its entry in results.json, effects, rates and pictures.

    answered: the outcomes of an experiment, none in a population study. differences: the subjects' behind each effect,
    in a population study their scores. mirrors: by target and outcome the earlier outcome whose differences these are.
    outcomes: what was counted, by target and name.
    """

    spec: RunSpec
    entry: Mapping[str, object]
    effects: tuple[Effect, ...]
    rates: tuple[Mapping[str, object], ...]
    gallery: Gallery
    design: Design
    attributes: Mapping[str, Attribute]
    answered: tuple[TransectOutcome, ...] = ()
    differences: tuple[Float[np.ndarray, " n"], ...] = ()
    answers: tuple[Answers, ...] = ()
    mirrors: Mapping[tuple[str, str], str] = field(default_factory=dict)
    outcomes: Mapping[tuple[str, str], Outcome] = field(default_factory=dict)

    def table(self, target: str, outcome: str) -> TransectOutcome | None:
        """One outcome of an experiment; None of observed images."""
        named = ((each.measure.target, each.measure.outcome) for each in self.answered)
        return dict(zip(named, self.answered, strict=True)).get((target, outcome))

    @property
    def in_steps(self) -> bool:
        """Whether its levels are steps λ from each subject's own value, which no population has shares of."""
        return self.spec.generator.steps is not None


def analyse(
    run: Run,
    counting: Counting = UNSET,
    *,
    pictured: bool = True,
) -> Findings:
    """The findings of one finished run. pictured: with its gallery."""
    crossed = counting.by if set(counting.by) <= run.counted_by else ()
    edges = {name: points for name, points in counting.bins.items() if name in run.perceived or not run.design.levels}
    effects: list[Effect] = []
    rates: list[Mapping[str, object]] = []
    galleries: list[Gallery] = []
    answered: list[TransectOutcome] = []
    differences: list[Float[np.ndarray, " n"]] = []
    mirrors: dict[tuple[str, str], str] = {}
    counted: dict[tuple[str, str], Outcome] = {}
    groups: Mapping[str, LevelLabels] = {}
    left_out = 0
    entries, answers = [], []
    for target in run.spec.targets:
        outcomes = TargetOutcomes(run, target)
        named = {name: outcomes.outcome(name) for name in run.outcomes(target)}
        counted |= {(target.name, name): outcome for name, outcome in named.items()}
        rows = run.design.subjects if run.design.levels else 1
        alike = mirrors_of({name: outcome.values.reshape(rows, -1) for name, outcome in named.items()})
        mirrors |= {(target.name, name): other for name, other in alike.items()}
        for outcome in named.values():
            stage(f"{run.spec.name}: effects and tests of {target.name}, {outcome.name}")
            table = _transect_outcome(run, target.name, outcome) if run.design.levels else None
            answered += [] if table is None else [table]
            analysis = estimate(run, target.name, outcome, edges, table=table)
            groups, left_out = _groups(run, analysis.rates), analysis.cells_left_out
            effects += analysis.effects
            differences += analysis.differences
            rates += [_rate_entry(run, target.name, outcome, rate) for rate in analysis.rates]
        entries.append(_target_entry(run, target, outcomes.predictions))
        one = replace(answers_of(run, target, outcomes), boundary=counting.boundary, by=crossed, bins=edges)
        answers.append(replace(one, covariates=counting.covariates, at_thresholds=counting.at_thresholds))
        if pictured:
            galleries.append(replace(gallery_of(outcomes), faces=mean_faces_of(run, answers[-1])))
    effects = with_mirrors(effects, mirrors)
    for asked in run.spec.pairs:
        about_two, preferences = preferred(run, asked)
        effects += about_two
        differences += preferences
    entry = {**_study_entry(run, entries, groups), "cells_left_out": left_out}
    return Findings(
        run.spec, entry, tuple(effects), tuple(rates), merge(galleries), run.design, run.attributes,
        tuple(answered), tuple(differences), tuple(answers), mirrors, counted,
    )  # fmt: skip


def answers_of(run: Run, target: TargetEntry, outcomes: TargetOutcomes | None = None) -> Answers:
    """The target's answers as arrays, for the sections; a pruned image has no value there."""
    outcomes = TargetOutcomes(run, target) if outcomes is None else outcomes
    predictions, task, truth, label = outcomes.predictions, target.task, run.truth(target), outcomes.labels
    none = np.full(len(predictions), np.nan)

    def unpruned(columns: Mapping[str, Float[np.ndarray, " n"]]) -> dict[str, Float[np.ndarray, " n"]]:
        return {name: np.where(run.seen.reasons == "", column, np.nan) for name, column in columns.items()}

    left = run.seen.reasons == ""
    seen = run.seen.about(run.known)
    about = "" if truth is None or truth.attribute == FACE else run.seen.called(truth.attribute, run.known)
    rated, people_truth = _rated_truth(run, truth, about, unpruned(seen.columns), unpruned(seen.people))
    return Answers(
        study=run.spec.name,
        target=target.name,
        task=task,
        design=run.design,
        attributes=run.attributes,
        subjects=run.people,
        cells=run.images["cell"].to_numpy().astype(np.int64),
        scores=outcomes.outcome("score").values if "score" in outcomes.possible else none,
        answers=outcomes.decisions,
        truth=np.where(run.seen.reasons == "", none if label is None else label, np.nan),
        errors=outcomes.mistakes,
        threshold=target.description.cut,
        truth_attribute=about,
        values=unpruned({name: run.true[name] for name in run.attributes if name in run.true}),
        # Labels of photographs cover every image; in an experiment only people's few answers show what it moved.
        perceived=unpruned(seen.columns or (seen.people if run.design.levels else {})),
        held=unpruned({name: run.true[name] for name in run.held if name in run.true}),
        others={**run.seen.unordered(run.known), **run.others, **run.held},
        pruned=int((run.seen.reasons != "").sum()),
        steps=run.spec.generator.steps,
        people=unpruned(seen.people),
        by_machine=bool(seen.columns and seen.people),
        rated=rated,
        people_truth=people_truth,
        failures=predictions.failures,
        said=seen.answers,
        stated=truth,
        verified=outcomes.verified,
        seen={name: attribute.only(left) for name, attribute in run.perceived.items()},
        judge=about if target.truth is None and truth is not None and about in seen.answers else "",
        asked=_asked(run, target, predictions, left),
        drawn_by="" if run.spec.generator.of_photographs else run.spec.generator.name,
    )


def _asked(run: Run, target: TargetEntry, predictions: Predictions, left: Bool[np.ndarray, " n"]) -> Asked | None:
    if predictions.said is None:
        return None
    said = tuple(of_image if kept else () for of_image, kept in zip(predictions.said, left.tolist(), strict=True))
    facts = target.description.facts
    return Asked(asked_of(facts), said, coding_of(facts, run.folder.path, target.name))


_Labels = Float[np.ndarray, " _"]


def _rated_truth(
    run: Run,
    stated: Truth | None,
    name: str,
    columns: Mapping[str, Float[np.ndarray, " n"]],
    people: Mapping[str, Float[np.ndarray, " n"]],
) -> tuple[_Labels, _Labels]:
    """The truth by raters (the file by image first), and the truth by people alone."""
    empty = np.empty(0)
    seen = columns.get(name, people.get(name))
    if stated is None or seen is None:
        return empty, empty
    attribute = run.known.get(stated.attribute)
    by_people = stated.as_rated(people[name], attribute) if name in people else empty
    return stated.as_rated(seen, attribute), by_people


def estimate(
    run: Run,
    target: str,
    outcome: Outcome,
    bins: Bins | None = None,
    confidence: float = CONFIDENCE,
    max_order: int = HIGHEST_ORDER,
    table: TransectOutcome | None = None,
) -> Analysis:
    """Effects and rates of one outcome. bins: of observed attributes. table: of an experiment, once made."""
    if not run.design.levels:
        true = {name: run.true[name] for name in run.attributes}
        measure = measure_of(run, target, outcome)
        return analyse_population(
            outcome.values, outcome.reasons, true, run.attributes, measure, subjects=run.people,
            edges=bins, confidence=confidence, max_order=max_order,
        )  # fmt: skip
    table = table or _transect_outcome(run, target, outcome)
    return analyse_transects(
        table.values, table.reasons, run.design, run.attributes, table.measure, people=table.people,
        confidence=confidence, seed=run.design.seed, max_order=max_order,
    )  # fmt: skip


def _transect_outcome(run: Run, target: str, outcome: Outcome) -> TransectOutcome:
    shape = (run.design.subjects, *run.design.shape)
    values, reasons = outcome.values.reshape(shape), outcome.reasons.reshape(shape)
    measure = replace(measure_of(run, target, outcome), tested=outcome.name not in ("distance", NON_MATCH))
    return TransectOutcome(measure, values, reasons, run.people[:: run.design.n_cells])


def measure_of(run: Run, target: str, outcome: Outcome) -> Measure:
    """The outcome as estimators take it: of a question in words that has one answer for every image, untested."""
    asked = any(each.name == target and each.description.question is not None for each in run.spec.targets)
    untested = SAME_FOR_ALL if asked and outcome.is_share and same_for_all(outcome.values) else ""
    return Measure(target, outcome.name, outcome.unit, outcome.is_binary, answers=outcome.answers, untested=untested)


_OF_RATE: Final = ("cell", "order", "rate", "low", "high", "n_subjects", "n_images", "excluded", "method")


def _rate_entry(run: Run, target: str, outcome: Outcome, rate: Rate) -> dict[str, object]:
    whose = {"study": run.spec.name, "target": target, "outcome": outcome.name, "unit": outcome.unit}
    return whose | {name: getattr(rate, "estimate" if name == "rate" else name) for name in _OF_RATE}


def _target_entry(run: Run, target: TargetEntry, predictions: Predictions) -> dict[str, object]:
    reasons = Counter(category(reason) for reason in predictions.failures if reason)
    return {
        "name": target.name,
        "slug": target.slug,
        "task": str(target.task),
        "description": dict(target.description.facts),
        "truth": None if (truth := run.truth(target)) is None else truth.text,
        "n_images": len(predictions),
        "n_failed": int(predictions.failed.sum()),
        "failure_reasons": dict(sorted(reasons.items())),
        "found_rule": _found_rule(run, target) if predictions.task is Task.DETECTION else None,
    }


def _found_rule(run: Run, target: TargetEntry) -> str:
    face = "labelled face" if run.spec.generator.of_photographs else "rendered face"
    if run.expected_boxes(target) is not None:
        return f"a box that overlaps the {face}, in this detector's convention, by at least {IOU:g} (IoU)"
    return f"any box anywhere in the image: this detector has no box that can be compared with the {face}"


def _study_entry(
    run: Run, targets: Sequence[Mapping[str, object]], groups: Mapping[str, LevelLabels]
) -> dict[str, object]:
    spec, design = run.spec, run.design
    return {
        "name": spec.name,
        "spec": spec.to_json(),
        "spec_hash": run.folder.spec_hash,
        "basis": design.basis,
        "subjects": len(np.unique(run.people)),
        "images": design.n_images,
        "hold": list(design.hold),
        "population": design.population,
        "truth": run.truth_text,
        "seed": design.seed,
        "attributes": [
            {
                "name": name,
                "kind": attribute.kind,
                "unit": attribute.unit,
                "meaning": readable(attribute.meaning),
                "levels": list(groups[name]),
                "labels": list(groups[name].values()),
                "source": attribute.source,
            }
            for name, attribute in run.attributes.items()
        ],
        "targets": list(targets),
        "outcomes": list(run.all_outcomes),
    }


def _groups(run: Run, rates: Sequence[Rate]) -> Mapping[str, LevelLabels]:
    """The levels of each attribute; for a population the groups that its rates stand for."""
    groups: dict[str, dict[float, str]] = {
        name: {value: run.attributes[name].label(value) for value in levels}
        for name, levels in run.design.levels.items()
    }
    for rate in rates:
        for name, value in rate.cell.items() if rate.order == 1 else ():
            text = run.attributes[name].label(value)
            if name in rate.bounds:
                text = " to ".join(f"{bound:.2g}".replace("-", "−") for bound in rate.bounds[name])
            groups.setdefault(name, {}).setdefault(value, text)
    return groups


def pairs_of_groups(
    run: Run, target: str, outcome: Outcome, attribute: str, bins: Bins, confidence: float
) -> tuple[Effect, ...]:
    """A contrast for every two groups of an attribute, the later less the earlier; NaN with a reason."""
    groups = cut(run.attributes[attribute], run.true[attribute], bins.get(attribute))
    measure = Measure(target, outcome.name, outcome.unit, outcome.is_binary, answers=outcome.answers)
    return tuple(_pair(run, outcome, measure, two, confidence) for two in pairs(groups))


def _pair(run: Run, outcome: Outcome, measure: Measure, two: Groups, confidence: float) -> Effect:
    name, chosen = two.attribute.name, two.index >= 0
    analysis = analyse_population(
        outcome.values[chosen],
        outcome.reasons[chosen],
        {name: two.index[chosen].astype(np.float64)},
        {name: two.attribute},
        measure,
        subjects=run.people[chosen],
        confidence=confidence,
        max_order=0,
    )
    return next(effect for effect in analysis.effects if effect.kind == "contrast")


def in_several_worlds(studies: Sequence[Findings]) -> bool:
    """Whether one experiment was made in several worlds: in several generators, or on several sets of photographs."""
    generators = [each.spec.generator for each in studies if each.design.levels and not each.in_steps]
    return len({(each.name, str(each.facts.get("pictures_sha256", ""))) for each in generators}) > 1


def read(run: Path) -> tuple[Findings | None, list[str]]:
    """The findings of a run's negative control, which shows no pictures, and a note where it is unfinished."""
    folder = run / CONTROL
    if not (folder / "run.json").exists():
        return None, []
    try:
        return analyse(finished_run.read(folder), pictured=False), []
    except BadInput:
        return None, [f"The negative control in {run.name}/{CONTROL} was not finished."]
