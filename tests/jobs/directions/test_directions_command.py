"""`transect directions`: fitted, kept, shown, and used in an audit from end to end."""

import json
import runpy

import numpy as np
import pyarrow.parquet as pq
import pytest
from places import SUPPORT
from safetensors.torch import save_file
from typer.testing import CliRunner

from transect.cli.app import app
from transect.errors import BadInput

SMALL_NETWORK = SUPPORT / "small_network.py"


def run(*arguments):
    """The command in this process; what it raises on purpose is raised here."""
    done = CliRunner().invoke(app, [str(one) for one in arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done


def printed(done):
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    path = tmp_path_factory.mktemp("fitted") / "d.safetensors"
    texts = ["--attribute", "skin_tone", "--attribute", "smile>0.5", "--balance", "face_shape>0.5"]
    return path, printed(run("directions", "fit", path, "--labels", "truth", *texts, "--subjects", 400, "--json"))


def test_fit_says_how_well_and_from_what(fitted):
    path, made = fitted
    assert made["out"] == str(path)
    tone, smile = made["attributes"]
    assert (tone["kind"], tone["quality_measure"], tone["labels"], tone["held_out"]) == ("continuous", "R2", 400, 80)
    assert tone["quality"] > 0.8
    assert (smile["kind"], smile["quality_measure"]) == ("binary", "balanced accuracy")
    assert smile["origin"]["balanced_on"] == ["face_shape"]
    assert tone["origin"]["balanced_on"] == []
    assert made["origin"]["labels"] == {"skin_tone": "skin_tone", "smile": "smile>0.5", "face_shape": "face_shape>0.5"}
    assert (made["space"], made["origin"]["generator"]["name"]) == ("z", "faceworld-latent")
    assert 1 <= made["condition_number"] < 1.5
    assert made["warnings"] == []


@pytest.mark.integration
def test_an_audit_walks_along_them(fitted, tmp_path):
    """What was intended and what became of it stand apart, and the page says what the intention rests on."""
    path, made = fitted
    asked = ["audit", "audited:brightness", "--task", "regression", "--directions", path, "--vary", "skin_tone"]
    run(*asked, "--subjects", 8, "--size", 32, "--out", tmp_path / "run", "--json")
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    spec = results["studies"][0]["spec"]
    assert spec["generator"]["directions"]["sha256"] == made["sha256"]
    levels = spec["design"]["levels"][0]["values"]
    assert levels[0] == pytest.approx(made["attributes"][0]["shown_low"])
    assert len(levels) == 5
    section = next(one for one in results["sections"] if one["key"] == "directions")
    assert section["warnings"] == []
    assert any("along directions fitted to labels" in limit for limit in results["limits"])
    images = pq.read_table(tmp_path / "run" / "images")
    intended, true = (images[f"{kind}.skin_tone"].to_numpy() for kind in ("intended", "true"))
    assert np.polyfit(intended, true, 1)[0] == pytest.approx(1, abs=0.15)
    assert not np.array_equal(intended, true)


@pytest.mark.integration
def test_labels_of_a_target_warn_everywhere(tmp_path):
    path = tmp_path / "d.safetensors"
    fit = ["directions", "fit", path, "--labels", "target:audited:brightness", "--attribute", "bright"]
    done = run(*fit, "--task", "regression", "--subjects", 80, "--size", 32)
    assert "any biases of the classifier will leak" in done.stdout
    asked = ["audit", "audited:brightness", "--task", "regression", "--directions", path, "--vary", "bright"]
    run(*asked, "--subjects", 6, "--size", 32, "--out", tmp_path / "run", "--json")
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    warned = "any biases of the classifier will leak into the direction"
    assert any(warned in limit for limit in results["limits"])


def test_a_network_in_w_from_a_table(tmp_path):
    """Labels of a network's subjects by seed: the first coordinate of w, which the fit has to find in space w."""
    from transect import generators

    network = tmp_path / "small.safetensors"
    save_file(runpy.run_path(str(SMALL_NETWORK))["weights"](), network)
    generator = generators.load(network)
    w = generator.to_space(generator.sample(range(300)), "w")
    rows = "".join(f"{seed},{value}\n" for seed, value in enumerate(w.values[:, 0]))
    (tmp_path / "labels.csv").write_text(f"seed,first\n{rows}")
    path = tmp_path / "d.safetensors"
    fit = ["directions", "fit", path, "--generator", network, "--labels", tmp_path / "labels.csv", "--space", "w"]
    made = printed(run(*fit, "--labelled-by", "model:first", "--json"))
    assert made["attributes"][0]["quality"] > 0.99
    assert made["attributes"][0]["of_a_model"]
    asked = ["audit", "audited:brightness", "--task", "regression", "--generator", network, "--directions", path]
    run(*asked, "--vary", "first", "--subjects", 3, "--out", tmp_path / "run", "--json")


def table(path, **columns):
    n = len(next(iter(columns.values())))
    rows = [",".join(["seed", *columns]), *(f"{i}," + ",".join(str(c[i]) for c in columns.values()) for i in range(n))]
    path.write_text("\n".join(rows))
    return path


DRAWS = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("columns", "more", "message"),
    [
        ({"smile": [0] * 100}, [], "smile: expected at least 20 labels of each class, got 100 no and 0 yes"),
        ({"age": list(range(30))}, [], "age: expected at least 50 labels, got 30; label more"),
        (
            {"age": (ages := DRAWS.integers(20, 80, 100).tolist()), "years": ages},
            [],
            r"age, years are collinear in the latent space \(condition number [^)]+\); drop one",
        ),
        ({"age": ages}, ["--space", "w"], "expected space z, which faceworld-latent samples, got space w"),
        ({"age": ages, "young": [int(a < 50) for a in ages]}, ["--attribute", "young", "--balance", "age"],
         "--balance age: expected at most 10 values"),
    ],
)  # fmt: skip
def test_labels_that_do_not_do(columns, more, message, tmp_path):
    labels = table(tmp_path / "labels.csv", **columns)
    with pytest.raises(BadInput, match=message):
        run("directions", "fit", tmp_path / "d.safetensors", "--labels", labels, *more)
    assert not (tmp_path / "d.safetensors").exists()


def test_near_attributes_and_poor_fits_are_reported(tmp_path):
    """Labels without a signal, and two that are nearly one."""
    from transect import generators

    view = generators.load("faceworld-latent", image_size=32)
    ages = view.truths(view.sample(range(400)))["age"].to_numpy()
    noise = np.random.default_rng(1)
    labels = table(
        tmp_path / "labels.csv",
        age=ages.tolist(),
        years=(ages + noise.normal(0, 3, 400)).tolist(),
        coin=noise.integers(0, 2, 400).tolist(),
    )
    made = printed(run("directions", "fit", tmp_path / "d.safetensors", "--labels", labels, "--json"))
    warned = " | ".join(made["warnings"])
    assert "coin: held-out balanced accuracy is" in warned
    assert "age and years are" in warned
    assert made["condition_number"] > 5
