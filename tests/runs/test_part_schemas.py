"""Parts of a run that were written by another hand: another schema is as good as damage, small files are refused."""

import hashlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_run import make_run

import transect
from transect.errors import BadInput, CorruptedPart
from transect.runs import report_options, tables
from transect.runs.part_files import read_part


def rewritten(run, rows, table="images"):
    """The first part replaced, with a digest that matches."""
    path = run / table / "part-00000.parquet"
    digest = run / ".digests" / table / "part-00000.sha256"
    for file in (path, digest):
        file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, path)
    digest.write_text(hashlib.sha256(path.read_bytes()).hexdigest())
    return run


@pytest.fixture
def run(tmp_path):
    return make_run(tmp_path / "run", subjects=2, cells=1)


@pytest.mark.parametrize("name", ["id", "face_box"])
def test_images_without_a_column_are_no_part(run, name):
    rows = read_part(run, "images", 0).drop_columns([name])
    with pytest.raises(CorruptedPart, match="is damaged: delete that file and rerun"):
        read_part(rewritten(run, rows), "images", 0)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("id", [1, 2]),
        ("image", ["/etc/passwd", "x.png"]),
        ("face_box", [1.0, 2.0]),
        ("id", [None, "a"]),
    ],
)
def test_images_of_other_types_are_no_part(run, name, values):
    rows = read_part(run, "images", 0)
    rows = rows.set_column(rows.column_names.index(name), name, pa.array(values))
    with pytest.raises(CorruptedPart):
        read_part(rewritten(run, rows), "images", 0)


@pytest.mark.parametrize("name", tables.PREDICTIONS.names)
def test_predictions_have_all_columns_of_their_types(run, name):
    rows = pa.table([pa.nulls(0, field.type) for field in tables.PREDICTIONS], schema=tables.PREDICTIONS)
    table = "predictions/x"
    assert read_part(rewritten(run, rows, table), table, 0).num_rows == 0
    with pytest.raises(CorruptedPart):
        read_part(rewritten(run, rows.drop_columns([name]), table), table, 0)
    place = tables.PREDICTIONS.get_field_index(name)
    other = rows.set_column(place, name, pa.nulls(0, pa.int8()))
    with pytest.raises(CorruptedPart):
        read_part(rewritten(run, other, table), table, 0)


@pytest.mark.parametrize("content", [b"{", b"\xff", b'"x"', None], ids=["broken", "bytes", "text", "folder"])
def test_small_files_that_are_damaged_are_refused_with_the_fix(tmp_path, content):
    path = tmp_path / "settings.json"
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    with pytest.raises(
        BadInput, match="cannot be read as a report's settings .*; delete it, and give them again"
    ) as refused:
        report_options.read(tmp_path)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_no_module_reads_parquet_past_the_bound():
    """`bounds.read_parquet` looks at the sizes that a file states before it is unpacked."""
    source = Path(transect.__file__).parent
    reads = [str(path.relative_to(source)) for path in source.rglob("*.py") if ".read_table(" in path.read_text()]
    direct = [name for name in reads if "pq.read_table(" in (source / name).read_text()]
    assert direct == []
