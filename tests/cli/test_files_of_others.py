"""Damaged, foreign and hostile files: one line, exit code 2, and no traceback."""

import hashlib
import io
import shutil
import struct
import zlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import refused, run_here

DEEP = "[" * 10_000


def no_text():
    """A Parquet file with a column of texts that are not UTF-8."""
    offsets = np.array([0, 2, 4], np.int32).tobytes()
    ids = pa.Array.from_buffers(pa.string(), 2, [None, pa.py_buffer(offsets), pa.py_buffer(b"\xff\xfeab")])
    sink = io.BytesIO()
    pq.write_table(pa.table({"id": ids, "smile": [0.1, 0.2]}), sink)
    return sink.getvalue()


def half_an_archive():
    sink = io.BytesIO()
    np.savez(sink, a=np.arange(1000.0))
    return sink.getvalue()[:3000]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "x.npz",
            half_an_archive(),
            "expected arrays of numbers as NumPy writes them, got a different kind; save it again",
        ),
        ("x.npz", b"", "expected arrays of numbers as NumPy writes them, got a different kind; save it again"),
        ("x.parquet", no_text(), "expected a readable parquet file, got: Column 0: In chunk 0: Invalid: Invalid UTF8"),
    ],
)
def test_tables(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    assert message in refused("leakage", "--labels", str(tmp_path / name), "--label", "smile", "--protected", "id")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(f"a = {DEEP}{']' * 10_000}", "p.toml: expected TOML: nested too deeply; flatten it", id="deep"),
        pytest.param(f"a = {'9' * 5000}", "TOML: a whole number has thousands of digits; shorten it", id="digits"),
        ('name = "p"\n[marginals.age]\ndistribution = "uniform"\nlow = nan\nhigh = 40', "finite number"),
    ],
)
def test_populations(tmp_path, text, message):
    (tmp_path / "p.toml").write_text(text)
    population = ("--population", str(tmp_path / "p.toml"), "--subjects", "2")
    assert message in refused("render", *population, "--out", str(tmp_path / "x.png"))


def picture_of_forty_thousand():
    """A PNG of 1.6 gigapixels in a few kilobytes."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 40_000, 40_000, 8, 2, 0, 0, 0)
    rows = zlib.compress(b"\0" * 12_000_100, 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "run"
    arguments = ("--vary", "glasses=0,1", "--subjects", "3", "--size", "32", "--out", str(out))
    assert run_here("audit", "audited:brightness", *arguments).returncode == 0
    return out


def changed(run, folder, change):
    """A copy of the run whose first part of images is another, with a digest that fits."""
    shutil.copytree(run, folder)
    part = folder / "images" / "part-00000.parquet"
    pq.write_table(change(pq.read_table(part)), part)
    digest = folder / ".digests" / "images" / "part-00000.sha256"
    digest.write_text(hashlib.sha256(part.read_bytes()).hexdigest())
    return folder


def with_first(picture):
    def change(table):
        pictures = pa.array([picture, *table["image"].to_pylist()[1:]], pa.binary())
        return table.set_column(table.schema.get_field_index("image"), "image", pictures)

    return change


@pytest.mark.integration
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            with_first(picture_of_forty_thousand()),
            "expected an image, got Image size (1600000000 pixels) exceeds limit",
        ),
        (with_first(None), "is damaged"),
        (lambda table: table.drop_columns(["image"]), "is damaged"),
    ],
)
def test_reports_of_hostile_pictures(run, tmp_path, change, message):
    line = refused("report", str(changed(run, tmp_path / "run", change)))
    assert message in line or "expected a PNG image" in line


@pytest.mark.integration
def test_a_deep_record(run, tmp_path):
    shutil.copytree(run, tmp_path / "run")
    (tmp_path / "run" / "run.json").write_text(DEEP)
    assert "is not a valid record of a run (nested too deeply)" in refused("report", str(tmp_path / "run"))
