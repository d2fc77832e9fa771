"""Generators validated by raters: from answers to `validation.json`, and whether its gates are met."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

import numpy as np
from jaxtyping import Float

from transect.analysis.rater_report import RatedStudy
from transect.analysis.sections.answers import table, words
from transect.analysis.sections.raters import Rated
from transect.annotation.agreement.image_validation import SOURCE, Gates, Group, Validation, validate
from transect.annotation.agreement.numbers import NO_PEOPLE
from transect.effects import equal_quality
from transect.effects.equal_quality import QualityDifference
from transect.errors import BadInput, UnknownName
from transect.ratings.gates import HAVE_RATED
from transect.records import Attribute
from transect.reports.columns import Column
from transect.reports.records import Section, Table
from transect.runs import tables as columns
from transect.runs.folder import write_json
from transect.runs.wording import counted

FILE: Final = "validation.json"


def of_generator(
    study: RatedStudy, condition: str = "condition", quality: str = "quality", gates: Gates | None = None
) -> Validation:
    """Whether a study's images show what was asked for and look equally good, by its raters' majority and mean."""
    shown, good = _named(study, condition), _named(study, quality)
    run = study.audited
    intended = columns.columns_of(run.images, "intended")
    known = {**run.true, **intended}
    if shown.attribute not in known:
        raise BadInput(
            f"question {condition}: expected one about an attribute of the run ({', '.join(known)}), got "
            f"{shown.attribute or 'none'}; set the attribute in the questions"
        )
    values = np.asarray(shown.values)
    wanted = _nearest(known[shown.attribute], values)
    return validate(
        wanted,
        shown.majority,
        good.mean,
        {name: intended[name] for name in run.design.levels if name in intended},
        run.people,
        answered=np.isfinite(shown.ratings).any(axis=1),
        worst=good.majority == good.values[0],
        gates=gates,
        scale=(good.low, good.low + good.width),
    )


def simulated_answers(study: RatedStudy, condition: str = "condition", quality: str = "quality") -> int:
    """Answers of simulated raters to the two questions of a validation."""
    return _named(study, condition).simulated + _named(study, quality).simulated


def _nearest(intended: Float[np.ndarray, " n"], values: Float[np.ndarray, " levels"]) -> Float[np.ndarray, " n"]:
    """The answer that comes closest to what was asked for; NaN halfway between two, which no answer calls right.

    >>> _nearest(np.array([0.2, 0.5]), np.array([0.0, 1.0])).tolist()
    [0.0, nan]
    """
    away = np.abs(intended[:, None] - values)
    halfway = np.isclose(away, away.min(axis=1, keepdims=True), rtol=0, atol=1e-9).sum(axis=1) > 1
    return np.where(halfway, np.nan, values[away.argmin(axis=1)])


def _named(study: RatedStudy, name: str) -> Rated:
    for rated in study.rated:
        if rated.name == name:
            return rated
    raise UnknownName(
        "question", name, [rated.name for rated in study.rated], hint="only answered questions are listed"
    )


@final
@dataclass(frozen=True, slots=True)
class StudyValidation:
    """What raters' answers make of a study's images; groups: all images first. No gate passes with simulated answers.
    undecided: raters were evenly split; unrated: without an answer; between: intended halfway between two answers.
    """

    generator: Mapping[str, object]
    gates: Gates
    passed: bool
    failures: Mapping[str, str]
    groups: tuple[Group, ...]
    equal_quality: tuple[QualityDifference, ...]
    unidentifiable: int
    undecided: int
    unrated: int
    between: int
    simulated: int = 0

    @classmethod
    def of_run(cls, validation: Validation, generator: Mapping[str, object], simulated: int = 0) -> StudyValidation:
        """The validation, with the generator that it is about."""
        counts = (validation.unidentifiable, validation.undecided, validation.unrated, validation.between)
        groups = tuple(validation.groups), tuple(validation.equal)
        return cls(generator, validation.gates, validation.passed, validation.failures, *groups, *counts, simulated)


def store(folder: Path, studies: Mapping[str, StudyValidation]) -> Path:
    """Write `validation.json`: an entry by study. Returns its path."""
    write_json(folder / FILE, studies, indent=1)
    return folder / FILE


def require(path: Path, studies: Mapping[str, StudyValidation]) -> None:
    """Raises BadInput unless the images of every study were validated by people and met every gate."""
    failed = [f"{study}: {text}" for study, found in studies.items() for text in found.failures.values()]
    simulated = sum(found.simulated for found in studies.values())
    if failed:
        raise BadInput(f"{path}: expected every gate to be met, got {'; '.join(failed)}; fix the generator")
    if simulated:
        raise BadInput(f"{path}: expected answers from people, got {simulated:,} from simulated raters; {HAVE_RATED}")


def words_of(study: str, validation: StudyValidation) -> list[str]:
    """The result in words: a line for the study, and one for each level that misses a gate."""
    overall = validation.groups[0]
    gates = "every gate is met" if validation.passed else "not met: " + "; ".join(validation.failures.values())
    first = (
        f"{study}: {overall.differing} of {overall.judged} images ({100 * overall.share:.2f} %) seen as different, "
        f"quality {overall.quality:.2f} (SD {overall.spread:.2f}); {gates}"
    )
    levels = [group for group in validation.groups[1:] if group.failures]
    notices = [f"  {simulated_notice(validation.simulated)}"] if validation.simulated else []
    return [first, *notices, *(f"  {group.attribute} {group.level:g}: {'; '.join(group.failures)}" for group in levels)]


def simulated_notice(simulated: int) -> str:
    """That a validation rests on simulated raters, in words."""
    return f"{counted(simulated, 'answer')} of simulated raters, {NO_PEOPLE}: no gate that is required is passed"


def section(study: str, validation: Validation, attributes: Mapping[str, Attribute], simulated: int = 0) -> Section:
    """The validation as a section of the page on raters. simulated: answers of simulated raters."""
    heads = [("images", "text"), ("judged", "count"), ("seen as another", "count"), ("share", "proportion")]
    heads += [("low", "proportion"), ("high", "proportion"), ("mean quality", "number"), ("SD", "number")]
    heads += [("rated", "count"), ("halfway", "count"), ("gates not met", "text")]
    rows: list[list[object]] = []
    for group in validation.groups:
        label = attributes[group.attribute].label(group.level) if group.attribute else ""
        name = f"{words(group.attribute)}: {label}" if group.attribute else "all images"
        seen = [group.judged, group.differing, group.share, group.low, group.high, group.quality, group.spread]
        rows.append([name, *seen, group.rated, group.between, "; ".join(group.failures)])
    return Section(
        key="validation",
        study=study,
        title=f"Do the images show what was asked for: {words(study)}",
        text=[
            "The majority of an image's raters against the condition that was asked for, and how good the pictures "
            "look by group (McDuff et al. 2019: 50 images a condition, five raters). Raters were evenly split on "
            f"{validation.undecided:,} images; {validation.unrated:,} were not rated; {validation.between:,} were "
            "asked to lie halfway between two answers, so that none is right, and are judged by quality alone; of "
            f"{validation.unidentifiable:,} most raters say that no face is identifiable.",
            "Quality is equal where the 90 % interval of every pair of levels lies within "
            f"{validation.gates.quality_margin:g} rating points (two one-sided tests at 5 %). Each subject counts once "
            "at each level, by the mean of its images; subjects at both levels are paired. The "
            "raters at hand are fixed.",
        ],
        warnings=[
            *([simulated_notice(simulated)] if simulated else []),
            *(f"Gate not met: {text}" for text in validation.failures.values()),
        ],
        figures=[],
        tables=[table("Seen as a different condition, and quality", heads, rows), _pairs(validation, attributes)],
        sources=[SOURCE, *equal_quality.SOURCES],
    )


def _pairs(validation: Validation, attributes: Mapping[str, Attribute]) -> Table:
    heads = [("levels", "text"), ("difference", "number"), ("low (90 %)", "number"), ("high (90 %)", "number")]
    heads += [("subjects", "text"), ("at both", "count"), ("equal quality", "text"), ("enough a level", "text")]
    rows: list[list[object]] = []
    for pair in validation.equal:
        label = attributes[pair.attribute].label
        name = f"{words(pair.attribute)}: {label(pair.level)}, {label(pair.other)}"
        counts = [f"{pair.subjects}, {pair.other_subjects}", pair.paired]
        enough = f"about {pair.enough:,} subjects" if pair.enough else ""
        rows.append([name, pair.estimate, pair.low, pair.high, *counts, pair.verdict, enough, pair.reason])
    return table("Equal quality", [*heads, ("note", "text")], rows)


STUDY_COLUMNS: Final[Sequence[Column[tuple[str, StudyValidation]]]] = (
    Column("study", lambda row: row[0]),
    Column("judged", lambda row: row[1].groups[0].judged, "count"),
    Column("seen as another", lambda row: row[1].groups[0].differing, "count"),
    Column("quality", lambda row: f"{row[1].groups[0].quality:.2f}", "figure"),
    Column("gates met", lambda row: "yes" if row[1].passed else "; ".join(row[1].failures.values())),
)
