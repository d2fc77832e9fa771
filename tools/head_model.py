"""Writes targets/head.csv, the mean head of FaceWorld by dlib's 68 points: python -m tools.head_model."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from transect.generators.faceworld.causal_model import IDENTITY_COLUMNS
from transect.generators.faceworld.mesh.asset import asset
from transect.generators.faceworld.mesh.shape import rest_shape
from transect.generators.faceworld.parameters import parameters
from transect.generators.faceworld.world import FaceWorld
from transect.marks.records import MIRRORED

OUT = Path(__file__).parents[1] / "src" / "transect" / "targets" / "head.csv"
FIRST_SEED = 70_000_000
STILL = {
    "smile": 0.2,
    "mouth_open": 0.0,
    "mouth_slant": 0.0,
    "brow_raise": 0.0,
    "eyes_closed": 0.0,
    "brows_raised": 0.0,
}


def mean_head(subjects: int) -> np.ndarray:
    """Points to the viewer's right, down and to the viewer, in breadths of the head: float64 [68, 3], symmetric."""
    world, held = FaceWorld(), asset()
    latents = world.set(world.sample(np.arange(FIRST_SEED, FIRST_SEED + subjects)), STILL)
    rows = parameters(world.model.solve(latents), latents.values[:, IDENTITY_COLUMNS])
    at_rest = [rest_shape(row.values)[held.landmark_corners] for row in rows]
    heads = (np.array(at_rest) * held.landmark_weights[..., None]).sum(axis=2) * np.array([1.0, -1.0, 1.0])
    head = (heads - heads.mean(axis=1, keepdims=True)).mean(axis=0)
    return (head + mirrored(head)) / 2 / np.ptp(head[:, 0])


def mirrored(head: np.ndarray) -> np.ndarray:
    """The same points of the head's mirror image."""
    return head[MIRRORED] * np.array([-1.0, 1.0, 1.0])


if __name__ == "__main__":
    np.savetxt(OUT, mean_head(400), fmt="%.4f", delimiter=",", header="x,y,z", comments="")
