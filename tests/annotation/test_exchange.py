"""Export and import: round trips of every format, duplicates, unknown images, and what a study costs."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
from answer_rows import plain

from transect.annotation import schema
from transect.annotation.assignment import expire, next_tasks
from transect.annotation.exchange.crowd import name_of
from transect.annotation.exchange.incoming import Incoming, take_in
from transect.annotation.exchange.outgoing import answers_table, ratings_table, write
from transect.annotation.exchange.reading_files import read
from transect.annotation.progress import estimate
from transect.annotation.raters import invite, set_state
from transect.errors import BadInput
from transect.ratings.rating_tables import PEOPLE, read_table
from transect.runs.table_inputs import csv_of


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_the_table_of_answers_goes_round(rated, empty, tmp_path, suffix):
    path = tmp_path / f"answers.{suffix}"
    assert write(rated, "answers", path, "attribute", "") == {"out": str(path), "rows": 12}
    made = take_in(empty, read(path, "answers", empty), now=500.0)
    assert (made.answers, made.duplicates, made.raters) == (12, 0, 2)
    assert plain(empty) == plain(rated)
    with empty.database.reading() as connection:
        assert connection.execute(sa.select(schema.items.c.taken)).scalars().all() == [2] * 6
    again = take_in(empty, read(path, "answers", empty), now=600.0)
    assert (again.answers, again.duplicates, again.raters) == (0, 12, 0)
    assert plain(empty) == plain(rated)


def test_ratings_are_what_a_report_takes(rated, tmp_path):
    table = ratings_table(rated)
    assert table.column_names == ["id", "rater", "smile"], "pairs are of no single image"
    assert table.num_rows == 7, "who cannot tell has no value"
    assert set(table["smile"].to_pylist()) <= {0.0, 0.5, 1.0}
    set_state(rated, 1, "excluded")
    assert set(ratings_table(rated)["rater"].to_pylist()) == {"rater-0002"}
    path = tmp_path / "ratings.parquet"
    write(rated, "ratings", path, "unit", "")
    from transect.ratings.rating_tables import check

    check(None, (), path)
    assert pq.read_table(path).num_rows == 3


def test_new_raters_do_not_take_numbers_that_came_with_answers(empty):
    take_in(empty, [Incoming("x", "", "0-0000", "", "smile", name, 1) for name in ("rater-0003", "rater-0005")], 0.0)
    assert [one.name for one in invite(empty.database, 2, now=0.0)] == ["rater-0006", "rater-0007"]
    take_in(empty, [Incoming("x", "", "0-0000", "", "smile", "rater-999999999", 1)], 0.0)
    names = [invite(empty.database, 1, now=0.0)[0].name for _ in range(2)]
    assert names == ["rater-1000000000", "rater-1000000001"]


def test_an_import_that_contradicts_what_is_kept_is_refused(empty):
    given = Incoming("x, row 1", "", "0-0000", "", "smile", "ada", 2)
    fresh = Incoming("x, row 2", "", "0-0001", "", "smile", "ada", 2)
    take_in(empty, [given], now=0.0)
    with pytest.raises(BadInput, match=r"x, row 1: expected ada's stored answer to smile of 0-0000 \(yes\), got"):
        take_in(empty, [fresh, given._replace(level=0)], now=1.0)
    with pytest.raises(
        BadInput, match=r"got a different one \(cannot tell\); nothing was imported: remove it from the file"
    ):
        take_in(empty, [given._replace(level=None)], now=1.0)
    assert answers_table(empty).num_rows == 1


HEAD = "id,question,rater,answer\n"


@pytest.mark.integration
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + "9-0000,smile,ada,yes\n0-0000,smile,ada,yes\n", "row 1: expected answers about this run's images to smile, same, got 1 for others (image 9-0000, question smile)"),
        (HEAD + "0-0000,smil,ada,yes\n", "row 1: unknown question 'smil': did you mean smile"),
        (HEAD + "0-0000,smile,ada,maybe\n", "row 1: answer: expected one of no, a little, yes, got 'maybe'"),
        (HEAD + "0-0000,smile,Ada Lovelace <a@b>,yes\n", "row 1: expected a rater's number (letters, digits, _ . -), got 'Ada"),
        (HEAD + "0-0000,smile,ada,yes\n0-0000,smile,ada,no\n", "rater ada gives two answers to smile of 0-0000"),
        ("id,question,rater,answer,seconds\n0-0000,smile,ada,yes,inf\n", "row 1: expected a finite number of seconds, got inf"),
        (HEAD, "the file has no answers"),
        ("id,rater\n1,2\n", "expected columns id, question, rater, answer, got no question, answer"),
        ("\x00\xff", "expected"),
    ],
)  # fmt: skip
def test_what_cannot_be_imported_is_said_and_nothing_is_taken(empty, rated, tmp_path, text, message):
    path = tmp_path / "in.csv"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(BadInput) as error:
        take_in(empty, read(path, "answers", empty), now=0.0)
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert answers_table(empty).num_rows == 0


@pytest.mark.parametrize("state", ["leased", "expired"])
def test_an_answer_to_a_task_that_was_given_out_is_taken_in(empty, state):
    """The rater holds it, or let it run out: nothing is answered, so that it is no duplicate; the second time it is."""
    (link,) = invite(empty.database, 1, now=0.0)
    (task,) = next_tasks(empty, 1, now=0.0, count=1)
    if state == "expired":
        assert expire(empty.database, empty.questionnaire.plan, now=1e9) == 1
    given = Incoming("x", task.study, task.first, task.second, task.question, link.name, 1)
    assert (take_in(empty, [given], now=2e9).answers, answers_table(empty).num_rows) == (1, 1)
    assert (take_in(empty, [given], now=3e9).duplicates, answers_table(empty).num_rows) == (1, 1)
    assert task.id not in [one.id for one in next_tasks(empty, 1, now=4e9, count=9)]


def test_what_a_study_costs_and_pays(rated):
    # 6 items x 2 answers at 1.2 cents; times are 1 and 2 seconds, six each: median 1.5, so 2,400 answers an hour.
    made = estimate(rated, 0.012)
    assert made["answers_wanted"] == 12
    assert made["cost"] == pytest.approx(0.144)
    assert made["hourly_wage"] == pytest.approx(28.8)
    with pytest.raises(BadInput, match="--price: expected at least 0"):
        estimate(rated, float("nan"))
    set_state(rated, 2, "excluded")
    assert estimate(rated, 0.012)["seconds_each"] == 1.0


@pytest.mark.parametrize("name", ["../../pwned", "a/b", "..", "a\\b", "C:x"])
def test_pictures_of_a_run_of_others_get_plain_names(name):
    assert name_of("", "1-0000") == "1-0000.png"
    assert name_of("smile", "1-0000") == "smile/1-0000.png"
    assert name_of("", "more/d.png") != name_of("", "more-d.png")
    images = [] if name == "a/b" else [("", name)]  # a path below a folder of images gets a plain name
    for study, image in [*images, (name, "1-0000")]:
        with pytest.raises(BadInput, match="expected a plain file name, got a path"):
            name_of(study, image)


def test_marks_of_a_csv_are_taken_off_again(rated, empty, tmp_path):
    """A rater is called =1+1: a spreadsheet does not run it, and an import knows the rater."""
    with rated.database.reading() as connection:
        names = connection.execute(sa.select(schema.raters.c.name)).scalars().all()
    table = answers_table(rated)
    place = table.column_names.index("rater")
    hostile = pa.array(["=1+1" if rater == names[0] else rater for rater in table["rater"].to_pylist()])
    path = tmp_path / "answers.csv"
    path.write_bytes(csv_of(table.set_column(place, "rater", hostile)))
    assert "'=1+1" in path.read_text()
    assert {row.rater for row in read(path, "answers", empty)} == {"=1+1", *names[1:]}


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_report_takes_the_table_of_answers_too(rated, tmp_path, suffix):
    """What it reads of answers a row each is what the table by rater says."""
    path = tmp_path / f"answers.{suffix}"
    write(rated, "answers", path, "attribute", "")
    table, called = read_table(path, "ratings", PEOPLE)
    assert called == str(path)
    assert table.sort_by("id").to_pylist() == ratings_table(rated).sort_by("id").to_pylist()
