"""The annotation database: what it is created with, other versions, and addresses that cannot be used."""

import contextlib
import sqlite3

import pytest
import sqlalchemy as sa
from small_run import make_run, write_questions

from transect.annotation import schema
from transect.annotation.database import Database, shown
from transect.annotation.project import default_database, open_project
from transect.errors import BadInput, CorruptedPart, RunFolderError


@pytest.mark.parametrize("name", ["q?x", "a#b", "50%25", "é ?mode=memory"])
def test_the_file_is_where_it_was_said(name, tmp_path):
    """What parts an address elsewhere is part of a path here."""
    path = tmp_path / name / "ratings.sqlite"
    for address in (path, str(path), f"sqlite:///{path}"):
        database = Database(address)
        database.set({"a": str(address)})
        database.close()
        with contextlib.closing(sqlite3.connect(path)) as connection:
            assert connection.execute("SELECT value FROM settings WHERE name = 'a'").fetchall() == [(str(address),)]
    assert [one.name for one in tmp_path.iterdir()] == [name]


def test_a_database_is_made_once_and_opened_again(address):
    for make in (True, False):
        database = Database(address, make=make)
        with database.reading() as connection:
            assert set(sa.inspect(connection).get_table_names()) == set(schema.metadata.tables)
        database.close()


def test_a_database_of_another_version_is_refused(tmp_path):
    path = tmp_path / "a.sqlite"
    Database(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE settings SET value = '9999' WHERE name = 'schema_version'")
    with pytest.raises(BadInput, match=r"expected an annotation database of version \d+, got 9999"):
        Database(path)


def test_another_database_is_left_alone(tmp_path):
    path = tmp_path / "a.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE customers (id INTEGER)")
        connection.commit()
    before = path.read_bytes()
    with pytest.raises(BadInput, match="got tables customers; choose another with --database"):
        Database(path)
    assert path.read_bytes() == before, "its journal mode too"
    assert [file.name for file in tmp_path.iterdir()] == ["a.sqlite"]
    path.write_text("no database at all " * 100)
    with pytest.raises(BadInput, match="cannot be used as a database: file is not a database"):
        Database(path)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("mysql://ada:secret@db/x", "expected a file or postgresql://…, got mysql://"),
        ("postgresql://ada:secret@127.0.0.1:1/x", "cannot be used as a database: "),
        ("postgresql://ada:secret@127.0.0.1:port/x", "expected an address"),
    ],
)
def test_an_address_that_cannot_be_used_says_so_without_its_password(address, message):
    with pytest.raises(BadInput) as error:
        Database(address)
    assert message in str(error.value)
    assert "secret" not in str(error.value)
    assert "\n" not in str(error.value)
    assert "secret" not in shown(address)


def test_a_project_that_is_only_read_is_not_created(tmp_path):
    run = make_run(tmp_path / "run")
    with pytest.raises(BadInput, match="no database of ratings; create it with transect annotate serve"):
        open_project(run, create=False)
    assert not default_database(run).exists()
    with pytest.raises(BadInput, match="no database of ratings"):
        open_project(run, tmp_path / "new" / "other.sqlite", create=False)
    assert not (tmp_path / "new").exists()
    open_project(run, questions=("monk",)).database.close()
    open_project(run, create=False).database.close()


def test_a_project_goes_on_with_its_own_questions_and_run(tmp_path):
    run, path = make_run(tmp_path / "run"), write_questions(tmp_path / "q.toml")
    project = open_project(run, questions=(path,))
    assert default_database(run).exists()
    with project.database.reading() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(schema.items)).scalar() == 12
    project.database.close()
    for questions in ((), (path,)):
        again = open_project(run, questions=questions)
        assert [one.name for one in again.questionnaire.question] == ["smile"]
        again.database.close()
    with pytest.raises(BadInput, match=r"created with \(smile\), got different ones \(in .*question"):
        open_project(run, questions=("monk",))
    other = make_run(tmp_path / "other", seed=1)
    with pytest.raises(BadInput, match="got those of other images"):
        open_project(other, default_database(run))


def test_missing_pictures_and_unfinished_runs_are_named(tmp_path):
    with pytest.raises(CorruptedPart, match=r"part-00000\.parquet is damaged"):
        open_project(make_run(tmp_path / "a", without_picture=[(1, 1)]))
    run = make_run(tmp_path / "b")
    (run / "images" / "part-00001.parquet").unlink()
    with pytest.raises(BadInput, match=r"is not finished \(1 of 2 parts of images\)"):
        open_project(run)
    with pytest.raises(BadInput, match="no run folder, folder of images"):
        open_project(tmp_path / "nowhere")


def test_studies_of_one_folder_are_told_apart(tmp_path):
    for seed, name in enumerate(("experiment", "steps-age")):
        make_run(tmp_path / "all" / "studies" / name, subjects=1, seed=seed)
    project = open_project(tmp_path / "all", questions=(write_questions(tmp_path / "q.toml"),))
    with project.database.reading() as connection:
        found = connection.execute(sa.select(schema.items.c.study, schema.items.c.first)).all()
    assert sorted(found) == [(s, f"0-000{c}") for s in ("experiment", "steps-age") for c in (0, 1)]
    assert project.pictures.png("experiment", "0-0000") != project.pictures.png("steps-age", "0-0000")
    project.database.close()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ('[[question.gold]]\nimage = "9-0000"\nanswer = "yes"', "gold of question smile: expected ids of this run's images, such as 0-0000, got '9-0000'"),
        ('[[question]]\nname = "p"\ntext = "t"\npairs = "{folder}/pairs.csv"\nlevels = ["a", "b"]', "pairs.csv, line 3: expected ids of this run's images"),
        ('[[question]]\nname = "p"\ntext = "t"\npairs = "{folder}/none.csv"\nlevels = ["a", "b"]', "none.csv: no such file; check the path"),
    ],
)  # fmt: skip
def test_images_that_are_not_there_are_named(more, message, tmp_path):
    (tmp_path / "pairs.csv").write_text("first,second\n0-0000,1-0000\n0-0000,7-0000\n")
    path = write_questions(tmp_path / "q.toml", more=more.replace("{folder}", str(tmp_path)))
    with pytest.raises(BadInput) as error:
        open_project(make_run(tmp_path / "run"), questions=(path,))
    assert message in str(error.value)
    open_project(tmp_path / "run", questions=("monk",)).database.close()  # nothing was created


def test_a_link_within_a_run_makes_no_database_elsewhere(tmp_path):
    run = make_run(tmp_path / "run", subjects=1)
    (run / "annotations").mkdir()
    (run / "annotations" / "annotation.sqlite").symlink_to(tmp_path / "elsewhere.sqlite")
    with pytest.raises(RunFolderError, match=r"annotation\.sqlite: expected a file or folder of the run, got a link"):
        Database(run / "annotations" / "annotation.sqlite")
    assert not (tmp_path / "elsewhere.sqlite").exists()


def test_a_database_that_was_damaged_says_so_in_one_line(tmp_path):
    database = Database(tmp_path / "a.sqlite")
    database.set({"a": "b"})
    database.close()
    content = bytearray((tmp_path / "a.sqlite").read_bytes())
    content[4096:] = bytes(len(content) - 4096)
    (tmp_path / "a.sqlite").write_bytes(content)

    def use():
        with contextlib.closing(Database(tmp_path / "a.sqlite")) as damaged:
            damaged.set({"a": "c"})

    with pytest.raises(BadInput, match="cannot be used as a database: ") as refused:
        use()
    assert "SQL" not in str(refused.value)
    assert "\n" not in str(refused.value)
