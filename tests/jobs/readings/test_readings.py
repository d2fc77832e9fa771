"""`transect match readings`: rows and reasons from every kind of source, and tables that other jobs take."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import printed
from PIL import Image

from transect.errors import BadInput, FolderOfAnotherSpec
from transect.generators.faceworld.world import FaceWorld
from transect.jobs.match_readings import readings
from transect.runs.pictures import png

SCENE = ["background_red", "background_green", "background_blue", "background", "background_share"]
COLUMNS = [*SCENE, "face_light", "side_light", "faces", "reason"]


@pytest.fixture(scope="module")
def faces():
    world = FaceWorld(image_size=96)
    return world.render(world.set(world.sample(range(52, 55)), {"yaw": 0.0, "hat": 0.0})).pixels


@pytest.fixture(scope="module")
def folder(faces, tmp_path_factory):
    """Three faces, one picture of two faces, one without a face, one that is broken."""
    folder = tmp_path_factory.mktemp("photographs")
    pictures = {"a": faces[0], "b": faces[1], "c": faces[2], "none": np.full((96, 96, 3), 90, np.uint8)}
    pictures["two"] = np.concatenate([faces[0], faces[1]], axis=1)
    for name, pixels in pictures.items():
        Image.fromarray(pixels).save(folder / f"{name}.png")
    (folder / "broken.png").write_bytes(b"\x89PNG nothing")
    return folder


@pytest.fixture(scope="module")
def read(folder, tmp_path_factory):
    return readings(folder, tmp_path_factory.mktemp("out"), quiet=True)


def by_id(result):
    return {row["id"]: row for row in result.table.to_pylist()}


def test_a_row_for_each_image_and_a_reason_for_what_lacks(read):
    rows = by_id(read)
    assert read.table.column_names == ["id", *COLUMNS]
    assert [rows[name]["reason"] for name in ("a.png", "b.png", "c.png", "two.png")] == [""] * 4
    assert rows["none.png"]["reason"] == "no face"
    assert rows["broken.png"]["reason"].startswith("unreadable picture (broken.png: expected an image, got")
    assert [rows[name]["faces"] for name in ("a.png", "two.png", "none.png", "broken.png")] == [1, 2, 0, None]
    for name in ("none.png", "broken.png"):
        assert np.isnan([rows[name][column] for column in COLUMNS[:-2]]).all()
    assert np.isfinite([rows["two.png"][column] for column in COLUMNS[:-2]]).all()


def test_the_answer_counts_every_reason(read):
    numbers = read.numbers
    assert (numbers.images, numbers.whole, numbers.several_faces) == (6, 4, 1)
    assert numbers.lacking == {"unreadable picture": 1, "no face": 1}
    assert read.headline() == (
        "Everything was read of 4 of 6 images; unreadable picture: 1; no face: 1; 1 image with several faces: the "
        "most certain one was read"
    )
    light = next(row for row in numbers.readings if row.name == "face_light")
    assert light.images == 4
    assert light.mean == pytest.approx(np.nanmean(read.table["face_light"].to_numpy()))


def test_a_reading_depends_on_its_image_alone(folder, read, tmp_path):
    (tmp_path / "some").mkdir()
    (tmp_path / "some" / "b.png").write_bytes((folder / "b.png").read_bytes())
    alone = readings(tmp_path / "some", tmp_path / "out", quiet=True)
    assert by_id(alone)["b.png"] == by_id(read)["b.png"]
    before = (tmp_path / "out" / "readings.parquet").read_bytes()
    readings(tmp_path / "some", tmp_path / "out", quiet=True)
    assert (tmp_path / "out" / "readings.parquet").read_bytes() == before
    with pytest.raises(FolderOfAnotherSpec):
        readings(folder, tmp_path / "out", quiet=True)


def test_a_table_keeps_its_columns_and_goes_on_into_other_jobs(faces, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells = [png(faces[0]), None, png(faces[1]), png(faces[2])]
    table = {"group": [0, 0, 1, 1], "image": cells, "id": ["a.png", "b.png", "c.png", "d.png"], "yaw": [0.0] * 4}
    pq.write_table(pa.table(table), "faces.parquet")
    text = printed("match", "readings", "faces.parquet", "--pictures", "image", "--out", "read")
    assert "no picture: 1" in text
    rows = pq.read_table("read/readings.parquet")
    assert rows.column_names == ["id", "group", "yaw", *COLUMNS]
    assert rows["reason"].to_pylist() == ["", "no picture", "", ""]
    features = pa.table({"id": list("dcba"), "x": [3.0, 2.0, 1.0, 0.0]})
    pq.write_table(features, "features.parquet")
    usual = ["--features", "features.parquet", "--table", "read/readings.parquet", "--json"]
    near = json.loads(printed("match", "neighbours", *usual, "--attribute", "background", "--k", "1"))
    assert [cell["attribute"] for cell in near["distances"][0]["attributes"]] == ["background"]
    matched = json.loads(printed("match", *usual, "--treatment", "group", "--covariate", "face_light"))
    assert [row["covariate"] for row in matched["balance"]] == ["face_light"]


def test_pixels_and_columns_in_memory(faces, tmp_path):
    first = readings(faces, tmp_path / "a", quiet=True)
    table = {"picture": [png(face) for face in faces], "face_light": [1.0, 2.0, 3.0]}
    second = readings(table, tmp_path / "b", pictures="picture", prefix="read_", quiet=True)
    assert first.table["id"].to_pylist() == ["0", "1", "2"]
    assert second.table.column_names == ["face_light", *(f"read_{name}" for name in COLUMNS)]
    for name in COLUMNS:
        assert second.table[f"read_{name}"].to_pylist() == first.table[name].to_pylist()
    with pytest.raises(BadInput, match="the table already has a column 'face_light'; give `prefix` TEXT"):
        readings(table, tmp_path / "c", pictures="picture", quiet=True)


@pytest.fixture(scope="module")
def predictor(tmp_path_factory):
    """A file of 68 points, taught on a few faces of the world with dlib's own trainer."""
    dlib = pytest.importorskip("dlib")
    from transect.targets.dlib_hog import HOG_FACE

    world = FaceWorld(image_size=128)
    seeds = world.sample(range(500, 692))
    heads = world.set(seeds, {"yaw": np.linspace(-25, 25, 192), "pitch": 0.0, "roll": 0.0, "distance": 1.0})
    pictures, points = world.render(heads), world.landmarks(heads)
    boxes = HOG_FACE.expected_box(pictures.face_boxes).round().astype(int).tolist()
    taught = [
        [dlib.full_object_detection(dlib.rectangle(*box), [dlib.point(*map(round, at)) for at in places.tolist()])]
        for box, places in zip(boxes, points, strict=True)
    ]
    options = dlib.shape_predictor_training_options()
    options.cascade_depth, options.tree_depth, options.num_trees_per_cascade_level = 8, 3, 60
    options.oversampling_amount, options.num_test_splits, options.feature_pool_size = 20, 15, 150
    file = tmp_path_factory.mktemp("points") / "points.dat"
    dlib.train_shape_predictor(list(pictures.pixels), taught, options).save(str(file))
    return file


@pytest.mark.integration
def test_pose_is_read_by_landmarks(predictor, tmp_path):
    world = FaceWorld(image_size=128)
    heads = world.set(world.sample([520, 560]), {"yaw": [-25.0, 25.0], "pitch": 0.0, "roll": 0.0, "distance": 1.0})
    pixels = world.render(heads).pixels
    result = readings(pixels, tmp_path, landmarks=predictor, detector="dlib:hog-face", quiet=True)
    assert result.table.column_names == ["id", "yaw", "pitch", "roll", *COLUMNS]
    assert result.numbers.landmarks == 68
    left, right = result.table["yaw"].to_pylist()
    assert left < -3
    assert right > 3
    assert np.abs(result.table["roll"].to_numpy()).max() < 6
