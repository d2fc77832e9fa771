"""What is being asked about which run: set up once in a database, and read back."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar, final

import sqlalchemy as sa
from pydantic import ValidationError

from transect.annotation import schema
from transect.annotation.database import Database, NotCreated, read_setting, write_setting
from transect.annotation.items import rows_of
from transect.annotation.pictures import Pictures
from transect.annotation.questions import Questionnaire, load
from transect.errors import BadInput
from transect.runs.folder import canonical_json, differing_keys
from transect.runs.plain_json import loads
from transect.runs.validation_words import expectation

_T = TypeVar("_T")
FOLDER: Final = "annotations"
FILE: Final = "annotation.sqlite"


@final
@dataclass(frozen=True, slots=True)
class Project:
    """A database, what it asks, and the images that it asks about."""

    database: Database
    questionnaire: Questionnaire
    pictures: Pictures


def default_database(run: Path) -> Path:
    """The embedded database in a run's folder.

    >>> default_database(Path("runs/smile")).as_posix()
    'runs/smile/annotations/annotation.sqlite'
    """
    return run / FOLDER / FILE


def open_project(
    run: Path, address: str | Path | None = None, questions: tuple[str, ...] = (), *, create: bool = True
) -> Project:
    """Open the annotation of a run; create it, with `questions` (default the paper's), where there is none yet.

    create: False refuses a run without an annotation, and makes nothing. Raises BadInput where the database is of
    another run, or was created with other questions.
    """
    questionnaire = load(questions) if questions else None
    return _open(run, address or default_database(run), questionnaire, Pictures(run), create)


def change(run: Path, address: str | Path | None, questions: tuple[str, ...], work: Callable[[Project], _T]) -> _T:
    """What `work` makes of the annotation of a run; where there is none yet, and `work` raises, none is created.

    Hence `work` is done twice then, first on a database that is thrown away. Raises as `open_project` does, and `work`.
    """
    questionnaire, pictures = load(questions) if questions else None, Pictures(run)
    there = address or default_database(run)
    with tempfile.TemporaryDirectory() as folder:
        for each in [there] if _exists(there) else [Path(folder) / FILE, there]:
            project = _open(run, each, questionnaire, pictures, create=True)
            try:
                result = work(project)
            finally:
                project.database.close()
    return result


def _open(
    run: Path, address: str | Path, questionnaire: Questionnaire | None, pictures: Pictures, create: bool
) -> Project:
    database = Database(address, make=create)
    try:
        if not create and database.setting("questionnaire") is None:
            raise NotCreated(database.address)
        return Project(database, _create(database, questionnaire, pictures, run), pictures)
    except BaseException:
        database.close()
        raise


def _exists(address: str | Path) -> bool:
    try:
        database = Database(address, make=False)
    except NotCreated:
        return False
    try:
        return database.setting("questionnaire") is not None
    finally:
        database.close()


def text_of(questionnaire: Questionnaire) -> str:
    """The questionnaire as it is kept."""
    return canonical_json(questionnaire.model_dump(mode="json"))


def _create(database: Database, questionnaire: Questionnaire | None, pictures: Pictures, run: Path) -> Questionnaire:
    identity = _identity(pictures)

    def work(connection: sa.Connection) -> Questionnaire:
        stored = read_setting(connection, "questionnaire")
        if stored is None:
            current = questionnaire or load()
            write_setting(connection, "run", identity)
            write_setting(connection, "questionnaire", text_of(current))
            connection.execute(schema.items.insert(), rows_of(current, pictures))
            return current
        if read_setting(connection, "run") != identity:
            raise BadInput(
                f"{database.address}: expected the ratings of {run}, got those of other images; name another"
            )
        current = _kept(database, stored)
        if questionnaire is not None and questionnaire != current:
            differing = differing_keys(current.model_dump(mode="json"), questionnaire.model_dump(mode="json"))
            raise BadInput(
                f"{database.address}: expected the questions that it was created with "
                f"({', '.join(question.name for question in current.question)}), got others "
                f"(differs in {', '.join(differing)}); leave --questions out, or name another --database"
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
    """One text per run and its images, whatever their folder is called."""
    hashes = {study: run.spec_hash for study, run in pictures.runs.items()}
    listed = hashlib.sha256(canonical_json([list(picture) for picture in pictures.all]).encode()).hexdigest()
    return canonical_json({"specs": hashes, "images": listed})
