"""Checkpoints of every layout give the same network; hostile and damaged ones give one line and run nothing."""

import argparse
import contextlib
import io
import os
import pickle
import re
import sys
import zipfile

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from small_network import SMALL, Persistent, as_persistent, community, install_official_names, official_pickle, weights

from transect.errors import BadInput
from transect.generators.checkpoints.pickles import read_pickle
from transect.generators.stylegan2.generator import StyleGAN2
from transect.generators.stylegan2.layouts import Weights
from transect.generators.stylegan2.reading import convert, read_checkpoint


def picture(held):
    network = StyleGAN2(held)
    return network.synthesize(network.map(torch.linspace(-1, 1, 8)[None]))


@pytest.fixture
def official(tmp_path, monkeypatch):
    with monkeypatch.context() as names:
        install_official_names(names)
        return official_pickle(tmp_path / "network.pkl", weights(), clamp=256)


def test_an_official_pickle_is_read_without_its_code(official):
    assert "torch_utils" not in sys.modules
    held = read_checkpoint(official)
    assert held.clamp == 256
    expected = weights()
    assert held.tensors.keys() == expected.keys()
    for name, value in expected.items():
        assert torch.equal(held.tensors[name], value), name


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_every_protocol_that_holds_bytes(tmp_path, monkeypatch, protocol):
    with monkeypatch.context() as names:
        install_official_names(names)
        path = official_pickle(tmp_path / "network.pkl", weights(), protocol=protocol)
    if protocol == 2:  # bytes travel as a call of _codecs.encode there
        with pytest.raises(BadInput, match=r"found a call of _codecs.encode, which is not run"):
            read_checkpoint(path)
        return
    torch.testing.assert_close(picture(read_checkpoint(path)), picture(Weights(weights())), rtol=0, atol=0)


@pytest.mark.parametrize("module", ["numpy.core.multiarray", "numpy._core.multiarray"])
def test_numpys_numbers_are_passed_over_by_both_of_its_names(tmp_path, monkeypatch, module):
    """Before NumPy 2 the module had no underscore. Protocol 3 writes names as lines, which can be replaced."""
    with monkeypatch.context() as names:
        install_official_names(names)
        path = official_pickle(tmp_path / "network.pkl", weights(), protocol=3)
    data = re.sub(rb"cnumpy\._?core\.multiarray\n", f"c{module}\n".encode(), path.read_bytes())
    assert f"c{module}\nscalar\n".encode() in data
    path.write_bytes(data)
    torch.testing.assert_close(picture(read_checkpoint(path)), picture(Weights(weights())), rtol=0, atol=0)


@pytest.mark.parametrize("archived", [True, False])
def test_the_communitys_layout(tmp_path, archived):
    """An archive, and several pickles in a row, as PyTorch wrote them before version 1.6; with a training's options."""
    path = tmp_path / "550000.pt"
    average = weights()["mapping.w_avg"]
    content = {"g_ema": community(weights()), "latent_avg": average, "d": {"x": torch.zeros(1)}}
    content |= {"args": argparse.Namespace(lr=0.002, channel_multiplier=2), "ada_aug_p": 0.0}
    torch.save(content, path, _use_new_zipfile_serialization=archived)
    made = picture(read_checkpoint(path))
    torch.testing.assert_close(made, picture(Weights(weights())), rtol=0, atol=1e-5)


@pytest.mark.parametrize("archived", [True, False])
def test_noise_that_the_community_did_not_save_is_drawn_and_said(tmp_path, archived):
    """The port's first files have none. Without noise the pictures are the same; with it, the same in every reading."""
    held = {name: value for name, value in community(weights()).items() if not name.startswith("noises.")}
    torch.save({"g_ema": held}, tmp_path / "x.pt", _use_new_zipfile_serialization=archived)
    facts = convert(tmp_path / "x.pt", tmp_path / "x.safetensors")
    assert facts["noise"] == "drawn anew, as the file has none"
    made, whole = (StyleGAN2(one) for one in (read_checkpoint(tmp_path / "x.safetensors"), Weights(weights())))
    w = torch.linspace(-1, 1, 48).reshape(1, 6, 8)
    torch.testing.assert_close(made.synthesize(w, "none"), whole.synthesize(w, "none"), rtol=0, atol=1e-5)
    assert torch.equal(made.synthesize(w), StyleGAN2(read_checkpoint(tmp_path / "x.pt")).synthesize(w))
    names = sorted(name for name in made.tensors if name.endswith("noise_const"))
    assert [tuple(made.tensors[name].shape) for name in names] == [(16, 16), (16, 16), (4, 4), (8, 8), (8, 8)]
    assert abs(float(made.tensors["synthesis.b16.conv1.noise_const"].std()) - 1) < 0.2  # 256 numbers of spread 1


def test_what_pytorch_refuses_is_named_without_its_advice(tmp_path):
    """Its own message runs over lines and says how to load the file unsafely."""
    torch.save({"g_ema": {"x": torch.nn.Linear(1, 1)}}, tmp_path / "x.pt")
    with pytest.raises(BadInput) as error:
        read_checkpoint(tmp_path / "x.pt")
    assert str(error.value).endswith("(a call of torch.nn.modules.linear.Linear, which is not run)")


@pytest.mark.parametrize("name", ["input.input", "conv1.conv.weight", "conv1.noise.weight", "noises.noise_0"])
def test_misshapen_tensors_of_the_community_are_one_line(tmp_path, name):
    """A vector of two numbers where a kernel, a constant, a number or a picture of noise belongs."""
    torch.save({"g_ema": {**community(weights()), name: torch.zeros(2)}}, tmp_path / "x.pt")
    with pytest.raises(BadInput, match="x.pt: .*expected"):
        StyleGAN2(read_checkpoint(tmp_path / "x.pt"), name=str(tmp_path / "x.pt"))


KERNEL = "synthesis.b8.conv1.weight"
UNSOUND = {
    "sparse": (lambda kernel: kernel.to_sparse(), "a sparse_coo tensor"),
    "meta": (lambda kernel: kernel.to("meta"), "a tensor on meta"),
    "nested": (lambda _: torch.nested.nested_tensor([torch.zeros(2), torch.zeros(3)]), "a nested tensor"),
    "quantised": (lambda kernel: torch.quantize_per_tensor(kernel, 0.1, 0, torch.qint8), "qint8"),
    "complex": (lambda kernel: kernel.to(torch.complex64), "complex64"),
    "bool": (lambda kernel: kernel > 0, "bool"),
    "integer": (lambda kernel: kernel.to(torch.int32), "int32"),
}


@pytest.mark.filterwarnings(
    "ignore:.*quantize_per_tensor|.*torch.ao.quantization|The PyTorch API of nested|TypedStorage"
)
@pytest.mark.parametrize("kind", UNSOUND)
@pytest.mark.parametrize("names", ["official", "community"])
def test_tensors_that_are_no_floating_point_numbers_are_named(tmp_path, kind, names):
    change, found = UNSOUND[kind]
    held = weights() if names == "official" else community(weights())
    name = KERNEL if names == "official" else "convs.1.conv.weight"
    torch.save({"g_ema": {**held, name: change(held[name])}}, tmp_path / "x.pt")
    with pytest.raises(BadInput, match=f"x.pt: {name}: expected dense floating-point numbers, found {found}"):
        convert(tmp_path / "x.pt", tmp_path / "y.safetensors")


def test_half_precision_is_read(tmp_path):
    torch.save({"g_ema": {name: value.half() for name, value in weights().items()}}, tmp_path / "x.pt")
    held = read_checkpoint(tmp_path / "x.pt")
    assert torch.equal(held.tensors[KERNEL], weights()[KERNEL].half().float())


def test_tensors_larger_than_their_file_are_refused(tmp_path):
    """One number seen as 2¹⁶ × 2¹⁶ of them."""
    torch.save({"g_ema": {**weights(), KERNEL: torch.zeros(1).expand(1 << 16, 1 << 16)}}, tmp_path / "x.pt")
    with pytest.raises(BadInput, match="expected weights of about the file's size, found more"):
        read_checkpoint(tmp_path / "x.pt")


@pytest.mark.parametrize("clamp", ["NaN", "Infinity", "-1", "0", "true", '"x"', "[1]", "1e999", "x", "1" + 400 * "0"])
def test_clamps_that_are_no_positive_number_are_refused(tmp_path, clamp):
    save_file(weights(), tmp_path / "x.safetensors", {"clamp": clamp})
    with pytest.raises(BadInput, match=r"metadata clamp: expected a finite number above 0, or null, got "):
        read_checkpoint(tmp_path / "x.safetensors")


def test_conversion_keeps_every_number(official, tmp_path):
    from transect.generators import load

    facts = convert(official, tmp_path / "network.safetensors")
    assert facts["image_size"] == 16
    assert (facts["z_dim"], facts["layers"], facts["clamp"]) == (8, 6, 256.0)
    network = load(tmp_path / "network.safetensors")
    assert network.image_size == 16
    torch.testing.assert_close(network.synthesize(network.map(torch.linspace(-1, 1, 8)[None])),
                               picture(Weights(weights(), clamp=256.0)), rtol=0, atol=0)  # fmt: skip
    again = convert(tmp_path / "network.safetensors", tmp_path / "again.safetensors")
    assert again == {**facts, "out": str(tmp_path / "again.safetensors")}


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
        "eval": Calls(eval, "open('transect_was_here', 'w')"),
        "exec": Calls(exec, "open('transect_was_here', 'w')"),
        "getattr": Calls(getattr, os, "system"),
        "import": Calls(__import__, "os"),
        "nested": deep,
        "bytes": Calls(pickle.loads, pickle.dumps(Calls(os.system, flag))),
        "torch.load": Calls(torch.load, "other.pt"),
        "partial": Calls(__import__("functools").partial, os.system, flag),
        "open": Calls(open, "transect_was_here", "w"),
    }


@pytest.mark.parametrize("protocol", range(6))
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
    "endless writable bytes": stream(b"\x96" + (1 << 40).to_bytes(8, "little")),
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
    "endless keys": stream(b"}(", NESTED, b"Nu"),
    "endless dictionary": stream(b"(", NESTED, b"Nd"),
    "endless member": stream(b"\x8f(", NESTED, b"\x90"),
    "endless frozen member": stream(b"(", NESTED, b"\x91"),
    "endless member of a called set": stream(GLOBAL % (b"builtins", b"set"), b"(", NESTED, b"l\x85R"),
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
    with pytest.raises(BadInput, match="found more; the file is damaged or hostile"):
        read_pickle(tmp_path / "x.pkl")


def test_calls_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr("transect.generators.checkpoints.pickles.MOST_OBJECTS", 10)
    made = GLOBAL % (b"torch", b"Size") + b"q\x010]" + b"h\x01)\x85Ra" * 9  # one name and nine calls
    (tmp_path / "x.pkl").write_bytes(stream(made))
    assert len(read_pickle(tmp_path / "x.pkl")) == 9
    (tmp_path / "x.pkl").write_bytes(stream(made, b"h\x01)\x85Ra"))
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
    with pytest.raises(BadInput, match="expected weights alone, found what is not read safely"):
        read_checkpoint(tmp_path / "x.pt")
    assert not (tmp_path / "transect_was_here").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"weights": 3}, "expected a dictionary with G_ema, found one with weights"),
        ([1, 2], "expected a dictionary with G_ema, found list"),
        ({"layer.weight": torch.zeros(2)}, r"found an unknown architecture \(layer.weight"),
        ({"synthesis.L0_36_512.weight": torch.zeros(2)}, "expected StyleGAN2, found StyleGAN3"),
    ],
)
def test_what_was_found_is_said(tmp_path, content, message):
    path = tmp_path / "x.pkl"
    path.write_bytes(pickle.dumps(content))
    with pytest.raises(BadInput, match=message):
        read_checkpoint(path)


def test_other_files_are_told_from_their_bytes(tmp_path):
    for data, kind in [(b"<html>", "an HTML or XML page"), (b"", "an empty file"), (b"\x89PNG", "a PNG image")]:
        (tmp_path / "x.pkl").write_bytes(data)
        with pytest.raises(BadInput, match=f"found {kind}"):
            read_checkpoint(tmp_path / "x.pkl")
    with pytest.raises(BadInput, match="expected a file, found none"):
        read_checkpoint(tmp_path / "none.pkl")


def test_a_file_that_cannot_be_written_is_one_line(official, tmp_path):
    with pytest.raises(BadInput, match="expected a name that ends in .safetensors"):
        convert(official, tmp_path / "out.pt")
    with pytest.raises(BadInput, match="cannot be written"):
        convert(official, tmp_path / "nowhere" / "out.safetensors")
    (tmp_path / "folder.safetensors").mkdir()
    with pytest.raises(BadInput, match="folder.safetensors: cannot be written"):
        convert(official, tmp_path / "folder.safetensors")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["folder.safetensors", "network.pkl"]


def test_a_rename_that_fails_leaves_nothing(official, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(BadInput, match=r"cannot be written \(No space left on device\)"):
        convert(official, tmp_path / "out.safetensors")
    assert [one.name for one in tmp_path.iterdir()] == ["network.pkl"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no umask")
def test_a_converted_file_has_the_rights_that_the_umask_leaves(official, tmp_path):
    before = os.umask(0o027)
    try:
        convert(official, tmp_path / "out.safetensors")
    finally:
        os.umask(before)
    assert (tmp_path / "out.safetensors").stat().st_mode & 0o777 == 0o640


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


def test_a_clamp_of_ten_thousand_digits_is_one_line(tmp_path, monkeypatch):
    with monkeypatch.context() as names:
        install_official_names(names)
        official_pickle(tmp_path / "x.pkl", weights(), clamp=1 << 40_000)
    with pytest.raises(BadInput, match="conv_clamp: expected a finite number above 0, or null, got a huge number"):
        read_checkpoint(tmp_path / "x.pkl")


def test_the_small_network_is_what_it_says():
    assert StyleGAN2(Weights(weights())).shape == SMALL
