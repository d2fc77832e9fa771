"""Strict CSV: a stray quote is an error with its line, and never swallows rows."""

import csv
import io

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transect.errors import BadInput
from transect.runs.table_inputs import csv_of, read_table, records_of, rows_of

FORTY = ["id,age", *(f"p{n},{n}" for n in range(40))]


def test_a_stray_quote_names_its_line_and_drops_no_row(tmp_path):
    """Python's reader and pyarrow's made 11 rows of these 40."""
    lines = [*FORTY]
    lines[6], lines[35] = '"p5,5', 'p34",34'
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    for read in (lambda: records_of(tmp_path / "t.csv", "t.csv"), lambda: read_table(tmp_path / "t.csv")):
        with pytest.raises(BadInput, match=r"t\.csv, line 7: expected .*quotes"):
            read()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('id,age\n"a,1\n', "x, line 2: expected a closing quote, got the end of the file"),
        ('id,age\n"a"b,1\n', "x, line 2: expected a comma after a closing quote, got more text"),
        ("id,age\na,1,2\n", "x, line 2: expected 2 columns, got 3; fix the line"),
        ("id,id\na,1\n", "x: expected unique column names, got id, id; rename one"),
        (f"id,x\n{'a' * 2_000_000},3\n", "x, line 2: expected fields of up to 1,048,576 characters, got a longer one"),
        ('"id\nname",age\na,1\n', "x, line 1: expected quotes that close in their line"),
    ],
)
def test_faults_have_their_line(text, message):
    with pytest.raises(BadInput) as refused:
        records_of(text, "x")
    assert str(refused.value).startswith(message)


def test_free_text_may_hold_line_breaks():
    rows = records_of('id,why\na,"one\ntwo"\nb,three\n', "x", breaks=lambda name: name == "why")
    assert rows == [(3, {"id": "a", "why": "one\ntwo"}), (4, {"id": "b", "why": "three"})]


@given(st.lists(st.lists(st.text("ab,\" \t'é", max_size=5), min_size=3, max_size=3), min_size=1, max_size=6))
def test_what_a_writer_made_is_read_back(rows):
    sink = io.StringIO()
    csv.writer(sink, quoting=csv.QUOTE_ALL).writerows(rows)
    assert [row for _line, row in rows_of(sink.getvalue(), "x")] == rows


def test_text_that_a_spreadsheet_would_run_is_written_harmlessly():
    hostile = ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1"]
    kept = ["-5", "+1.5e-3", "a=b", "", None, "' quoted"]
    content = csv_of(pa.table({"=name": [*hostile, *kept], "score": [-1.0] * 13}))
    rows = list(csv.reader(io.StringIO(content.decode(), newline="")))
    assert rows[0] == ["'=name", "score"]
    assert [row[0] for row in rows[1:]] == [*(f"'{text}" for text in hostile), *(text or "" for text in kept)]
    assert {row[1] for row in rows[1:]} == {"-1"}
