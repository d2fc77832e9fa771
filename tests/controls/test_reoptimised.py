"""Corrected edits: what was set reads as wanted, all else as before; each row by itself; both readers judge."""

from __future__ import annotations

import numpy as np
import pytest

from transect import generators
from transect.controls import reoptimised
from transect.controls.files import FittedDirections, read_directions
from transect.controls.world import LearnedWorld
from transect.designs import transect_latents
from transect.errors import BadInput
from transect.experiment.worlds import open_world
from transect.generators.reference import DIRECTIONS
from transect.perceptual import features, second_reader
from transect.records import Design

SET = {"skin_tone": (2.5, 9.6), "smile": (0.07, 0.89)}


@pytest.fixture(scope="module", autouse=True)
def fewer_unedited():
    """Enough to tell how values read, and to keep the tests short."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reoptimised, "SUBJECTS", 60)
        yield


@pytest.fixture(scope="module")
def world():
    return open_world("reference?hold=reoptimise", None, None)


@pytest.fixture(scope="module")
def edits(world):
    """The subject's own latents, row by row, those edited, and those corrected."""
    design = Design(SET, subjects=1, seed=0)
    own = world.sample(design.subject_seeds(0, 1))
    edited = transect_latents(design, own, world)
    return own.repeat(design.n_cells), edited, world.corrected(edited)


def test_what_was_not_set_reads_as_before_and_what_was_set_as_wanted(world, edits):
    before, raw, after = (features.read(world.generator.render(latents).pixels) for latents in edits)
    taught, corrector = features.load(), world.reoptimised
    spreads = dict(zip(corrector.names, corrector._unedited.spreads, strict=True))
    scale = dict(zip([answer.name for answer in taught.answers], taught.scale, strict=True))
    held = [name for name in corrector.names if name not in (*SET, "glasses")]

    def drift(found):
        return max(np.abs(found[name] - before[name]).max() / (scale[name] * spreads[name]) for name in held)

    assert drift(after) < 0.75
    assert drift(raw) > 1.0  # the plain edit misses the gate
    wanted = np.array([0.07, 0.89, 0.07, 0.89])
    assert np.abs(after["smile"] - wanted).max() < 0.2
    assert (after["skin_tone"][2:] - after["skin_tone"][:2] > 4).all()


def test_latents_keep_the_intended_values(world, edits):
    """Only what is rendered is corrected: truths and settings are of the edit."""
    edited = edits[1]
    assert world.read(edited)["skin_tone"].to_pylist() == pytest.approx([2.5, 2.5, 9.6, 9.6])
    shown = world.render(edited.take(np.array([3]))).pixels
    assert np.array_equal(shown, world.generator.render(edits[2].take(np.array([3]))).pixels)


def test_each_row_is_corrected_by_itself(world, edits):
    _, edited, corrected = edits
    backwards = world.corrected(edited.take(np.array([3, 1])))
    assert np.array_equal(backwards.values, corrected.values[[3, 1]])


def test_a_subject_as_it_is_is_not_touched(world):
    own = world.sample(np.array([5, 6]))
    assert np.array_equal(world.corrected(own).values, own.values)


def test_the_second_reader_is_another_one(edits, world):
    """It reads each picture alone, and only attributes that it reads well enough."""
    pixels = world.generator.render(edits[0].take(slice(0, 2))).pixels
    both = second_reader.read(pixels)
    assert set(both) == set(world.controls.directions) - {"makeup", "lipstick"}
    assert second_reader.read(pixels[1:])["smile"][0] == both["smile"][1]
    quality = dict(zip(second_reader.load().names, second_reader.load().quality, strict=True))
    assert min(quality[name] for name in ("skin_tone", "yaw", "roll")) > 0.8
    with pytest.raises(BadInput, match="64"):
        second_reader.described(np.zeros((1, 32, 32, 3), dtype=np.uint8))


def test_it_is_of_the_reference_and_of_steps_that_hold(world):
    assert open_world("reference", None, None).reoptimised is None
    assert world.describe()["hold"] == "reoptimise"
    assert "hold" not in generators.load("reference").describe()
    with pytest.raises(BadInput, match="as published"):
        world.move(world.sample([0]), "smile", np.ones(1))
    with pytest.raises(BadInput, match="reoptimise, got 'always'"):
        generators.load("reference?hold=always")


def test_other_generators_and_directions_are_refused():
    fitted = read_directions(DIRECTIONS)
    held = generators.load("reference?hold=reoptimise")
    held.facts["weights_sha256"] = "another"
    with pytest.raises(BadInput, match="expected the reference generator"):
        LearnedWorld(held, FittedDirections(fitted.directions, fitted.space))
