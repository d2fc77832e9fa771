"""Tables whose few bytes stand for many values or rows are bounded, also while they are read."""

import io
import os
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from transect.datasets.features import read_features
from transect.errors import BadInput
from transect.runs import bounds
from transect.runs.model_files import read_content, read_weights
from transect.runs.table_inputs import read_table


@pytest.fixture
def arrow_memory():
    """A pool of Arrow's that counts from nothing."""
    before, counted = pa.default_memory_pool(), pa.proxy_memory_pool(pa.system_memory_pool())
    pa.set_memory_pool(counted)
    yield counted
    pa.set_memory_pool(before)


MOST_ROWS = "expected at most 8192 rows in a file of .*it may be a decompression bomb; if you trust it, set TRANSECT_LARGEST_GIB"


@pytest.mark.parametrize("shape", [(1 << 14, 0), (1 << 17,)])
def test_an_npz_of_many_rows(small_bound, tmp_path, shape):
    """Python needs many times the bytes of short rows, whose content is within the bound."""
    np.savez_compressed(tmp_path / "x.npz", a=np.zeros(shape, np.bool_))
    with pytest.raises(BadInput, match=MOST_ROWS):
        read_table(tmp_path / "x.npz")


@pytest.mark.parametrize(
    "values", [pa.nulls(1 << 16, pa.int8()), pa.array(np.zeros(1 << 16, np.bool_)), pa.array([[]] * (1 << 16))]
)
def test_a_parquet_of_many_rows(small_bound, tmp_path, values):
    pq.write_table(pa.table({"a": values}), tmp_path / "x.parquet")
    with pytest.raises(BadInput, match=MOST_ROWS):
        read_table(tmp_path / "x.parquet")


def repeated(rows, length):
    """One text in every row, which Arrow has once."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array(["x" * length]))


@pytest.mark.parametrize("nested", [False, True])
def test_a_parquet_that_is_read_as_a_dictionary(small_bound, tmp_path, nested):
    """816 bytes were 15 GB once a reader wrote the values out."""
    column = repeated(100, 1 << 16)
    pq.write_table(pa.table({"a": pa.array([{"b": 1}] * 100)}), tmp_path / "y.parquet")
    pq.write_table(
        pa.table({"a": pa.StructArray.from_arrays([column], ["b"]) if nested else column}), tmp_path / "x.parquet"
    )
    with pytest.raises(BadInput, match=r"expected content of at most 1 MiB in a file of .*got 6\.25 MiB"):
        read_table(tmp_path / "x.parquet")
    assert read_table(tmp_path / "y.parquet").num_rows == 100


@pytest.mark.parametrize("encoding", ["dictionary", "DELTA_BYTE_ARRAY"])
def test_the_bound_of_a_parquet_is_held_while_it_is_checked(small_bound, tmp_path, encoding, request):
    """508 bytes took 6.4 GB before they were refused for being above 2."""
    table = pa.table({"a": repeated(400, 1 << 16).dictionary_decode()})
    settings = {} if encoding == "dictionary" else {"use_dictionary": False, "column_encoding": {"a": encoding}}
    pq.write_table(table, tmp_path / "x.parquet", compression="zstd", store_schema=False, **settings)
    del table
    assert (tmp_path / "x.parquet").stat().st_size < 10_000
    memory = request.getfixturevalue("arrow_memory")
    with pytest.raises(BadInput, match="expected content of at most 1 MiB"):
        read_table(tmp_path / "x.parquet")
    assert memory.max_memory() < 2 << 20


@pytest.mark.parametrize("settings", [{}, {"use_dictionary": False, "column_encoding": {"a": "DELTA_BYTE_ARRAY"}}])
def test_a_parquet_of_texts_within_the_bound_is_read_as_it_is(small_bound, tmp_path, settings):
    table = pa.table({"a": [f"face {row % 300}" for row in range(3000)], "true.b": pa.array([[b"1"], None] * 1500)})
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=1000, **settings)
    assert read_table(tmp_path / "x.parquet").equals(table)
    assert bounds.read_parquet(tmp_path / "x.parquet", ["true.b"], [1]).equals(table.select(["true.b"])[1000:2000])


def test_a_parquet_whose_names_hold_dots(small_bound, tmp_path):
    """As `true.age` of a rendered data set, where only some columns are read."""
    names = [f"true.b{k}" for k in range(20)]
    pq.write_table(pa.table({name: np.zeros(8191) for name in ("true.a", *names)}), tmp_path / "x.parquet")
    with pytest.raises(BadInput, match=r"expected content of at most 1 MiB in a file of .*got 1\.25 MiB"):
        bounds.read_parquet(tmp_path / "x.parquet", names)
    assert bounds.read_parquet(tmp_path / "x.parquet", ["true.a"]).num_rows == 8191


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (repeated(100, 1 << 16), r"expected content of at most 1 MiB .*got 6\.25 MiB"),
        (pa.array(["x"] * 100).cast(pa.string_view()), None),
        (pa.nulls(1 << 14), MOST_ROWS),
        (pa.RunEndEncodedArray.from_arrays([100], ["x"]), "expected plain columns, got run_end_encoded"),
    ],
)
def test_an_arrow_file_of_repeated_values(small_bound, tmp_path, column, expected):
    table = pa.table({"a": column})
    with pa.OSFile(str(tmp_path / "x.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    if expected is None:
        assert read_table(tmp_path / "x.arrow").equals(table)
        return
    with pytest.raises(BadInput, match=expected):
        read_table(tmp_path / "x.arrow")


def test_views_of_one_text_are_counted_each():
    """A file can name the same bytes in every view; Arrow's own writers do not."""
    one = pa.array(["x" * 1000], pa.string_view())
    views = pa.py_buffer(one.buffers()[1].to_pybytes() * 50)
    column = pa.Array.from_buffers(pa.string_view(), 50, [None, views, *one.buffers()[2:]])
    assert column.get_total_buffer_size() < 2000 + 1000
    assert bounds._unpacked(column, "x") == 50 * 1016
    assert bounds._unpacked(column[40:], "x") == 10 * 1016


def sparse(path, head, size):
    path.write_bytes(head)
    with path.open("r+b") as file:
        file.truncate(len(head) + size)
    return path


@pytest.mark.skipif(not hasattr(os.stat_result, "st_blocks"), reason="the system does not tell holes")
def test_sparse_files_are_bounded_by_what_they_take_on_the_disk(small_bound, tmp_path):
    """A .npy of 48 GB whose content was a hole took a few kilobytes, and 16.6 GB of memory."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (3, 1 << 18)})
    numbers = sparse(tmp_path / "x.npy", head.getvalue(), 3 << 21)
    with pytest.raises(
        BadInput, match="expected content of at most 1 MiB in a file of .*got 6 MiB: it may be a decompression bomb"
    ):
        read_features(numbers)
    text = b'{"w":{"dtype":"F32","shape":[1048576],"data_offsets":[0,4194304]}}'
    weights = sparse(tmp_path / "x.safetensors", len(text).to_bytes(8, "little") + text, 4 << 20)
    for read in (read_weights, lambda path: read_content(path, {}, expected="latents", remedy="")):
        with pytest.raises(
            BadInput, match="expected content of at most 1 MiB in a file of .*it may be a decompression bomb"
        ):
            read(weights)
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("a.npy", head.getvalue())
    assert bounds.size_of(tmp_path / "x.npz") <= (tmp_path / "x.npz").stat().st_size
    assert bounds.size_of(numbers) < 1 << 16


def test_an_npz_with_an_entry_that_needs_a_password(tmp_path):
    """The flags of the first entry, in the directory at the end of the file, say that it is encrypted."""
    np.savez(tmp_path / "x.npz", a=np.zeros(3))
    content = bytearray((tmp_path / "x.npz").read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(BadInput, match="expected entries without a password, found encrypted ones"):
        read_table(tmp_path / "x.npz")


def test_parquet_whose_counts_of_levels_contradict_its_columns(tmp_path):
    """pyarrow ends the process where it is asked for the metadata of such a column; other columns can be read.

    The column has one level of definition more than its schema says: "optional" (1) becomes "required" (0).
    """
    required = pa.schema([pa.field("a", pa.float64(), nullable=False), pa.field("b", pa.float64())])
    pq.write_table(pa.table({"a": [1.0, 2.0], "b": [1.0, 2.0]}, schema=required), tmp_path / "x.parquet")
    content = (tmp_path / "x.parquet").read_bytes()
    optional = b"\x25\x02\x18\x01b"  # of the schema's last element: its repetition, and its name
    assert content.count(optional) == 1
    (tmp_path / "x.parquet").write_bytes(content.replace(optional, b"\x25\x00\x18\x01b"))
    with pytest.raises(BadInput, match="expected a readable parquet file, got: .*histogram"):
        read_table(tmp_path / "x.parquet")
    assert bounds.read_parquet(tmp_path / "x.parquet", ["a"])["a"].to_pylist() == [1.0, 2.0]
