"""`transect directions import`: values by hand from files of every form, and what is refused."""

import json

import numpy as np
import pytest
import torch
from commands import printed, refused
from places import SHARED

import transect
from transect.controls.normals import read_normals
from transect.errors import BadInput
from transect.jobs.directions_show import Directions
from transect.records import Images, Latents


class Normal512:
    """A generator whose latents are 512 standard normal numbers, and whose pictures are black."""

    name, image_size, latent_dim = "normal-512", 8, 512

    def sample(self, seeds):
        values = [np.random.default_rng(int(seed)).standard_normal(self.latent_dim) for seed in seeds]
        return Latents(seeds=np.asarray(seeds), values=np.array(values), space="z")

    def render(self, latents):
        return Images(np.zeros((len(latents), 8, 8, 3), dtype=np.uint8))


def axis(place, length=1.0):
    normal = np.zeros((1, 512), dtype=np.float32)
    normal[0, place] = length
    return normal


def made(path, *names, **options):
    return transect.import_directions(path, names, generator=Normal512(), **options)


@pytest.fixture
def file(tmp_path):
    """Writes arrays in one of the forms."""

    def written(ending, content):
        path = tmp_path / f"normals.{ending}"
        if ending == "npy":
            np.save(path, content)
        elif ending == "npz":
            np.savez(path, **content)
        else:
            torch.save(content, path)
        return path

    return written


@pytest.mark.parametrize(
    ("ending", "content", "names", "offset"),
    [
        ("npy", axis(3), ["smile"], 0.0),
        ("npy", axis(3, 4.0)[0], ["smile"], 0.0),
        ("pt", torch.from_numpy(axis(3)), ["smile"], 0.0),
        ("pt", {"a": torch.from_numpy(axis(3)), "b": torch.from_numpy(axis(4))}, ["smile=a"], 0.0),
        ("npz", {"smile": axis(3), "other": axis(9)}, ["smile"], 0.0),
        # coef z + intercept = 2 z + 3: 0 at z = -1.5, and 1.5 more than z everywhere
        ("npz", {"coef": axis(3, 2.0), "intercept": [3.0]}, ["smile"], 1.5),
        ("npz", {"coef": axis(3, 2.0), "intercept": [3.0], "name": ["smiling"]}, ["smile=smiling"], 1.5),
    ],
)
def test_a_value_is_the_signed_distance_from_the_hyperplane(file, ending, content, names, offset):
    controls = made(file(ending, content), *names).numbers.fitted.controls()
    z = Normal512().sample(range(1000))
    low, high = np.percentile(z.values[:, 3], (0.5, 99.5)) + offset  # the middle 99 % of the generator's latents
    (smile,) = controls.attributes
    assert (smile.name, smile.low, smile.high) == ("smile", pytest.approx(low), pytest.approx(high))
    few = Normal512().sample([0, 1, 3])
    np.testing.assert_allclose(controls.read(few)["smile"].to_numpy(), few.values[:, 3] + offset)
    moved = controls.set(few, {"smile": np.full(3, offset + 1.25)})
    np.testing.assert_allclose(moved.values[:, 3], 1.25)
    np.testing.assert_array_equal(np.delete(moved.values, 3, axis=1), np.delete(few.values, 3, axis=1))


def test_several_normals_have_the_names_in_order_and_leave_each_other_alone(file):
    """Normals (1, 0) and (.6, .8): a move of the first alone goes along (.8, -.6), 1 / .8 long for each unit."""
    rows = np.zeros((2, 512))
    rows[0, 0], rows[1, :2] = 1.0, (0.6, 0.8)
    controls = made(file("npy", rows), "age", "hair").numbers.fitted.controls()
    few = Normal512().sample([0])
    age = controls.read(few)["age"][0].as_py()
    step = controls.set(few, {"age": [age + 1.0]}).values - few.values
    np.testing.assert_allclose(step[0, :2], [1.0, -0.75])


def test_what_is_not_known_is_said_and_whose_labels_they_are(file, tmp_path):
    result = made(file("npy", axis(3)), "smile", source="model:resnet", out=tmp_path / "d.safetensors")
    kept = Directions(tmp_path / "d.safetensors").compute()
    (smile,) = kept.attributes
    assert (smile.quality, smile.shown_low, smile.labels, smile.of_a_model) == (None, None, 0, True)
    assert kept.origin["file"] == "normals.npy"
    assert [warning.partition(":")[0] for warning in result.numbers.warnings] == ["smile", "smile"]
    json.dumps(result.to_json(), allow_nan=False)


class Attack:
    def __reduce__(self):
        return (print, ("run",))


@pytest.mark.parametrize(
    ("ending", "content", "names", "words"),
    [
        ("npy", np.ones((1, 64)), ["smile"], "expected normals of 512 numbers for space z of normal-512, got 64"),
        ("npy", axis(3), [], "NAME for each of 1 normals"),
        ("npy", axis(3), ["a", "b"], "a name for each of 1 normal, got 2"),
        ("npy", np.array([Attack()], dtype=object), ["a"], "expected arrays of numbers as NumPy writes them, got"),
        ("npy", np.ones((2, 2, 512)), ["a"], "as numbers [d] or [k, d], got the array [2, 2, 512]"),
        ("npy", np.zeros((1, 512)), ["a"], "finite, non-zero normals"),
        ("npy", np.vstack([axis(3), axis(3, 2.0)]), ["a", "b"], "a, b are collinear"),
        ("npz", {"smile": axis(3)}, ["smiling"], "attribute 'smiling'"),
        ("npz", {"a": axis(3), "b": np.ones(64)}, ["a"], "of the same length in each array, got a [1, 512], b [64]"),
        ("npz", {"coef": axis(3), "intercept": [1.0, 2.0]}, ["a"], "an intercept for each of 1 normals, got 1 and 2"),
        ("pt", Attack(), ["a"], "holds more than tensors"),
        ("txt", axis(3), ["a"], "expected .npy, .npz or .pt, got .txt"),
    ],
)  # fmt: skip
def test_files_and_names_that_do_not_fit_are_refused(file, ending, content, names, words, capsys):
    with pytest.raises(BadInput) as error:
        made(file(ending, content), *names)
    assert words in str(error.value)
    assert capsys.readouterr().out == ""  # nothing in the file ran


@pytest.mark.parametrize(
    ("name", "attributes", "worst"),
    [
        ("interfacegan_boundaries.npz", [f"{a}=stylegan_ffhq_{a}_w" for a in ("age", "smile")], 0.0329),
        # of the nine real normals hair length and gender are the closest, with a cosine of -.674
        ("stylegan2_w_hyperplanes.npz", ["hair=hair-length", "gender", "skin_color=skin-color", "age"], 0.674),
    ],
)
def test_published_directions_are_taken_as_they_are(name, attributes, worst):
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{path} is not here")
    result = made(path, *attributes)
    normals = np.array([entry.normal for entry in result.numbers.fitted.directions])
    with np.load(path) as archive:
        expected = archive["coef"][0] if "coef" in archive else archive["stylegan_ffhq_age_w"]
    np.testing.assert_allclose(normals[0], expected / np.linalg.norm(expected), rtol=1e-6)
    assert np.abs(normals @ normals.T - np.eye(len(normals))).max() == pytest.approx(worst, abs=1e-3)


@pytest.mark.integration
def test_the_command_writes_what_an_audit_walks_along(tmp_path):
    np.save(tmp_path / "smile.npy", np.eye(97)[:1])
    out = tmp_path / "d.safetensors"
    words = ("directions", "import", str(tmp_path / "smile.npy"), "--attribute", "smile", "--out", str(out))
    assert "expected normals of" in refused(*words, "--generator", "reference", "--space", "w+")
    said = json.loads(printed(*words, "--generator", "reference", "--space", "w", "--json"))
    assert (said["space"], said["attributes"][0]["quality"]) == ("w", None)
    asked = ("audit", "opencv:haarcascade_smile", "--generator", "reference", "--directions", str(out))
    printed(*asked, "--vary", "smile=-0.1,0.1", "--subjects", "4", "--out", str(tmp_path / "run"))
    assert (tmp_path / "run" / "report.html").exists()


def test_parameters_of_any_kind_are_read_and_no_number_is_refused(tmp_path):
    normal = torch.nn.Parameter(torch.from_numpy(axis(3, 2.0)).to(torch.bfloat16))
    torch.save({"smile": normal}, tmp_path / "one.pt")
    np.testing.assert_array_equal(read_normals(tmp_path / "one.pt").normals, axis(3, 2.0))
    np.savez(tmp_path / "named.npz", coef=axis(1), name="smile")
    assert read_normals(tmp_path / "named.npz").names == ("smile",)
    np.save(tmp_path / "nan.npy", axis(1, np.nan))
    with pytest.raises(BadInput, match="expected finite numbers, got NaN or infinity"):
        read_normals(tmp_path / "nan.npy")
