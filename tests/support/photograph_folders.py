"""Folders of pictures that stand for photographs: rendered faces, noise and flat cards, with and without labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from transect.generators.faceworld.world import FaceWorld


def pictures(count: int, size: int = 48, seed: int = 0) -> np.ndarray:
    """Smooth colored pictures uint8 [n, size, size, 3], no two alike."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(30, 226, (count, 8, 8, 3)).astype(np.uint8)
    rows = [np.asarray(Image.fromarray(each).resize((size, size), Image.Resampling.BICUBIC)) for each in coarse]
    return np.stack(rows)


def save(folder: Path, pixels: np.ndarray) -> Path:
    """One PNG a picture, p000.png and so on."""
    folder.mkdir(parents=True, exist_ok=True)
    for place, picture in enumerate(pixels):
        Image.fromarray(picture).save(folder / f"p{place:03d}.png")
    return folder


def label(folder: Path, rows: list[str], head: str = "file,subject,smile") -> Path:
    """A table beside the pictures."""
    (folder / "labels.csv").write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    return folder


def people(folder: Path, shots: list[int], size: int = 48) -> Path:
    """A labelled folder in which person i is on shots[i] pictures; half of the pictures smile."""
    save(folder, pictures(sum(shots), size))
    who = [name for name, count in enumerate(shots) for _ in range(count)]
    return label(folder, [f"p{row:03d}.png,person{name},{row % 2}" for row, name in enumerate(who)])


def faces(folder: Path, count: int, size: int = 64) -> Path:
    """Rendered faces as photographs."""
    world = FaceWorld(image_size=size)
    return save(folder, world.render(world.sample(list(range(count)))).pixels)
