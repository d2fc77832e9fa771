"""A database of each earlier version becomes one of today, with every answer as it was given."""

import sqlite3
from contextlib import closing

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from places import ROOT
from small_databases import DATABASES, restored

from transect.annotation import project, schema
from transect.annotation.database import Database
from transect.errors import BadInput

STEPS = ScriptDirectory(str(ROOT / "src" / "transect" / "annotation" / "migrations"))
HEAD = STEPS.get_current_head()
EARLIER = sorted(step.revision for step in STEPS.walk_revisions() if step.revision != HEAD)
ANSWERS = [(1, 1, "key-1", "answer", 1, 1000, 10.0), (2, 3, "key-3", "answer", 1, 3000, 30.0)]


def rows(path, query):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def test_a_database_of_every_earlier_version_is_kept():
    assert sorted(path.stem.removeprefix("version-") for path in DATABASES.glob("*.sql")) == EARLIER
    assert EARLIER == ["0001", "0002"]


@pytest.mark.parametrize("version", EARLIER)
def test_an_earlier_database_becomes_one_of_today(version, tmp_path):
    path = restored(version, tmp_path / "a.sqlite")
    assert rows(path, "SELECT taken, done FROM items") == [(3, 1)]  # raters who are shut out still counted

    database = Database(path, make=False)
    with database.reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection), schema.metadata) == []
    given = project.rows(database)
    database.close()
    assert len(given) == 2
    assert rows(path, "SELECT version_num FROM alembic_version") == [(HEAD,)]
    stored = rows(path, "SELECT id, rater_id, key, kind, value, milliseconds, given FROM answers ORDER BY id")
    assert stored == ANSWERS
    assert rows(path, "SELECT id, state FROM raters ORDER BY id") == [(1, "excluded"), (2, "excluded"), (3, "active")]
    # of three answers wanted one is of a rater who takes part, and what rater 2 held is given back
    assert rows(path, "SELECT taken, done FROM items") == [(1, 0)]
    assert rows(path, "SELECT rater_id, state FROM tasks ORDER BY rater_id") == [
        (1, "answered"), (2, "expired"), (3, "answered"),
    ]  # fmt: skip


def rows_of_all(path):
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


def test_a_step_that_fails_leaves_the_database_of_before(tmp_path):
    """A table of the name that the step makes is in its way: everything is one transaction."""
    path = restored("0001", tmp_path / "a.sqlite")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE sessions (mine INTEGER)")
        connection.commit()
    before = rows_of_all(path)
    with pytest.raises(BadInput, match="cannot be used as a database: table sessions already exists"):
        Database(path)
    assert rows_of_all(path) == before
