"""What is being asked about which images: set up once in a database, and read back."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, TypeVar, final

import sqlalchemy as sa
from pydantic import ValidationError

from transect.annotation import schema
from transect.annotation.database import Database, NotCreated, read_setting, write_setting
from transect.annotation.items import rows_of
from transect.annotation.pictures import Pictures
from transect.annotation.questions import Questionnaire, load
from transect.annotation.sources import FILE, home_of, source_of
from transect.annotation.texts import is_texts, questionnaire_of
from transect.errors import BadInput
from transect.runs.folder import canonical_json
from transect.runs.plain_json import loads
from transect.runs.spec_changes import changes
from transect.runs.validation_words import expectation

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
    """Open the annotation of a place, as `sources.source_of` reads it; create it where there is none yet.

    questions: the paper's by default; of a run's texts those of its judge, and no others. create: False refuses a place
    without an annotation, and makes nothing. photographs: those that an inversion began with; kept in the database.
    Raises BadInput where the database is of other images, or was created with other questions.
    """
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
    """What `work` makes of the annotation of a place; where there is none yet, and `work` raises, none is created.

    Hence `work` is done twice then, first on a database that is thrown away. Raises as `open_project` does, and `work`.
    """
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
        raise BadInput(f"--questions: expected none with {place}, whose questions are the judge's own; leave it out")
    return load(questions) if questions else None


class _Read(NamedTuple):
    """The pictures of a place, and the photographs that they were read with."""

    pictures: Pictures
    photographs: str | None


def _pictures(place: str | Path, address: str | Path, photographs: str | None) -> _Read:
    kept = photographs or _kept_in(address, PHOTOGRAPHS)
    return _Read(Pictures(source_of(place, kept).sources), kept)


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


def text_of(questionnaire: Questionnaire) -> str:
    """The questionnaire as it is kept."""
    return canonical_json(questionnaire.model_dump(mode="json"))


def _create(database: Database, questionnaire: Questionnaire | None, read: _Read, place: str | Path) -> Questionnaire:
    pictures, identity = read.pictures, _identity(read.pictures)

    def work(connection: sa.Connection) -> Questionnaire:
        stored = read_setting(connection, "questionnaire")
        if stored is None:
            current = questionnaire or (questionnaire_of(place) if is_texts(place) else load())
            write_setting(connection, "run", identity)
            write_setting(connection, "questionnaire", text_of(current))
            if read.photographs is not None:
                write_setting(connection, PHOTOGRAPHS, read.photographs)
            connection.execute(schema.items.insert(), rows_of(current, pictures))
            return current
        if read_setting(connection, "run") != identity:
            raise BadInput(
                f"{database.address}: expected the ratings of {place}, got those of other images; name another"
            )
        current = _kept(database, stored)
        if questionnaire is not None and questionnaire != current:
            found = changes(current.model_dump(mode="json"), questionnaire.model_dump(mode="json"))
            differing = ", ".join(change.path for change in found)
            raise BadInput(
                f"{database.address}: expected the questions that it was created with "
                f"({', '.join(question.name for question in current.question)}), got others "
                f"(differs in {differing}); leave --questions out, or name another --database"
            )
        return current

    return database.write(work)


def _kept(database: Database, text: str) -> Questionnaire:
    """The questions of a database. Raises BadInput for those that only an earlier version can ask."""
    try:
        return Questionnaire.model_validate(loads(text))
    except ValidationError as error:
        wrong = expectation(error.errors()[0])
        raise BadInput(
            f"{database.address}: expected questions that this version asks, got others ({wrong}); export its answers "
            "with the version that created it"
        ) from None


def _identity(pictures: Pictures) -> str:
    """One text per place and its images, whatever their folder is called."""
    hashes = {study: source.identity for study, source in pictures.sources.items()}
    listed = hashlib.sha256(canonical_json([list(picture) for picture in pictures.all]).encode()).hexdigest()
    return canonical_json({"specs": hashes, "images": listed})
