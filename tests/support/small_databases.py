"""Writes the annotation database that tests/annotation/databases keeps of a version: python tests/support/small_databases.py.

Run it before the schema changes, so that the version that is left has its file: a dump of SQLite as SQL. A file of an
earlier version is never written again.
"""

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

DATABASES = Path(__file__).parents[1] / "annotation" / "databases"


def filled(folder):
    """One image, three answers wanted: raters 1 and 3 answered, rater 2 holds it, and 1 and 2 were shut out."""
    from small_run import make_run, write_questions

    from transect.annotation.assignment import Submitted, answer, next_tasks
    from transect.annotation.project import default_database, open_project
    from transect.annotation.raters import invite

    run = make_run(folder / "run", subjects=1, cells=1)
    project = open_project(run, questions=(write_questions(folder / "q.toml", ratings=3),))
    invite(project.database, 3, now=0.0)
    for rater in (1, 2, 3):
        (task,) = next_tasks(project, rater, now=1.0)
        if rater != 2:
            answer(project, rater, Submitted(task.id, f"key-{rater}", 1, None, 1000 * rater), now=10.0 * rater)
    project.database.close()
    return default_database(run)


def dump(path):
    """The database as SQL, and its version."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE raters SET state = 'excluded' WHERE id < 3")
        (version,) = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        return version, "\n".join(connection.iterdump()) + "\n"


def restored(version, path):
    """The kept database of a version, in a file."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((DATABASES / f"version-{version}.sql").read_text())
    return path


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        version, text = dump(filled(Path(folder)))
    (DATABASES / f"version-{version}.sql").write_text(text)
