"""Inverted photographs as subjects: edited along directions, rendered, audited, labelled; and what is refused."""

import json

import auditing
import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image
from planted_networks import tensors
from safetensors.numpy import save_file as save_arrays
from safetensors.torch import save_file
from typer.testing import CliRunner

from transect.cli.app import app
from transect.controls.directions import fit_direction
from transect.controls.learned import FittedDirections, read_directions, write_directions
from transect.datasets.features import content_of_codes, read_codes
from transect.errors import BadInput, UnknownName
from transect.experiment import worlds
from transect.generators import load
from transect.targets import as_target
from transect.testing import check_controls, check_generator

LAYERS, WIDTH, FACES = 4, 8, 60
FAILED = (1, 7)
IDS = tuple(f"{place}.png" for place in range(FACES))


def command(*arguments):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A network, a direction of its w (the first coordinate), and 60 photographs in w+, of which two failed."""
    folder = tmp_path_factory.mktemp("photographs")
    save_file(tensors(), folder / "g.safetensors")
    network = load(folder / "g.safetensors")
    w = network.to_space(network.sample(range(400)), "w").values
    direction = fit_direction("first", w, w[:, 0], "continuous", source="truth")
    write_directions(folder / "d.safetensors", FittedDirections((direction,), "w", {"generator": network.describe()}))
    codes = np.repeat(w[:FACES, None], LAYERS, axis=1) + np.random.default_rng(0).normal(0, 0.1, (FACES, LAYERS, WIDTH))
    codes[list(FAILED)] = np.nan
    (folder / "l.safetensors").write_bytes(content_of_codes(IDS, codes.astype(np.float32), "w+", network.describe()))
    rows = "".join(f"{name},{value:.6f}\n" for name, value in zip(IDS, w[:FACES, 0], strict=True))
    (folder / "labels.csv").write_text(f"id,first\n{rows}elsewhere.png,1\n")
    return folder


def opened(files, **options):
    options = {"directions": files / "d.safetensors", "latents": files / "l.safetensors", **options}
    return worlds.WorldSettings(str(files / "g.safetensors"), **options).open()


def finite(files):
    codes = read_codes(files / "l.safetensors").codes
    return codes[np.isfinite(codes).all(axis=1)]


def test_subjects_are_the_photographs_whatever_the_seed(files):
    """Those that failed are left out, so that subject 1 is the third photograph; seeds of run 3 index the same."""
    world = opened(files)
    check_generator(world.generator)
    check_generator(world)
    check_controls(world, world.sample(range(4)))
    assert world.generator.ids[:3] == ("0.png", "2.png", "3.png")
    assert (world.generator.subjects, world.generator.left_out) == (58, ("1.png", "7.png"))
    np.testing.assert_array_equal(world.sample([0, 1, (3 << 32) + 1]).values, finite(files)[[0, 1, 1]])
    description = world.describe()["photographs"]
    assert description == {
        "sha256": read_codes(files / "l.safetensors").sha256,
        "space": "w+",
        "count": 58,
        "failed": 2,
    }


def audited(files, out, **options):
    settings = {"vary": {"first": [1.0, 3.0]}, "subjects": 5, "directions": files / "d.safetensors"}
    settings |= {
        "latents": files / "l.safetensors",
        "generator": str(files / "g.safetensors"),
        "out": out,
        "quiet": True,
    }
    target = as_target(lambda pixels: pixels.mean(axis=(1, 2, 3)) / 255, name="brightness", task="regression")
    return auditing.audit([target], **{**settings, **options})


def test_an_audit_edits_the_photographs(files, tmp_path):
    """Images are the network's, of the photographs' own codes with the step in every layer, computed here again."""
    audited(files, tmp_path)
    rows = pq.read_table(tmp_path / "images")
    direction = read_directions(files / "d.safetensors").directions[0]
    network = load(files / "g.safetensors")
    from transect.records import Latents
    from transect.runs.tables import decode

    codes = finite(files)[:5].reshape(5, LAYERS, WIDTH)
    mean = direction.mean + direction.slope * (codes.mean(axis=1) @ direction.normal + direction.offset)
    shown = []
    for code, value in zip(codes, mean, strict=True):
        for wanted in (1.0, 3.0):
            step = direction.way / (direction.way @ direction.normal)
            shown.append((code + (wanted - value) / direction.slope * step).reshape(-1))
    expected = network.render(Latents(np.arange(10), np.array(shown), "w+")).pixels
    images = decode(rows["image"].to_pylist())
    assert np.abs(images.astype(int) - expected).max() <= 1
    np.testing.assert_allclose(rows["true.first"].to_numpy(), [1.0, 3.0] * 5, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"subjects": 59}, r"expected at most 58 subjects, .* \(2 more failed\), got 59; give `subjects` 58"),
        ({"directions": None}, "`latents` needs `directions` FILE, along which"),
        ({"redraw": 2}, "`redraw` does not apply to `latents`"),
    ],
)
def test_what_photographs_cannot_do_is_refused_before_anything_is_made(files, tmp_path, options, message):
    with pytest.raises(BadInput, match=message):
        audited(files, tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()


def test_files_of_others_are_refused(files, tmp_path):
    network = load(files / "g.safetensors").describe()
    codes, path = np.zeros((2, LAYERS, WIDTH), np.float32), tmp_path / "l.safetensors"

    def refused(message, content=None, facts=network, values=codes, space="w+"):
        path.write_bytes(content_of_codes(IDS[: len(values)], values, space, facts) if content is None else content)
        with pytest.raises(BadInput, match=message):
            opened(files, latents=path)

    refused(
        "got latents of other .another weights sha256.; invert",
        facts={**network, "weights_sha256": "0", "name": "other"},
    )
    refused("expected inverted photographs, got 2 that failed", values=np.full_like(codes, np.nan))
    refused(r"expected space w with 8 coordinates, got w\+ with 28", values=np.zeros((2, 4, 7), np.float32))
    refused("expected latents of an inversion, found something else", content=(files / "g.safetensors").read_bytes())
    save_arrays({"codes": codes}, path, {"kind": "transect.latents", "ids": '{"a": 1}', "space": "w+"})
    refused("ids must be texts", content=path.read_bytes())


def test_directions_are_fitted_to_labels_of_photographs(files, tmp_path):
    """By their ids: the first coordinate of w, which the mean code shows but for the layers' noise; rows are counted."""
    latents = ["--generator", files / "g.safetensors", "--latents", files / "l.safetensors", "--space", "w", "--json"]
    fit = ["directions", "fit", tmp_path / "d.safetensors", "--labels", files / "labels.csv", *latents]
    answer = json.loads(command(*fit).stdout)
    assert (answer["space"], answer["dimensions"], answer["attributes"][0]["labels"]) == ("w", WIDTH, 58)
    assert answer["attributes"][0]["quality"] > 0.8
    assert answer["origin"]["table"] == "labels.csv"
    assert answer["origin"]["generator"]["photographs"]["count"] == 58
    assert "2 rows of photographs whose inversion failed left out" in answer["notes"]
    assert "1 row of photographs not inverted left out" in answer["notes"]
    by_target = ["--labels", "target:audited:brightness", "--task", "regression", "--attribute", "bright"]
    answer = json.loads(command("directions", "fit", tmp_path / "t.safetensors", *by_target, *latents).stdout)
    assert answer["attributes"][0]["labels"] == 58
    (tmp_path / "stems.csv").write_text("id,first\n" + "".join(f"faces/{i}.jpg,{i % 7}\n" for i in range(60)))
    by_stem = ["--labels", tmp_path / "stems.csv", "--attribute", "first", *latents]
    answer = json.loads(command("directions", "fit", tmp_path / "s.safetensors", *by_stem).stdout)
    assert "ids were compared without folder and suffix: faces/0.jpg is 0.png" in answer["notes"]
    (tmp_path / "other.csv").write_text("id,first\nx.png,1\n")
    with pytest.raises(BadInput, match=r"expected ids of inverted photographs, as 0\.png, 2\.png, 3\.png, got x\.png"):
        command("directions", "fit", tmp_path / "x.safetensors", "--labels", tmp_path / "other.csv", *latents)


def test_directions_are_fitted_to_labels_of_a_data_set(files, tmp_path):
    """A folder's, with 58 of 60 photographs inverted; one attribute has levels in no order and needs one named."""
    (tmp_path / "faces").mkdir()
    lines = ["file,first,kind"]
    for index in range(60):
        Image.new("RGB", (8, 8), (index, 0, 0)).save(tmp_path / "faces" / f"{index}.png")
        lines.append(f"{index}.png,{index % 2},{'abbc'[index % 4]}")
    (tmp_path / "faces" / "labels.csv").write_text("\n".join(lines) + "\n")
    dataset = f"folder:{tmp_path / 'faces'}"
    latents = ["--generator", files / "g.safetensors", "--space", "w", "--json", "--labels", dataset]
    fit = ["directions", "fit", tmp_path / "d.safetensors", *latents, "--latents", files / "l.safetensors"]
    answer = json.loads(command(*fit).stdout)
    (first,) = answer["attributes"]
    assert (first["name"], first["kind"], first["labels"]) == ("first", "binary", 58)
    assert first["origin"]["labels"] == "data set folder:faces"
    assert "58 of 58 photographs with latents have labels in folder:faces, by id" in answer["notes"]
    assert "not fitted, since their levels have no order: kind; name a level, such as 'NAME==LEVEL'" in answer["notes"]
    answer = json.loads(command(*fit, "--attribute", "kind==b", "--method", "ridge").stdout)
    assert (answer["attributes"][0]["kind"], answer["attributes"][0]["origin"]["method"]) == ("binary", "ridge")


def put_on_backgrounds(files, folder, count=58):
    """A picture of noise for each photograph whose inversion did not fail, in the size of the network."""
    (folder / "originals").mkdir()
    size = load(files / "g.safetensors").image_size
    rng = np.random.default_rng(7)
    names = [name for place, name in enumerate(IDS) if place not in FAILED][:count]
    for name in names:
        Image.fromarray(rng.integers(0, 256, (size, size, 3), dtype=np.uint8)).save(folder / "originals" / name)
    return folder / "originals", size


def test_the_photograph_is_put_back_outside_the_mask(files, tmp_path):
    """Bitwise outside; the generator's own pixels deep inside; in any batch; a rim of mixed light between."""
    originals, size = put_on_backgrounds(files, tmp_path)
    plain, world = opened(files), opened(files, photographs=originals, mask="ellipse:0.5,0.5,0.3,0.4?feather=0.1")
    check_generator(world, seeds=[0, 1, 2])
    subjects = world.sample([3, 0, 5])
    y, x = (np.indices((size, size)) + 0.5) / size
    mask = ((x - 0.5) / 0.3) ** 2 + ((y - 0.5) / 0.4) ** 2 <= 1
    np.testing.assert_array_equal(world.generator.edit_masks(subjects), np.stack([mask] * 3))
    for wanted in (1.0, 3.0):
        latents = world.set(subjects, {"first": wanted})
        made, drawn = world.render(latents).pixels, plain.render(latents).pixels
        for row, place in enumerate((3, 0, 5)):
            photograph = np.asarray(Image.open(originals / world.generator.ids[place]))
            assert np.array_equal(made[row][~mask], photograph[~mask])
            middle = np.s_[size // 2 - 1 : size // 2 + 1]
            assert np.array_equal(made[row][middle, middle], drawn[row][middle, middle])
        np.testing.assert_array_equal(world.render(latents.take(np.array([1]))).pixels[0], made[1])
    facts = world.describe()["photographs"]["background"]
    assert facts["mask"] == {"kind": "ellipse", "numbers": [0.5, 0.5, 0.3, 0.4], "feather": 0.1}
    assert len(facts["pictures_sha256"]) == 64


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"latents": None}, "need --latents FILE, whose photographs keep their background"),
        ({"mask": "rectangle:1.5,0,2,1"}, "--mask covers no pixel of 0.png"),
    ],
)
def test_backgrounds_that_do_not_fit_are_refused(files, tmp_path, options, message):
    originals, _ = put_on_backgrounds(files, tmp_path)
    with pytest.raises((BadInput, UnknownName), match=message):
        opened(files, **{"photographs": originals, "mask": "ellipse:0.5,0.5,0.3,0.4", **options})


def test_an_audit_keeps_the_backgrounds(files, tmp_path):
    originals, size = put_on_backgrounds(files, tmp_path)
    mask = "rectangle:0,0,1,0.5?feather=0"
    audited(files, tmp_path / "run", photographs=originals, mask=mask)
    from transect.runs.tables import decode

    rows = pq.read_table(tmp_path / "run" / "images")
    images = decode(rows["image"].to_pylist())
    for row, image in enumerate(images):
        name = [name for place, name in enumerate(IDS) if place not in FAILED][row // 2]
        photograph = np.asarray(Image.open(originals / name))
        assert np.array_equal(image[size // 2 :], photograph[size // 2 :])
    assert (images[0] != images[1])[: size // 2].any()
