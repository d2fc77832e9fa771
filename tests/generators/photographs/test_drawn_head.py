"""The head's closed form against a dense search, projection round trips, relief slopes and face boxes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from transect.generators.faceworld.canvas import CENTER_Y, HALF_EXTENT, canvas_of
from transect.generators.faceworld.causal_model import IDENTITY_COLUMNS
from transect.generators.faceworld.world import FaceWorld
from transect.generators.photographs.drawn.head import (
    CHIN,
    CROWN,
    DEPTH,
    HAIRLINE_Y,
    LEAN,
    REACH,
    WIDTH,
    advance,
    face_boxes,
    inside_silhouette,
    locate,
    profile_tables,
    project,
    read_maps,
    read_shift,
    read_tables,
    shift_maps,
    surface_at,
    vertical_scale,
)
from transect.generators.photographs.drawn.heads import head_maps
from transect.generators.photographs.drawn.parameters import parameters

WORLD = FaceWorld(image_size=64, threads=1)


def subject(seed=3, **settings):
    latents = WORLD.set(WORLD.sample([seed]), settings)
    return parameters(WORLD.model.solve(latents), latents.values[:, IDENTITY_COLUMNS])


def seen(tables, X, y):
    """The surface and the depth of the smooth head at upright X and head height y."""
    *turned, d = read_tables(tables[:, REACH : DEPTH + 1], y).unbind(1)
    face = surface_at(turned, X, y)
    return face, d * face.cosine


@settings(max_examples=20, deadline=None)
@given(st.floats(-35, 35), st.floats(-0.6, 0.6), st.floats(-0.97, 0.97))
def test_closed_form_finds_the_foremost_point_of_the_turned_section(yaw, y, share):
    p = subject(yaw=yaw, pitch=0.0, roll=0.0)
    tables = profile_tables(p)
    at = (y - CROWN) / (CHIN - CROWN) * (tables.shape[-1] - 1)
    w, d, reach = (
        float(np.interp(at, np.arange(tables.shape[-1]), tables[0, k].numpy())) for k in (WIDTH, DEPTH, REACH)
    )
    X = share * reach
    # Slow oracle: walk round the section, turn every point, keep those at X, take the one nearest to the viewer.
    phi, theta = np.linspace(-np.pi, np.pi, 400_001), np.radians(yaw)
    x, z = w * np.sin(phi), d * np.cos(phi)
    turned, forward = x * np.cos(theta) + z * np.sin(theta), z * np.cos(theta) - x * np.sin(theta)
    # Steps are 1.6e-5 radians: 1e-3 always catches points of both sides, less near the silhouette.
    candidates = np.flatnonzero(np.abs(turned - X) < 1e-4)
    best = candidates[np.argmax(forward[candidates])]
    face, depth = seen(tables, torch.tensor([[[X]]]), torch.tensor([[[y]]]))
    assert float(face.x) == pytest.approx(x[best], abs=2e-3)
    assert float(depth) == pytest.approx(z[best], abs=2e-3)


@pytest.mark.parametrize(("yaw", "pitch", "roll"), [(0, 0, 0), (-15, 8, 5)])
def test_projecting_what_a_pixel_sees_gives_the_pixel(yaw, pitch, roll):
    p = subject(yaw=float(yaw), pitch=float(pitch), roll=float(roll))
    maps = head_maps(p, [3], canvas_of(128))
    relief = lambda x, y: read_maps(maps[:, :1], x, y).squeeze(1)  # noqa: E731
    frame = locate(p, canvas_of(128), relief)
    face = frame.face
    height = relief(face.x, face.y) * face.cosine.clamp(min=0)
    d = read_tables(frame.tables[:, DEPTH : DEPTH + 1], face.y)[:, 0]
    across, down = read_shift(shift_maps(p), face.x, face.y)
    X, Y = project(p, face.x + across, (face.y + down) * vertical_scale(p), advance(face.y) + d * face.cosine + height)
    # On the front of the face, away from the silhouette: a third of a pixel on average (nose wings jump).
    lean, reach = (read_tables(frame.tables[:, k : k + 1], face.y)[:, 0] for k in (LEAN, REACH))
    inside = inside_silhouette(lean, reach, frame.U - advance(face.y) * p["sin_yaw"], face.y)
    inner = (inside > 0.12) & (face.y > -0.6) & (face.y < 0.7)
    distance = ((X - frame.X) ** 2 + (Y - frame.Y) ** 2).sqrt()[inner] / frame.pixel
    assert inner.sum() > 1500
    assert float(distance.mean()) < 0.3
    assert float(distance.quantile(0.95)) < 1


def test_frontal_face_box_by_hand():
    p = subject(5, yaw=0.0, pitch=0.0, roll=0.0, distance=1.1)
    x0, y0, x1, y1 = face_boxes(p, 128)[0]
    scale, width = float(vertical_scale(p)), float(profile_tables(p)[0, WIDTH].max())
    pixels = 128 / (2 * 1.1 * HALF_EXTENT)
    # Upright and frontal: from hairline to chin and from cheek to cheek, each point where the face's own shape has it.
    y = torch.linspace(HAIRLINE_Y, CHIN, 96).view(1, -1, 1).expand(1, 96, 64)
    sine = torch.sin(torch.linspace(-torch.pi / 2, torch.pi / 2, 64)).view(1, 1, -1)
    x = read_tables(profile_tables(p)[:, WIDTH : WIDTH + 1], y)[:, 0] * sine
    across, down = read_shift(shift_maps(p), x, y)
    X, Y = x + across, (y + down) * scale
    assert y0 == pytest.approx((float(Y.min()) - CENTER_Y + 1.1 * HALF_EXTENT) * pixels, abs=0.01)
    assert y1 == pytest.approx((float(Y.max()) - CENTER_Y + 1.1 * HALF_EXTENT) * pixels, abs=0.01)
    assert x0 == pytest.approx((float(X.min()) + 1.1 * HALF_EXTENT) * pixels, abs=0.01)
    assert x1 == pytest.approx((float(X.max()) + 1.1 * HALF_EXTENT) * pixels, abs=0.01)
    assert x1 - x0 == pytest.approx(2 * width * pixels, rel=0.05)  # of the average head's widest section
