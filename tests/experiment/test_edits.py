"""Edit-validity gates in a study: kept beside the images, counted by cell, drawn again where that is asked for."""

import json

import auditing
import numpy as np
import pyarrow.parquet as pq
import pytest
from planted_networks import small

from transect import generators
from transect.controls.directions import fit_direction
from transect.controls.learned import FittedDirections, LearnedWorld, write_directions
from transect.designs import transect_design
from transect.experiment.edits import for_world
from transect.targets import as_target


@pytest.fixture(scope="module")
def directions(tmp_path_factory):
    """Skin tone as it is, and smile confounded on purpose: along its direction the skin darkens too."""
    path = tmp_path_factory.mktemp("fitted") / "d.safetensors"
    view = generators.load("faceworld-latent", image_size=32)
    latents = view.sample(range(400))
    truths = view.truths(latents)
    smile = truths["smile"].to_numpy() + 0.12 * truths["skin_tone"].to_numpy()
    made = fit_direction("smile", latents.values, smile, "continuous", source="truth")
    write_directions(path, FittedDirections((made,), "z"))
    return path


def brightness():
    return as_target(lambda pixels: pixels.mean(axis=(1, 2, 3)) / 255, name="brightness", task="regression")


def audited(directions, out, **more):
    asked = {"vary": {"smile": [0.4, 1.0, 1.8]}, "subjects": 6, "image_size": 32, "directions": directions}
    return auditing.audit([brightness()], **{**asked, "out": out, "quiet": True, **more})


def section_of(result):
    return next(one for one in result.results["sections"] if one["key"] == "edit-validity")


def test_drift_is_found_counted_and_kept(directions, tmp_path):
    result = audited(directions, tmp_path)
    section = section_of(result)
    gates = {row[0]: row for row in section["tables"][0]["rows"]}
    assert gates["off-target drift"][3] > 0
    assert gates["realism"][-1] == "no score of realism was given"
    drifts = {row[0]: row for row in section["tables"][2]["rows"]}
    assert drifts["skin tone"][1] > 5 * drifts["age"][1]
    adjusted = section["tables"][-1]
    heads, (row,) = adjusted["columns"], adjusted["rows"]
    effect = dict(zip(heads, row, strict=True))
    assert (effect["target"], effect["effect"], effect["images"]) == ("brightness", "smile: 0.4 to 1.8", 18)
    assert effect["adjusted for"] == "skin tone"  # six subjects allow one reading, and it drifted most
    assert abs(effect["raw"]) > 0.03  # the skin's, not the smile's
    assert abs(effect["adjusted"]) < abs(effect["raw"]) / 2
    cells = section["tables"][1]["rows"]
    assert [row[0] for row in cells] == ["smile 0.4", "smile 1", "smile 1.8"]
    assert sum(row[1] for row in cells) == pytest.approx(1)
    edits = pq.read_table(tmp_path / "edits")
    assert len(edits) == 6 * 3 + 6
    for number, row in enumerate(cells):
        inside = edits["cell"].to_numpy() == number
        failed = np.zeros(inside.sum(), dtype=bool)
        for name in edits.column_names:
            if name.startswith("fails."):
                failed |= edits[name].to_numpy(zero_copy_only=False)[inside]
        assert row[-4] == failed.sum()
    # Nothing is dropped: the effects are of all images.
    assert all(effect.n_images in (12, 18) and effect.n_subjects == 6 for effect in result.effects)


@pytest.mark.integration
def test_subjects_are_drawn_again_until_they_pass(directions, tmp_path):
    """A realism that half of the subjects lack, whoever they are: with further draws more images pass."""

    def real(pixels):
        return np.where(pixels[:, 0].mean(axis=(1, 2)) > 150, 1.0, 0.0)

    realism = as_target(real, name="real", task="regression")
    result = audited(directions, tmp_path, realism=realism, redraw=3, vary={"smile": [1.0, 1.3]})
    draws = {row[0]: row[1] for row in section_of(result)["tables"][-1]["rows"]}
    assert draws["subjects"] == 6
    assert draws["draws in all"] >= 6
    subjects = pq.read_table(tmp_path / "images")["subject"].to_numpy()
    edits = pq.read_table(tmp_path / "edits")
    again = edits["draws"].to_numpy()[edits["cell"].to_numpy() == 0] > 1
    # A subject of the first draw keeps its number below 6, another has a number of its own beyond the reference's.
    np.testing.assert_array_equal(subjects[::2] >= 6 + 100, again)
    assert len(set(subjects.tolist())) == 6
    assert json.loads((tmp_path / "run.json").read_text())["edits"]["redraw"] == 3


def test_a_models_reading_stands_before_the_truth(directions, tmp_path):
    """A model that reads every image as a smile of 0: what was set is not seen, in no cell."""
    zero = as_target(lambda pixels: np.zeros(len(pixels)), name="zero", task="regression")
    result = audited(directions, tmp_path, attributes={"smile": zero})
    edits = pq.read_table(tmp_path / "edits")
    assert not edits["reading.smile"].to_numpy().any()
    spec = result.results["studies"][0]["spec"]["edits"]
    assert spec["attributes"]["smile"]["name"] == "zero"


@pytest.mark.integration
def test_the_reference_generators_images_are_read_by_the_network_that_ships(tmp_path):
    """Its latents know no truth: readings of the images stand there, of the attributes that have directions."""
    result = auditing.audit(
        [brightness()], generator="reference", vary={"skin_tone": [3.0, 8.0]}, subjects=4, out=tmp_path, quiet=True
    )
    section = section_of(result)
    gates = {row[0]: row for row in section["tables"][0]["rows"]}
    assert [gates[name][2] for name in ("intended shift", "off-target drift", "identity")] == [8, 8, 8]
    assert gates["realism"][-1] == "no score of realism was given"
    assert "read by the built-in network" in section["text"][1]
    assert result.results["studies"][0]["spec"]["edits"]["shipped"]
    edits = pq.read_table(tmp_path / "edits")
    assert "reading.earrings" not in edits.column_names  # no direction: the pictures hardly show it
    made = edits.filter(np.asarray(edits["cell"]) >= 0)
    tones = made["reading.skin_tone"].to_numpy()
    assert (tones[1::2] - tones[::2] > 3).all()  # 5 Monk steps were set; most of them must be seen


def test_another_network_of_that_name_is_not_read_by_it():
    """A file of one's own may be called reference.safetensors: weights tell, not names."""
    network = small()
    network.name, network.facts = "reference", {"weights_sha256": "0" * 64}
    w = network.to_space(network.sample(range(60)), "w").values
    world = LearnedWorld(network, FittedDirections((fit_direction("smile", w, w[:, 0], "continuous"),), "w"))
    design = transect_design(["smile"], world.attributes, subjects=2, seed=0, usual=world.usual_levels)
    told = for_world(world, design, None)
    assert told is not None
    assert not told.shipped
