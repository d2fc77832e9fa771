"""What is composited on faces: bytes outside of masks, as it is, batches, levels read back, and photographs left out."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rendered_marks import sitters

from transect import generators
from transect.errors import BadInput
from transect.generators.photographs.appearance import faces
from transect.generators.photographs.attributes import APPEARANCE

STRONG = {"skin_tone": 9.0, "hair_color": 0.0, "lipstick": 1.0, "beard_shadow": 1.0}
STRONG |= {"glasses": 4.0, "face_mask": 1.0, "bangs": 1.0, "hat": 3.0}


def of_any_tone(world):
    """The same photographs, drawn far beyond the tones and colors that are allowed: what is drawn is right there too."""
    world.sitters.steps = {"skin_tone": 10.0, "hair_color": 1.0}
    return world


@pytest.fixture(scope="module")
def everyone(tmp_path_factory):
    folder, low = tmp_path_factory.mktemp("sitters") / "faces", {"bangs": 0.0, "hair_style": 5.0, "pitch": 8.0}
    return of_any_tone(sitters(folder, 5, others=2, **low)[0])  # with hair that is seen to begin low enough


@pytest.fixture(scope="module")
def world(everyone):
    return everyone.for_attributes(list(APPEARANCE))


@pytest.mark.integration
@pytest.mark.parametrize("name", APPEARANCE)
def test_outside_the_mask_the_photograph_is_bitwise_the_same(world, name):
    latents = world.sample(range(5))
    before = world.photograph(latents)
    moved = world.set(latents, {name: STRONG[name]})
    masks, after = world.edit_masks(moved), world.render(moved).pixels
    assert np.array_equal(after[~masks], before[~masks])
    changed = (after != before).any(axis=3)
    assert (changed.mean(axis=(1, 2)) > 0.001).all()
    assert masks.mean() < 0.75
    assert not world.edit_masks(latents).any()


@pytest.mark.integration
def test_all_edits_together_stay_inside_their_masks(world):
    latents = world.sample(range(5))
    moved = world.set(latents, {**STRONG, "board": 3.0})
    masks = world.edit_masks(moved)
    assert np.array_equal(world.render(moved).pixels[~masks], world.photograph(latents)[~masks])
    alone = [world.edit_masks(world.set(latents, {name: value})) for name, value in STRONG.items()]
    assert all((masks | mask == masks).all() for mask in alone)


def test_as_it_is_is_the_photograph_and_asks_no_finder(tmp_path):
    fresh, _ = sitters(tmp_path / "faces", 2)
    latents = fresh.sample([0, 1])
    neutral = fresh.read(latents).to_pydict()
    assert (neutral["skin_tone"], neutral["hair_color"]) == ([0.0, 0.0], [-1.0, -1.0])
    assert np.array_equal(fresh.render(fresh.set(latents, neutral)).pixels, fresh.photograph(latents))
    below = fresh.set(latents, {"skin_tone": 0.5, "hair_color": -0.5, "metering": 1.0})
    assert np.array_equal(fresh.render(below).pixels, fresh.photograph(latents))
    assert fresh.sitters.finder.asked == 0


@pytest.mark.integration
@settings(max_examples=8)
@given(st.permutations(range(5)), st.integers(1, 5))
def test_bytes_do_not_depend_on_batch_or_order(world, order, size):
    latents = world.set(world.sample(range(5)), {**STRONG, "skin_tone": np.linspace(1, 10, 5)})
    chosen = np.array(order[:size])
    assert np.array_equal(world.render(latents.take(chosen)).pixels, world.render(latents).pixels[chosen])


def test_darker_levels_have_a_lower_ita_whoever_is_shown_and_however_the_camera_meters(world):
    levels = np.linspace(1, 10, 7)
    steps = []
    for metering in (0.0, 1.0):
        latents = world.set(world.sample(range(5)).repeat(7), {"skin_tone": np.tile(levels, 5), "metering": metering})
        angles = np.array(world.truths(latents)["ita"]).reshape(5, 7)
        assert (angles[:, 1:] < angles[:, :1]).all()
        steps.append(np.diff(angles, axis=1))
    scene, face = steps
    assert (scene < 0).all()
    assert (face[:, :4] < 0).all()  # beyond tone 7 a face that is metered alike keeps its lightness, and shine pales it


def test_skin_at_its_own_tone_stays_nearly_as_it_is(world):
    latents = world.sample(range(5))
    own = [world.sitters.sitting(int(row)).skin.tone for row in latents.values[:, 0]]
    shown = world.render(world.set(latents, {"skin_tone": np.array(own)})).pixels.astype(int)
    assert np.abs(shown - world.photograph(latents)).max() <= 1


def test_metering_the_face_exposes_every_tone_alike_and_the_scene_with_it(world):
    latents = world.sample(range(5))
    held, face = (
        world.set(latents, {"skin_tone": 10.0, "metering": metering, "lipstick": 0.0}) for metering in (0.0, 2.0)
    )
    before, dark, bright = (world.render(each).pixels.astype(float) for each in (latents, held, face))
    corner = np.s_[:, :6, :6]
    assert np.array_equal(before[corner], dark[corner])
    assert (bright[corner].mean(axis=(1, 2, 3)) > before[corner].mean(axis=(1, 2, 3))).all()
    assert world.edit_masks(face).all()


def test_darker_hair_is_darker_in_order(world):
    latents = world.sample(range(5))
    shown = [world.render(world.set(latents, {"hair_color": level})).pixels.astype(float) for level in (0.0, 0.5, 1.0)]
    mask = world.edit_masks(world.set(latents, {"hair_color": 0.0}))
    means = [np.array([picture[m].mean() for picture, m in zip(each, mask, strict=True)]) for each in shown]
    assert (means[0] < means[1]).all()
    assert (means[1] < means[2]).all()


@pytest.mark.integration
def test_photographs_without_a_face_are_left_out_by_reason_and_group(everyone, world):
    assert (len(everyone.subjects), len(world.subjects)) == (7, 5)
    stated = world.validity()["statement"]
    assert "Left out, photographs on which no face was found with confidence: 2." in stated
    assert "Left out by smile, photographs on which no face was found with confidence: no 1 of 4, yes 1 of 3." in stated
    assert "Composited on the face, by marks of rendered, and no photograph of it:" in stated
    assert "skin tone: its mask holds" in stated
    with pytest.raises(
        BadInput,
        match=r"expected at most 5 photographs, .* \(left out, photographs on which no face was found with confidence: 2\)",
    ):
        world.check_subjects(6)
    assert everyone.for_attributes(["exposure", "noise"]) is everyone


def test_who_wears_glasses_or_a_hat_or_much_hair_is_left_out_where_that_is_varied(tmp_path):
    hair = {"hair_style": np.array([1.0, 1.0, 2.0]), "hair_length": np.array([0.3, 0.3, 1.0])}
    worn, _ = sitters(tmp_path / "worn", 3, glasses=np.array([0.0, 2.0, 0.0]), **hair)
    assert len(worn.for_attributes(["skin_tone"]).subjects) == 3
    spectacled = worn.for_attributes(["glasses", "exposure"])
    assert spectacled.subjects.left_out == {"photographs of people who wear glasses already": 1}
    by_group = "Left out by smile, photographs of people who wear glasses already: no 0 of 2, yes 1 of 1."
    assert by_group in spectacled.validity()["statement"]
    with pytest.raises(BadInput, match=r"at most 2 photographs, .* wear glasses already: 1\), got 3; use --subjects 2"):
        spectacled.check_subjects(3)
    assert worn.for_attributes(["hat"]).subjects.left_out == {}  # long hair below the rim stays as it is
    hair = worn.sitters.finder.marks.masks["hair"][0]
    hair[: int(worn.sitters.finder.marks.points[0, 19, 1])] = 1
    stands_out = "photographs with hair that would stand out from under what is worn on the head"
    assert worn.for_attributes(["hat"]).subjects.left_out == {stands_out: 1}


def test_masks_in_doubt_become_sharper():
    """A disc: the finder is sure of its middle, and in doubt on both sides of its border."""
    row, column = np.mgrid[:96, :96] - 48
    radius = np.hypot(row, column)
    mask = np.clip(0.5 + (30 - radius) / 24, 0, 1).astype(np.float32)
    sharper = faces.settled(mask, 28.0)
    assert faces.doubt(sharper) < 0.5 * faces.doubt(mask)
    assert ((sharper > 0.5) != (radius < 30)).mean() < 0.02
    crisp = (radius < 30).astype(np.float32)
    assert faces.settled(crisp, 28.0) is crisp


def test_the_network_that_ships_finds_faces_for_it(tmp_path):
    exact = of_any_tone(sitters(tmp_path / "faces", 3)[0])
    world = of_any_tone(generators.load(f"photographs:folder:{tmp_path / 'faces'}"))
    world = world.for_attributes(["skin_tone", "glasses"])
    found = len(world.subjects)
    assert found >= 2
    latents = world.set(world.sample(range(found)), {"skin_tone": 8.0, "glasses": 4.0})
    rows = world.subjects.rows[latents.values[:, 0].astype(int)]
    same = dataclasses.replace(latents, values=rows[:, None].astype(float))
    shown, truly = world.render(latents).pixels.astype(float), exact.render(same).pixels.astype(float)
    before = exact.photograph(same)
    assert np.abs(shown - truly).mean() < 0.35 * np.abs(before - truly).mean()
    masks = world.edit_masks(latents)
    assert np.array_equal(shown[~masks], before[~masks])


def masked(folder, **parts):
    """Two rendered faces as photographs; of the first, those masks are as given."""
    world, _ = sitters(folder, 2)
    for part, mask in parts.items():
        world.sitters.finder.marks.masks[part][0] = mask
    return world


SPOT = np.zeros((96, 96), np.float32)
SPOT[4, 4] = 1


@pytest.mark.parametrize(
    ("name", "skin", "mouth"), [("skin_tone", 0.0, False), ("skin_tone", SPOT, True), ("hair_color", 0.0, True)]
)
def test_a_face_without_skin_is_left_out_whatever_is_composited(tmp_path, name, skin, mouth):
    """Its tone is not known: with a mouth alone it was painted black, without one OpenCV refused it."""
    world = of_any_tone(masked(tmp_path / "faces", skin=skin, **({} if mouth else {"mouth": 0.0})))
    world = world.for_attributes([name])
    assert world.subjects.left_out == {"photographs without visible skin": 1}
    latents = world.set(world.sample([0]), {name: STRONG[name]})
    assert world.render(latents).pixels[world.edit_masks(latents)].mean() > 20


@pytest.mark.parametrize(
    ("name", "part", "reason"),
    [
        ("hair_color", "hair", "photographs without visible hair"),
        ("lipstick", "mouth", "photographs without visible lips"),
        ("beard_shadow", "skin", "photographs without visible skin where a beard grows"),
    ],
)
def test_what_would_change_no_pixel_is_left_out(tmp_path, name, part, reason):
    """Who is bald is no subject of a color of hair: a pair without a difference dilutes the effect."""
    world, _ = sitters(tmp_path / "faces", 2)
    below = int(world.sitters.finder.marks.points[0, 30, 1]) if part == "skin" else 0
    world.sitters.finder.marks.masks[part][0][below:] = 0
    kept = world.for_attributes([name])
    assert kept.subjects.left_out == {reason: 1}
    assert len(world.for_attributes(["skin_tone"]).subjects) == 2
    moved = kept.set(kept.sample([0]), {name: STRONG[name]})
    assert kept.edit_masks(moved).any()
