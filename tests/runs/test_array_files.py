"""NumPy's files: headers of every kind give the arrays or one line."""

import struct
import zipfile

import numpy as np
import pytest

from transect.errors import BadInput
from transect.runs.array_files import arrays_in, mapped


def npy(shape, descr="'<f8'", order="False"):
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + b"\0" * 96


DAMAGED = [
    npy("(True, 6)"),
    npy("(True, 6)", order="True"),
    npy("(-1, 6)"),
    npy(f"({10**30}, 6)"),
    npy(f"({1 << 40}, 6)"),
    npy(f"({'1' * 5000}, 6)"),
    npy("('a', 6)"),
    npy("(2.0, 6)"),
    npy("(2,)", "'|O'"),
    npy("(2, 6)", "'<f9'"),
    npy("(" * 500 + ")" * 500),
    npy("(2, 6)")[:40],
    b"",
]


@pytest.mark.parametrize("content", DAMAGED, ids=range(len(DAMAGED)))
def test_a_damaged_header_is_one_line(tmp_path, content):
    (tmp_path / "x.npy").write_bytes(content)
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("a.npy", content)
    for read, name in ((mapped, "x.npy"), (arrays_in, "x.npy"), (arrays_in, "x.npz")):
        with pytest.raises(BadInput, match="expected arrays of numbers as NumPy writes them, got") as error:
            read(tmp_path / name)
        assert "\n" not in str(error.value)


def test_arrays_come_back_as_they_were(tmp_path):
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.save(tmp_path / "x.npy", values)
    np.savez(tmp_path / "x.npz", a=values, b=values[0])
    np.testing.assert_array_equal(mapped(tmp_path / "x.npy"), values)
    np.testing.assert_array_equal(arrays_in(tmp_path / "x.npy")["x.npy"], values)
    assert list(arrays_in(tmp_path / "x.npz")) == ["a", "b"]
    np.testing.assert_array_equal(arrays_in(tmp_path / "x.npz")["b"], values[0])
    with pytest.raises(FileNotFoundError):
        mapped(tmp_path / "none.npy")
