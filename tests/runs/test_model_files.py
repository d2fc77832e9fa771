"""Kinds of files, told without reading them in."""

import struct
import zipfile

import pytest
from safetensors.torch import save_file

from transect.errors import BadInput
from transect.runs import model_files
from transect.runs.model_folders import check_files


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", "an empty file"),
        (b"\x80\x04K", "a Python pickle"),
        (b'{"a": 1}', "a JSON text"),
        (struct.pack("<Q", 2) + b"{}", "a safetensors file"),
        (struct.pack("<Q", 10**9) + b"{}", "an unknown kind of file"),
    ],
)
def test_told_from_the_first_bytes(tmp_path, content, kind):
    path = tmp_path / "file"
    path.write_bytes(content)
    assert model_files.kind_of(path) == kind


@pytest.mark.parametrize(
    ("entry", "kind"),
    [("model/code/__torch__.py", "a TorchScript archive"), ("readme.txt", "a zip archive")],
)
def test_archives_are_told_from_their_directory(tmp_path, entry, kind):
    path = tmp_path / "file"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(entry, b"x")
    assert model_files.kind_of(path) == kind


def test_a_damaged_archive(tmp_path):
    path = tmp_path / "file"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a", b"x")
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02")] = 0  # the directory's signature
    path.write_bytes(content)
    assert model_files.kind_of(path) == "a damaged zip archive"


def test_tensors_stay_as_they_were_read(tmp_path):
    """The library maps the file into memory, and a training may write to it again."""
    torch, saving = pytest.importorskip("torch"), pytest.importorskip("safetensors.torch")
    path = tmp_path / "w.safetensors"
    saving.save_file({"w": torch.zeros(4096)}, path)
    tensors, _ = model_files.read_safetensors(path)
    with path.open("r+b") as file:
        file.seek(-4 * 4096, 2)
        file.write(torch.ones(4096).numpy().tobytes())
    assert not tensors["w"].any()


def test_complex_weights_are_refused_and_not_cut_to_their_real_part(tmp_path):
    torch = pytest.importorskip("torch")
    tensors = {"head.weight": torch.full((2,), 1 + 2j)}
    save_file(tensors, tmp_path / "x.safetensors")
    torch.save(tensors, tmp_path / "x.pt")
    for name in ("x.safetensors", "x.pt"):
        with pytest.raises(BadInput, match=r"expected real numbers, got complex ones in head\.weight"):
            model_files.read_weights(tmp_path / name, pytorch=True)
    with pytest.raises(BadInput, match="expected real numbers"):
        check_files(tmp_path, [tmp_path / "x.safetensors"])
