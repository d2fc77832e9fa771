"""Writes targets/head.csv, the mean head of FaceWorld by dlib's 68 points: python -m tools.head_model.

A head raised by φ shows a point at Y = y cos φ - z sin φ, so that pictures of it raised and bowed give its depth z.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from transect.generators.faceworld.world import FaceWorld

OUT = Path(__file__).parents[1] / "src" / "transect" / "targets" / "head.csv"
FIRST_SEED, RAISED = 70_000_000, 15.0
UPRIGHT = {"yaw": 0.0, "roll": 0.0, "smile": 0.2, "mouth_open": 0.0, "mouth_slant": 0.0, "brow_raise": 0.0}


def mean_head(subjects: int) -> np.ndarray:
    """Points to the viewer's right, down and to the viewer, in breadths of the head: float64 [68, 3], symmetric."""
    world = FaceWorld(image_size=512)
    latents = world.set(world.sample(np.arange(FIRST_SEED, FIRST_SEED + subjects)), {**UPRIGHT, "distance": 1.0})
    level, raised, bowed = (world.landmarks(world.set(latents, {"pitch": pitch})) for pitch in (0.0, RAISED, -RAISED))
    depth = (bowed[..., 1] - raised[..., 1]) / (2 * np.sin(np.radians(RAISED)))
    heads = np.concatenate([level, depth[..., None]], axis=-1)
    head = (heads - heads.mean(axis=1, keepdims=True)).mean(axis=0)
    return (head + mirrored(head)) / 2 / np.ptp(head[:, 0])


def mirrored(head: np.ndarray) -> np.ndarray:
    """The same points of the head's mirror image."""
    swap = [*range(16, -1, -1), *range(26, 16, -1), 27, 28, 29, 30, 35, 34, 33, 32, 31, 45, 44, 43, 42, 47, 46]
    swap += [39, 38, 37, 36, 41, 40, *range(54, 47, -1), 59, 58, 57, 56, 55, 64, 63, 62, 61, 60, 67, 66, 65]
    return head[swap] * np.array([-1.0, 1.0, 1.0])


if __name__ == "__main__":
    np.savetxt(OUT, mean_head(400), fmt="%.4f", delimiter=",", header="x,y,z", comments="")
