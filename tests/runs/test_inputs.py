"""Tables in every form that a user may give, and refusals in one line."""

import io
import struct
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from transect.errors import BadInput
from transect.runs.table_inputs import as_table

COLUMNS = {"id": ["a", "b", "c"], "smile": [0.1, 0.5, 0.9]}


class Frame:
    """A data frame of another library: nothing is known of it but the Arrow stream."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def written(tmp_path, suffix):
    path, table = tmp_path / f"t{suffix}", pa.table(COLUMNS)
    if suffix == ".parquet":
        pq.write_table(table, path)
    elif suffix == ".csv":
        path.write_text("id,smile\na,0.1\nb,0.5\nc,0.9\n")
    elif suffix == ".npz":
        np.savez(path, **{name: np.array(values) for name, values in COLUMNS.items()})
    else:
        with pa.ipc.new_file(path, table.schema) as sink:
            sink.write_table(table)
    return path


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".npz", ".arrow", ".feather"])
def test_files_hold_the_same_columns(tmp_path, suffix):
    path = written(tmp_path, suffix)
    assert as_table(path).to_pydict() == as_table(str(path)).to_pydict() == COLUMNS


@pytest.mark.parametrize("source", [COLUMNS, pa.table(COLUMNS), pd.DataFrame(COLUMNS), Frame(pa.table(COLUMNS))])
def test_objects_hold_the_same_columns(source):
    assert as_table(source).to_pydict() == COLUMNS


def _npz(header):
    """An archive with one array whose header is this text."""
    text = header.encode().ljust(117) + b"\n"
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        # A ZipInfo has a fixed date: workers that collect this test later must give it the same name.
        archive.writestr(zipfile.ZipInfo("x.npy"), b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text)
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.parquet", b"PAR1", "expected a readable parquet file"),
        ("t.npz", b"nothing", "expected arrays of numbers as NumPy writes them, got a different kind"),
        ("t.npz", _npz("("), "got a damaged header"),
        ("t.npz", _npz("{'descr':'<f8','fortran_order':False,'shape':(" + 30 * "9" + ",)}"), "got a damaged header"),
        ("t.csv", b"id,id\na,b\n", "t.csv: expected unique column names, got id twice"),
        ("none.csv", None, "no such file"),
    ],
)
def test_what_cannot_be_read_is_one_line(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInput, match=message) as refused:
        as_table(tmp_path / name, "--table")
    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith(f"--table {tmp_path / name}")


def test_only_an_empty_field_is_missing_in_a_column_of_texts(tmp_path):
    """ "NA" may be the name of a level; elsewhere it is what R and pandas write for a missing value."""
    path = tmp_path / "t.csv"
    path.write_text("country,city,age\nNA,Windhoek,31\nUS,NA,NA\n,,\n")
    assert as_table(path, text=["country"]).to_pydict() == {
        "country": ["NA", "US", None], "city": ["Windhoek", None, None], "age": [31, None, None],
    }  # fmt: skip


def test_the_parts_of_a_runs_folder_are_one_table(tmp_path):
    for part, ids in enumerate((["a", "b"], ["c"])):
        pq.write_table(pa.table({"id": ids}), tmp_path / f"part-{part:05d}.parquet")
    assert as_table(tmp_path)["id"].to_pylist() == ["a", "b", "c"]
    pq.write_table(pa.table({"name": ["d"]}), tmp_path / "part-00002.parquet")
    with pytest.raises(BadInput, match="expected a readable table file, got: Schema at index 2 was different"):
        as_table(tmp_path)


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "frame", "categories", "columns"])
def test_texts_that_differ_by_blanks_are_one_with_a_line(tmp_path, kind, capsys):
    columns = {"who": ["male", "male ", "female", " female\t"], "n": [1, 2, 3, 4], "other": ["a ", "b", "c", "d"]}
    table = pa.table(columns)
    sources = {"frame": table.to_pandas(), "columns": columns, "arrow": table}
    if kind == "csv":
        pc.write_csv(table, tmp_path / "t.csv")
    elif kind == "parquet":
        pq.write_table(table, tmp_path / "t.parquet")
    elif kind == "categories":
        sources[kind] = table.to_pandas().astype({"who": "category"})
    read = as_table(sources.get(kind, tmp_path / f"t.{kind}"), "--table")
    assert read["who"].to_pylist() == ["male", "male", "female", "female"]
    assert read["other"].to_pylist()[0] == "a"
    (said,) = capsys.readouterr().err.splitlines()
    assert "column who: ' female\\t' counts as 'female'" in said


def test_a_dash_and_n_a_are_missing_in_csv(tmp_path):
    (tmp_path / "t.csv").write_text("x,who\n1,a\n-,n/a\nN/A,-\nNA,none\n")
    read = as_table(tmp_path / "t.csv")
    assert read.to_pydict() == {"x": [1, None, None, None], "who": ["a", None, None, "none"]}
