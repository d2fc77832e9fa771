"""Rendered pictures, and what is true of them, in memory: 50 kB a picture of 128 pixels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, Int, UInt8

from transect.generators.faceworld.attributes import IDENTITY
from transect.generators.faceworld.causal_model import IDENTITY_COLUMNS
from transect.generators.faceworld.world import FaceWorld
from transect.records import Latents
from transect.runs.parts import Progress

Draw = Callable[[FaceWorld, Int[np.ndarray, " n"]], Latents]
"""From row numbers of a sample to what is rendered; each row's latents depend on its number alone."""

_AT_ONCE: Final = 500
_CHANGED: Final = 8 / 255
"""A pixel has changed where a channel moved by more than this: more than the sensor's noise leaves to see."""
_SIDES: Final = ("x0", "y0", "x1", "y1")


def population(first_seed: int) -> Draw:
    """Subjects as the population has them: row i is the subject of seed first_seed + i."""
    return lambda world, rows: world.sample(first_seed + rows)


class Pictures:
    """A sample of rendered pictures.

    draw: what row i shows. masks: also measure the renderer's masks, and whether earrings would be seen.
    """

    def __init__(
        self, world: FaceWorld, name: str, count: int, draw: Draw, *, masks: bool = False, quiet: bool = False
    ) -> None:
        self.world, self._draw, self._with_masks = world, draw, masks
        tables, pixels = [], []
        with Progress(f"{name} pictures", count, quiet=quiet) as progress:
            for start in range(0, count, _AT_ONCE):
                rows = np.arange(start, min(start + _AT_ONCE, count))
                table, shown = self._render(rows)
                tables.append(table)
                pixels.append(shown)
                progress.advance(len(rows))
        self.table, self._pixels = pa.concat_tables(tables), np.concatenate(pixels)

    def __len__(self) -> int:
        return len(self._pixels)

    def pixels(self, rows: Int[np.ndarray, " m"]) -> UInt8[np.ndarray, "m h w 3"]:
        """The pictures of those rows, in that order."""
        return self._pixels[rows]

    def column(self, name: str) -> Float[np.ndarray, " n"]:
        """One column of the truth: an attribute, area.<mask>, seen.earrings, identity.<trait>."""
        return self.table[name].to_numpy()

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return self.table.column_names

    def face_boxes(self) -> Float[np.ndarray, "n 4"]:
        """The renderer's face box of every picture, x0, y0, x1, y1 in pixels."""
        return np.stack([self.column(f"face.{side}") for side in _SIDES], axis=1)

    def landmarks(self) -> Float[np.ndarray, "n 68 2"]:
        """Dlib's 68 points of every picture, as the world knows them, in pixels."""
        flat = [self.column(f"landmark.{index}") for index in range(136)]
        return np.stack(flat, axis=1).reshape(-1, 68, 2)

    def _render(self, rows: Int[np.ndarray, " m"]) -> tuple[pa.Table, UInt8[np.ndarray, "m h w 3"]]:
        latents = self._draw(self.world, rows)
        images = self.world.render(latents)
        values = self.world.read(latents)
        columns = {name: values[name].to_numpy() for name in values.column_names}
        traits = latents.values[:, IDENTITY_COLUMNS].T
        columns |= {f"identity.{name}": column for name, column in zip(IDENTITY, traits, strict=True)}
        boxes = images.face_boxes if images.face_boxes is not None else np.full((len(rows), 4), np.nan)
        columns |= {f"face.{side}": boxes[:, j] for j, side in enumerate(_SIDES)}
        points = self.world.landmarks(latents).reshape(len(rows), -1)
        columns |= {f"landmark.{index}": points[:, index] for index in range(points.shape[1])}
        if self._with_masks:
            columns |= {f"area.{name}": mask.mean((1, 2)) for name, mask in self.world.masks(latents).items()}
            columns["seen.earrings"] = self._earrings(latents, images.pixels).mean((1, 2))
        return pa.table({name: pa.array(column, pa.float64()) for name, column in columns.items()}), images.pixels

    def _earrings(self, latents: Latents, pixels: UInt8[np.ndarray, "m h w 3"]) -> Bool[np.ndarray, "m h w"]:
        """Which pixels change when earrings are put on, or taken off: the renderer's own answer, there is no mask."""
        worn = self.world.read(latents)["earrings"].to_numpy()
        other = self.world.render(self.world.set(latents, {"earrings": 1 - worn})).pixels
        return np.asarray((np.abs(other / 255 - pixels / 255) > _CHANGED).any(axis=3))
