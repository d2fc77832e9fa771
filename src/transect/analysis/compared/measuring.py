"""Which models are compared, on which images and outcomes, and what is measured of two: rates, gaps, effects, images
on which they differ.

Each model is compared with the first, on the same images; one in words with the first that was asked the same
question, and never on another question.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, Generic, TypeAlias, TypeVar, final

import numpy as np
from jaxtyping import Bool, Float, Int

from transect.analysis import asked_answers
from transect.analysis.asked_answers import AskedPairs
from transect.analysis.compared.conclusions import DifferingAnswers, DifferingImage, Kind, Left, Row
from transect.analysis.finished_run import Run, TargetOutcomes, runs_in, same_images
from transect.designs.pairs import along
from transect.effects import paired_models
from transect.effects.clusters import clusters_of, rows_of_people
from transect.effects.contrasts import by_level, contrasts
from transect.effects.intervals import wilson
from transect.effects.observational import Groups, cut, pairs
from transect.effects.outcomes import OF_TRUTH, WORSE_WHEN_LARGER
from transect.effects.paired_models import Gap, Quantity
from transect.effects.preferences import PREFERRED
from transect.errors import BadInput, UnknownName
from transect.reports.wording import short_name
from transect.runs.folder import spec_hash
from transect.runs.spec import PairsEntry, TargetEntry

OWN_SPACES: Final = (
    "distance is not compared: distances of two models have different scales; compare recognizers with "
    "transect recognition"
)

_ASKED_ONE: Final = "only one of {} and {} was asked a question in words, and no truth shows that both mean the same"


_Entry = TypeVar("_Entry", TargetEntry, PairsEntry)


@final
@dataclass(frozen=True, slots=True)
class Model(Generic[_Entry]):
    """A target, or a question about two images, of the studies of one folder, under the comparison's name for it."""

    name: str
    studies: tuple[tuple[Run, _Entry], ...]

    @property
    def question(self) -> str:
        """What tells the question in words, and its judge, from others; "" where it was asked none."""
        facts = self.studies[0][1].description.facts if self.studies else {}
        judge = facts.get("judge")
        return " ".join(filter(None, [str(facts.get("question_sha256", "")), spec_hash(judge) if judge else ""]))


@final
@dataclass(frozen=True, slots=True)
class PairedOutcome:
    """One outcome of a model and of the reference, NaN on every image that one of them did not answer.

    answers: of how many answers of 0 or 1 a value is the share, of the model that was asked less often; else 1.
    """

    study: str
    model: str
    reference: str
    run: Run
    target: TargetEntry
    outcome: str
    unit: str
    is_binary: bool
    first: Float[np.ndarray, " n"]
    second: Float[np.ndarray, " n"]
    truth_attribute: str
    answers: int = 1

    @property
    def is_share(self) -> bool:
        """Whether values of both are 0 or 1, or shares of such answers."""
        return self.is_binary or self.answers > 1

    @property
    def task(self) -> str:
        """What the model answers, as its outcome is worded."""
        return self.target.task.value


def models_of(folders: Sequence[Path], targets: Sequence[str] = ()) -> list[Model[TargetEntry]]:
    """The targets of all folders, in order, or those that are named."""
    runs = images_of(folders)
    known = list(dict.fromkeys(target.name for _, studies in runs for run in studies for target in run.spec.targets))
    if unknown := [name for name in targets if name not in known]:
        raise UnknownName("target", unknown[0], known)
    found = _named([(folder, [(run, run.spec.targets) for run in studies]) for folder, studies in runs], targets)
    if len(found) < 2:
        raise BadInput(
            f"expected at least two models to compare, got {len(found)}; give a second run on the same "
            "images, or audit several targets in one run"
        )
    return found


def asked_models(runs: Sequence[tuple[Path, Sequence[Run]]], targets: Sequence[str] = ()) -> list[Model[PairsEntry]]:
    """The questions about two images of all folders, in order, or those that are named."""
    return _named([(folder, [(run, run.spec.pairs) for run in studies]) for folder, studies in runs], targets)


def _named(
    folders: Sequence[tuple[Path, Sequence[tuple[Run, Sequence[_Entry]]]]], targets: Sequence[str]
) -> list[Model[_Entry]]:
    """The models of some folders, those that are named: what the studies of one folder call alike is one."""
    found: dict[tuple[int, str], list[tuple[Run, _Entry]]] = {}
    for place, (_, studies) in enumerate(folders):  # one folder may be given twice
        for run, entries in studies:
            for entry in entries:
                if not targets or entry.name in targets:
                    found.setdefault((place, entry.name), []).append((run, entry))
    names = names_of([(folders[place][0], target) for place, target in found])
    return [Model(name, tuple(studies)) for name, studies in zip(names, found.values(), strict=True)]


def images_of(folders: Sequence[Path]) -> list[tuple[Path, list[Run]]]:
    """The runs of each folder. Raises BadInput where the images of two folders differ."""
    runs = [(folder, runs_in(folder)) for folder in folders]
    for folder, others in runs[1:]:
        first, own = runs[0]
        if len(own) != len(others) or not all(same_images(*pair) for pair in zip(own, others, strict=True)):
            raise BadInput(
                f"{folder}: expected a run on the images of {first}, got other images; use the same "
                "generator, attributes, subjects, size and seed"
            )
    return runs


def names_of(chosen: Sequence[tuple[Path, str]]) -> list[str]:
    """Short names of the targets of folders where these differ, else names of the folders, else both; as a last resort
    those that stand there more than once have a number each.

    >>> names_of([(Path("runs/a"), "callable:m.py:f"), (Path("runs/b"), "callable:m.py:f")])
    ['a', 'b']
    >>> names_of([(Path("runs/a"), "gpt/hire"), (Path("runs/a"), "gpt/trust")] * 2)[1:3]  # one run given twice
    ['a: gpt/trust (1)', 'a: gpt/hire (2)']
    """
    both = [f"{folder.resolve().name}: {short_name(target)}" for folder, target in chosen]
    candidates = (
        [short_name(target) for _, target in chosen],
        [target for _, target in chosen],
        [folder.resolve().name for folder, _ in chosen],
        both,
        [f"{folder}: {target}" for folder, target in chosen],
    )
    for names in candidates:
        if len(set(names)) == len(names):
            return names
    names = candidates[2] if len({target for _, target in chosen}) == 1 else both
    return [
        f"{name} ({names[: place + 1].count(name)})" if names.count(name) > 1 else name
        for place, name in enumerate(names)
    ]


def paired_outcomes(models: Sequence[Model[TargetEntry]]) -> tuple[list[PairedOutcome], list[str]]:
    """Every outcome that a model and its reference both have, and in words those that are not compared."""
    pairs: list[PairedOutcome] = []
    notes: list[str] = []
    for reference, model in _with_references(models):
        places = {run.spec.name: place for place, (run, _) in enumerate(reference.studies)}
        for run, target in model.studies:
            if run.spec.name in places:
                made, why = _of_study(reference, model, places[run.spec.name], run, target)
                pairs += made
                notes += why
    alone = _alone(models, "its question")
    notes += alone
    if not pairs and len(alone) == len(models):
        raise BadInput(
            f"expected a question that two models share, got {len(models)} without one "
            f"({', '.join(model.name for model in models)}); add a run of another model with the same "
            "--questions"
        )
    if not pairs:
        why_not = "; ".join(dict.fromkeys(notes)) or "no study has both"
        raise BadInput(f"no outcome that two models share ({why_not}); use the same truth")
    return pairs, list(dict.fromkeys(notes))


def _with_references(models: Sequence[Model[_Entry]]) -> Iterator[tuple[Model[_Entry], Model[_Entry]]]:
    """Each model with the first that was asked the same, else with the first of all where either was asked none."""
    for place, model in enumerate(models):
        same = next((each for each in models[:place] if each.question == model.question), None)
        if same is not None:
            yield same, model
        elif place and not (models[0].question and model.question):
            yield models[0], model


def _alone(models: Sequence[Model[_Entry]], question: str) -> list[str]:
    """Of each model that has no partner, that it has none."""
    paired = {each.name for pair in _with_references(models) for each in pair}
    alone = [model.name for model in models if model.name not in paired]
    return [f"{name} is not compared: no other model was asked {question}" for name in alone]


def _of_study(
    reference: Model[TargetEntry], model: Model[TargetEntry], place: int, run: Run, target: TargetEntry
) -> tuple[list[PairedOutcome], list[str]]:
    first_run, first_target = reference.studies[place]
    known = TargetOutcomes(first_run, first_target), TargetOutcomes(run, target)
    offered = first_run.outcomes(first_target), run.outcomes(target)
    truths = [each.run.truth(each.target) for each in known]
    texts = [None if truth is None else truth.text for truth in truths]
    pairs, notes = [], []
    for name in dict.fromkeys((*offered[0], *offered[1])):
        if name == "distance":
            notes.append(OWN_SPACES)
            continue
        if any(name not in names for names in offered):
            owner = reference.name if name in offered[0] else model.name
            notes.append(f"{name} is counted on {owner} alone")
            continue
        if name not in OF_TRUTH and None in texts and reference.question != model.question:
            notes.append(f"{name} is not compared: {_ASKED_ONE.format(reference.name, model.name)}")
            continue
        if texts[0] != texts[1] and (name in OF_TRUTH or None not in texts):
            notes.append(
                f"{name} is not compared: the truth is {texts[0]} for {reference.name}, {texts[1]} for {model.name}"
            )
            continue
        before, after = (each.outcome(name) for each in known)
        if before.unit != after.unit:
            notes.append(
                f"{name} is not compared: its unit is {before.unit} for {reference.name}, {after.unit} for {model.name}"
            )
            continue
        answers = min(before.answers, after.answers)
        shares = before.is_share and after.is_share
        about = next((truth.attribute for truth in truths if truth is not None), "")
        pairs.append(PairedOutcome(
            run.spec.name, model.name, reference.name, run, target, name, after.unit,
            after.is_binary and before.is_binary, *paired_models.shared(before.values, after.values), about,
            answers if shares else 1,
        ))  # fmt: skip
    return pairs, notes


CONFIDENCE: Final = 0.95
NONE_SHARED: Final = "fewer than two subjects whom both models answered"


@final
@dataclass(frozen=True, slots=True)
class Measured:
    """One row, with what its numbers come from. others: the same at every pair of levels, for equivalence."""

    row: Row
    quantity: Quantity
    others: tuple[Quantity, ...]
    smaller_is_better: bool


def measured(pair: PairedOutcome) -> list[Measured]:
    """Everything that is compared in one outcome of two models: the rate first, then attribute by attribute."""
    first, second, who = _subjects_and_cells(pair)
    seed = pair.run.design.seed
    rate = paired_models.rate_difference(first, second, pair.is_share, answers=pair.answers, who=who, seed=seed)
    directed = pair.outcome in WORSE_WHEN_LARGER
    rows = [_measured(pair, "rate", "", "mean over subjects", rate, (rate,), directed=directed)]
    found = _between_levels(pair) if pair.run.design.levels else _between_groups(pair)
    return [*rows, *found]


About: TypeAlias = tuple[str, str, str, str, str]
"""Study, model, reference, outcome and its unit."""


def _measured(
    pair: PairedOutcome, kind: Kind, attribute: str, name: str, quantity: Quantity, others: Sequence[Quantity], *,
    directed: bool,
) -> Measured:  # fmt: skip
    about, observed = (pair.study, pair.model, pair.reference, pair.outcome, pair.unit), not pair.run.design.levels
    found = _numbers(about, kind, attribute, name, quantity, others, observed=observed, directed=directed)
    return replace(found, row=replace(found.row, task=pair.task))


def _numbers(
    about: About, kind: Kind, attribute: str, name: str, quantity: Quantity, others: Sequence[Quantity], *,
    observed: bool, directed: bool,
) -> Measured:  # fmt: skip
    low, high = quantity.interval(CONFIDENCE)
    enough = quantity.n_subjects > 1
    row = Row(
        *about, kind, observed,
        attribute, name, quantity.first, quantity.second, quantity.estimate, low, high,
        quantity.p if enough else math.nan, math.nan, quantity.n_subjects, "" if enough else NONE_SHARED,
    )  # fmt: skip
    return Measured(row, quantity, tuple(others), directed)


def _subjects_and_cells(
    pair: PairedOutcome,
) -> tuple[Float[np.ndarray, "n cells"], Float[np.ndarray, "n cells"], Int[np.ndarray, " n"] | None]:
    """Both outcomes with a row for each subject, and the person of each where several photographs show one."""
    design, people = pair.run.design, pair.run.people
    if design.levels:
        shape = design.subjects, design.n_cells
        return pair.first.reshape(shape), pair.second.reshape(shape), clusters_of(people[:: design.n_cells])
    _, who = np.unique(people, return_inverse=True)
    return rows_of_people(pair.first, who), rows_of_people(pair.second, who), None


def _between_levels(pair: PairedOutcome) -> Iterator[Measured]:
    """Of an experiment: rates at each level, and effects and gaps of the contrasts that an audit tests."""
    design, run = pair.run.design, pair.run
    shape = (design.subjects, *design.shape)
    first, second = pair.first.reshape(shape), pair.second.reshape(shape)
    reasons = np.full(shape, "", dtype=object)
    tested = contrasts(first, reasons, design, run.attributes)
    who = clusters_of(run.people[:: design.n_cells])
    for axis, (name, levels) in enumerate(design.levels.items()):
        attribute = run.attributes[name]
        grids = by_level(first, axis), by_level(second, axis)
        for place, level in enumerate(levels):
            ends = grids[0][:, place], grids[1][:, place]
            rate = paired_models.rate_difference(*ends, pair.is_share, answers=pair.answers, who=who, seed=design.seed)
            yield _measured(pair, "rate at a level", name, attribute.label(level), rate, (), directed=False)
        gap = partial(_gap_between, pair, first, second, axis, who)
        rows = [each for each in tested if (each.attribute, each.kind) == (name, "contrast")]
        chosen = [(each.name, gap((levels.index(each.origin), levels.index(each.to)))) for each in rows]
        judged = name != pair.truth_attribute
        pairs = [gap(ends) for ends in itertools.combinations(range(len(levels)), 2)] if judged else []
        yield from _gaps(pair, name, chosen, pairs)


def _gap_between(
    pair: PairedOutcome,
    first: Float[np.ndarray, "n ..."],
    second: Float[np.ndarray, "n ..."],
    axis: int,
    who: Int[np.ndarray, " n"] | None,
    ends: tuple[int, int],
) -> Gap:
    share, answers = pair.is_share, pair.answers
    return paired_models.gap_between_levels(
        first, second, axis, ends, share, answers=answers, who=who, seed=pair.run.design.seed
    )


def _between_groups(pair: PairedOutcome) -> Iterator[Measured]:
    """Of observed images: effects and gaps between the groups that an audit compares; associations."""
    run, edges = pair.run, pair.run.bins
    for name, attribute in run.attributes.items():
        column = run.true[name]
        groups = cut(attribute, column, edges.get(name))
        found = paired_models.gaps_between_groups(pair.first, pair.second, groups, column, run.people, pair.is_binary)
        yield from _gaps(pair, name, found, _of_all_groups(pair, groups, [gap for _, gap in found]))


def _of_all_groups(pair: PairedOutcome, groups: Groups, found: Sequence[Gap]) -> list[Gap]:
    """The gaps of every two groups, since "no worse" is said of all; those found where there are but two."""
    if len(groups.centers) <= 2:
        return list(found)
    gaps = []
    for two in pairs(groups):
        column = np.where(two.index >= 0, two.index, np.nan)
        first, second = (np.where(two.index >= 0, side, np.nan) for side in (pair.first, pair.second))
        found_here = paired_models.gaps_between_groups(first, second, two, column, pair.run.people, pair.is_binary)
        gaps += [gap for _, gap in found_here]
    return gaps


def _gaps(
    pair: PairedOutcome, attribute: str, found: Sequence[tuple[str, Gap]], pairs: Sequence[Gap]
) -> Iterator[Measured]:
    """Effects, and gaps where a smaller one is better."""
    if pair.outcome in OF_TRUTH and attribute == pair.truth_attribute:
        return  # where the label changes, the error does
    for name, gap in found:
        words = name.partition(": ")[2]
        yield _measured(pair, "effect", attribute, words, gap.difference, (), directed=False)
        if attribute != pair.truth_attribute:  # a gap on what the target should react to is no bias
            yield _measured(pair, "gap", attribute, words, gap, pairs, directed=True)


def compared_preferences(models: Sequence[Model[PairsEntry]]) -> tuple[list[Measured], list[str]]:
    """What is measured of each model and the first that was asked the same, and in words those that have no partner."""
    rows = [row for reference, model in _with_references(models) for row in _of_two(reference, model)]
    return rows, _alone(models, "its question about two images")


def _of_two(reference: Model[PairsEntry], model: Model[PairsEntry]) -> Iterator[Measured]:
    before = {run.spec.name: (run, entry) for run, entry in reference.studies}
    for run, entry in model.studies:
        if run.spec.name in before:
            sides = [asked_answers.read(*each) for each in (before[run.spec.name], (run, entry))]
            about = run.spec.name, model.name, reference.name, PREFERRED, "proportion"
            for name in run.design.levels:
                gaps = dict(_preferences_gaps(run, sides, name))
                for words, gap in gaps.items():
                    yield _numbers(about, "effect", name, words, gap.difference, (), observed=False, directed=False)
                    yield _numbers(about, "gap", name, words, gap, list(gaps.values()), observed=False, directed=True)


def _preferences_gaps(run: Run, sides: Sequence[AskedPairs], name: str) -> Iterator[tuple[str, Gap]]:
    """Of every two levels in words."""
    label, levels = run.attributes[name].label, run.design.levels[name]
    for (low, high), cells in along(run.design, name).items():
        first, second = (side.decided(cells) for side in sides)
        yield f"{label(levels[low])} to {label(levels[high])}", _gap(run, first, second)


def _gap(run: Run, first: Float[np.ndarray, " n"], second: Float[np.ndarray, " n"]) -> Gap:
    """Both models' differences of the shares of subjects that prefer either level, of subjects that both answered."""
    known = np.isfinite(first) & np.isfinite(second)
    tables = [
        np.where(known[:, None], np.stack([decided < 0, decided > 0], axis=1).astype(np.float64), np.nan)
        for decided in (first, second)
    ]
    return paired_models.gap_between_levels(tables[0], tables[1], 0, (0, 1), True, seed=run.design.seed)


EACH: Final = 4
"""Images shown of either kind: those on which the reference's outcome is larger, and the model's."""


def disagreement(pair: PairedOutcome) -> DifferingAnswers:
    """How many images differ, and which way."""
    more, less = _which(pair)
    both = int(np.isfinite(pair.first).sum())
    return DifferingAnswers(
        pair.study, pair.model, pair.reference, pair.outcome, both, int(less.sum()), int(more.sum()), pair.task
    )


def shown_outcomes(pairs: Sequence[PairedOutcome]) -> list[PairedOutcome]:
    """Of each model and study the outcome whose images are shown: an error where one is counted, else yes or no."""
    best: dict[tuple[str, str], PairedOutcome] = {}
    for pair in sorted(pairs, key=lambda pair: (not pair.is_binary, pair.outcome not in OF_TRUTH)):
        best.setdefault((pair.study, pair.model), pair)
    return list(best.values())


def differing_images(pair: PairedOutcome) -> list[DifferingImage]:
    """Up to four images of either kind, of different people where possible, spread over all of them."""
    more, less = _which(pair)
    rows = [*_spread(less, pair.run), *_spread(more, pair.run)]
    ids = pair.run.images["id"]
    return [
        DifferingImage(
            pair.study, pair.model, pair.reference, pair.outcome, str(ids[row].as_py()), row, _settings(pair.run, row),
            float(pair.first[row]), float(pair.second[row]), pair.task,
        )
        for row in rows
    ]  # fmt: skip


def _which(pair: PairedOutcome) -> tuple[Bool[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
    """Images on which the model's outcome is the larger, and the reference's."""
    return pair.second > pair.first, pair.first > pair.second


def _spread(chosen: Bool[np.ndarray, " n"], run: Run) -> list[int]:
    rows = np.flatnonzero(chosen)
    people: Int[np.ndarray, " n"] = run.people[rows]
    first = rows[np.sort(np.unique(people, return_index=True)[1])]
    pool = first if len(first) >= EACH else rows
    if not len(pool):
        return []
    return [int(row) for row in pool[np.unique(np.linspace(0, len(pool) - 1, EACH).round().astype(np.int64))]]


def _settings(run: Run, row: int) -> tuple[tuple[str, str], ...]:
    """What was set on an image, or of an observed one its values of the compared attributes."""
    if run.design.levels:
        cell = run.design.cells()[row % run.design.n_cells]
        return tuple((name, run.attributes[name].label(value)) for name, value in cell.items())
    values = {name: float(run.true[name][row]) for name in run.attributes}
    return tuple((name, run.attributes[name].label(each)) for name, each in values.items() if np.isfinite(each))


def pictures_of(run: Run, rows: Sequence[int]) -> dict[int, bytes]:
    """The pictures of some rows, as PNG or JPEG, by row; without those of which the run keeps none."""
    found: dict[int, bytes] = {}
    start = 0
    for part in range(run.parts):
        table = run.folder.read_part("images", part)
        inside = [row for row in rows if start <= row < start + len(table)]
        for row in inside:
            if picture := table["image"][row - start].as_py():
                found[row] = picture
        start += len(table)
    return found


def worst_cells(pairs: Sequence[PairedOutcome]) -> tuple[Left, ...]:
    """Of each model, study and kind of error the combination of set levels at which the model errs most."""
    found = [_worst(pair) for pair in pairs if pair.is_binary and pair.outcome in WORSE_WHEN_LARGER]
    return tuple(left for left in found if left is not None)


def _worst(pair: PairedOutcome) -> Left | None:
    """None for observed images, and where the model makes no such error."""
    design = pair.run.design
    if not design.levels:
        return None
    cells = pair.second.reshape(design.subjects, design.n_cells)
    images = np.isfinite(cells).sum(axis=0)
    errors = np.nansum(cells, axis=0)
    rates = np.divide(errors, images, out=np.zeros(len(images)), where=images > 0)
    worst = int(rates.argmax())
    if not rates[worst] > 0:
        return None
    low, high = wilson(errors[worst], images[worst], 1 - 0.05 / len(images))  # it was picked of all
    settings = design.cells()[worst]
    named = tuple((name, pair.run.attributes[name].label(value)) for name, value in settings.items())
    ends = float(low), float(high)
    return Left(
        pair.study, pair.model, pair.outcome, named, float(rates[worst]), *ends, int(images[worst]), len(images)
    )


def shifted(differing: Sequence[DifferingAnswers]) -> DifferingAnswers | None:
    """Where one model says yes on all images on which they differ, and the images cannot show what that costs."""
    kinds = {each.outcome: each for each in differing}
    if {"miss", "false_alarm"} <= kinds.keys():
        return None
    one = kinds.get("miss") or kinds.get("false_alarm")
    if one is None or (one.only_model > 0) == (one.only_reference > 0):
        return None
    return one
