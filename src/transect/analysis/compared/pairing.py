"""Which models are compared, on which images and outcomes: each against the first, on the same images.

A model in words is compared with the first that was asked the same question, and never on another question.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

import numpy as np
from jaxtyping import Float

from transect.analysis.finished_run import Run
from transect.analysis.same_images import runs_in, same_images
from transect.analysis.target_outcomes import TargetOutcomes
from transect.effects.outcomes import OF_TRUTH
from transect.effects.paired_models import shared
from transect.errors import BadInput, UnknownName
from transect.reports.wording import short_name
from transect.runs.judge_agreement import digest_of
from transect.runs.spec import TargetEntry

OWN_SPACES: Final = (
    "distance is not compared: distances of two models have different scales; compare recognizers with "
    "transect recognition"
)

_ASKED_ONE: Final = "of {} and {} one alone was asked a question in words, and no truth says that both mean the same"


@final
@dataclass(frozen=True, slots=True)
class Model:
    """A target of the studies of one folder, under the name that the comparison calls it."""

    name: str
    folder: Path
    studies: tuple[tuple[Run, TargetEntry], ...]

    @property
    def question(self) -> str:
        """What tells the question in words, and its judge, from others; "" where it was asked none."""
        facts = self.studies[0][1].description.facts if self.studies else {}
        judge = facts.get("judge")
        return " ".join(filter(None, [str(facts.get("question_sha256", "")), digest_of(judge) if judge else ""]))


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


def models_of(folders: Sequence[Path], targets: Sequence[str] = ()) -> tuple[Model, ...]:
    """The targets of all folders, in order, or those that are named."""
    runs = images_of(folders)
    found = [(folder, target.name) for folder, studies in runs for target in _targets(studies)]
    if unknown := [name for name in targets if name not in {target for _, target in found}]:
        raise UnknownName("target", unknown[0], list(dict.fromkeys(target for _, target in found)))
    chosen = [each for each in found if not targets or each[1] in targets]
    if len(chosen) < 2:
        raise BadInput(
            f"expected two models or more to compare, got {len(chosen)}; give a second run on the same images, or "
            "audit several targets in one run"
        )
    studies = dict(runs)
    made = [_studies_of(studies[folder], target) for folder, target in chosen]
    return tuple(
        Model(name, folder, each) for name, (folder, _), each in zip(names_of(chosen), chosen, made, strict=True)
    )


def images_of(folders: Sequence[Path]) -> list[tuple[Path, list[Run]]]:
    """The runs of each folder. Raises BadInput where the images of two folders differ."""
    runs = [(folder, runs_in(folder)) for folder in folders]
    for folder, others in runs[1:]:
        _check_images(runs[0][0], runs[0][1], folder, others)
    return runs


def _check_images(folder: Path, runs: Sequence[Run], other: Path, others: Sequence[Run]) -> None:
    alike = len(runs) == len(others) and all(same_images(*pair) for pair in zip(runs, others, strict=True))
    if not alike:
        raise BadInput(
            f"{other}: expected a run on the images of {folder}, got other images; rerun one of them with the same "
            "generator, attributes, subjects, size and seed"
        )


def _targets(studies: Sequence[Run]) -> list[TargetEntry]:
    return list({target.name: target for run in studies for target in run.spec.targets}.values())


def _studies_of(runs: Sequence[Run], target: str) -> tuple[tuple[Run, TargetEntry], ...]:
    return tuple((run, entry) for run in runs for entry in run.spec.targets if entry.name == target)


def names_of(chosen: Sequence[tuple[Path, str]]) -> list[str]:
    """Short names of the targets of folders where these differ, else names of the folders, else both; numbered as a
    last resort.

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
    of_one = len({target for _, target in chosen}) == 1
    return _numbered(candidates[2] if of_one else both)


def _numbered(names: Sequence[str]) -> list[str]:
    """The names, those that stand there more than once with a number each.

    >>> _numbered(["a", "a", "b"])
    ['a (1)', 'a (2)', 'b']
    """
    return [
        f"{name} ({names[: place + 1].count(name)})" if names.count(name) > 1 else name
        for place, name in enumerate(names)
    ]


def paired_outcomes(models: Sequence[Model]) -> tuple[list[PairedOutcome], list[str]]:
    """Every outcome that a model and its reference both have, and in words those that are not compared."""
    pairs: list[PairedOutcome] = []
    notes: list[str] = []
    for reference, model in _with_references(models):
        for place, (run, target) in _common_studies(reference, model):
            made, why = _of_study(reference, model, place, run, target)
            pairs += made
            notes += why
    alone = _alone(models)
    notes += alone
    if not pairs and len(alone) == len(models):
        raise BadInput(
            f"expected a question that two models were asked, got {len(models)} that one was asked each "
            f"({', '.join(model.name for model in models)}); give a run of another model with the same --questions"
        )
    if not pairs:
        why_not = "; ".join(dict.fromkeys(notes)) or "no study has both"
        raise BadInput(
            f"expected an outcome that two models share, got none ({why_not}); audit them with the same truth"
        )
    return pairs, list(dict.fromkeys(notes))


def _with_references(models: Sequence[Model]) -> Iterator[tuple[Model, Model]]:
    """Each model with what it is compared with; those that are the first, or alone with their question, have none."""
    for place, model in enumerate(models):
        reference = _reference(models[:place], model)
        if reference is not None:
            yield reference, model


def _reference(before: Sequence[Model], model: Model) -> Model | None:
    """The first model that was asked the same question; else the first of all, where one of the two was asked none."""
    same = next((each for each in before if each.question == model.question), None)
    if same is not None or not before:
        return same
    return before[0] if not (before[0].question and model.question) else None


def _alone(models: Sequence[Model]) -> list[str]:
    """Of each model that has no partner, that it has none."""
    paired = {each.name for pair in _with_references(models) for each in pair}
    return [
        f"{model.name} is not compared: no other model was asked its question"
        for model in models
        if model.name not in paired
    ]


def _common_studies(first: Model, model: Model) -> Iterator[tuple[int, tuple[Run, TargetEntry]]]:
    names = [run.spec.name for run, _ in first.studies]
    return ((names.index(run.spec.name), (run, target)) for run, target in model.studies if run.spec.name in names)


def _of_study(
    reference: Model, model: Model, place: int, run: Run, target: TargetEntry
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
            after.is_binary and before.is_binary, *shared(before.values, after.values), about,
            answers if shares else 1,
        ))  # fmt: skip
    return pairs, notes
