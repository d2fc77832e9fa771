"""`transect invert encode` as a whole: codes of images by an encoder, resumed, counted, and taken by what takes inversions."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image
from planted_networks import pixels_of, small, tensors
from published import fits
from safetensors.torch import save_file
from typer.testing import CliRunner

import transect
from transect.cli.app import app
from transect.controls.learned import read_directions
from transect.datasets.features import read_codes
from transect.errors import FolderOfAnotherSpec, Interrupted
from transect.generators import load as load_generator
from transect.generators.encoder import Encoder, Network
from transect.inversion import codes
from transect.inversion.encoder import fit_encoder
from transect.inversion.parts import ToolsPlan
from transect.inversion.pictures import Pictures
from transect.inversion.protocol import invertible
from transect.jobs.invert_encode import Encode
from transect.perceptual.features import as_tensor
from transect.perceptual.features import load as load_features
from transect.records import Latents
from transect.runs.tables import decode


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A generator's file, five of its images, and a network that was never trained as its encoder."""
    folder = tmp_path_factory.mktemp("encode")
    save_file(tensors(), folder / "small.safetensors")
    (folder / "images").mkdir()
    for index, image in enumerate(pixels_of(small(), invertible(small()).sample("w", 5, seed=50), "w")):
        Image.fromarray(image).save(folder / "images" / f"{index}.png")
    torch.manual_seed(1)
    facts = {"kind": "transect.encoder", "space": "w", "size": "8"}
    save_file(Network(8, (4, 6), 8).state_dict(), folder / "encoder.safetensors", facts)
    return folder


def encoding(files, out, **settings):
    given = {"encoder": files / "encoder.safetensors", "distance": "pixels", **settings}
    names = {"distance", "encoder_samples"} & {*given}
    options = transect.EncodeOptions(**{name: given.pop(name) for name in names})
    images = given.pop("images", files / "images")
    return Encode(images, files / "small.safetensors", out, **given, options=options, quiet=True)


def test_codes_are_the_encoders_own(files, tmp_path):
    """By the network alone, outside the job; distances by hand from what the generator renders of them."""
    result = encoding(files, tmp_path / "run").result()
    pixels = Pictures.open(files / "images", 8).pixels(range(5))
    expected = Encoder.from_file(files / "encoder.safetensors").encode(transect.Images(pixels)).values
    inverted = read_codes(tmp_path / "run")
    assert inverted.ids == tuple(f"{index}.png" for index in range(5))
    assert inverted.space == "w"
    np.testing.assert_allclose(inverted.codes, expected, rtol=1e-5)
    shown = pixels_of(small(), torch.from_numpy(expected).float(), "w")
    by_hand = ((shown / 255 - pixels / 255) ** 2).mean(axis=(1, 2, 3))
    np.testing.assert_allclose(result.table["pixels"].to_numpy(), by_hand, atol=0.01)
    assert result.table["perceptual"].to_numpy() == pytest.approx(result.table["pixels"].to_numpy(), rel=1e-5)
    assert (result.numbers.encoder, result.numbers.encoder_r2, result.numbers.failed) == ("trained", None, 0)
    assert result.numbers.median.pixels == pytest.approx(np.median(by_hand), abs=0.01)
    assert result.to_json() == json.loads((tmp_path / "run" / "summary.json").read_text())
    fits(result)


@pytest.mark.integration
def test_a_stopped_run_goes_on_and_ends_the_same(files, tmp_path, monkeypatch):
    """Parts of two; stopped in the second. The latents are those of a run in one part, byte by byte."""
    encoding(files, tmp_path / "whole").result()
    monkeypatch.setattr(codes, "PART", 2)
    real, calls = codes.CodesParts.make, []

    def stopped(parts, pictures):
        calls.append(len(pictures))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(parts, pictures)

    monkeypatch.setattr(codes.CodesParts, "make", stopped)
    with pytest.raises(Interrupted, match="rerun the command to resume"):
        encoding(files, tmp_path / "parts").result()
    encoding(files, tmp_path / "parts").result()
    assert calls == [2, 2, 2, 1]
    for name in ("latents.safetensors", "sheet.png"):
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    with pytest.raises(FolderOfAnotherSpec, match="space"):
        encoding(files, tmp_path / "parts", space="w+").result()


def test_a_fitted_encoder_reads_the_generators_own_images(files, tmp_path, monkeypatch):
    """The codes are the regression's, and its R² is reported; a finished run fits none again."""
    settings = {"encoder": None, "encoder_samples": 40}
    result = encoding(files, tmp_path / "run", **settings).result()
    network = invertible(small())
    fitted = fit_encoder(network, "w", load_features().network, samples=40)
    pixels = Pictures.open(files / "images", 8).pixels(range(5))
    expected = torch.cat([fitted(as_tensor(pixels[row : row + 1])) for row in range(5)])
    np.testing.assert_allclose(read_codes(tmp_path / "run").codes, expected.numpy(), atol=1e-5)
    assert (result.numbers.encoder, result.numbers.encoder_r2) == (
        "fitted",
        pytest.approx(fitted.fitted.quality, abs=1e-6),
    )
    again = encoding(files, tmp_path / "run", **settings)
    planned = again.planned()
    monkeypatch.setattr(Encode, "planned", lambda _: planned)
    assert again.compute() == result.numbers
    assert "encoder" not in vars(planned.plan)


@pytest.mark.integration
def test_an_unreadable_image_is_counted_with_its_reason(files, tmp_path):
    (tmp_path / "images").mkdir()
    for index in range(3):
        content = (files / "images" / f"{index}.png").read_bytes()
        (tmp_path / "images" / f"{index}.png").write_bytes(b"no image" if index == 1 else content)
    result = encoding(files, tmp_path / "run", images=tmp_path / "images").result()
    assert (result.numbers.failed, result.numbers.failed_ids) == (1, ("1.png",))
    assert "1.png: expected an image" in result.table["failure"][1].as_py()
    assert np.isnan(read_codes(tmp_path / "run").codes).all(axis=1).tolist() == [False, True, False]
    whole = encoding(files, tmp_path / "whole").result()
    assert result.table.slice(2, 1).equals(whole.table.slice(2, 1))


def test_a_code_that_is_not_finite_fails_alone(files, tmp_path, monkeypatch):
    def brittle(images):
        return images.flatten(1) * (torch.nan if images.mean() == brightest else 1.0)

    pixels = as_tensor(Pictures.open(files / "images", 8).pixels(range(5)))
    brightest = max(image[None].mean() for image in pixels)
    monkeypatch.setattr(ToolsPlan, "appearance", staticmethod(brittle))
    result = encoding(files, tmp_path / "run").result()
    assert result.numbers.failed == 1
    assert codes.NOT_FINITE in result.table["failure"].to_pylist()


def test_photographs_of_a_data_set_are_encoded_by_their_ids(files, tmp_path):
    """Those of a folder with labels, with what the data set leaves out said."""
    (tmp_path / "faces").mkdir()
    for index in range(3):
        (tmp_path / "faces" / f"{index}.png").write_bytes((files / "images" / f"{index}.png").read_bytes())
    (tmp_path / "faces" / "labels.csv").write_text("file,smile\n0.png,1\n2.png,0\n1.png,1\n")
    result = encoding(files, tmp_path / "run", images=f"folder:{tmp_path / 'faces'}?limit=2").result()
    whole = encoding(files, tmp_path / "whole").result()
    same = dict(zip(whole.table["id"].to_pylist(), whole.table["codes"].to_pylist(), strict=True))
    for name, row in zip(result.table["id"].to_pylist(), result.table["codes"].to_pylist(), strict=True):
        assert row == same[name.rpartition("/")[2]]
    assert result.numbers.notes == ("Left out, rows beyond the limit: 1.",)


def test_the_command_writes_a_page(files, tmp_path, capsys):
    given = ["--generator", str(files / "small.safetensors"), "--images", str(files / "images")]
    given += ["--encoder", str(files / "encoder.safetensors"), "--distance", "pixels", "--out", str(tmp_path / "run")]
    app(["invert", "encode", *given, "--json"], standalone_mode=False)
    assert json.loads(capsys.readouterr().out)["images"] == 5
    app(["invert", "encode", *given], standalone_mode=False)
    assert "5 images encoded into w, 0 failed" in capsys.readouterr().out
    assert 'src="data:image/png;base64,' in (tmp_path / "run" / "encode.html").read_text()
    assert pq.read_table(tmp_path / "run" / "inversions" / "part-00000.parquet").num_rows == 5


@pytest.mark.slow
def test_photographs_are_encoded_labelled_fitted_and_walked(files, tmp_path):
    """The chain of the how-to: each image of the walk is G(z + λ d) of a photograph's code, computed here again."""
    network = load_generator(files / "small.safetensors")
    (tmp_path / "faces").mkdir()
    w = network.to_space(network.sample(range(100, 160)), "w")
    for index, image in enumerate(network.render(w).pixels):
        Image.fromarray(image).save(tmp_path / "faces" / f"face{index}.png")
    rows = "".join(f"face{index}.png,{value:.4f}\n" for index, value in enumerate(w.values[:, 0]))
    (tmp_path / "faces" / "labels.csv").write_text(f"file,first\n{rows}")
    of, labels = ["--generator", files / "small.safetensors"], f"folder:{tmp_path / 'faces'}"
    command(
        "encode", *of, "--images", labels, "--encoder-samples", 60, "--distance", "pixels", "--out", tmp_path / "codes"
    )
    fit = ["--latents", tmp_path / "codes", "--labels", labels, "--space", "w", "--json"]
    answer = json.loads(command("directions", "fit", tmp_path / "d.safetensors", *of, *fit).stdout)
    assert answer["attributes"][0]["labels"] == 60
    assert "60 of 60 photographs with latents have labels in folder:faces, by id" in answer["notes"]
    walk = ["--directions", tmp_path / "d.safetensors", "--latents", tmp_path / "codes", "--steps", "first=-3,0,3"]
    walk += ["--step-unit", "direction", "--subjects", 2, "--task", "regression", "--out", tmp_path / "run", "--json"]
    command("audit", "audited:brightness", *of, *walk)
    direction = read_directions(tmp_path / "d.safetensors").directions[0]
    codes = np.repeat(read_codes(tmp_path / "codes").codes[:2], 3, axis=0)
    moved = codes + np.tile([-3.0, 0.0, 3.0], 2)[:, None] * direction.normal
    expected = network.render(Latents(np.arange(6), moved, "w")).pixels
    stored = pq.read_table(tmp_path / "run" / "images", columns=["image"])["image"].to_pylist()
    images = decode(stored)
    assert np.abs(images.astype(int) - expected).max() <= 1
    match = ["--table", tmp_path / "faces" / "treated.csv", "--treatment", "light", "--json"]
    match += ["--out", tmp_path / "pairs.parquet"]
    half = "".join(f"face{index},{index % 2}\n" for index in range(60))
    (tmp_path / "faces" / "treated.csv").write_text(f"id,light\n{half}")
    assert json.loads(command("match", "--features", tmp_path / "codes", *match).stdout)["pairs"]


def command(*arguments):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done
