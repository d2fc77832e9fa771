"""Inpainting on tiny random pipelines: a level is painted inside a mask, and every pixel outside is the photograph's."""

import json

import numpy as np
import pytest
import small_pipelines
from PIL import Image

from transect import generators
from transect.errors import BadInput
from transect.generators.diffusion.settings import read_settings
from transect.records import SUBJECTS_PER_SEED
from transect.testing import check_controls, check_generator

INPAINT = """
pipeline = "inpaint"
mode = "inpaint"
source = "folder:faces"
mask = "ellipse:0.5,0.5,0.3,0.4"
steps = 2
image_size = 16
[attributes.glasses]
levels = { without = "a person without glasses", with = "a person with glasses" }
reads = { without = 0, with = 1 }
[attributes.smile]
levels = { smiling = "a smiling person" }
mask = "rectangle:0,0.75,1,1?feather=0"
"""
SIZE = 16


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Two pipelines, one made for painting and one for text; four photographs of two people, one of them wide."""
    pytest.importorskip("diffusers", reason="the extra `diffusers` is not installed")
    pytest.importorskip("cv2", reason="the extra `opencv` is not installed")
    folder = tmp_path_factory.mktemp("inpainting")
    small_pipelines.save_inpaint(folder / "inpaint")
    small_pipelines.save_text(folder / "text")
    (folder / "faces").mkdir()
    for row in range(4):
        shape = (32, 64, 3) if row == 3 else (32, 32, 3)
        noise = np.random.default_rng(row).integers(0, 256, shape, dtype=np.uint8)
        Image.fromarray(noise).save(folder / "faces" / f"{row}.png")
    rows = "0.png,ada,1\n1.png,ada,0\n2.png,ben,1\n3.png,ben,0\n"
    (folder / "faces" / "labels.csv").write_text(f"file,subject,smile\n{rows}")
    (folder / "inpaint.toml").write_text(INPAINT)
    (folder / "text.toml").write_text(INPAINT.replace('pipeline = "inpaint"', 'pipeline = "text"'))
    return folder


@pytest.fixture(scope="module", params=["inpaint", "text"])
def painted(place, request):
    """The generator, from a pipeline whose denoiser sees the mask, and from one of text."""
    return generators.load(f"diffusers:{place / request.param}.toml")


def differing(first, second):
    return (first != second).any(axis=-1)


def seeds_of(generator, *rows):
    """The seeds of run 0 whose subjects are these photographs of the folder."""
    order = generator.sample(range(generator.photographs)).values[:, 0].astype(int).tolist()
    return [order.index(row) for row in rows]


def test_as_it_is_is_the_photograph_and_all_outside_the_mask_stays_bitwise(painted):
    subjects = painted.sample(seeds_of(painted, 0, 1, 2, 3))
    assert painted.photographs == 4
    plain = painted.render(subjects).pixels
    assert not painted.edit_masks(subjects).any()
    for row in (0, 1, 2):  # area means of 32 x 32 pixels
        whole = np.asarray(Image.open(painted.path.parent / "faces" / f"{row}.png")).astype(float)
        means = whole.reshape(SIZE, 2, SIZE, 2, 3).mean(axis=(1, 3))
        assert np.abs(plain[row] - means).max() <= 0.5
    asked = painted.set(subjects, {"glasses": 2.0})
    masks, made = painted.edit_masks(asked), painted.render(asked).pixels
    y, x = (np.indices((SIZE, SIZE)) + 0.5) / SIZE
    ellipse = ((x - 0.5) / 0.3) ** 2 + ((y - 0.5) / 0.4) ** 2 <= 1
    assert np.array_equal(masks[0], ellipse)
    assert not differing(made, plain)[~masks].any()
    assert differing(made, plain)[masks].mean() > 0.9
    # the wide photograph is 16 x 8 between grey margins, which nothing paints on
    assert not masks[3][:4].any()
    assert not masks[3][12:].any()
    assert (made[3][:4] == 128).all()


def test_masks_of_several_edits_add_up(painted):
    subjects = painted.sample(seeds_of(painted, 1))
    both = painted.set(subjects, {"glasses": 1.0, "smile": 1.0})
    plain, made, mask = painted.render(subjects).pixels, painted.render(both).pixels, painted.edit_masks(both)
    assert mask[0, 12:].all()
    assert not differing(made, plain)[~mask].any()
    assert differing(made, plain)[mask].mean() > 0.9
    alone = painted.render(painted.set(subjects, {"smile": 1.0})).pixels
    assert not differing(alone, plain)[0, :12].any()


def test_an_image_is_its_subjects_and_levels_alone(painted):
    """In any batch and order; every level starts from the same noise, and another run from another."""
    check_generator(painted, seeds=[0, 1, 2])
    check_controls(painted, painted.sample(range(3)))
    subjects = painted.sample([2, 0, 2])
    made = painted.render(painted.set(subjects, {"glasses": [1.0, 1.0, 2.0]})).pixels
    again = painted.render(painted.set(painted.sample([2]), {"glasses": 2.0})).pixels
    assert np.array_equal(made[2], again[0])
    assert not np.array_equal(made[0], made[2])
    seen = []
    run = painted._run
    painted._run = lambda arguments, seed, number: seen.append((seed, number)) or run(arguments, seed, number)
    painted.render(painted.set(painted.sample([1, 1]), {"glasses": [1.0, 2.0]}))
    painted._run = run
    assert seen == [(1, 0), (1, 0)]
    other = painted.render(painted.set(painted.sample([SUBJECTS_PER_SEED + 2]), {"glasses": 2.0})).pixels
    assert not np.array_equal(other, again)
    with pytest.raises(BadInput, match="expected at most 4 subjects"):
        painted.sample([4])


def test_people_and_labels_come_with_the_photographs(painted):
    truths = painted.truths(painted.set(painted.sample(seeds_of(painted, 0, 1, 2, 3)), {"smile": [0.0, 1.0, 0.0, 1.0]}))
    assert truths["smile"].to_pylist() == [0, 1, 0, 1]
    assert truths["label.smile"].to_pylist() == [1, 0, 1, 0]  # what the table says, beside what is set
    people = truths["subject"].to_pylist()
    assert people[0] == people[1] != people[2] == people[3]
    names = [attribute.name for attribute in painted.truth_attributes]
    assert names == ["glasses", "smile", "label.smile"]
    glasses, smile = painted.attributes
    assert (glasses.kind, glasses.levels) == ("categorical", ("as it is", "without", "with"))
    assert (smile.kind, smile.levels) == ("binary", ("as it is", "smiling"))
    assert painted.intended_readings() == {"glasses": {1.0: 0.0, 2.0: 1.0}}


def test_photographs_without_a_pixel_of_the_mask_are_left_out_and_counted(place, tmp_path):
    (tmp_path / "masks").mkdir()
    for row in range(4):
        mask = np.zeros((32, 64 if row == 3 else 32), np.uint8)
        mask[8:24, 8:24] = 0 if row == 1 else 255
        Image.fromarray(mask).save(tmp_path / "masks" / f"{row}.png")
    text = INPAINT.replace('mask = "ellipse:0.5,0.5,0.3,0.4"', f'mask = "folder:{tmp_path / "masks"}"')
    path = place / "masked.toml"
    path.write_text(text)
    made = generators.load(f"diffusers:{path}")
    assert made.photographs == 3
    assert "Left out, photographs on which the mask of glasses has no pixel: 1." in made.validity()["statement"]
    assert str(tmp_path) not in json.dumps(made.describe())
    asked = made.set(made.sample(seeds_of(made, 1)), {"glasses": 1.0})  # the third photograph
    mask = made.edit_masks(asked)[0]
    assert mask[4:12, 4:12].all()
    assert mask.sum() == 64
    for row in range(4):
        Image.fromarray(np.zeros((32, 64 if row == 3 else 32), np.uint8)).save(tmp_path / "masks" / f"{row}.png")
    with pytest.raises(BadInput, match="no photographs to paint .4 photographs on which"):
        generators.load(f"diffusers:{path}")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (('mask = "ellipse:0.5,0.5,0.3,0.4"\n', ""), "attributes.glasses: mode inpaint needs a mask"),
        (("steps = 2", "steps = 2\nstrength = 0.3"), "strength: expected at least 0.5, one of the steps, got 0.3"),
        (("smiling =", '"as it is" ='), "attributes.smile: every photograph has the level 'as it is'"),
        (("reads = { without", "reads = { none"), "attributes.glasses.reads: expected levels without, with, got none"),
    ],
)  # fmt: skip
def test_a_file_that_does_not_fit_is_one_line(tmp_path, changed, message):
    path = tmp_path / "world.toml"
    assert changed[0] in INPAINT
    path.write_text(INPAINT.replace(*changed))
    with pytest.raises(BadInput, match=message):
        read_settings(path)
