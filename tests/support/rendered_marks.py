"""A finder that knows the exact marks of rendered faces by their rows, and finds no face on any other picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from photograph_folders import label, pictures, save

from transect.generators.faceworld.world import FaceWorld, own_marks
from transect.generators.photographs.world import Photographs
from transect.marks import Marks
from transect.marks.records import NO_FACE
from transect.records import Latents


class RenderedMarks:
    """Marks of the first rows of a data set; the others have none."""

    name, threshold = "rendered", 0.5

    def __init__(self, marks: Marks) -> None:
        self.marks, self.asked = marks, 0

    def find(self, pixels: np.ndarray, rows: np.ndarray | None = None) -> Marks:
        self.asked += len(pixels)
        row = int(np.asarray(rows)[0])
        return self.marks.take([row]) if row < len(self.marks) else Marks.unknown(1, self.name, NO_FACE)

    def describe(self) -> dict[str, Any]:
        return {"name": self.name}


def rendered(count: int, size: int, **values: float) -> tuple[FaceWorld, Latents]:
    """A world of rendered faces, and that many under clear light, with short hair, bare of glasses, hats and beards."""
    world = FaceWorld(image_size=size, threads=1)
    clear = {"blur": 0.0, "jpeg_quality": 100.0, "glasses": 0.0, "hat": 0.0, "facial_hair": 0.0, "light_level": 0.0}
    clear |= {"metering": 0.0, "fill_light": 0.0}
    short = {"hair_style": 1.0, "hair_length": 0.3, "hair_volume": -0.5, "baldness": 0.0}
    return world, world.set(world.sample(list(range(count))), {**clear, **short, **values})


def sitters(folder: Path, count: int, size: int = 96, others: int = 0, **values: float) -> tuple[Photographs, Latents]:
    """Rendered faces as photographs with their exact marks, and others without a face after them; and the faces."""
    world, latents = rendered(count, size, **values)
    save(folder, np.concatenate([world.render(latents).pixels, *([pictures(others, size)] if others else [])]))
    label(folder, [f"p{row:03d}.png,person{row},{row % 2}" for row in range(count + others)])
    finder = RenderedMarks(own_marks(world, latents))
    return Photographs(f"folder:{folder}", threads=1, marks=finder, experimental=True), latents
