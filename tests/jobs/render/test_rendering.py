"""Sheets, strips and data sets of rendered subjects."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from published import fits

from transect.errors import FolderOfAnotherSpec
from transect.generators.faceworld.world import FaceWorld
from transect.jobs.render.run import render
from transect.runs.tables import decode


def test_render_sheet_has_a_row_a_subject(tmp_path):
    from PIL import Image

    result = render(tmp_path / "sheet.png", subjects=2, image_size=32, vary=["glasses=0,1"])
    assert result.table["intended.glasses"].to_pylist() == [0.0, 1.0] * 2
    assert fits(result) == {"out": str(tmp_path / "sheet.png"), "subjects": 2, "images": 4, "image_size": 32}
    assert "data:image/png" in result.report(tmp_path / "page").read_text()
    with Image.open(tmp_path / "sheet.png") as picture:
        assert picture.width < picture.height * 1.2  # two rows of two


DATA = {"subjects": 5, "seed": 3, "image_size": 32, "data_set": True, "quiet": True}


def test_a_data_set_holds_pictures_attributes_masks_and_landmarks(tmp_path):
    folder = tmp_path / "data"
    assert render(folder, **DATA).table.num_rows == 5
    table = pq.read_table(folder / "images")
    world = FaceWorld(32, threads=1)
    latents = world.sample(table["subject"].to_numpy())
    np.testing.assert_array_equal(table["true.age"].to_numpy(), world.read(latents)["age"].to_numpy())
    pictures = decode([row["bytes"] for row in table["image"].to_pylist()])
    np.testing.assert_array_equal(pictures, world.render(latents).pixels)
    for name, mask in world.masks(latents).items():
        found = decode([row["bytes"] for row in table[f"mask.{name}"].to_pylist()])[..., 0] > 0
        np.testing.assert_array_equal(found, mask)
    points = np.array(table["landmarks"].to_pylist()).reshape(5, 68, 2)
    np.testing.assert_array_equal(points, world.landmarks(latents))
    features = json.loads(table.schema.metadata[b"huggingface"])["info"]["features"]
    assert features["image"] == features["mask.hair"] == {"_type": "Image"}


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
    with pytest.raises(FolderOfAnotherSpec, match="--seed was 3 and is 4"):
        render(folder, **{**DATA, "seed": 4})
