"""Parts of a run that were written by another hand: another schema is as good as damage, small files are refused."""

import hashlib
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_run import make_run

import transect
from transect.errors import BadInput, CorruptedPart, RunFolderError
from transect.runs import report_options, tables
from transect.runs.folder import read_record
from transect.runs.part_files import read_part
from transect.runs.pictures import pixels_of_png


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


def test_a_sound_part_is_read(run):
    rows = read_part(run, "images", 0)
    assert read_part(rewritten(run, rows), "images", 0).equals(rows)


@pytest.mark.parametrize("name", ["id", "subject", "cell", "face_box", "image"])
def test_images_without_a_column_are_no_part(run, name):
    rows = read_part(run, "images", 0).drop_columns([name])
    with pytest.raises(CorruptedPart, match="does not read back as it was written: delete that file and rerun"):
        read_part(rewritten(run, rows), "images", 0)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("id", [1, 2]),
        ("image", ["/etc/passwd", "x.png"]),
        ("cell", ["a", "b"]),
        ("subject", [1.5, 2.5]),
        ("face_box", [1.0, 2.0]),
        ("intended.smile", ["a", "b"]),
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


def test_a_digest_that_is_no_text_differs(run):
    (run / ".digests" / "images" / "part-00000.sha256").write_bytes(b"\xff\xfe")
    with pytest.raises(CorruptedPart):
        read_part(run, "images", 0)


def test_a_text_is_no_png():
    with pytest.raises(BadInput, match="a picture of the run: expected the bytes of a PNG, got str"):
        pixels_of_png("/etc/passwd")


def test_nan_in_a_spec_is_a_change(run):
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**record, "seed": float("nan")}))
    with pytest.raises(RunFolderError, match=r"run\.json was changed after it was written"):
        read_record(run)


@pytest.mark.parametrize("content", [b"{", b"\xff", b'"x"', None], ids=["broken", "bytes", "text", "folder"])
def test_small_files_that_are_damaged_are_refused_with_the_fix(tmp_path, content):
    path = tmp_path / report_options.BINS_FILE
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    with pytest.raises(BadInput, match=r"expected .*; delete it, or give --\w+ again") as refused:
        report_options.read_bins(tmp_path)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_no_module_reads_parquet_past_the_bound():
    """`bounds.read_parquet` looks at the sizes that a file states before it is unpacked."""
    source = Path(transect.__file__).parent
    reads = [str(path.relative_to(source)) for path in source.rglob("*.py") if ".read_table(" in path.read_text()]
    direct = [name for name in reads if "pq.read_table(" in (source / name).read_text()]
    assert direct == []
