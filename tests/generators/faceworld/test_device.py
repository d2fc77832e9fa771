"""CPU or GPU by argument: what is refused, and that both draw the same picture."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from transect.errors import BadInput
from transect.generators.faceworld import hair, heads, renderer
from transect.generators.faceworld.camera import defocus, expose
from transect.generators.faceworld.canvas import canvas_of, draw_lattices
from transect.generators.faceworld.causal_model import IDENTITY_COLUMNS
from transect.generators.faceworld.heads import WHOLE, Windows
from transect.generators.faceworld.landmarks import face_points
from transect.generators.faceworld.parameters import parameters
from transect.generators.faceworld.renderer import Tile, draw_noise, radiance
from transect.generators.faceworld.world import FaceWorld

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU that PyTorch can use: there is none")


@pytest.mark.parametrize("device", ["cuda", "gpu"])
def test_a_device_that_is_not_there_is_refused_(device, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(BadInput, match=f"device: expected cpu, got {device!r}"):
        FaceWorld(32, device=device)


def test_a_gpu_beyond_those_that_are_there_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert FaceWorld(32, device="cuda:1").describe()["device"] == "cuda"
    with pytest.raises(BadInput, match="device: expected cpu or cuda or cuda:0 or cuda:1, got 'cuda:2'"):
        FaceWorld(32, device="cuda:2")


@pytest.mark.integration
def test_every_tensor_is_made_on_the_device_that_is_asked_for(monkeypatch):
    """PyTorch's device without numbers stands for a GPU: it refuses what is still on the CPU as a GPU does."""
    whole = Windows(WHOLE, (WHOLE, WHOLE), *[WHOLE] * 5)  # windows need numbers
    monkeypatch.setattr(heads, "windows_of", lambda *_: whole)
    monkeypatch.setattr(hair, "_window", lambda *_: WHOLE)
    monkeypatch.setattr(heads, "_around", lambda *_: WHOLE)
    world, n = FaceWorld(64, threads=1), 24
    kinds = {"hair_style": 8, "hat": 6, "facial_hair_style": 4, "background": 4, "clothing": 4, "clothing_pattern": 3}
    values = {name: np.arange(n) % levels * 1.0 for name, levels in kinds.items()}
    values |= {
        "facial_hair": np.arange(n) % 5 / 4,
        "glasses": np.arange(n) % 5 * 1.0,
        "earrings": np.arange(n) % 3 // 2.0,
    }
    latents = world.set(world.sample(np.arange(n) // 2), values)
    device = torch.device("meta")
    p = parameters(world.model.solve(latents), latents.values[:, IDENTITY_COLUMNS]).to(device)
    tile = Tile(p, [int(seed) for seed in latents.seeds], canvas_of(64, device))
    light = defocus(radiance(tile).clamp(min=0), np.full(n, 0.5), 64)
    taken = expose(light, p, draw_noise(tile))
    assert (taken.device, taken.shape, taken.dtype) == (device, (n, 64, 64, 3), torch.uint8)
    shown = renderer._shown(heads.shape_heads(p, tile.seeds, tile.canvas), p, draw_lattices(tile.seeds, device))
    assert {share.device for share in shown.values()} == {device}
    assert {axis.device for axis in face_points(p)} == {device}


@needs_gpu
@pytest.mark.parametrize("size", [64, 100, 128])
def test_cpu_and_gpu_agree_before_jpeg(size):
    latents = FaceWorld(size).sample(range(2000, 2064))
    settled = FaceWorld(size).set(latents, {"jpeg_quality": 100.0})
    cpu, gpu = (FaceWorld(size, device=device).render(settled) for device in ("cpu", "cuda"))
    apart = np.abs(cpu.pixels.astype(int) - gpu.pixels)
    assert (apart <= 1).mean() >= 0.999
    np.testing.assert_allclose(cpu.face_boxes, gpu.face_boxes, atol=1e-3)


@needs_gpu
def test_on_a_gpu_no_picture_depends_on_its_mates():
    world = FaceWorld(64, device="cuda")
    latents = world.sample(range(2000, 2020))
    whole = world.render(latents).pixels
    alone = np.concatenate([world.render(latents.take(slice(i, i + 1))).pixels for i in range(20)])
    np.testing.assert_array_equal(alone, whole)
