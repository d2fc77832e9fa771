"""What is composited on rendered faces, against the renderer's own pictures with the same attribute set."""

from __future__ import annotations

import dataclasses

import cv2
import numpy as np
import pytest
from rendered_marks import rendered

from transect.generators.faceworld.attributes import HAIR_STYLES, IDENTITY
from transect.generators.faceworld.causal_model import IDENTITY_COLUMNS
from transect.generators.faceworld.world import own_marks
from transect.generators.photographs.appearance.faces import Face, unsuited
from transect.generators.photographs.appearance.sitters import Sitting
from transect.generators.photographs.appearance.worn import own_things
from transect.generators.photographs.attributes import Edits

COUNT = 8


@pytest.fixture(scope="module")
def scene():
    """Faces whose glasses have the shape and the color that the key of the photograph, its row, draws for an edit, and
    whose fringe falls to the side to which an edit draws it.
    """
    world, latents = rendered(COUNT, 128)
    values = np.array(latents.values)
    columns = np.arange(values.shape[1])[IDENTITY_COLUMNS]
    drawn = [frames(row) for row in range(COUNT)]
    values[:, [columns[IDENTITY.index(name)] for name in ("frame_shape", "frame_color")]] = drawn
    fall = columns[IDENTITY.index("hair_fall")]
    values[:, fall] = np.abs(values[:, fall])
    latents = dataclasses.replace(latents, values=values)
    return world, latents, faces_of(world, latents), world.render(latents).pixels


def faces_of(world, latents):
    """The faces with the renderer's own marks."""
    marks = own_marks(world, latents)
    return [Face(marks.points[row], {name: mask[row] for name, mask in marks.masks.items()}) for row in range(COUNT)]


def frames(key: int) -> list[float]:
    """The shape and the color of the frames of a photograph of that key."""
    things = own_things(key)
    return [things["frame_shape"], things["frame_color"]]


def lab(pixels: np.ndarray) -> np.ndarray:
    """CIELab by OpenCV, of sRGB values."""
    return cv2.cvtColor(pixels.astype(np.float32) / 255, cv2.COLOR_RGB2LAB)


def distance(first: np.ndarray, other: np.ndarray, mask: np.ndarray) -> float:
    """Median color difference (CIE 1976) over a mask."""
    return float(np.median(np.linalg.norm(lab(first) - lab(other), axis=2)[mask]))


def overlap(first: np.ndarray, other: np.ndarray, near: bool) -> float:
    """Intersection over union; of lines as thin as a pixel, the share of both that the other has within a pixel."""
    if not near:
        return float((first & other).sum() / (first | other).sum())
    wider = [cv2.dilate(mask.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0 for mask in (first, other)]
    return float(((first & wider[1]).sum() + (other & wider[0]).sum()) / (first.sum() + other.sum()))


@pytest.mark.integration
@pytest.mark.parametrize(("metering", "most"), [(0.0, 6.0), (1.0, 6.0)])
def test_skin_of_another_tone_is_near_what_the_renderer_shows(scene, metering, most):
    """Of known tone, so that the compositing alone counts; far nearer than the photograph as it is."""
    world, latents, faces, bare = scene
    own = np.array(world.read(latents)["skin_tone"])
    own_light = world.set(latents, {}, hold=["exposure"])
    after, before = [], []
    for level in (2.0, 5.0, 8.0):
        moved = world.set(own_light if not metering else latents, {"skin_tone": level})
        truth = world.render(moved).pixels
        for row, face in enumerate(faces):
            mask = (face.masks["skin"] > 0.5) & (face.masks["face"] > 0.5)
            sitting = Sitting(bare[row], face, row, float(own[row]))
            shown = sitting.dressed(Edits(skin_tone=level, metering=metering))
            after.append(distance(shown, truth[row], mask))
            before.append(distance(bare[row], truth[row], mask))
    print(f"metering {metering}: {np.mean(after):.1f} (at most {np.max(after):.1f}); as it is {np.mean(before):.1f}")
    assert np.mean(after) < most
    assert np.mean(after) < 0.4 * np.mean(before)


def test_the_tone_is_read_with_a_stated_error(scene):
    world, latents, faces, bare = scene
    own = np.array(world.read(latents)["skin_tone"])
    read = np.array([Sitting(bare[row], face).skin.tone for row, face in enumerate(faces)])
    print(f"tone read: root mean square error {np.sqrt(np.mean((read - own) ** 2)):.1f}")
    assert np.corrcoef(read, own)[0, 1] > 0.4


@pytest.mark.parametrize("kind", [1, 2, *(pytest.param(kind, marks=pytest.mark.slow) for kind in (3, 4))])
def test_glasses_lie_where_the_renderer_puts_them(scene, kind):
    """Of known tone: how bright the light is that lenses mirror follows from it."""
    world, latents, faces, bare = scene
    tones = np.array(world.read(latents)["skin_tone"])
    moved = world.set(latents, {"glasses": float(kind)}, hold=["exposure"])
    truth = world.render(moved).pixels
    overlaps, colors = [], []
    for row, face in enumerate(faces):
        sitting = Sitting(bare[row], face, row, float(tones[row]))
        edits = Edits(glasses=float(kind))
        shown = sitting.dressed(edits)
        own = np.abs(shown.astype(int) - bare[row]).max(axis=2) > 6
        other = np.abs(truth[row].astype(int) - bare[row]).max(axis=2) > 6
        overlaps.append(overlap(own, other, near=kind == 1))
        colors.append(distance(shown, truth[row], other))
    print(f"glasses {kind}: overlap {np.mean(overlaps):.2f}, color difference {np.mean(colors):.1f}")
    assert np.mean(overlaps) > (0.85 if kind == 1 else 0.65)
    assert np.mean(colors) < 10


@pytest.mark.integration
def test_a_fringe_lies_where_the_renderer_puts_it(scene):
    """Judged where the rendering changes, of straight hair that is long enough and in which no fringe is there yet."""
    world, latents, _, _ = scene
    latents = world.set(latents, {"hair_style": float(HAIR_STYLES.index("straight"))})
    faces, bare = faces_of(world, latents), world.render(latents).pixels
    truth = world.render(world.set(latents, {"bangs": 1.0}, hold=["exposure"])).pixels
    found = []
    for row, face in enumerate(faces):
        changed = np.abs(truth[row].astype(int) - bare[row]).max(axis=2) > 12
        if unsuited(face, ["bangs"]) or changed.mean() < 0.01:
            continue
        shown = Sitting(bare[row], face, row).dressed(Edits(bangs=1.0))
        found.append([distance(shown, truth[row], changed), distance(bare[row], truth[row], changed)])
    after, before = np.mean(found, axis=0)
    print(f"fringe on {len(found)} faces: {after:.1f}; as it is {before:.1f}")
    assert len(found) >= 3
    assert after < 0.7 * before


def test_the_head_is_turned_as_the_rendered_one(scene):
    world, latents, faces, bare = scene
    known = {name: np.array(world.read(latents)[name]) for name in ("yaw", "pitch", "light_azimuth")}
    heads = [Sitting(bare[row], face).head for row, face in enumerate(faces)]
    for name, most in (("yaw", 3.0), ("pitch", 5.0), ("light_azimuth", 25.0)):
        wrong = np.array([head.values[name] for head in heads]) - known[name]
        print(name, np.round(np.sqrt(np.mean(wrong**2)), 1))
        assert np.sqrt(np.mean(wrong**2)) < most
    assert max(head.error for head in heads) < 0.03
