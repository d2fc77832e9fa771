"""`transect invert` as a whole: what it writes, that it resumes where it stopped, what it refuses."""

import io
import json
from dataclasses import fields

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image
from planted_networks import pixels_of, small, tensors
from published import fits
from safetensors.torch import save_file

import transect
import transect.inversion.optimisation as optimisation
from transect.cli.app import app
from transect.errors import BadInput, FolderOfAnotherSpec, Interrupted, UnknownName
from transect.generators import load
from transect.generators.encoder import Network
from transect.inversion.parts import ToolsPlan, read_latents
from transect.inversion.pictures import Pictures
from transect.inversion.protocol import invertible
from transect.jobs.invert import Invert, Twins


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A generator's file and three of its images, of known w."""
    folder = tmp_path_factory.mktemp("invert")
    save_file(tensors(), folder / "small.safetensors")
    (folder / "images").mkdir()
    w = invertible(small()).sample("w", 3, seed=50)
    for index, image in enumerate(pixels_of(small(), w, "w")):
        Image.fromarray(image).save(folder / "images" / f"{index}.png")
    (folder / "images" / "notes.txt").write_text("no image")
    return folder


OPTIONS = {field.name for field in fields(transect.InvertOptions)}


def inversion(files, out, **settings):
    settings = {"space": "w", "steps": 4, "distance": "pixels", "batch": 2, **settings}
    options = transect.InvertOptions(**{name: settings.pop(name) for name in OPTIONS & set(settings)})
    return Invert(files / "images", files / "small.safetensors", out, **settings, options=options, quiet=True)


@pytest.fixture(scope="module")
def done(files, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "run"
    return out, inversion(files, out).result()


def test_what_is_written_reads_back(files, done):
    """Latents rendered by the generator are the reconstructions in the table, and the ids are the files' names."""
    out, result = done
    ids, latents = read_latents(result.numbers.latents)
    assert ids == ("0.png", "1.png", "2.png")
    assert latents.space == "w"
    rows = pa.concat_tables([pq.read_table(part) for part in sorted((out / "inversions").glob("*.parquet"))])
    made = np.stack([np.asarray(Image.open(io.BytesIO(content))) for content in rows["image"].to_pylist()])
    rendered = load(files / "small.safetensors").render(latents).pixels
    assert np.abs(rendered.astype(int) - made).max() <= 1
    assert result.to_json() == json.loads((out / "summary.json").read_text())
    fits(result)
    numbers = result.numbers
    assert (numbers.images, numbers.failed, numbers.space, numbers.penalty) == (3, 0, "w", 0.0)
    assert result.table.equals(rows)
    with Image.open(out / "sheet.png") as sheet:
        assert sheet.width > 3 * 8
    objective = np.array(rows["objective"].to_pylist())
    np.testing.assert_allclose(objective[:, -1], rows["perceptual"].to_numpy() + rows["pixels"].to_numpy(), rtol=1e-5)


def test_a_stopped_run_goes_on_and_ends_the_same(files, done, tmp_path, monkeypatch):
    """Stopped in the second part; the first is not made again, and the tables are the same byte by byte."""
    whole, out, real = done[0], tmp_path / "run", optimisation.invert
    calls = []

    def stopped(*given, **options):
        calls.append(len(given[1]))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*given, **options)

    monkeypatch.setattr(optimisation, "invert", stopped)
    with pytest.raises(Interrupted, match="rerun the command to resume"):
        inversion(files, out).result()
    inversion(files, out).result()
    assert calls == [2, 1, 1]
    for index in range(2):
        part = f"inversions/part-{index:05d}.parquet"
        assert (out / part).read_bytes() == (whole / part).read_bytes()
    with pytest.raises(FolderOfAnotherSpec, match="search: steps was 4 and is 5"):
        inversion(files, out, steps=5).result()


@pytest.mark.integration
def test_an_encoder_begins_where_the_features_point(files, tmp_path):
    """The summary is the same where every part is there already, and no encoder is fitted any more."""
    settings = {"space": "w+", "start": "encoder", "encoder_samples": 40, "steps": 1}
    result = inversion(files, tmp_path / "run", **settings).result()
    assert isinstance(result.numbers.encoder_r2, float)
    assert inversion(files, tmp_path / "run", **settings).result() == result
    parts = sorted((tmp_path / "run" / "inversions").glob("*.parquet"))
    parts[0].unlink()
    assert inversion(files, tmp_path / "run", **settings).result() == result
    assert result.numbers.penalty == 0.1
    assert read_latents(result.numbers.latents)[1].values.shape == (3, 4 * 8)


@pytest.mark.integration
def test_a_trained_encoders_file_begins_it(files, tmp_path):
    """The file belongs to the spec, whatever its name; a run begun otherwise is another run."""
    torch.manual_seed(1)
    path = tmp_path / "e.safetensors"
    save_file(Network(8, (4, 6), 8).state_dict(), path, {"kind": "transect.encoder", "space": "w", "size": "8"})
    numbers = inversion(files, tmp_path / "run", encoder=path).result().numbers
    assert (numbers.start, numbers.encoder_r2, numbers.failed) == ("encoder", None, 0)
    assert set(inversion(files, tmp_path, encoder=path).planned().spec()["start"]) == {"name", "sha256"}
    with pytest.raises(FolderOfAnotherSpec, match="start: name was 'encoder' and is 'mean'"):
        inversion(files, tmp_path / "run").result()


def test_a_failed_image_is_counted_and_said(files, tmp_path, monkeypatch):
    """An objective that is not finite for the first image of each batch."""

    def brittle(images):
        return images.flatten(1) * torch.where(torch.arange(len(images)) == 0, torch.nan, 1.0)[:, None]

    monkeypatch.setattr(ToolsPlan, "appearance", staticmethod(brittle))
    result = inversion(files, tmp_path / "run").result()
    assert (result.numbers.failed, result.numbers.failed_ids) == (2, ("0.png", "2.png"))
    assert np.isnan(read_latents(result.numbers.latents)[1].values[0]).all()
    assert result.headline() == "3 images inverted into w, 2 failed"


def test_images_of_a_run_are_inverted(files, tmp_path):
    (tmp_path / "images").mkdir()
    (tmp_path / "run.json").write_text("{}")
    encoded = [(files / "images" / f"{index}.png").read_bytes() for index in range(2)]
    pq.write_table(pa.table({"id": ["a", "b"], "image": encoded}), tmp_path / "images" / "part-00000.parquet")
    found = Pictures.open(tmp_path, 8)
    assert found.ids == ("a", "b")
    assert np.array_equal(found.pixels([1]), Pictures.open(files / "images", 8).pixels([1]))
    part = tmp_path / "images" / "part-00000.parquet"
    for column in (["a.png"], pa.array([None], pa.binary()), [{"bytes": None, "path": "a.png"}]):
        pq.write_table(pa.table({"id": ["a"], "image": column}), part)
        with pytest.raises(BadInput, match="expected images of a run"):
            Pictures.open(tmp_path, 8)


def test_other_sizes_are_refused_or_fitted(tmp_path):
    """The middle square of a 40 x 20 image whose sides are black is white."""
    wide = np.zeros((20, 40, 3), np.uint8)
    wide[:, 10:30] = 255
    Image.fromarray(wide).save(tmp_path / "wide.png")
    with pytest.raises(BadInput, match=r"wide\.png: expected 8 x 8 pixels for this generator, got 40 x 20; add --fit"):
        Pictures.open(tmp_path, 8).pixels([0])
    assert (Pictures.open(tmp_path, 8, fit=True).pixels([0]) == 255).all()


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"penalty": 0.5}, BadInput, r"penalty: expected none in space w, got 0\.5"),
        ({"distance": "lpips"}, UnknownName, "unknown distance 'lpips'"),
        ({"distance": "vgg16"}, BadInput, "vgg16 needs a file of its weights"),
    ],
)
def test_what_cannot_be_done_is_refused_at_once(files, tmp_path, options, kind, message):
    with pytest.raises(kind, match=message):
        inversion(files, tmp_path, **options).planned()


def test_the_command_prints_what_it_found(files, tmp_path, capsys):
    given = ["--generator", str(files / "small.safetensors"), "--images", str(files / "images"), "--space", "w"]
    given += ["--steps", "2", "--distance", "pixels", "--out", str(tmp_path / "run")]
    app(["invert", *given, "--json"], standalone_mode=False)
    assert json.loads(capsys.readouterr().out)["images"] == 3
    app(["invert", *given], standalone_mode=False)
    assert "3 images inverted into w, 0 failed" in capsys.readouterr().out
    assert "3 images inverted into w, 0 failed" in (tmp_path / "run" / "invert.html").read_text()


def test_pixels_give_the_latents_of_their_files(files, done, tmp_path):
    """Arrays and an opened generator in, the same codes out; the page shows the medians and the sheet."""
    pixels = Pictures.open(files / "images", 8).pixels(range(3))
    options = transect.InvertOptions(distance="pixels", batch=2)
    world = load(files / "small.safetensors")
    result = transect.invert(pixels, world, tmp_path / "run", space="w", steps=4, quiet=True, options=options)
    ids, latents = read_latents(result.numbers.latents)
    assert ids == ("0", "1", "2")
    np.testing.assert_array_equal(latents.values, read_latents(done[1].numbers.latents)[1].values)


def test_faceworld_asks_for_twins_which_have_no_steps(files, tmp_path):
    asked = Invert(files / "images", "faceworld", tmp_path, options=transect.InvertOptions(size=64)).instead()
    assert (type(asked), asked.size, asked.marks) == (Twins, 64, "network")
    with pytest.raises(BadInput, match="--steps does not apply to --generator faceworld"):
        Invert(files / "images", "faceworld", tmp_path, steps=3).instead()
    with pytest.raises(BadInput, match="--size applies to --generator faceworld, got"):
        inversion(files, tmp_path, size=64).planned()
