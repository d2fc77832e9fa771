"""From a run, its raters' answers and its rules to the page on the raters.

Answers come from the annotation database, or from the file of single answers that is kept beside the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
from jaxtyping import Float

from transect.analysis import findings, finished_run
from transect.analysis.sections import deviations, galleries, raters, seen_along
from transect.analysis.sections.raters import Excluded, Rated, rated_of
from transect.analysis.sections.seen_along import Shown
from transect.effects.pruning import AS_PUBLISHED, Rule
from transect.effects.truth import Truth
from transect.errors import BadInput, UnknownName
from transect.ratings import reference
from transect.ratings import seen as ratings
from transect.report.records import PictureGallery, RaterPage, Section
from transect.runs import tables as columns
from transect.runs.rated_questions import RatedQuestion

if TYPE_CHECKING:
    from transect.annotation.project import Project
    from transect.annotation.reading import Row

FOLDER: Final = "annotations"
SCALES: Final = ("attribute", "unit")


@final
@dataclass(frozen=True, slots=True)
class RatedStudy:
    """What one study's raters said. ids: of its images, in order."""

    run: finished_run.Run
    name: str
    place: str
    ids: tuple[str, ...]
    rated: tuple[Rated, ...]
    excluded: Excluded


def from_project(folder: Path, project: Project, scale: str = "attribute") -> list[RatedStudy]:
    """The answers of an annotation database, by study. scale: "attribute", in its units, or "unit", from 0 to 1.

    Raises UnknownName for another scale, BadInput for a run that is not finished.
    """
    from transect.annotation.reading import rows

    if scale not in SCALES:
        raise UnknownName("scale", scale, SCALES)
    said = rows(project.database)
    made = []
    for place, path in _runs(folder):
        run = finished_run.read(path)
        ids = tuple(run.images["id"].to_pylist())
        mine = [one for one in said if one.study == place]
        asked = [_asked(run, ids, mine, one, scale) for one in project.questionnaire.question if not one.pairs]
        rated = tuple(one for one in asked if np.isfinite(one.ratings).any())
        made.append(RatedStudy(run, run.spec.name, place, ids, rated, _excluded(mine)))
    return made


def from_kept(folder: Path) -> list[RatedStudy]:
    """The single answers kept beside each study by `--ratings`."""
    return [_kept(place, finished_run.read(path)) for place, path in _runs(folder)]


def _runs(folder: Path) -> list[tuple[str, Path]]:
    """Each study's name in the annotation, "" for a single run, and its folder."""
    studies = sorted(path.parent for path in folder.glob("studies/*/run.json"))
    return [(one.name, one) for one in studies] or [("", folder)]


def _kept(place: str, run: finished_run.Run) -> RatedStudy:
    ids = tuple(run.images["id"].to_pylist())
    return RatedStudy(run, run.spec.name, place, ids, kept_answers(run), _left_out(run))


def sections(run: finished_run.Run) -> list[Section]:
    """The sections on a finished run's raters; none where nobody's single answers are beside it."""
    one = _kept(run.folder.path.name, run)
    return study_sections(one) if one.rated else []


def _left_out(run: finished_run.Run) -> Excluded:
    return Excluded(*(run.seen.left_out or (None, None)))


def kept_answers(run: finished_run.Run) -> tuple[Rated, ...]:
    """People's single answers beside a run, by question."""
    made = []
    for name, said in run.seen.answers.items():
        attribute, asked = run.known.get(name), run.seen.asked_people.get(name)
        options: dict[str, Any] = {}
        if asked is not None:
            options = _as_asked(run, name, asked)
        elif attribute is not None:
            ends = range(len(attribute.levels)) if attribute.discrete else attribute.bounds
            scale = "nominal" if attribute.nominal else "ordinal"
            options = {"attribute": name, "scale": scale, "ends": ends, "levels": attribute.levels}
        elif len(said.value) and np.nanmin(said.value) >= 0 and np.nanmax(said.value) <= 1:
            options = {"ends": (0.0, 1.0)}
        made.append(rated_of(name, said, len(run.images), **options))
    return tuple(one for one in made if np.isfinite(one.ratings).any())


def _as_asked(run: finished_run.Run, name: str, asked: RatedQuestion) -> dict[str, Any]:
    """What `rated_of` is told of a question that the kept file names."""
    return {
        "attribute": _about(run, asked.attribute, name),
        "scale": asked.scale,
        "ends": asked.values,
        "levels": tuple(_answers(asked.levels, asked.values).values()),
        "text": asked.text,
        "unsure": asked.unsure.get(""),
    }


def _answers(levels: Sequence[str], values: Sequence[float] | np.ndarray) -> dict[float, str]:
    """What each answer is called, by its value and in their order; levels of one value are one answer."""
    named: dict[float, list[str]] = {}
    for value, name in sorted(zip(map(float, values), levels, strict=True), key=lambda one: one[0]):
        named.setdefault(value, []).append(name)
    return {value: " or ".join(names) for value, names in named.items()}


def _about(run: finished_run.Run, *names: str) -> str:
    """The first of the names that is an attribute of the run; "" where none is."""
    return next((one for one in names if one in run.known or one in run.design.levels), "")


def _asked(run: finished_run.Run, ids: Sequence[str], said: list[Row], asked: Any, scale: str) -> Rated:
    """One question's answers as a table, without known ones, repeats and raters who were shut out."""
    from transect.annotation.reading import matrix

    made = matrix(said, asked.name)
    values = np.asarray(asked.values if scale == "attribute" else asked.places)
    table = np.full((len(ids), len(made.raters)), np.nan)
    row = {one: place for place, one in enumerate(ids)}
    if len(made.units):
        levels = np.where(np.isfinite(made.ratings), made.ratings, 0).astype(int)
        found = np.where(np.isfinite(made.ratings), values[levels], np.nan)
        table[[row[first] for _, first, _ in made.units]] = found
    answers = _answers([one.name for one in asked.levels], values)
    return Rated(
        name=asked.name,
        ratings=table,
        values=tuple(answers),
        scale=asked.scale,
        levels=tuple(answers.values()),
        attribute=_about(run, asked.attribute, asked.name),
        text=asked.text,
        unsure=sum(one.value is None and not one.excluded for one in said if one.question == asked.name),
    )


def _excluded(said: Sequence[Row]) -> Excluded:
    """Raters who were shut out, and how known answers and repeats were met by the others."""
    out = [one for one in said if one.excluded]
    first = {
        (one.first, one.second, one.question, one.rater): one.value for one in said if not one.repeat
    }  # fmt: skip
    known = [one.value == one.gold for one in said if one.gold is not None and not one.excluded]
    again = [
        first[key] == one.value
        for one in said
        if one.repeat and not one.excluded and (key := (one.first, one.second, one.question, one.rater)) in first
    ]
    checks = {"known answers correct": (sum(known), len(known)), "repeats answered the same": (sum(again), len(again))}
    found = {name: of for name, of in checks.items() if of[1]}
    return Excluded(len({one.rater for one in out}), len(out), found)


def page(
    studies: Sequence[RatedStudy], rules: Sequence[Rule] = (), resamples: int = 1000, title: str = ""
) -> RaterPage:
    """What the page shows: facts, sections and galleries, as `report.rater_page.write` takes it.

    rules: by which images are left out, in the units of the page, besides those kept beside each study, which are
    judged on the ratings kept there. Raises BadInput where nobody studies anything, or for published rules on answers
    that are not from 0 to 1; UnknownName for a rule about what was not asked.
    """
    if not any(one.rated for one in studies):
        raise BadInput("expected answers about single images, got none yet; have people answer, or give --ratings")
    sections: list[Section] = []
    shown: list[PictureGallery] = []
    for one in studies:
        if one.rated:
            sections += study_sections(one, resamples)
            _check(one, rules)
            shown += _galleries(one, rules)
            for found in _deviations(one):
                sections.append(deviations.section(found, list(one.ids)))
                shown.append(galleries.farthest(found, one.place, one.ids))
    return RaterPage(title or ", ".join(one.name for one in studies), _facts(studies), sections, shown)


def study_sections(one: RatedStudy, resamples: int = 1000) -> list[Section]:
    """The sections on the raters and on what they saw along the transects of one study."""
    made = [raters.section(one.name, one.rated, one.excluded, resamples)]
    along = seen_along.section(_shown(one), one.rated) if one.run.design.levels else None
    return [*made, *([along] if along else [])]


def _shown(one: RatedStudy) -> Shown:
    run = one.run
    intended = columns.columns_of(run.images, "intended")
    return Shown(one.name, run.design, run.attributes, intended, run.people)


def _facts(answered: Sequence[RatedStudy]) -> dict[str, int | None]:
    """Counts over all studies; None where it is not known."""
    tables = [rated for one in answered for rated in one.rated]
    people = [int(np.isfinite(rated.ratings).any(axis=0).sum()) for rated in tables]
    out = [one.excluded for one in answered]
    unknown = any(rated.anonymous for rated in tables)
    rated = [np.any([np.isfinite(r.ratings).any(axis=1) for r in one.rated], axis=0) for one in answered if one.rated]
    return {
        "raters of one question, at most": None if unknown else max(people),
        "answers": sum(int(np.isfinite(one.ratings).sum()) for one in tables),
        "images rated": sum(int(one.sum()) for one in rated),
        "questions": len({one.name for one in tables}),
        "raters left out": None if any(e.raters is None for e in out) else sum(e.raters or 0 for e in out),
        "answers left out": None if any(e.answers is None for e in out) else sum(e.answers or 0 for e in out),
    }


def _check(one: RatedStudy, rules: Sequence[Rule]) -> None:
    """Raises UnknownName for rules about what was not asked, BadInput for the published ones on other scales."""
    means = {rated.name: rated.mean for rated in one.rated}
    for rule in rules:
        if rule.attribute not in means:
            raise UnknownName("question", rule.attribute, list(means), hint="rules are about what was asked")
    if published := [rule for rule in rules if rule in AS_PUBLISHED]:
        ratings.check_published(means, published)


def _kept_rules(one: RatedStudy, given: Sequence[Rule]) -> list[tuple[Rule, Float[np.ndarray, " n"]]]:
    """Rules kept beside the study, but those given too, with the ratings that its report judges them on."""
    seen = one.run.seen
    judged = {**seen.people, **seen.columns}
    kept = [rule for each in ratings.kept_rules(one.run.folder.path).values() for rule in each]
    return [(rule, judged[rule.attribute]) for rule in kept if rule.attribute in judged and rule not in given]


def _galleries(one: RatedStudy, rules: Sequence[Rule]) -> Iterator[PictureGallery]:
    shown = _shown(one)
    kept = _kept_rules(one, rules)
    for rated in one.rated:
        if rated.scale != "nominal":
            yield galleries.by_score(one.place, one.ids, one.run.people, rated, rules, kept)
    for rated in one.rated:
        if rated.attribute in one.run.design.levels and rated.attribute in shown.intended:
            yield galleries.side_by_side(one.place, one.ids, shown, rated)


def _deviations(one: RatedStudy) -> Iterator[deviations.Deviations]:
    """Of each target, where its truth was put to the raters too."""
    stated = one.run.truth
    by_attribute = {r.attribute: r for r in reversed(one.rated)}
    rated: Mapping[str, Rated] = {**by_attribute, **{r.name: r for r in one.rated}}
    if stated is None or stated.attribute not in rated:
        return
    truth = Truth(stated.text, rated[stated.attribute].name, stated.comparison, stated.value)
    for target in one.run.spec.targets:
        made = deviations.deviations(findings.answers_of(one.run, target), truth, rated[stated.attribute])
        if made is not None:
            yield made


def judge(folder: Path, text: str) -> None:
    """Keep beside each study that raters' mean or majority says what is right, where nothing else does.

    text: as `--truth` has it, about something that was rated. Raises BadInput where a run has a truth of its own, where
    nobody rated that, or for another syntax; nothing is written then.
    """
    found = [(path, finished_run.read(path)) for _, path in _runs(folder)]
    made = []
    for path, run in found:
        if run.spec.truth is not None:
            raise BadInput(
                f"--reference {text}: expected a run without a truth of its own, got {run.spec.truth.text} of "
                f"{run.spec.name}; leave it out, or audit without --truth"
            )
        truth = reference.parse(text, run.known)
        if run.seen.value_of(truth.attribute, run.known) is None:
            told = ", ".join([*run.seen.people, *run.seen.columns]) or "none"
            raise BadInput(f"--reference {text}: expected ratings of {truth.attribute}, got {told}; give --ratings too")
        for target in run.spec.targets:
            replace(run, reference=truth).labels(target.task)
        made.append((path, truth))
    for path, truth in made:
        reference.keep(path, truth)
