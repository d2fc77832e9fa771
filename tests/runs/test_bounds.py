"""Small files that would unpack to much memory are refused from their own metadata."""

import io
import tracemalloc
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from transect.errors import BadInput
from transect.generators.stylegan2.reading import read_pickle
from transect.runs import bounds
from transect.runs.model_files import read_weights
from transect.runs.table_inputs import read_table


def peak_of(work):
    """Most bytes that NumPy and Python held meanwhile."""
    tracemalloc.start()
    try:
        with pytest.raises(BadInput, match="it may be a"):
            work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_compressed_npz(small_bound, tmp_path):
    np.savez_compressed(tmp_path / "x.npz", a=np.zeros(8 << 20, np.uint8))
    assert (tmp_path / "x.npz").stat().st_size < 20_000
    assert peak_of(lambda: read_table(tmp_path / "x.npz")) < 4 << 20


@pytest.mark.parametrize("values", [np.zeros(2 << 20), np.repeat(["a" * 1000], 100_000)])
def test_a_parquet_of_one_value(small_bound, tmp_path, values):
    pq.write_table(pa.table({"a": values}), tmp_path / "x.parquet")
    assert (tmp_path / "x.parquet").stat().st_size < 40_000
    before = pa.total_allocated_bytes()
    with pytest.raises(BadInput, match="it may be a decompression bomb; if you trust it, set TRANSECT_LARGEST_GIB"):
        read_table(tmp_path / "x.parquet")
    assert pa.total_allocated_bytes() - before < 4 << 20


def test_a_trusted_file_is_read_with_the_variable(small_bound, tmp_path, monkeypatch):
    pq.write_table(pa.table({"a": np.zeros(2 << 20)}), tmp_path / "x.parquet")
    monkeypatch.setenv(bounds.VARIABLE, "0.5")
    assert read_table(tmp_path / "x.parquet").num_rows == 2 << 20


def test_a_checkpoint_with_compressed_entries(tmp_path):
    torch.save({"w": torch.zeros(1 << 20)}, tmp_path / "x.pt")
    with zipfile.ZipFile(tmp_path / "x.pt") as archive, zipfile.ZipFile(tmp_path / "y.pt", "w", 8) as packed:
        for entry in archive.infolist():
            packed.writestr(entry.filename, archive.read(entry))
    assert read_weights(tmp_path / "x.pt", pytorch=True)["w"].shape == (1 << 20,)
    with pytest.raises(BadInput, match="found compressed ones; it may be a zip bomb"):
        read_weights(tmp_path / "y.pt", pytorch=True)


def test_pickles_of_marks_are_counted_and_not_run(tmp_path, monkeypatch):
    """20 MB of them took 57 s. The bound is 2,000,000; here it is a hundredth of that."""
    assert bounds.MOST_OPERATIONS == 2_000_000
    monkeypatch.setattr(bounds, "MOST_OPERATIONS", 20_000)
    content = io.BytesIO(b"\x80\x02" + b"(" * 200_000 + b".")
    with pytest.raises(BadInput, match="the file is malicious"):
        bounds.check_operations("x", content)
    assert content.tell() < 21_000
    (tmp_path / "x.pkl").write_bytes(content.getvalue())
    with pytest.raises(BadInput, match="expected at most 20000 operations in a pickle of weights, found more"):
        read_pickle(tmp_path / "x.pkl")
    archived = io.BytesIO()
    with zipfile.ZipFile(archived, "w") as archive:
        archive.writestr("x/data.pkl", b"\x80\x02" + b"(" * 30_000 + b".")
    (tmp_path / "x.pt").write_bytes(archived.getvalue())
    with pytest.raises(BadInput, match="operations in a pickle of weights"):
        read_weights(tmp_path / "x.pt", pytorch=True)
