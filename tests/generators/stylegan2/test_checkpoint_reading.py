"""Checkpoints of every layout give the same network; what cannot be read or written is one line."""

import argparse
import pickle
import re
import sys
import types

import pytest
import torch
from safetensors.torch import save_file
from small_network import community, install_official_names, official_pickle, weights

from transect.errors import BadInput
from transect.generators.stylegan2.generator import StyleGAN2, convert
from transect.generators.stylegan2.reading import Weights, read_checkpoint


def picture(held):
    network = StyleGAN2(held)
    return network.synthesize(network.map(torch.linspace(-1, 1, 8)[None]))


def test_an_official_pickle_is_read_without_its_code(official):
    assert "torch_utils" not in sys.modules
    held = read_checkpoint(official)
    assert held.clamp == 256
    expected = weights()
    assert held.tensors.keys() == expected.keys()
    for name, value in expected.items():
        assert torch.equal(held.tensors[name], value), name


@pytest.mark.parametrize("protocol", [2, 3, 5])
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
    converted = picture(read_checkpoint(path))
    torch.testing.assert_close(converted, picture(Weights(weights())), rtol=0, atol=1e-5)


@pytest.mark.parametrize("archived", [True, False])
def test_noise_that_the_community_did_not_save_is_drawn_and_said(tmp_path, archived):
    """The port's first files have none. Without noise the pictures are the same; with it, the same in every reading."""
    held = {name: value for name, value in community(weights()).items() if not name.startswith("noises.")}
    torch.save({"g_ema": held}, tmp_path / "x.pt", _use_new_zipfile_serialization=archived)
    facts = convert(tmp_path / "x.pt", tmp_path / "x.safetensors")
    assert facts["noise"] == "newly drawn, since the file has none"
    drawn, whole = (
        StyleGAN2(checkpoint) for checkpoint in (read_checkpoint(tmp_path / "x.safetensors"), Weights(weights()))
    )
    w = torch.linspace(-1, 1, 48).reshape(1, 6, 8)
    torch.testing.assert_close(drawn.synthesize(w, "none"), whole.synthesize(w, "none"), rtol=0, atol=1e-5)
    assert torch.equal(drawn.synthesize(w), StyleGAN2(read_checkpoint(tmp_path / "x.pt")).synthesize(w))
    names = sorted(name for name in drawn.tensors if name.endswith("noise_const"))
    assert [tuple(drawn.tensors[name].shape) for name in names] == [(16, 16), (16, 16), (4, 4), (8, 8), (8, 8)]
    assert abs(float(drawn.tensors["synthesis.b16.conv1.noise_const"].std()) - 1) < 0.2  # 256 numbers of spread 1


def test_what_pytorch_refuses_is_named_without_its_advice(tmp_path):
    """Its own message runs over lines and says how to load the file unsafely."""
    torch.save({"g_ema": {"x": torch.nn.Linear(1, 1)}}, tmp_path / "x.pt")
    with pytest.raises(BadInput) as error:
        read_checkpoint(tmp_path / "x.pt")
    assert str(error.value).endswith("(a call of torch.nn.modules.linear.Linear, which is not executed)")


@pytest.mark.parametrize("name", ["input.input", "noises.noise_0"])
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
}


@pytest.mark.filterwarnings(
    "ignore:.*quantize_per_tensor|.*torch.ao.quantization|The PyTorch API of nested|TypedStorage"
)
@pytest.mark.parametrize("kind", UNSOUND)
def test_tensors_that_are_no_floating_point_numbers_are_named(tmp_path, kind):
    (change, fault), held = UNSOUND[kind], weights()
    torch.save({"g_ema": {**held, KERNEL: change(held[KERNEL])}}, tmp_path / "x.pt")
    with pytest.raises(BadInput, match=f"x.pt: {KERNEL}: expected dense floating-point numbers, found {fault}"):
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


@pytest.mark.parametrize("clamp", ["NaN", "0", "true", "[1]", "x", "1" + 400 * "0"])
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


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"weights": 3}, "expected a dictionary with G_ema, found one with weights"),
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
    with pytest.raises(BadInput, match="no such file"):
        read_checkpoint(tmp_path / "none.pkl")


def test_a_file_that_cannot_be_written_is_one_line(official, tmp_path):
    with pytest.raises(BadInput, match="expected a name that ends in .safetensors"):
        convert(official, tmp_path / "out.pt")
    with pytest.raises(BadInput, match="cannot be written"):
        convert(official, tmp_path / "nowhere" / "out.safetensors")
    (tmp_path / "folder.safetensors").mkdir()
    with pytest.raises(BadInput, match="folder.safetensors: cannot be written"):
        convert(official, tmp_path / "folder.safetensors")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["folder.safetensors", "network.pkl"]


def test_a_rename_that_fails_leaves_nothing(official, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(BadInput, match=r"cannot be written \(No space left on device\)"):
        convert(official, tmp_path / "out.safetensors")
    assert [file.name for file in tmp_path.iterdir()] == ["network.pkl"]


@pytest.mark.parametrize("protocol", [2, 4])
@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("dnnlib.tflib.network", r"python legacy\.py --source=OLD\.pkl --dest=NEW\.pkl"),
        ("tfutil", "transect train gan --arch progressive"),  # the Progressive GAN's released form
    ],
)
def test_pickles_of_tensorflow_are_refused_with_the_way_to_another(tmp_path, monkeypatch, module, words, protocol):
    class Network:
        def __reduce__(self):
            return Network, (), {"variables": [("4x4/Dense/weight", torch.ones(2).numpy())]}

    Network.__module__, Network.__qualname__ = module, "Network"
    with monkeypatch.context() as names:
        parts = module.split(".")
        for end in range(1, len(parts) + 1):
            names.setitem(sys.modules, ".".join(parts[:end]), types.ModuleType(parts[end - 1]))
        sys.modules[module].Network = Network
        content = pickle.dumps((Network(), Network(), Network()), protocol=protocol)
    (tmp_path / "network.pkl").write_bytes(content)
    with pytest.raises(BadInput, match=words):
        convert(tmp_path / "network.pkl", tmp_path / "out.safetensors")
    assert not (tmp_path / "out.safetensors").exists()


@pytest.mark.parametrize(
    "held",
    [
        {"netG": {"scaleLayers.0.0.module.weight": torch.ones(3, 3)}, "config": {"depth": 3}},
        {"generator_smooth": {"layer0.conv.weight": torch.ones(4, 4, 4, 4)}},
        {"layer0.conv.weight": torch.ones(4, 4, 4, 4), "output5.conv.weight": torch.ones(3, 4, 1, 1)},
    ],
)
def test_released_progressive_gans_are_refused_by_name(tmp_path, held):
    torch.save(held, tmp_path / "pggan.pth")
    with pytest.raises(BadInput, match="found a Progressive GAN as its authors released it"):
        convert(tmp_path / "pggan.pth", tmp_path / "out.safetensors")
