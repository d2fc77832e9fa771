"""Outlines of parts, hats over hair, stubble, what is experimental, and how rough an edit of skin may be."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from PIL import Image
from rendered_marks import rendered, sitters

from transect.errors import BadInput
from transect.generators import load
from transect.generators.faceworld.attributes import HAIR_STYLES
from transect.generators.faceworld.mesh import shading
from transect.generators.faceworld.world import own_marks
from transect.generators.fitted_heads import rest_landmarks
from transect.generators.photographs.appearance import worn
from transect.generators.photographs.appearance.faces import (
    FRINGED,
    NO_HAIR_ABOVE,
    SHORT_HAIR,
    Face,
    doubt,
    face_of,
    is_curly,
    scene_of,
    unsuited,
)
from transect.generators.photographs.appearance.sitters import Sitting
from transect.generators.photographs.attributes import Edits
from transect.generators.photographs.world import Photographs
from transect.marks import Marks


def faces_of(count, size, **values):
    """Rendered faces with their exact marks."""
    world, latents = rendered(count, size, **values)
    marks, pictures = own_marks(world, latents), world.render(latents).pixels
    return [(face_of(marks.take(np.array([row])), 0.5, picture), picture) for row, picture in enumerate(pictures)]


def overlap(one, other):
    return float((one & other).sum() / (one | other).sum())


def test_vague_outlines_with_a_gap_become_those_of_the_picture():
    """As a network of few pixels doubts them, wide of the border on both sides, and misses a part of the hair."""
    for face, picture in faces_of(3, 192, hair_color=0.1, hair_length=0.8, background_lightness=0.7):
        gap = np.zeros(picture.shape[:2], dtype=bool)
        row, column = np.argwhere(cv2.erode(face.masks["hair"], np.ones((7, 7))) > 0).mean(axis=0).astype(int)
        gap[row - 7 : row + 7, column - 7 : column + 7] = True
        lost = {**face.masks, "hair": np.where(gap, 0, face.masks["hair"]).astype(np.float32)}
        vague = {name: cv2.GaussianBlur(mask, (0, 0), 5) for name, mask in lost.items()}
        batch = {name: mask[None] for name, mask in vague.items()}
        found = face_of(
            Marks(face.points[None], np.zeros((1, 5, 2)), batch, np.ones(1), ("",), "vague"), 0.5, picture
        ).masks
        assert overlap(found["skin"] > 0.5, face.masks["skin"] > 0.5) > 0.88
        assert overlap(found["hair"] > 0.5, face.masks["hair"] > 0.5) > 0.55
        assert all(doubt(found[part]) < 0.6 * doubt(vague[part]) for part in ("skin", "hair"))
        missed = gap & (face.masks["hair"] > 0.5)
        assert found["hair"][missed].mean() > vague["hair"][missed].mean() + 0.1


def test_hair_above_a_hats_rim_is_pressed_and_hair_below_it_stays():
    ((face, picture),) = faces_of(1, 192, hair_style=2.0, hair_length=1.0, hair_volume=1.0, background_hue=0.0)
    tall = face.masks["hair"].copy()
    top = int(face.points[19, 1])
    tall[2:top, 40:152] = 1
    sitting = Sitting(picture, Face(face.points, {**face.masks, "hair": tall}), 3)
    layer = sitting.worn("hat", 2.0)
    rows = np.mgrid[: picture.shape[0], : picture.shape[1]][0]
    shown = sitting.dressed(Edits(hat=2.0))
    changed = np.zeros(tall.shape, dtype=bool)
    changed[layer.rows, layer.columns] = layer.touched()
    assert changed[2 : top - 40, 64:128].all()
    below = (face.masks["hair"] > 0.95) & (rows > face.points[33, 1])
    assert below.sum() > 50
    assert np.array_equal(shown[below], picture[below])
    stage = sitting.stage
    hat, inside = worn.fitted_hat(stage, stage.matte(shading.HEADWEAR, hat=float(worn.HATS_WORN[1])))
    bare = stage.matte(shading.HEADWEAR, hat=float(worn.HATS_WORN[1])).covers
    assert bare.sum() < hat.covers.sum() < 2.1 * bare.sum()
    assert (inside | ~hat.covers).all()


def headscarf(sitting, hair=1.0):
    """A headscarf's stage and matte as drawn and as fitted; hair: the share of the mask of hair that is there."""
    face = Face(sitting.face.points, {**sitting.face.masks, "hair": hair * sitting.face.masks["hair"]})
    stage = worn.Stage(sitting.head.from_afar(worn._AFAR), face, sitting.key)
    drawn = stage.matte(shading.HEADWEAR, hat=float(worn.HATS_WORN[2]))
    return stage, drawn, worn.fitted_hat(stage, drawn, "headscarf")[0]


def test_a_head_seen_from_afar_keeps_its_place_and_shows_more_below():
    ((face, picture),) = faces_of(1, 192)
    head = Sitting(picture, face, 3).head
    marks, far = rest_landmarks(head.person()[0]), head.from_afar(1.75)
    apart = np.linalg.norm(head.placed(marks) - far.placed(marks), axis=1)
    assert apart.max() < 0.03 * face.width  # a nose is nearer to a camera that is near
    # A picture from there is 1.75 times as wide.
    assert far.scale / head.scale == pytest.approx(1.75, rel=0.02)


def test_a_headscarf_is_drawn_out_over_hair_beside_it_and_only_there():
    ((face, picture),) = faces_of(1, 192, hair_style=2.0, hair_length=0.6, hair_volume=1.0, yaw=0.0)
    sitting = Sitting(picture, face, 3)
    stage, drawn, fitted = headscarf(sitting)
    hair = (stage.seen(face.masks["hair"]) > 0.5) & ~drawn.covers
    assert hair.sum() > 0.02 * drawn.covers.sum()
    assert fitted.covers[hair].mean() > 0.7
    _, bald, same = headscarf(sitting, hair=0.0)
    assert overlap(bald.covers, same.covers) > 0.995


def test_a_headscarf_ends_on_the_chest_and_is_no_repeated_row():
    ((face, picture),) = faces_of(1, 192)
    stage, drawn, _ = headscarf(Sitting(picture, face, 3))
    rows = np.flatnonzero(drawn.covers.any(axis=1))
    chin = stage.at(face.points[8])[1]
    assert rows[-1] < stage.points - 1
    assert rows[-1] > chin + 1.2 * face.width * stage.finer


@pytest.mark.parametrize("hair_color", [0.0, 1.0])
def test_stubble_is_never_lighter_than_the_skin(hair_color):
    for face, picture in faces_of(2, 128, skin_tone=np.array([2.0, 9.0]), hair_color=hair_color):
        layer = Sitting(picture, face, 1).worn("beard_shadow", 1.0)
        assert (layer.passed <= 1).all()
        assert not layer.added.any()
        assert layer.passed.min() < 0.9


@pytest.mark.parametrize("size", [96, 192])
def test_coily_hair_is_told_from_straight_hair(size):
    for style, curly in (("coily", True), ("wavy", False), ("straight", False)):
        for face, picture in faces_of(4, size, hair_style=float(HAIR_STYLES.index(style)), hair_length=0.5, bangs=0.0):
            assert is_curly(face, picture) == curly, style


def test_things_have_colors_of_their_own_by_photograph():
    ((face, picture),) = faces_of(1, 128)
    hats = [Sitting(picture, face, key).dressed(Edits(hat=2.0))[10:40, 50:80].mean((0, 1)) for key in range(8)]
    assert np.ptp(hats, axis=0).max() > 40
    assert np.array_equal(*(Sitting(picture, face, 5).dressed(Edits(glasses=2.0)) for _ in range(2)))


def roughness(picture):
    """How the logarithm of light changes from pixel to pixel."""
    light = np.log(scene_of(picture).mean(axis=2) + 0.02)
    return np.hypot(*np.gradient(light))


@pytest.mark.parametrize("steps", [-2.0, 2.0])
def test_an_edit_of_skin_is_no_rougher_than_the_photograph(steps):
    """Within the skin and over its rim: no seam, no steps of few values, no speckles."""
    for face, picture in faces_of(3, 192, skin_tone=np.array([4.0, 6.0, 7.0])):
        sitting = Sitting(picture, face, 0)
        tone = float(np.clip(sitting.skin.tone + steps, 1, 10))
        before, after = roughness(picture), roughness(sitting.dressed(Edits(skin_tone=tone)))
        skin = cv2.erode((face.masks["skin"] > 0.99).astype(np.uint8), np.ones((5, 5), np.uint8)) > 0
        changed = sitting.changed(Edits(skin_tone=tone))
        rim = changed & ~skin
        assert np.quantile(after[skin], 0.99) < 1.5 * np.quantile(before[skin], 0.99) + 0.02
        assert np.median(after[skin]) < 1.5 * np.median(before[skin]) + 0.01
        shift = abs(
            np.log(scene_of(sitting.dressed(Edits(skin_tone=tone)))[skin].mean() / scene_of(picture)[skin].mean())
        )
        assert np.quantile(after[rim] - before[rim], 0.9) < 0.6 * shift + 0.02
        values = [len(np.unique(shown[skin][:, 1])) for shown in (picture, sitting.dressed(Edits(skin_tone=tone)))]
        assert values[1] > 0.5 * values[0]


def test_what_is_experimental_is_refused_unless_it_is_asked_for(tmp_path):
    asked, _ = sitters(tmp_path / "faces", 1, hair_style=5.0, hair_length=0.5)
    world = Photographs(f"folder:{tmp_path / 'faces'}", marks=asked.sitters.finder)
    for values, said in (({"bangs": 0.5}, "bangs: 0.5 is experimental"), ({"hat": 1.0}, "hat: cap is")):
        levels = {name: (0.0, level) for name, level in values.items()}
        with pytest.raises(BadInput, match=rf"{said}.*a third of the portraits.*experimental=yes"):
            world.for_attributes(levels)
        assert asked.for_attributes(levels)
    assert world.for_attributes({"bangs": (0.0,), "hat": (0.0, 2.0, 3.0)})
    with pytest.raises(BadInput, match="'foo'.*split.*marks.*experimental.*tone_steps.*hair_steps"):
        load(f"photographs:folder:{tmp_path / 'faces'}?foo=1")
    (tmp_path / "faces").rename(tmp_path / "a=b?c=d")
    assert load(f"photographs:folder:{tmp_path / 'a=b?c=d'}"), "a folder may be called so"
    (tmp_path / "a=b?c=d").rename(tmp_path / "faces")
    with pytest.raises(BadInput, match="experimental: expected yes, got 'no'"):
        load(f"photographs:folder:{tmp_path / 'faces'}?experimental=no")
    assert load(f"photographs:folder:{tmp_path / 'faces'}?experimental=yes").experimental


def test_what_is_drawn_is_quantised_as_the_file_and_nothing_else(tmp_path):
    """A file of low quality has coarse steps: they are in a mask's cloth, and no pixel beside it moves."""
    ((face, picture),) = faces_of(1, 128)
    for name, quality in (("low.jpg", 12), ("high.jpg", 95)):
        Image.fromarray(picture).save(tmp_path / name, quality=quality)
    Image.fromarray(picture).save(tmp_path / "none.png")
    subjects = Photographs(f"folder:{tmp_path}", image_size=128).subjects
    high, low, none = (subjects.tables(row) for row in range(3))
    assert not none
    assert low[0][0] > 5 * high[0][0]
    plain, fine, coarse = (Sitting(picture, face, 1, tables=tables) for tables in (None, high, low))
    edits = Edits(face_mask=1.0)
    without, one, other = (sitting.dressed(edits).astype(int) for sitting in (plain, fine, coarse))
    drawn = plain.changed(edits)
    assert np.array_equal(other[~drawn], picture[~drawn])
    assert 3 * np.abs(one - without).mean() < np.abs(other - without).mean()
    assert np.array_equal(coarse.dressed(edits), Sitting(picture, face, 1, tables=low).dressed(edits))
    assert np.array_equal(coarse.dressed(Edits()), picture)


def test_temples_reach_the_ears_where_these_are_seen():
    """Also where the photograph's ears lie wider than those of the head: the ends of the jaw say where they are."""
    ((face, picture),) = faces_of(1, 192, yaw=0.0, baldness=1.0, hat=0.0)
    for wider in (0.0, 0.06):
        points = face.points.copy()
        points[[0, 16], 0] += np.array([-wider, wider]) * face.width
        layer = Sitting(picture, Face(points, face.masks), 1).worn("glasses", 2.0)
        columns = np.flatnonzero((layer.passed < 0.4).any(axis=(0, 2))) + layer.columns.start
        for end, ear in ((columns[0], points[0, 0]), (columns[-1], points[16, 0])):
            assert abs(end - ear) < 0.1 * face.width


def test_frames_hide_what_is_behind_them_and_clear_lenses_nearly_nothing():
    for face, picture in faces_of(3, 192, glasses=0.0):
        layer = Sitting(picture, face, 1).worn("glasses", 2.0)
        eyes = face.eyes()[layer.rows, layer.columns] > 0.99
        assert layer.passed.min() < 0.05
        assert 0.75 < np.median(layer.passed[eyes]) <= 1


def test_a_fringe_is_of_the_persons_own_hair_and_covers_more_the_longer_it_is():
    for key, color in ((1, 0.0), (2, 0.9)):
        ((face, picture),) = faces_of(1, 192, hair_style=5.0, hair_color=color, bangs=0.0, pitch=5.0)
        sitting = Sitting(picture, face, key)
        covered = []
        assert not sitting.worn("bangs", 0.001).touched().any(), "no strand is longer than it was"
        for level in (0.3, 0.6, 1.0):
            layer = sitting.worn("bangs", level)
            covered.append((layer.passed < 0.2).all(axis=2).sum())
        assert covered[0] < 0.8 * covered[1] < 0.64 * covered[2]
        shown, forehead = sitting.dressed(Edits(bangs=1.0)), np.zeros(picture.shape[:2], dtype=np.uint8)
        forehead[layer.rows, layer.columns] = (layer.passed < 0.2).all(axis=2)
        above = (face.masks["hair"] > 0.95) & (np.indices(forehead.shape)[0] < face.points[19, 1])
        looks = []
        for pixels, mask in ((shown, forehead * (face.masks["skin"] > 0.9)), (picture, above)):
            light = np.log(scene_of(pixels).mean(axis=2) + 0.01)
            inside = cv2.erode(mask.astype(np.uint8), np.ones((5, 5))) > 0
            strands = light - cv2.GaussianBlur(light, (0, 0), 1.5)
            looks.append((np.median(light[inside]), strands[inside].std()))
        (light, strands), (own_light, own_strands) = looks
        assert abs(light - own_light) < 0.35
        assert 0.5 < strands / own_strands < 1.5
        assert np.array_equal(shown, Sitting(picture, face, key).dressed(Edits(bangs=1.0)))
        assert not np.array_equal(layer.added, Sitting(picture, face, 7).worn("bangs", 1.0).added)


def test_receding_or_short_hair_and_a_fringe_are_no_place_for_a_fringe():
    cropped = {"hair_style": float(HAIR_STYLES.index("cropped")), "hair_length": 0.0}
    reasons = (({"baldness": 0.8}, NO_HAIR_ABOVE), ({"bangs": 1.0}, FRINGED), (cropped, SHORT_HAIR), ({}, ""))
    for values, reason in reasons:
        ((face, _),) = faces_of(1, 192, **{"hair_style": 5.0, "hair_length": 0.4, "bangs": 0.0, "pitch": 5.0, **values})
        assert unsuited(face, ["bangs"]) == reason


def test_loops_of_a_mask_lie_on_skin_alone():
    """Above the tip of the nose, where the cloth is narrower than the face: not on hair and not in the air."""
    drawn = 0
    for face, picture in faces_of(3, 192, hair_style=1.0, hair_length=0.8, yaw=0.0):
        layer = Sitting(picture, face, 1).worn("face_mask", 1.0)
        rows, columns = (part + start for part, start in zip(
            np.indices(layer.added.shape[:2]), (layer.rows.start, layer.columns.start), strict=True))  # fmt: skip
        outside = (rows < face.points[33, 1]) & ((columns < face.points[1, 0]) | (columns > face.points[15, 0]))
        skin = cv2.dilate(face.masks["skin"], np.ones((5, 5)))[layer.rows, layer.columns] > 0.5
        pale = (layer.added > 0.05).any(axis=2) & outside
        assert not (pale & ~skin).any()
        drawn += pale.sum()
    assert drawn > 20


@pytest.mark.parametrize(("name", "level"), [("hat", 1.0), ("face_mask", 1.0), ("glasses", 1.0), ("bangs", 1.0)])
def test_what_is_worn_on_a_photograph_without_color_has_none(name, level):
    """Cap, cloth, frames and their shade: all channels stay equal; on the photograph in color they differ."""
    ((face, picture),) = faces_of(1, 128, hair_style=1.0, bangs=0.0, pitch=5.0)
    grey = np.repeat(np.rint(picture.mean(axis=2, keepdims=True)).astype(np.uint8), 3, axis=2)
    shown = Sitting(grey, face, 1).dressed(Edits(**{name: level}))
    assert (shown != grey).any()
    assert np.array_equal(shown, np.repeat(shown[..., :1], 3, axis=2))
    colored = Sitting(picture, face, 1).dressed(Edits(**{name: level}))
    assert (np.ptp(colored, axis=2) > 0)[(colored != picture).any(axis=2)].mean() > 0.5
