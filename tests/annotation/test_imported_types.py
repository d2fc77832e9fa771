"""Columns of imported tables have the types that are documented: what is read as another is cast, or refused."""

import time
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_run import make_run, write_questions

from transect.annotation.exchange.reading_files import read
from transect.annotation.project import open_project
from transect.errors import BadInput

ROWS = {
    "id": ["0-0000", "0-0001", "1-0000"],
    "question": ["smile"] * 3,
    "rater": ["r1"] * 3,
    "answer": ["no", "yes", "no"],
}
NEW_YEAR = datetime(2024, 1, 1, tzinfo=UTC).timestamp()


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Questions about four images, without an answer."""
    folder = tmp_path_factory.mktemp("types")
    asked = (write_questions(folder / "q.toml"),)
    made = open_project(make_run(folder / "run", subjects=2), questions=asked)
    yield made
    made.database.close()


def imported(project, folder, **columns):
    pq.write_table(pa.table({**ROWS, **columns}), folder / "in.parquet")
    return read(folder / "in.parquet", "answers", project)


@pytest.mark.parametrize(
    "said",
    [
        ["False", "true", "0"], [False, True, None], [0, 1, 0], [0.0, 1.0, None],
        pa.array(["false", "true", None]).dictionary_encode(),
    ],
)  # fmt: skip
def test_yes_and_no_as_text_or_numbers(project, tmp_path, said):
    made = imported(project, tmp_path, repeat=said, excluded=said)
    assert [one.repeat for one in made] == [False, True, False]
    assert [one.left_out for one in made] == ["", "of raters who were shut out", ""]


@pytest.mark.parametrize(
    "given",
    [
        ["2024-01-01T00:00:00Z", "2024-01-01 00:00:00.000", "2024-01-01T09:00:00+09:00"],
        pa.array([int(NEW_YEAR * 10**9) + 1] * 3, pa.timestamp("ns")),
        pa.array([int(NEW_YEAR)] * 3, pa.timestamp("s", tz="Asia/Tokyo")),
        pa.array([19723] * 3, pa.int32()).cast(pa.date32()),
    ],
)
def test_times_without_a_zone_are_in_utc(project, tmp_path, monkeypatch, given):
    """Whatever the machine's own zone is."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert [one.given for one in imported(project, tmp_path, given=given)] == [NEW_YEAR] * 3
    finally:
        monkeypatch.delenv("TZ")
        time.tzset()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"excluded": ["no", "False", "0"]}, r"in.parquet: excluded: expected true or false, got string \("),
        ({"given": pa.array([300 * 10**12] * 3, pa.timestamp("ms"))}, "in.parquet: given: .*outside the years 1 to 9999"),
        ({"seconds": ["soon", "1", "2"]}, "in.parquet: seconds: expected numbers, got string"),
        ({"answer": [["a"], ["b"], ["c"]]}, "in.parquet: answer: expected text, got list"),
        ({"given": ["2024-01-01", "today", None]}, "in.parquet, row 2: given: expected a date and time such as .*, got 'today'"),
    ],
)  # fmt: skip
def test_what_cannot_be_cast_is_refused_in_one_line(project, tmp_path, columns, message):
    with pytest.raises(BadInput, match=f"{message}.*$"):
        imported(project, tmp_path, **columns)
