"""The effect on photographs with the help of many renderings: subjects that were rendered and photographed tell how
wrong the rendering is, see `effects.transport`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final, final

import numpy as np
from jaxtyping import Float, Int

from transect.analysis import finished_run
from transect.analysis.finished_run import Run
from transect.analysis.replicated import words
from transect.analysis.replicated.reading import digest
from transect.analysis.replicated.records import Combined, Finding, ReplicateNumbers
from transect.analysis.target_outcomes import TargetOutcomes
from transect.effects.contrasts import Contrast, contrasts
from transect.effects.transport import SOURCES, Transported, transported
from transect.errors import BadInput
from transect.records import Attribute
from transect.runs import tables as columns
from transect.runs.places import runs_of
from transect.runs.spec import GeneratorDescription
from transect.runs.wording import counted

WORKS: Final = SOURCES
_NO_TWINS: Final = (
    "--combine: expected subjects that are in both runs, got none in common: nothing says how wrong the rendering is, "
    "and summaries alone cannot; render the subjects of the photographs too, or drop --combine"
)
_STRANGERS: Final = (
    "--combine: expected renderings of the photographed subjects, got subjects of {} and of {}: equal numbers do not "
    "make them the same; a generator that renders the subjects of another says so in describe(), "
    "as subjects_of = {!r}; state that, or drop --combine"
)
_OTHER_NUMBERS: Final = (
    "The two runs number people otherwise: subjects that were only rendered are taken to be of people who were not "
    "photographed, each of another; where they are not, the combined interval is too narrow"
)
_Key = tuple[str, str, str, str]


@final
@dataclass(frozen=True, slots=True)
class SubjectEffects:
    """What each subject of a run says about one contrast. labels: of its levels, in words."""

    labels: str
    subjects: Int[np.ndarray, " n"]
    people: Int[np.ndarray, " n"]
    differences: Float[np.ndarray, " n"]


def combined(folders: Sequence[Path], numbers: ReplicateNumbers) -> tuple[tuple[Combined, ...], tuple[str, ...]]:
    """Each effect on the photographs of the second run, with the help of the first, and what could not be combined.

    Subjects are the same where their numbers in the tables are and the runs are of one generator, or that of one states
    that its subjects are the other's (`subjects_of` in its description: the other's name, or the SHA-256 of its
    photographs). Raises BadInput where a run is no single experiment, nothing states so, or no subject is in both.
    """
    runs = [_experiment(folder) for folder in folders]
    _check_linked(*(run.spec.generator for run in runs))
    rendered, photographed = (_by_contrast(run) for run in runs)
    made, notes = [], []
    for finding in numbers.findings:
        pair = _pair(finding, rendered, photographed)
        if pair is None:
            notes.append(f"{words.about(finding)} is not combined: the two runs have other levels")
        else:
            one, more = _combine(finding, *pair)
            made.append(one)
            notes += more
    return tuple(made), tuple(dict.fromkeys(notes))


def _check_linked(rendered: GeneratorDescription, photographed: GeneratorDescription) -> None:
    """Refuse strangers: every world numbers its subjects alike, by the seed of the run."""
    stated = [
        one.facts.get("subjects_of") in (other.name, other.facts.get("pictures_sha256", other.name))
        for one, other in ((rendered, photographed), (photographed, rendered))
    ]
    if not any(stated) and _drawn_from(rendered) != _drawn_from(photographed):
        raise BadInput(_STRANGERS.format(rendered.name, photographed.name, photographed.name))


def _drawn_from(generator: GeneratorDescription) -> tuple[str, ...]:
    """What subjects of one number are the same of: photographs, inverted ones, or a generator's population."""
    if generator.edits_photographs:
        return ("photographs", str(generator.facts["pictures_sha256"]))
    return (generator.name, str(generator.population), str(generator.photographs.get("sha256", "")))


def _experiment(folder: Path) -> Run:
    places = runs_of(folder)
    if len(places) != 1:
        raise BadInput(f"--combine: {folder}: expected a run of one study, got {len(places)}; give that of one study")
    run = finished_run.read(places[0])
    if not run.design.levels:
        raise BadInput(f"--combine: {folder}: expected attributes that were set, got observed images; drop --combine")
    return run


def _by_contrast(run: Run) -> dict[_Key, SubjectEffects]:
    """By model, attribute, outcome and levels; of a binary attribute the levels are not named."""
    return dict(_contrasts(run))


def _contrasts(run: Run) -> Iterator[tuple[_Key, SubjectEffects]]:
    shape = (run.design.subjects, *run.design.shape)
    subjects, people = (
        ids.reshape(run.design.subjects, -1)[:, 0]
        for ids in (run.images["subject"].to_numpy().astype(np.int64), columns.people_of(run.images))
    )
    for target in run.spec.targets:
        key, outcomes = digest(target.description.facts), TargetOutcomes(run, target)
        for name in run.outcomes(target):
            outcome = outcomes.outcome(name)
            values, reasons = outcome.values.reshape(shape), outcome.reasons.reshape(shape)
            for each in contrasts(values, reasons, run.design, run.attributes):
                if each.kind == "contrast":
                    attribute = run.attributes[each.attribute]
                    labels = f"{attribute.label(each.origin)} to {attribute.label(each.to)}"
                    place = (key, each.attribute, name, _levels(attribute, each, labels))
                    yield place, SubjectEffects(labels, subjects, people, each.differences)


def _levels(attribute: Attribute, contrast: Contrast, labels: str) -> str:
    """What the levels are known by: "" of a binary attribute, names of a categorical one, else numbers."""
    if attribute.kind == "binary":
        return ""
    return labels if attribute.discrete else f"{contrast.origin:g} to {contrast.to:g}"


def _pair(
    finding: Finding, rendered: dict[_Key, SubjectEffects], photographed: dict[_Key, SubjectEffects]
) -> tuple[SubjectEffects, SubjectEffects] | None:
    """The finding's contrast in both runs; None where they have not the same."""
    about = (finding.digest, finding.attribute, finding.outcome)
    shared = [key for key in rendered if key[:3] == about and key in photographed]
    chosen = next((key for key in shared if rendered[key].labels == finding.levels), None)
    return None if chosen is None or finding.scaled else (rendered[chosen], photographed[chosen])


def _combine(finding: Finding, rendered: SubjectEffects, photographed: SubjectEffects) -> tuple[Combined, list[str]]:
    """The combined effect, and what was left out or assumed for it.

    A rendering of somebody who was photographed is no new person, as far as both runs number people alike.
    """
    both, here, there = np.intersect1d(photographed.subjects, rendered.subjects, return_indices=True)
    if not len(both):
        raise BadInput(_NO_TWINS)
    alone = np.setdiff1d(np.arange(len(rendered.subjects)), there)
    alike = np.array_equal(photographed.people[here], rendered.people[there])
    found = transported(
        photographed.differences[here],
        rendered.differences[there],
        rendered.differences[alone],
        people=photographed.people[here],
        people_alone=rendered.people[alone] if alike else None,
    )
    left = len(photographed.subjects) - len(both)
    notes = (
        [f"{counted(left, 'photographed subject')} without a rendering: left out of what is combined"] if left else []
    )
    if found.n_missing:
        notes.append(f"{words.about(finding)}: {counted(found.n_missing, 'subject')} without a known effect left out")
    return _told(finding, found), notes if alike else [*notes, _OTHER_NUMBERS]


def _told(finding: Finding, found: Transported) -> Combined:
    values: dict[str, Any] = {entry.name: getattr(found, entry.name) for entry in fields(found)}
    one = Combined(
        target=finding.target,
        attribute=finding.attribute,
        outcome=finding.outcome,
        unit=finding.unit,
        levels=finding.levels,
        rendered_world=finding.worlds[0].world,
        photographed_world=finding.worlds[1].world,
        **values,
    )
    return replace(one, text=words.combined_sentence(one))
