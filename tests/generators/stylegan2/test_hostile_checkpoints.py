"""Hostile and damaged checkpoints give one line and run nothing, and take no more memory than their size tells."""

import contextlib
import io
import os
import pickle
import zipfile

import numpy as np
import pytest
import torch
from small_network import Persistent, as_persistent, install_official_names

from transect.errors import BadInput
from transect.generators.stylegan2.reading import read_checkpoint, read_pickle


class Calls:
    """Pickles as a call of `function`."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def hostile():
    flag = "touch transect_was_here"
    deep = Calls(os.system, flag)
    for _ in range(5):
        deep = {"G_ema": [deep]}
    return {
        "system": Calls(os.system, flag),
        "getattr": Calls(getattr, os, "system"),
        "nested": deep,
        "bytes": Calls(pickle.loads, pickle.dumps(Calls(os.system, flag))),
        "torch.load": Calls(torch.load, "other.pt"),
    }


@pytest.mark.parametrize("protocol", [0, 2, 5])
@pytest.mark.parametrize("name", hostile())
def test_nothing_that_a_pickle_names_is_run(tmp_path, monkeypatch, name, protocol):
    monkeypatch.chdir(tmp_path)
    content = hostile()[name]
    try:
        data = pickle.dumps({"G_ema": content}, protocol=protocol)
    except (pickle.PicklingError, TypeError) as refused:
        pytest.skip(f"Python does not write it: {refused}")
    (tmp_path / "x.pkl").write_bytes(data)
    with pytest.raises(BadInput, match="x.pkl: ") as error:
        read_pickle(tmp_path / "x.pkl")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "transect_was_here").exists()


def stream(*parts):
    return b"\x80\x04" + b"".join(parts) + b"."


GLOBAL = b"c%s\n%s\n"
DAMAGED = {
    "extension code": stream(b"\x82\x01"),
    "persistent id": stream(b"Phttp://somewhere\n"),
    "endless bytes": stream(b"\x8e" + (1 << 60).to_bytes(8, "little")),
    "endless frame": b"\x80\x04\x95" + (1 << 50).to_bytes(8, "little"),
    "endless memo": stream(b"N", b"r\xff\xff\xff\x7f", b"a"),
    "empty": b"\x80\x04.",
    "deep names": stream(GLOBAL % (b"torch.nn.modules.linear", b"Linear.__init__.__globals__")),
    "torch function": stream(GLOBAL % (b"torch", b"load")),
    "hidden name": stream(GLOBAL % (b"torch_utils.persistence", b"_src_to_module"), b"Vx = 1\n", b"\x85R"),
}


NESTED = (
    b"K\x01" + b"2\x86" * 60
)  # (((1, 1), (1, 1)), …): each level the one before, twice; 2⁶⁰ numbers to hash or print
DAMAGED |= {
    "endless key": stream(b"}", NESTED, b"Ns"),
    "endless dictionary": stream(b"(", NESTED, b"Nd"),
    "endless member": stream(b"\x8f(", NESTED, b"\x90"),
    "endless key of a called dictionary": stream(GLOBAL % (b"collections", b"OrderedDict"), b"((", NESTED, b"Ntl\x85R"),
    "endless reference": stream(NESTED, b"Q"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_streams_are_one_line(tmp_path, name):
    path = tmp_path / "x.pkl"
    path.write_bytes(DAMAGED[name])
    with pytest.raises(BadInput) as error:
        read_checkpoint(path)
    assert "\n" not in str(error.value)


def test_every_truncation_is_refused(official, tmp_path):
    data, path = official.read_bytes(), tmp_path / "cut.pkl"
    for share in np.linspace(0.01, 0.999, 40):
        path.write_bytes(data[: int(share * len(data))])
        with pytest.raises(BadInput):
            read_checkpoint(path)


def test_flipped_bytes_never_raise_anything_else(official, tmp_path):
    """Either the file still reads, as when a weight changed, or one line says that it does not."""
    data, path = bytearray(official.read_bytes()), tmp_path / "flipped.pkl"
    draws = np.random.default_rng(0)
    for _ in range(60):
        flipped = bytearray(data)
        for place in draws.integers(0, len(data), 20):
            flipped[place] ^= 1 << int(draws.integers(8))
        path.write_bytes(flipped)
        with contextlib.suppress(BadInput):
            read_checkpoint(path)


def test_a_view_beyond_its_storage_is_refused(tmp_path, monkeypatch):
    with monkeypatch.context() as names:
        install_official_names(names)
        _, (storage, *_) = torch.zeros(3).__reduce_ex__(4)  # as PyTorch pickles a tensor: by a call that takes this
        view = Calls(torch._utils._rebuild_tensor_v2, storage, 0, (10**9,), (0,), False, {})
        network = Persistent("Generator", parameters={"weight": view})
        (tmp_path / "x.pkl").write_bytes(pickle.dumps({"G_ema": network}))
    with pytest.raises(BadInput, match="expected a tensor within its storage of 3 numbers"):
        read_checkpoint(tmp_path / "x.pkl")


def storage_bytes(numbers):
    """A call of `torch.storage._load_from_bytes` with what the file written in that way holds."""
    return (
        GLOBAL % (b"torch.storage", b"_load_from_bytes")
        + b"B"
        + len(numbers).to_bytes(4, "little")
        + numbers
        + b"\x85R"
    )


def test_a_zip_bomb_within_a_pickle_is_not_unpacked(tmp_path):
    """A compressed archive in place of a storage: 64 MB of zeros in some 65 kB."""
    plain, packed = io.BytesIO(), io.BytesIO()
    torch.save(torch.zeros(1 << 26, dtype=torch.uint8), plain)
    with zipfile.ZipFile(plain) as source, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry in source.namelist():
            archive.writestr(entry, source.read(entry))
    (tmp_path / "x.pkl").write_bytes(stream(storage_bytes(packed.getvalue())))
    assert (tmp_path / "x.pkl").stat().st_size < 1 << 18
    with pytest.raises(BadInput, match=r"expected a tensor's storage as PyTorch pickles it, found an archive"):
        read_pickle(tmp_path / "x.pkl")


def many_views(numbers, views):
    """One storage of float32, kept in the memo, and a list of tensors that each are all of it."""
    held = io.BytesIO()
    torch.save(torch.zeros(numbers).storage(), held, _use_new_zipfile_serialization=False)
    make = b"q\x000" + GLOBAL % (b"torch._utils", b"_rebuild_tensor_v2") + b"q\x010]"
    view = b"h\x01(h\x00K\x00J" + numbers.to_bytes(4, "little") + b"\x85K\x01\x85\x89}tRa"
    return stream(storage_bytes(held.getvalue()), make, view * views)


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_many_views_of_one_storage_are_refused(tmp_path):
    """4 MiB, of which each view is a copy: 4 × 4 + 16 MiB hold the storage and 7 copies, not 8 (the file is a little
    larger than 4 MiB: 32 MiB and a few kB)."""
    path = tmp_path / "x.pkl"
    path.write_bytes(many_views(1 << 20, 7))
    assert len(read_pickle(path)) == 7
    path.write_bytes(many_views(1 << 20, 8))
    with pytest.raises(BadInput, match=r"expected weights of about the file's size, found more"):
        read_pickle(path)


def test_a_list_copied_again_and_again_is_refused(tmp_path):
    """100 000 items, made a tuple 20 times: 20 × 100 000 × 100 bytes are more than 4 × .2 + 16 MiB."""
    pushed = b"(" + b"N" * 100_000 + b"lq\x000" + GLOBAL % (b"torch", b"Size") + b"q\x010]"
    (tmp_path / "x.pkl").write_bytes(stream(pushed, b"h\x01h\x00\x85Ra" * 20))
    with pytest.raises(BadInput, match="found more; the file is damaged or malicious"):
        read_pickle(tmp_path / "x.pkl")


def test_calls_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr("transect.generators.stylegan2.reading.MOST_OBJECTS", 10)
    calls = GLOBAL % (b"torch", b"Size") + b"q\x010]" + b"h\x01)\x85Ra" * 9  # one name and nine calls
    (tmp_path / "x.pkl").write_bytes(stream(calls))
    assert len(read_pickle(tmp_path / "x.pkl")) == 9
    (tmp_path / "x.pkl").write_bytes(stream(calls, b"h\x01)\x85Ra"))
    with pytest.raises(BadInput, match="more than 10 objects"):
        read_pickle(tmp_path / "x.pkl")


def test_a_zip_bomb_is_not_unpacked(tmp_path):
    path = tmp_path / "bomb.pt"
    torch.save({"g_ema": {"x": torch.zeros(1)}}, path)
    with zipfile.ZipFile(path) as archive:
        entries = {entry.filename: archive.read(entry) for entry in archive.infolist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, data in entries.items():
            archive.writestr(entry, data if not entry.endswith("data/0") else bytes(1 << 26))
    with pytest.raises(BadInput, match="found compressed ones; it may be a zip bomb"):
        read_checkpoint(path)


def test_a_hostile_archive_runs_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.save({"g_ema": Calls(os.system, "touch transect_was_here")}, "x.pt")
    with pytest.raises(BadInput, match="expected only weights, found content that cannot be read safely"):
        read_checkpoint(tmp_path / "x.pt")
    assert not (tmp_path / "transect_was_here").exists()


def test_a_network_in_a_network_without_end_is_refused(tmp_path, monkeypatch):
    with monkeypatch.context() as names:
        install_official_names(names)
        network = as_persistent({"weight": torch.zeros(1)})
        for _ in range(12):
            network = Persistent("Generator", parts={"inner": network})
        (tmp_path / "x.pkl").write_bytes(pickle.dumps({"G_ema": network}))
    with pytest.raises(BadInput, match="found an endless one"):
        read_checkpoint(tmp_path / "x.pkl")


def test_parts_that_name_one_another_many_times_are_refused(tmp_path, monkeypatch):
    """Eight levels of ten names of the same part: 10⁸ visits asked for by a file of a few hundred bytes."""
    with monkeypatch.context() as names:
        install_official_names(names)
        network = Persistent("Generator", parameters={"weight": torch.zeros(1)})
        for _ in range(8):
            network = Persistent("Generator", parts={f"inner{number}": network for number in range(10)})
        (tmp_path / "x.pkl").write_bytes(pickle.dumps({"G_ema": network}))
    with pytest.raises(BadInput, match="found an endless one"):
        read_checkpoint(tmp_path / "x.pkl")
