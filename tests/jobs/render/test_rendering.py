"""Sheets, strips and data sets of rendered subjects."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import printed
from PIL import Image
from published import fits
from safetensors.torch import save_file
from simulated import simulated
from small_network import weights

import transect
from transect.errors import BadInput, FolderOfAnotherSpec
from transect.experiment.worlds import WorldSettings
from transect.generators import load
from transect.generators.faceworld.world import FaceWorld
from transect.jobs.render import SheetSettings, render
from transect.runs.tables import decode


def test_render_sheet_has_a_row_a_subject(tmp_path):
    result = render(tmp_path / "sheet.png", subjects=2, image_size=32, vary=["glasses=0,1"])
    assert result.table["intended.glasses"].to_pylist() == [0.0, 1.0] * 2
    assert fits(result) == {"out": str(tmp_path / "sheet.png"), "subjects": 2, "images": 4, "image_size": 32}
    assert "data:image/png" in result.report(tmp_path / "page").read_text()
    with Image.open(tmp_path / "sheet.png") as picture:
        assert picture.width < picture.height * 1.2  # two rows of two


def test_two_attributes_are_a_grid(tmp_path):
    """2 subjects x 3 levels of the first attribute down x 2 of the second across: 6 rows of 2."""
    result = render(tmp_path / "sheet.png", subjects=2, image_size=32, vary=["skin_tone=1,5,9", "glasses=0,1"])
    assert result.numbers.images == 12
    with Image.open(tmp_path / "sheet.png") as picture:
        across, down = 2 * (32 + 4) + 4, 6 * (32 + 4)
        assert picture.width == across
        assert picture.height > down  # labels and heads
    tone = result.table["intended.skin_tone"].to_pylist()
    assert tone[:6] == [1, 1, 5, 5, 9, 9]  # the first attribute's level changes from row to row


def test_levels_are_shown_with_and_without_keeping_the_others(tmp_path):
    """Of skin tone and age at an angle: along the normal of one the other moves by their cosine, else not at all."""
    view = load("faceworld-latent", image_size=32)
    names = ("skin_tone", "smile")
    normals = np.zeros((2, view.latent_dim))
    normals[0, 0], normals[1, :2] = 1.0, (0.6, 0.8)
    np.save(tmp_path / "n.npy", normals)
    file = tmp_path / "d.safetensors"
    fitted = transect.import_directions(tmp_path / "n.npy", names, generator=view, out=file).numbers.fitted
    kept, plain = (fitted.controls(plain=way) for way in (False, True))
    one = view.sample([3])
    now = {name: kept.read(one)[name][0].as_py() for name in names}
    ask = {"skin_tone": [now["skin_tone"] + 0.5]}
    moved = [
        {name: each.read(each.set(one, ask))[name][0].as_py() - now[name] for name in names} for each in (kept, plain)
    ]
    assert moved[0] == pytest.approx({"skin_tone": 0.5, "smile": 0.0}, abs=1e-9)
    assert moved[1] == pytest.approx({"skin_tone": 0.5, "smile": 0.3}, abs=1e-9)  # .5 x .6
    settings = WorldSettings("faceworld", image_size=32, directions=file)
    made = render(
        tmp_path / "both.png", subjects=2, vary="skin_tone=-1,1", world=settings, sheet=SheetSettings(plain=True)
    )
    assert made.numbers.images == 4
    with Image.open(tmp_path / "both.png") as picture:
        assert picture.width == 4 * (32 + 4) + 4  # two levels with, two without
    with pytest.raises(
        BadInput, match="`plain` applies to a sheet of one attribute that moves along fitted directions"
    ):
        render(tmp_path / "no.png", subjects=1, vary="smile", sheet=SheetSettings(plain=True))


DATA = {"subjects": 5, "seed": 3, "image_size": 32, "data_set": True, "quiet": True}


def test_a_data_set_holds_pictures_attributes_masks_and_landmarks(tmp_path):
    folder = tmp_path / "data"
    assert render(folder, **DATA).table.num_rows == 5
    table = pq.read_table(folder / "images")
    world = FaceWorld(32, threads=1)
    latents = world.sample(table["subject"].to_numpy())
    np.testing.assert_array_equal(table["true.age"].to_numpy(), world.read(latents)["age"].to_numpy())
    pictures = decode(table["image"].to_pylist())
    assert table.schema.field("image").type == table.schema.field("mask.hair").type == pa.binary()
    np.testing.assert_array_equal(pictures, world.render(latents).pixels)
    for name, mask in world.masks(latents).items():
        found = decode(table[f"mask.{name}"].to_pylist())[..., 0] > 0
        np.testing.assert_array_equal(found, mask)
    points = np.array(table["landmarks"].to_pylist()).reshape(5, 68, 2)
    np.testing.assert_array_equal(points, world.landmarks(latents))


def test_a_data_set_resumes_byte_by_byte_and_refuses_another(tmp_path, monkeypatch):
    monkeypatch.setattr("transect.experiment.study.IMAGES_PER_PART", 2)
    folder = tmp_path / "data"
    render(folder, **DATA)
    parts = sorted((folder / "images").glob("*.parquet"))
    whole = [part.read_bytes() for part in parts]
    assert len(parts) == 3
    parts[1].unlink()
    render(folder, **DATA)
    assert [part.read_bytes() for part in parts] == whole
    with pytest.raises(FolderOfAnotherSpec, match="`seed` was 3 and is 4"):
        render(folder, **{**DATA, "seed": 4})


@pytest.fixture
def stylegan2(tmp_path):
    path = tmp_path / "g.safetensors"
    save_file(weights(), path)
    return path


def test_samples_of_a_stylegan2_have_their_seeds_as_ids(stylegan2, tmp_path):
    """Nothing can be set on it: a picture for each seed, and no attribute."""
    table = render(tmp_path / "data", generator=stylegan2, subjects=3, seed=2, data_set=True, quiet=True).table
    seeds = [2 * 2**32 + k for k in range(3)]
    assert table["subject"].to_pylist() == seeds
    assert table["id"].to_pylist() == [f"{seed}-0000" for seed in seeds]
    assert not [name for name in table.column_names if name.startswith(("true.", "intended."))]
    network = load(str(stylegan2))
    pictures = decode(table["image"].to_pylist())
    np.testing.assert_array_equal(pictures, network.render(network.sample(seeds)).pixels)
    with pytest.raises(
        BadInput, match="`vary` smile: expected attributes that can be set, got generator .*`directions`"
    ):
        render(tmp_path / "sheet.png", generator=stylegan2, vary="smile", subjects=1)


@pytest.mark.integration
def test_samples_of_a_stylegan2_are_rated_and_directions_fitted_to_the_ratings(stylegan2, tmp_path):
    """The first steps of Balakrishnan et al. 2020, with simulated raters."""
    data, labels = tmp_path / "data", tmp_path / "labels.parquet"
    render(data, generator=stylegan2, subjects=60, data_set=True, quiet=True)
    simulated(str(data), "--raters", 2, "--questions", "quality", "--answer-mean", "quality=0.5", "--noise", 0.3)
    printed("annotate", "export", str(data), "--format", "ratings", "--scale", "unit", "--out", str(labels))
    fitted = transect.fit_directions(str(stylegan2), str(labels), ["quality"], space="w")
    (quality,) = fitted.numbers.attributes
    assert (quality.labels, fitted.numbers.space, fitted.numbers.dimensions) == (50, "w", 8)  # asked about 50 images
