"""What is being asked about which images, set up once in a database; and its answers, read back."""

from __future__ import annotations

import itertools
import random
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, TypeVar, final

import numpy as np
import sqlalchemy as sa
from jaxtyping import Float
from pydantic import ValidationError

from transect.annotation import schema
from transect.annotation.database import Database, NotCreated, read_setting, write_setting
from transect.annotation.questions import (
    ADDED,
    NEIGHBOURS,
    RECONSTRUCTIONS,
    WITHIN_SUBJECTS,
    Plan,
    Questionnaire,
    RaterQuestion,
    load,
)
from transect.annotation.schema import answers, items, raters, tasks
from transect.annotation.sources import FILE, Picture, Pictures, RunImages, Source, home_of, is_texts, source_of
from transect.annotation.texts import questionnaire_of
from transect.errors import BadInput
from transect.runs import table_inputs
from transect.runs.folder import canonical_json, spec_hash
from transect.runs.json_records import loads
from transect.runs.spec_changes import changes
from transect.runs.wording import expectation


class Unit(NamedTuple):
    """An image, or two of one study."""

    study: str
    first: str
    second: str = ""


def rows_of(questionnaire: Questionnaire, pictures: Pictures) -> list[dict[str, object]]:
    """Rows of the table of items, in an order that depends on the plan's seed alone."""
    rows: list[dict[str, object]] = []
    for block, question in enumerate(questionnaire.question):
        gold = _gold(question, pictures)
        chosen = None if question.pairs or not questionnaire.plan.per_cell else _sampled(pictures, questionnaire.plan)
        units = [unit for unit in dict.fromkeys(_units(question, pictures)) if unit not in gold]
        units = units if chosen is None else [unit for unit in units if unit in chosen]
        units = [unit for unit in units if not question.studies or unit.study in question.studies]
        random.Random(f"{questionnaire.plan.seed}/{question.name}").shuffle(units)  # noqa: S311  (an order, no secret)
        for position, unit in enumerate([*units, *gold]):
            rows.append(
                {
                    **unit._asdict(),
                    "question": question.name,
                    "block": block,
                    "position": position,
                    "gold": gold.get(unit),
                    "wanted": questionnaire.plan.ratings,
                    "taken": 0,
                    "done": False,
                }
            )
    return rows


def _sampled(pictures: Pictures, plan: Plan) -> set[Unit]:
    """So many images of each cell of each study, the same for all questions; all where there are fewer."""
    cells: dict[tuple[str, int], list[Unit]] = {}
    for picture in pictures.alone:
        cells.setdefault((picture.study, picture.cell), []).append(Unit(picture.study, picture.id))
    sample: set[Unit] = set()
    for (study, cell), units in cells.items():
        draw = random.Random(f"{plan.seed}/{study}/{cell}")  # noqa: S311  (a sample, no secret)
        sample |= set(draw.sample(units, min(plan.per_cell, len(units))))
    return sample


def _units(question: RaterQuestion, pictures: Pictures) -> Iterator[Unit]:
    if not question.pairs:
        yield from (Unit(picture.study, picture.id) for picture in pictures.alone)
    elif question.pairs in WITHIN_SUBJECTS:
        yield from _within_subjects(pictures, question.pairs, question.name)
    elif question.pairs == RECONSTRUCTIONS:
        yield from _known(pictures, question.name)
    else:
        yield from _from_file(Path(question.pairs), pictures)


def _within_subjects(pictures: Pictures, kind: str, name: str) -> Iterator[Unit]:
    """Of each subject the first and the last image, its own (λ = 0) and the last, or each and the next."""
    any_pair = False
    for (study, _), group in itertools.groupby(sorted(pictures.alone), key=lambda each: (each.study, each.subject)):
        row = sorted(group, key=lambda picture: picture.cell)
        first = _own(row, pictures.sources[study]) if kind == ADDED else row[0]
        chosen: Iterable[tuple[Picture, Picture]] = (
            itertools.pairwise(row) if kind == NEIGHBOURS else [(first, row[-1])]
        )
        for left, other in chosen:
            if left.id != other.id:
                any_pair = True
                yield Unit(left.study, left.id, other.id)
    if not any_pair:
        raise BadInput(
            f"question {name}: is about pairs, but each subject has one image; give a CSV file of pairs, or "
            "choose another question"
        )


def _own(row: Sequence[Picture], source: Source) -> Picture:
    """The image at λ = 0, z of equation 4 of Denton et al. 2019; of attributes that are set to levels the first."""
    spec = source.run.spec if isinstance(source, RunImages) else None
    if spec is None or spec.generator.steps is None:
        return row[0]
    cells = spec.design.cells()
    return next(picture for picture in row if not any(cells[picture.cell].values()))  # every walk has it


def _known(pictures: Pictures, name: str) -> Iterator[Unit]:
    """Real, fake and duplicate pairs of an inversion."""
    pairs = [Unit(study, pair.first, pair.second) for study, pair in pictures.pairs]
    if not pairs:
        raise BadInput(
            f"question {name}: compares photographs with their inversion; give an inversion and "
            "--photographs, or choose another question"
        )
    yield from pairs


def _from_file(path: Path, pictures: Pictures) -> Iterator[Unit]:
    rows = table_inputs.records_of(path, f"pairs {path}")
    if not rows:
        raise BadInput(f"pairs {path}: no rows of first and second; list the pairs")
    for line, row in rows:
        unit = Unit(row.get("study") or "", row.get("first") or "", row.get("second") or "")
        for image in unit[1:]:
            _check(unit.study, image, pictures, f"pairs {path}, line {line}")
        if unit.first == unit.second:
            raise BadInput(f"pairs {path}, line {line}: expected two images, got {unit.first} twice")
        yield unit


def _gold(question: RaterQuestion, pictures: Pictures) -> dict[Unit, int]:
    gold = {}
    for answer in question.gold:
        for image in filter(None, (answer.image, answer.second)):
            _check(answer.study, image, pictures, f"gold of question {question.name}")
        gold[Unit(answer.study, answer.image, answer.second)] = question.names.index(answer.answer)
    return gold


def _check(study: str, image: str, pictures: Pictures, where: str) -> None:
    if (study, image) not in pictures:
        some = pictures.all[0]
        like = f"{some.id} of study {some.study}" if some.study else some.id
        raise BadInput(f"{where}: expected ids of this run's images, such as {like}, got {image or 'none'!r}")


class Row(NamedTuple):
    """One answer. value: the level's index, None where the rater could not tell; gold: the known answer's index."""

    study: str
    first: str
    second: str
    question: str
    rater: str
    value: int | None
    detail: int | None
    repeat: bool
    gold: int | None
    milliseconds: int | None
    given: float
    place: int
    excluded: bool


def rows(database: Database, question: str | None = None) -> list[Row]:
    """All answers in force, or those to one question, in the order of items and raters."""
    query = (
        sa.select(
            items.c.study, items.c.first, items.c.second, items.c.question, raters.c.name, answers.c.value,
            answers.c.detail, tasks.c.repeat, items.c.gold, answers.c.milliseconds, answers.c.given, tasks.c.place,
            raters.c.state,
        )
        .join(tasks, tasks.c.answer_id == answers.c.id)
        .join(items, items.c.id == tasks.c.item_id)
        .join(raters, raters.c.id == tasks.c.rater_id)
        .where(tasks.c.state == "answered")
        .order_by(items.c.id, raters.c.id, tasks.c.repeat)
    )  # fmt: skip
    if question is not None:
        query = query.where(items.c.question == question)
    with database.reading() as connection:
        return [Row._make((*tuple(row)[:-1], row.state == "excluded")) for row in connection.execute(query)]


class Matrix(NamedTuple):
    """Answers to one question: ratings [units, raters], levels' indices, NaN for no answer."""

    units: tuple[tuple[str, str, str], ...]
    raters: tuple[str, ...]
    ratings: Float[np.ndarray, "units raters"]


def matrix(all_rows: Sequence[Row], question: str, repeats: bool = False) -> Matrix:
    """The answers of raters who are not excluded, without known ones; `repeats`: the second ones of repeated items."""
    chosen = [
        row
        for row in all_rows
        if row.question == question and row.repeat == repeats and row.gold is None and not row.excluded
    ]
    units = tuple(dict.fromkeys((row.study, row.first, row.second) for row in chosen))
    raters = tuple(sorted({row.rater for row in chosen}))
    row = {unit: place for place, unit in enumerate(units)}
    column = {rater: place for place, rater in enumerate(raters)}
    ratings = np.full((len(units), len(raters)), np.nan)
    for answer in chosen:
        if answer.value is not None:
            ratings[row[answer.study, answer.first, answer.second], column[answer.rater]] = answer.value
    return Matrix(units, raters, ratings)


_T = TypeVar("_T")
PHOTOGRAPHS: Final = "photographs"


@final
@dataclass(frozen=True, slots=True)
class Project:
    """A database, what it asks, and the images that it asks about."""

    database: Database
    questionnaire: Questionnaire
    pictures: Pictures


def default_database(place: str | Path) -> Path:
    """The embedded database of a place: in a run's folder, else in a folder of its own where you work."""
    return home_of(place) / FILE


def open_project(
    place: str | Path,
    address: str | Path | None = None,
    questions: tuple[str, ...] = (),
    *,
    create: bool = True,
    photographs: str | None = None,
) -> Project:
    """Open the annotation of a place, as `sources.source_of` reads it; create: make it where there is none yet."""
    questionnaire = _stated(place, questions)
    address = address or default_database(place)
    return _open(place, address, questionnaire, _pictures(place, address, photographs), create)


def change(
    place: str | Path,
    address: str | Path | None,
    questions: tuple[str, ...],
    work: Callable[[Project], _T],
    photographs: str | None = None,
) -> _T:
    """What `work` makes of a place's annotation; where none is, first tried on a database that is thrown away."""
    questionnaire, there = _stated(place, questions), address or default_database(place)
    pictures = _pictures(place, there, photographs)
    exists = _kept_in(there, "questionnaire") is not None
    with tempfile.TemporaryDirectory() as folder:
        for each in [there] if exists else [Path(folder) / FILE, there]:
            project = _open(place, each, questionnaire, pictures, create=True)
            try:
                result = work(project)
            finally:
                project.database.close()
    return result


def _stated(place: str | Path, questions: tuple[str, ...]) -> Questionnaire | None:
    """The questions that the user names; None for the usual ones. Raises BadInput for other questions about texts."""
    if questions and is_texts(place):
        raise BadInput(f"--questions: {place} has the judge's own questions; leave it out")
    return load(questions) if questions else None


class _Read(NamedTuple):
    """The pictures of a place, and the photographs that they were read with."""

    pictures: Pictures
    photographs: str | None


def _pictures(place: str | Path, address: str | Path, photographs: str | None) -> _Read:
    kept = photographs or _kept_in(address, PHOTOGRAPHS)
    return _Read(Pictures(source_of(place, kept)), kept)


def _open(
    place: str | Path, address: str | Path, questionnaire: Questionnaire | None, read: _Read, create: bool
) -> Project:
    database = Database(address, make=create)
    try:
        if not create and database.setting("questionnaire") is None:
            raise NotCreated(database.address)
        return Project(database, _create(database, questionnaire, read, place), read.pictures)
    except BaseException:
        database.close()
        raise


def _kept_in(address: str | Path, name: str) -> str | None:
    """A setting of a database; None where there is no database yet."""
    try:
        database = Database(address, make=False)
    except NotCreated:
        return None
    try:
        return database.setting(name)
    finally:
        database.close()


def _create(database: Database, questionnaire: Questionnaire | None, read: _Read, place: str | Path) -> Questionnaire:
    pictures, identity = read.pictures, _identity(read.pictures)

    def work(connection: sa.Connection) -> Questionnaire:
        stored = read_setting(connection, "questionnaire")
        if stored is None:
            current = questionnaire or (questionnaire_of(place) if is_texts(place) else load())
            write_setting(connection, "run", identity)
            write_setting(connection, "questionnaire", canonical_json(current.model_dump(mode="json")))
            if read.photographs is not None:
                write_setting(connection, PHOTOGRAPHS, read.photographs)
            connection.execute(schema.items.insert(), rows_of(current, pictures))
            return current
        if read_setting(connection, "run") != identity:
            raise BadInput(f"{database.address}: expected the ratings of {place}, got those of other images")
        current = _kept(database, stored)
        if questionnaire is not None and questionnaire != current:
            found = changes(current.model_dump(mode="json"), questionnaire.model_dump(mode="json"))
            differing = ", ".join(change.path for change in found)
            raise BadInput(
                f"{database.address}: expected the questions that it was created with "
                f"({', '.join(question.name for question in current.question)}), got different ones (in "
                f"{differing}); leave --questions out, or choose another --database"
            )
        return current

    return database.write(work)


def _kept(database: Database, text: str) -> Questionnaire:
    """The questions of a database. Raises BadInput for those that only another version can ask."""
    try:
        return Questionnaire.model_validate(loads(text))
    except ValidationError as error:
        wrong = expectation(error.errors()[0])
        raise BadInput(
            f"{database.address}: holds questions that this version cannot ask ({wrong}); use the version "
            "that created it"
        ) from None


def _identity(pictures: Pictures) -> str:
    """One text per place and its images, whatever their folder is called."""
    hashes = {study: source.identity for study, source in pictures.sources.items()}
    listed = spec_hash([list(picture) for picture in pictures.all])
    return canonical_json({"specs": hashes, "images": listed})
