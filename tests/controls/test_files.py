"""Files of local directions: what they keep, what is no such file, and audits along them."""

import json

import auditing
import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file
from typer.testing import CliRunner

from transect import generators
from transect.cli.app import app
from transect.controls.directions import fit_direction
from transect.controls.files import LINEAR, LOCAL, FittedDirections, read_directions, write_directions
from transect.controls.local import fit_model
from transect.controls.world import LearnedWorld
from transect.errors import BadInput
from transect.experiment import worlds
from transect.targets import as_target
from transect.testing import check_controls, check_generator


def command(*arguments):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """The file that the command writes for skin tone and smile of the latent view."""
    path = tmp_path_factory.mktemp("local") / "local.safetensors"
    options = ["--labels", "truth", "--attribute", "skin_tone", "--attribute", "smile>0.5", "--subjects", 500]
    return path, json.loads(command("directions", "fit", path, "--local", *options, "--json").stdout)


def test_the_command_says_how_well_and_from_what(fitted):
    path, answer = fitted
    tone, smile = answer["attributes"]
    assert (answer["kind"], answer["space"]) == ("transect.attribute_models", "z")
    assert (tone["kind"], tone["quality_measure"], tone["labels"], tone["held_out"]) == ("continuous", "R2", 500, 100)
    assert tone["quality"] > 0.8
    assert tone["low"] <= tone["shown_low"] < tone["shown_high"] <= tone["high"]
    assert smile["origin"]["method"] == "kernel ridge"
    assert answer["origin"]["labels"] == {"skin_tone": "skin_tone", "smile": "smile>0.5"}
    assert answer["origin"]["generator"]["name"] == "faceworld-latent"
    shown = json.loads(command("directions", "show", path, "--json").stdout)
    assert shown["attributes"] == answer["attributes"]
    assert "kernel ridge" in command("directions", "show", path).stdout


def test_a_file_gives_back_what_was_fitted(tmp_path):
    """Values and gradients are the same numbers, the origin too; either kind of file is told from the other."""
    z = np.random.default_rng(0).standard_normal((200, 3))
    bent, line = fit_model("bent", z, z[:, 0] * z[:, 1], source="model:x"), fit_model("line", z, z[:, 2])
    path = tmp_path / "local.safetensors"
    write_directions(path, FittedDirections((bent, line), "w", {"source": "mine"}))
    directions = read_directions(path)
    assert directions.kind == LOCAL
    for model, other in zip((bent, line), directions.directions, strict=True):
        np.testing.assert_array_equal(model.value(z), other.value(z))
        np.testing.assert_array_equal(model.gradient(z), other.gradient(z))
    description = directions.describe()
    assert description["attributes"] == FittedDirections((bent, line), "w").describe()["attributes"]
    assert [row["of_a_model"] for row in description["attributes"]] == [True, False]
    assert (directions.space, directions.origin, len(directions.sha256)) == ("w", {"source": "mine"}, 64)
    json.dumps(description, allow_nan=False)
    straight = FittedDirections((fit_direction("line", z, z[:, 2], "continuous"),), "w")
    write_directions(tmp_path / "d.safetensors", straight)
    assert read_directions(tmp_path / "d.safetensors").kind == LINEAR


def test_an_audit_follows_the_gradients(fitted, tmp_path):
    """What was set is what the model reads, the truth follows, levels are those of the file, and the page says how."""
    path, answer = fitted
    target = as_target(lambda pixels: pixels.mean(axis=(1, 2, 3)) / 255, name="brightness", task="regression")
    result = auditing.audit(
        [target], vary=["skin_tone"], subjects=4, image_size=32, directions=path, out=tmp_path, quiet=True
    )
    spec = result.results["studies"][0]["spec"]
    assert spec["generator"]["directions"]["sha256"] == answer["sha256"]
    levels = spec["design"]["levels"][0]["values"]
    assert levels == pytest.approx(
        np.linspace(answer["attributes"][0]["shown_low"], answer["attributes"][0]["shown_high"], 5)
    )
    section = next(entry for entry in result.results["sections"] if entry["key"] == "directions")
    assert "follows the gradient of a model of labels" in section["text"][0]
    assert section["tables"][0]["rows"][0][2] == "kernel ridge"
    assert any(
        limit.startswith("Intended values are labels that fitted models predict") for limit in result.results["limits"]
    )
    world = worlds.open_world("faceworld", 32, None, None, path)
    check_generator(world)
    check_controls(world, world.sample(range(3)))
    subjects = world.sample(range(20))
    light, dark = (world.truths(world.set(subjects, {"skin_tone": tone})) for tone in (3.0, 8.0))
    assert dark["skin_tone"].to_numpy().mean() - light["skin_tone"].to_numpy().mean() == pytest.approx(5, abs=1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "a\nb"}, "name must be a short text"),
        ({"gamma": -1.0}, "line has no range"),
        ({"low": 99.0}, "line has no range"),
        ({"constant": "much"}, "constant of line must be a number"),
        ({"shown_low": "much"}, "shown_low of line must be a number"),
        ({"quality": None}, "quality of line must be a number"),
        ({"origin": "me"}, "the origin of line must be an object"),
        ({"weights": np.zeros(2)}, "the shapes of line do not fit together"),
        ({"slopes": np.full(3, np.nan)}, "line has tensors that are not finite"),
        ({"slopes": np.float64(1.0)}, "the shapes of line do not fit together"),
    ],
)
def test_files_that_hold_no_models(change, message, tmp_path):
    z = np.random.default_rng(0).standard_normal((60, 3))
    path = tmp_path / "local.safetensors"
    write_directions(path, FittedDirections((fit_model("line", z, z[:, 2]),), "w"))
    with safe_open(path, "numpy") as file:
        metadata, arrays = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    facts = json.loads(metadata["models"])[0]
    for name, value in change.items():
        if f"{name}.0" in arrays:
            arrays[f"{name}.0"] = np.asarray(value)
        else:
            facts[name] = value
    save_file(arrays, path, {**metadata, "models": json.dumps([facts])})
    with pytest.raises(BadInput, match=rf"expected a file of directions, found another .*{message}"):
        read_directions(path)


def test_local_models_refuse_options_of_lines_and_another_generator(fitted, tmp_path):
    straight = ["directions", "fit", tmp_path / "d.safetensors", "--local", "--labels", "truth", "--attribute", "age"]
    for more in (["--method", "svm"], ["--balance", "smile>0.5"]):
        with pytest.raises(BadInput, match="--local: expected neither --balance nor --method"):
            command(*straight, *more)
    other = FittedDirections(
        read_directions(fitted[0]).directions, "z", {"generator": {"name": "ffhq", "weights_sha256": "0"}}
    )
    with pytest.raises(BadInput, match="expected ones of generator faceworld-latent, got ones fitted on ffhq"):
        LearnedWorld(generators.load("faceworld-latent", image_size=32), other)


def test_labelled_rows_without_latents_are_counted():
    z = np.random.default_rng(0).standard_normal((80, 3))
    labels = z[:, 2].copy()
    z[:5] = np.nan
    model = fit_model("line", z, labels)
    assert (model.labels, model.origin["without_latents"]) == (75, 5)
