"""Photographs as a world: the contract, the bytes of photographs as they are, seeds, people, labels and descriptions."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from photograph_folders import faces, people, pictures, save

from transect.errors import BadInput
from transect.generators.photographs.attributes import APPEARANCE, ATTRIBUTES
from transect.generators.photographs.world import Photographs
from transect.protocols import World
from transect.records import SUBJECTS_PER_SEED
from transect.runs.tables import people_of
from transect.testing import check_world


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return people(tmp_path_factory.mktemp("photographs") / "faces", [3, 1, 2, 1, 1, 4])


@pytest.fixture(scope="module")
def world(folder):
    return Photographs(f"folder:{folder}")


def test_it_keeps_the_contract_of_a_world(world):
    assert isinstance(world, World)
    check_world(world, seeds=(0, 1, 2, 5))


def test_a_photograph_as_it_is_has_the_files_pixels(world):
    stored = pictures(12)
    latents = world.sample(np.arange(12))
    rows = latents.values[:, 0].astype(int)
    assert sorted(rows) == list(range(12))
    assert np.array_equal(world.render(latents).pixels, stored[rows])
    neutral = world.read(latents).to_pydict()
    assert np.array_equal(world.render(world.set(latents, neutral)).pixels, stored[rows])


@settings(max_examples=15)
@given(st.permutations(range(12)), st.integers(1, 12))
def test_bytes_do_not_depend_on_batch_or_order(world, order, size):
    latents = world.set(
        world.sample(np.arange(12)), {"noise": 1600.0, "defocus": 0.03, "exposure": np.linspace(-2, 2, 12)}
    )
    whole = world.render(latents).pixels
    chosen = np.array(order[:size])
    assert np.array_equal(world.render(latents.take(chosen)).pixels, whole[chosen])


def test_outside_the_mask_of_an_edit_the_photograph_is_bitwise_the_same(world):
    latents = world.sample(np.arange(12))
    before = world.photograph(latents)
    for values in ({"board": 2.0}, {"crop": 0.7}, {"board": 4.0, "crop": 0.9}):
        moved = world.set(latents, values)
        masks = world.edit_masks(moved)
        after = world.render(moved).pixels
        assert 0 < masks.mean() < 0.8
        assert np.array_equal(after[~masks], before[~masks])
        assert not np.array_equal(after[masks], before[masks])
    assert world.edit_masks(world.set(latents, {"exposure": 1.0})).all()
    assert not world.edit_masks(latents).any()


def test_seeds_draw_without_replacement_within_a_run_and_in_another_order_in_another(world):
    runs = [world.sample(seed * SUBJECTS_PER_SEED + np.arange(12)).values[:, 0] for seed in range(3)]
    assert all(len(set(run.tolist())) == 12 for run in runs)
    assert not np.array_equal(runs[0], runs[1])
    assert np.array_equal(world.sample([2 * SUBJECTS_PER_SEED + 7]).values[0], runs[2][[7]])
    assert len(world.sample([])) == 0


def test_too_few_photographs_are_one_line(world):
    message = r"folder:faces: expected at most 12 photographs, all that are usable, got 13; use --subjects 12"
    with pytest.raises(BadInput, match=message):
        world.check_subjects(13)
    with pytest.raises(BadInput, match="expected at most 12 photographs"):
        world.sample([12])
    assert len(world.sample_unedited(np.arange(50))) == 50


def test_truths_hold_levels_measures_labels_and_people(world):
    latents = world.set(world.sample(np.arange(12)), {"exposure": 2.0})
    table = world.truths(latents)
    rows = latents.values[:, 0].astype(int)
    assert table["exposure"].to_pylist() == [2.0] * 12
    assert table["smile"].to_pylist() == [float(row % 2) for row in rows]
    assert table["width"].to_pylist() == [48.0] * 12
    who = np.repeat(np.arange(6), [3, 1, 2, 1, 1, 4])
    assert table["subject"].to_pylist() == who[rows].tolist()
    named = table.rename_columns([f"true.{name}" for name in table.column_names])
    assert people_of(named).tolist() == who[rows].tolist()
    linear = ((pictures(12)[rows[0]] / 255 + 0.055) / 1.055) ** 2.4
    assert table["luminance"][0].as_py() == pytest.approx((linear @ [0.2126, 0.7152, 0.0722]).mean(), rel=1e-3)


def test_another_folder_is_another_run(tmp_path):
    first, second = (save(tmp_path / name / "faces", pictures(4, seed=seed)) for name, seed in (("a", 0), ("b", 1)))
    one, same, other = (Photographs(f"folder:{place}").describe() for place in (first, first, second))
    assert one == same
    assert one["name"] == other["name"]
    assert one["pictures_sha256"] != other["pictures_sha256"]
    assert str(tmp_path) not in json.dumps(one)
    (first / "p003.png").write_bytes((second / "p003.png").read_bytes())
    assert Photographs(f"folder:{first}").describe()["pictures_sha256"] not in (
        one["pictures_sha256"],
        other["pictures_sha256"],
    )


def test_photographs_that_are_not_square_have_margins_that_no_edit_touches(tmp_path):
    place = save(tmp_path / "wide", pictures(3, 64)[:, :, :40])
    world = Photographs(f"folder:{place}", image_size=32)
    latents = world.sample(np.arange(3))
    shown = world.render(world.set(latents, {"exposure": 2.0, "noise": 800.0, "rotation": 10.0})).pixels
    assert shown.shape == (3, 32, 32, 3)
    assert (shown[:, :, :6] == 128).all()
    assert (shown[:, :, 26:] == 128).all()
    assert not (shown[:, :, 6:26] == 128).all()
    masks = world.edit_masks(world.set(latents, {"exposure": 2.0}))
    assert masks[:, :, 6:26].all()
    assert not masks[:, :, :6].any()


def test_faces_under_every_edit_look_different(tmp_path):
    world = Photographs(f"folder:{faces(tmp_path / 'faces', 2)}")
    latents = world.sample([0, 1])
    before = world.render(latents).pixels.astype(int)
    strong = {"board": 1.0, "white_balance": 3000.0, "contrast": 0.5, "resolution": 0.2, "crop": 0.7}
    strong |= {"scale": 1.4, "rotation": 15.0, "defocus": 0.04, "motion": 0.08, "exposure": -2.0, "noise": 12_800.0}
    strong |= {"jpeg_quality": 10.0}
    assert set(strong) == {attribute.name for attribute in ATTRIBUTES} - {*APPEARANCE, "metering"}
    for name, value in strong.items():
        assert np.abs(world.render(world.set(latents, {name: value})).pixels - before).mean() > 0.5, name
