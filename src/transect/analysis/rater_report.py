"""The page on a run's raters, built from their answers and the run's rules.

Answers come from the annotation database, or from the file of single answers stored with the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, final

import numpy as np
from jaxtyping import Float, Int

from transect.analysis import findings, finished_run
from transect.analysis.sections import pairs, raters
from transect.analysis.sections.answers import without_empty
from transect.analysis.sections.raters import Excluded, Rated, Shown, rated_of
from transect.annotation.agreement.image_validation import AS_PUBLISHED, Rule
from transect.annotation.agreement.numbers import PairFigures, QuestionAgreement, simulated_count
from transect.effects.outcomes import Truth
from transect.errors import BadInput, UnknownName
from transect.ratings import perceived_attributes
from transect.ratings import rating_tables as ratings
from transect.reports.columns import Column
from transect.reports.records import PictureGallery, RaterPage, Section
from transect.runs import tables as columns
from transect.runs.layout import studies_of

if TYPE_CHECKING:
    from transect.annotation.project import Project, Row
    from transect.annotation.questions import RaterQuestion

FOLDER: Final = "annotations"
SCALES: Final = ("attribute", "unit")


@final
@dataclass(frozen=True, slots=True)
class RatedStudy:
    """One study's ratings. run: None for images that are of no audit.

    ids, people: of its images, and who is on each, in order. pairs: what raters saw between two images.
    """

    run: finished_run.Run | None
    name: str
    place: str
    ids: tuple[str, ...]
    people: Int[np.ndarray, " n"]
    rated: tuple[Rated, ...]
    excluded: Excluded
    pairs: tuple[PairFigures, ...] = ()

    @property
    def audited(self) -> finished_run.Run:
        """The run of an audit. Raises BadInput where there is none."""
        if self.run is None:
            raise BadInput(f"{self.name}: expected an audit that sets its conditions")
        return self.run


def from_project(project: Project, scale: str = "attribute") -> list[RatedStudy]:
    """The answers of an annotation database, by study. scale: "attribute", in its units, or "unit", from 0 to 1."""
    from transect.annotation.agreement.summary import pair_figures
    from transect.annotation.project import rows

    if scale not in SCALES:
        raise UnknownName("scale", scale, SCALES)
    all_rows, about_pairs = rows(project.database), pair_figures(project)
    studies = []
    for place in project.pictures.sources:
        run = _run_of(project, place)
        pictures = [each for each in project.pictures.alone if each.study == place]
        ids, people = tuple(each.id for each in pictures), np.array([each.person for each in pictures])
        mine = [row for row in all_rows if row.study == place]
        questions = [
            _asked(run, ids, mine, question, scale) for question in project.questionnaire.question if not question.pairs
        ]
        rated = tuple(rated for rated in questions if np.isfinite(rated.ratings).any())
        figures = tuple(each for each in about_pairs if each.study == place)
        name = run.spec.name if run is not None else place or "the images"
        studies.append(RatedStudy(run, name, place, ids, people, rated, _excluded(mine), figures))
    return studies


def _run_of(project: Project, study: str) -> finished_run.Run | None:
    """The run whose images were rated; None for other images."""
    from transect.annotation.sources import RunImages

    source = project.pictures.sources[study]
    return finished_run.read(source.run.path) if isinstance(source, RunImages) else None


def from_stored(folder: Path) -> list[RatedStudy]:
    """The single answers stored with each study by `--ratings`."""
    return [_stored(place, finished_run.read(path)) for place, path in _runs(folder)]


def _runs(folder: Path) -> list[tuple[str, Path]]:
    """Each study's name in the annotation, "" for a single run, and its folder."""
    return [(path.name, path) for path in studies_of(folder)] or [("", folder)]


def _stored(place: str, run: finished_run.Run) -> RatedStudy:
    ids, left_out = tuple(run.images["id"].to_pylist()), Excluded(*(run.seen.left_out or (None, None)))
    return RatedStudy(run, run.spec.name, place, ids, run.people, stored_answers(run), left_out)


def sections(run: finished_run.Run) -> list[Section]:
    """The sections on a finished run's raters; none without stored single answers."""
    study = _stored(run.folder.path.name, run)
    return study_sections(study) if study.rated else []


def stored_answers(run: finished_run.Run) -> tuple[Rated, ...]:
    """The single answers stored with a run, by question."""
    tables = []
    for name, single in run.seen.answers.items():
        attribute, question = run.known.get(name), run.seen.asked_people.get(name)
        options: dict[str, object] = {}
        if question is not None:
            options = {
                "attribute": _about(run, question.attribute, name),
                "scale": question.scale,
                "ends": question.values,
                "levels": tuple(_answers(question.levels, question.values).values()),
                "text": question.text,
                "unsure": question.unsure.get(""),
            }
        elif attribute is not None:
            ends = range(len(attribute.levels)) if attribute.discrete else attribute.bounds
            scale = "nominal" if attribute.nominal else "ordinal"
            options = {"attribute": name, "scale": scale, "ends": ends, "levels": attribute.levels}
        elif len(single.value) and np.nanmin(single.value) >= 0 and np.nanmax(single.value) <= 1:
            options = {"ends": (0.0, 1.0)}
        tables.append(rated_of(name, single, len(run.images), **options))
    return tuple(rated for rated in tables if np.isfinite(rated.ratings).any())


def _answers(levels: Sequence[str], values: Sequence[float] | np.ndarray) -> dict[float, str]:
    """What each answer is called, by its value and in their order; levels of one value are one answer."""
    named: dict[float, list[str]] = {}
    for value, name in sorted(zip(map(float, values), levels, strict=True), key=lambda pair: pair[0]):
        named.setdefault(value, []).append(name)
    return {value: " or ".join(names) for value, names in named.items()}


def _about(run: finished_run.Run | None, *names: str) -> str:
    """The first of the names that is an attribute of the run; "" where none is."""
    return next((name for name in names if run and (name in run.known or name in run.design.levels)), "")


def _asked(
    run: finished_run.Run | None, ids: Sequence[str], study_rows: list[Row], question: RaterQuestion, scale: str
) -> Rated:
    """One question's answers as a table, without known ones, repeats and excluded raters."""
    from transect.annotation.project import matrix

    given = matrix(study_rows, question.name)
    values = np.asarray(question.values if scale == "attribute" else question.places)
    table = np.full((len(ids), len(given.raters)), np.nan)
    row = {image: place for place, image in enumerate(ids)}
    if len(given.units):
        levels = np.where(np.isfinite(given.ratings), given.ratings, 0).astype(int)
        ratings = np.where(np.isfinite(given.ratings), values[levels], np.nan)
        table[[row[first] for _, first, _ in given.units]] = ratings
    answers = _answers([level.name for level in question.levels], values)
    return Rated(
        name=question.name,
        ratings=table,
        values=tuple(answers),
        scale=question.scale,
        levels=tuple(answers.values()),
        attribute=_about(run, question.attribute, question.name),
        text=question.text,
        simulated=sum(
            simulated_count([rater]) * int(number)
            for rater, number in zip(given.raters, np.isfinite(given.ratings).sum(axis=0), strict=True)
        ),
        unsure=sum(row.value is None and not row.excluded for row in study_rows if row.question == question.name),
    )


def _excluded(study_rows: Sequence[Row]) -> Excluded:
    """Excluded raters, and the others' performance on known answers and repeats."""
    out = [row for row in study_rows if row.excluded]
    first = {
        (row.first, row.second, row.question, row.rater): row.value for row in study_rows if not row.repeat
    }  # fmt: skip
    known = [row.value == row.gold for row in study_rows if row.gold is not None and not row.excluded]
    again = [
        first[key] == row.value
        for row in study_rows
        if row.repeat and not row.excluded and (key := (row.first, row.second, row.question, row.rater)) in first
    ]
    checks = {"known answers correct": (sum(known), len(known)), "repeats answered the same": (sum(again), len(again))}
    performance = {name: of for name, of in checks.items() if of[1]}
    return Excluded(len({row.rater for row in out}), len(out), performance)


def page(studies: Sequence[RatedStudy], rules: Sequence[Rule] = (), title: str = "") -> RaterPage:
    """What the page shows: facts, sections and galleries, as `report.rater_page.write` takes it."""
    if not any(study.rated or study.pairs for study in studies):
        raise BadInput("no answers from raters yet; collect answers, or give --ratings")
    sections: list[Section] = []
    shown: list[PictureGallery] = []
    for study in studies:
        sections += study_sections(study)
        if study.rated:
            # Raises UnknownName for rules about what was not asked, BadInput for the published ones on other scales.
            means = {rated.name: rated.mean for rated in study.rated}
            for rule in rules:
                if rule.attribute not in means:
                    raise UnknownName(
                        "question", rule.attribute, list(means), hint="rules use the questions that were asked"
                    )
            if published := [rule for rule in rules if rule in AS_PUBLISHED]:
                ratings.check_published(means, published)
            shown += _galleries(study, rules)
            for deviation in _deviations(study):
                sections.append(raters.deviations_section(deviation, list(study.ids)))
                shown.append(raters.farthest(deviation, study.place, study.ids))
    return RaterPage(title or ", ".join(study.name for study in studies), _facts(studies), sections, shown)


def study_sections(study: RatedStudy) -> list[Section]:
    """The sections on the raters and on what they saw along the transects of one study."""
    every = [raters.section(study.name, study.rated, study.excluded, study.people)] if study.rated else []
    if study.run is not None and study.run.design.levels:
        along = raters.seen_along_section(_shown(study.name, study.run), study.rated)
        every += [along] if along else []
    return [without_empty(section) for section in [*every, *pairs.sections(study.name, study.pairs)]]


def _shown(name: str, run: finished_run.Run) -> Shown:
    intended = columns.columns_of(run.images, "intended")
    return Shown(name, run.design, run.attributes, intended, run.people)


def _facts(answered: Sequence[RatedStudy]) -> dict[str, int | None]:
    """Counts over all studies; None where it is not known."""
    tables = [rated for study in answered for rated in study.rated]
    people = [int(np.isfinite(rated.ratings).any(axis=0).sum()) for rated in tables]
    about = [each for study in answered for each in study.pairs]
    out = [study.excluded for study in answered]
    unknown = any(rated.anonymous for rated in tables)
    rated = [
        np.any([np.isfinite(r.ratings).any(axis=1) for r in study.rated], axis=0) for study in answered if study.rated
    ]
    about_pairs = {"answers about pairs": sum(each.answers for each in about)} if about else {}
    simulated = sum(table.simulated for table in tables) + sum(each.simulated for each in about)
    of_simulated = {"answers of simulated raters": simulated} if simulated else {}
    return {
        "raters of one question, at most": None if unknown else max(people + [each.raters for each in about]),
        "answers": sum(int(np.isfinite(table.ratings).sum()) for table in tables),
        **about_pairs,
        **of_simulated,
        "images rated": sum(int(images.sum()) for images in rated),
        "questions": len({table.name for table in tables} | {each.question for each in about}),
        "raters left out": None if any(e.raters is None for e in out) else sum(e.raters or 0 for e in out),
        "answers left out": None if any(e.answers is None for e in out) else sum(e.answers or 0 for e in out),
    }


def _stored_rules(study: RatedStudy, new_rules: Sequence[Rule]) -> list[tuple[Rule, Float[np.ndarray, " n"]]]:
    """Rules stored with the study, except the new ones, with the ratings that its report judges them on."""
    if study.run is None:
        return []
    kept = study.run.seen
    judged = {**kept.people, **kept.columns}
    stored = [rule for each in ratings.stored_rules(study.run.folder.path).values() for rule in each]
    return [(rule, judged[rule.attribute]) for rule in stored if rule.attribute in judged and rule not in new_rules]


def _galleries(study: RatedStudy, rules: Sequence[Rule]) -> Iterator[PictureGallery]:
    stored, run = _stored_rules(study, rules), study.run
    for rated in study.rated:
        if rated.scale != "nominal":
            yield raters.by_score(study.place, study.ids, study.people, rated, rules, stored)
    if run is None:
        return
    shown = _shown(study.name, run)
    for rated in study.rated:
        if rated.attribute in run.design.levels and rated.attribute in shown.intended:
            yield raters.side_by_side(study.place, study.ids, shown, rated)


def _deviations(study: RatedStudy) -> Iterator[raters.Deviations]:
    """Deviations of each target whose truth the raters rated too."""
    by_attribute = {r.attribute: r for r in reversed(study.rated)}
    rated: Mapping[str, Rated] = {**by_attribute, **{r.name: r for r in study.rated}}
    for target in () if study.run is None else study.run.spec.targets:
        stated = study.audited.truth(target)
        if stated is None or stated.attribute not in rated:
            continue
        truth = Truth(stated.text, rated[stated.attribute].name, stated.comparison, stated.value)
        deviation = raters.deviations(findings.answers_of(study.audited, target), truth, rated[stated.attribute])
        if deviation is not None:
            yield deviation


def judge(folder: Path, text: str) -> None:
    """Store with each study that the raters' mean or majority is the reference, where there is no other truth."""
    runs = [(path, finished_run.read(path)) for _, path in _runs(folder)]
    references = []
    for path, run in runs:
        if run.spec.truths:
            raise BadInput(
                f"--reference {text}: expected a run without a truth, got {run.spec.truths[0].text} of "
                f"{run.spec.name}; leave it out, or audit without --truth"
            )
        truth = perceived_attributes.parse(text, run.known)
        if run.seen.value_of(truth.attribute, run.known) is None:
            rated_names = ", ".join([*run.seen.people, *run.seen.columns]) or "none"
            raise BadInput(
                f"--reference {text}: expected ratings of {truth.attribute}, got {rated_names}; give --ratings too"
            )
        for target in run.spec.targets:
            replace(run, reference=truth).labels(target)
        references.append((path, truth))
    for path, truth in references:
        perceived_attributes.store(path, truth)


QUESTION_COLUMNS: Final[Sequence[Column[QuestionAgreement]]] = (
    Column("question", "question"),
    Column("answers", "answers", "count"),
    Column("agreement", lambda row: f"{row.percent_agreement:.3f}", "figure"),
    Column("alpha", lambda row: f"{row.alpha:z.3f}", "figure"),
    Column("95 % interval", lambda row: f"{row.alpha_low:z.3f} to {row.alpha_high:z.3f}", "figure"),
)
