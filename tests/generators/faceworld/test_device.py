"""CPU or GPU by argument: what is refused, and that both draw the same picture."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from transect.errors import BadInput
from transect.generators.faceworld.camera import expose
from transect.generators.faceworld.canvas import canvas_of, draw_lattices
from transect.generators.faceworld.causal_model import IDENTITY_COLUMNS
from transect.generators.faceworld.parameters import parameters
from transect.generators.faceworld.renderer import Tile, draw_noise
from transect.generators.faceworld.scene import background
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


def test_background_and_camera_are_made_on_the_device_that_is_asked_for():
    """PyTorch's device without numbers stands for a GPU: it refuses what is still on the CPU as a GPU does."""
    world, device = FaceWorld(64, threads=1), torch.device("meta")
    latents = world.set(world.sample(range(4)), {"background": [0.0, 1.0, 2.0, 3.0]})
    p = parameters(world.model.solve(latents), latents.values[:, IDENTITY_COLUMNS]).to(device)
    canvas, seeds = canvas_of(64, device), [int(seed) for seed in latents.seeds]
    light = background(canvas, p, draw_lattices(seeds, device)).clamp(min=0)
    taken = expose(light, p, draw_noise(Tile(p, seeds, canvas)))
    assert (taken.device, taken.shape, taken.dtype) == (device, (4, 64, 64, 3), torch.uint8)


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
