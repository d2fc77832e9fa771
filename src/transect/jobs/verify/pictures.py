"""Rendered pictures kept on disk with what is true of them, so that networks can look at them again and again.

A part holds 500 pictures as one .npy file, which is memory-mapped, and their attributes, face boxes and what the
renderer's masks show as one Parquet file, written last: a part with a table is complete.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol, final, runtime_checkable

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, Int, UInt8

from transect.generators.faceworld.attributes import IDENTITY
from transect.generators.faceworld.causal_model import IDENTITY_COLUMNS
from transect.generators.faceworld.world import FaceWorld
from transect.jobs.verify.cache import Cache
from transect.records import Latents
from transect.runs.folder import write_atomically
from transect.runs.progress import Progress

PER_PART = 500

Draw = Callable[[FaceWorld, Int[np.ndarray, " n"]], Latents]
"""From row numbers of a sample to what is rendered; each row's latents depend on its number alone."""

_CHANGED = 8 / 255
"""A pixel has changed where a channel moved by more than this: more than the sensor's noise leaves to see."""


@runtime_checkable
class Sample(Protocol):
    """Pictures of one size and what is true of them; `Pictures` are one."""

    @property
    def settings(self) -> Mapping[str, object]:
        """What the pictures depend on, in JSON's own types."""
        ...

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        ...

    def __len__(self) -> int:
        """How many pictures."""
        ...

    def pixels(self, rows: Int[np.ndarray, " m"]) -> UInt8[np.ndarray, "m h w 3"]:
        """The pictures of those rows, in that order."""
        ...

    def column(self, name: str) -> Float[np.ndarray, " n"]:
        """One column of the truth: an attribute, area.<mask>, seen.earrings, identity.<trait>."""
        ...


def plain(first_seed: int) -> Draw:
    """Subjects as the population has them: row i is the subject of seed first_seed + i."""
    return lambda world, rows: world.sample(first_seed + rows)


@final
class Pictures:
    """A sample of rendered pictures; rendered on first use, part by part.

    name: of its files. count: pictures. draw: what row i shows; `key` says the same in words, for the files' names.
    masks: also draw the renderer's masks, and whether earrings would be seen (see `visibility`).
    """

    def __init__(
        self,
        cache: Cache,
        world: FaceWorld,
        name: str,
        count: int,
        draw: Draw,
        *,
        key: Mapping[str, object],
        masks: bool = False,
        quiet: bool = False,
    ) -> None:
        self.name, self.count, self.world = name, count, world
        self._cache, self._draw, self._with_masks = cache, draw, masks
        self.settings: Mapping[str, object] = {"world": world.describe(), "masks": masks, "per_part": PER_PART, **key}
        self._tables, self._pixels = self._parts(quiet)

    def __len__(self) -> int:
        return self.count

    def pixels(self, rows: Int[np.ndarray, " m"]) -> UInt8[np.ndarray, "m h w 3"]:
        """The pictures of those rows, in that order."""
        return np.stack([self._pixels[row // PER_PART][row % PER_PART] for row in rows.tolist()])

    def column(self, name: str) -> Float[np.ndarray, " n"]:
        """One column of the truth: an attribute, area.<mask>, seen.earrings, identity.<trait>."""
        return np.concatenate([table[name].to_numpy() for table in self._tables])[: self.count]

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self._tables[0].column_names)

    def latents(self, rows: Int[np.ndarray, " m"]) -> Latents:
        """What those rows were rendered from."""
        return self._draw(self.world, rows)

    def _parts(self, quiet: bool) -> tuple[list[pa.Table], list[UInt8[np.ndarray, "m h w 3"]]]:
        tables, pixels = [], []
        with Progress(f"{self.name} pictures", self.count, quiet=quiet) as progress:
            for start in range(0, self.count, PER_PART):
                # A part is cut where the sample ends, so that its number of rows is part of what it is.
                rows = np.arange(start, min(start + PER_PART, self.count))
                settings = {**self.settings, "first": start, "rows": len(rows)}
                name = f"{self.name}-{start // PER_PART:04d}"
                file = self._cache.file(name, settings, ".npy")
                tables.append(self._cache.table(name, settings, functools.partial(self._render, rows, file)))
                pixels.append(np.load(file, mmap_mode="r"))
                progress.advance(len(rows))
        return tables, pixels

    def _render(self, rows: Int[np.ndarray, " m"], file: Path) -> pa.Table:
        latents = self._draw(self.world, rows)
        images = self.world.render(latents)
        sink = io.BytesIO()
        np.save(sink, images.pixels)
        write_atomically(file, sink.getvalue())
        values = self.world.read(latents)
        columns = {name: values[name].to_numpy() for name in values.column_names}
        columns |= {
            f"identity.{name}": column
            for name, column in zip(IDENTITY, latents.values[:, IDENTITY_COLUMNS].T, strict=True)
        }
        boxes = images.face_boxes if images.face_boxes is not None else np.full((len(rows), 4), np.nan)
        columns |= {f"face.{side}": boxes[:, j] for j, side in enumerate(_SIDES)}
        points = self.world.landmarks(latents).reshape(len(rows), -1)
        columns |= {f"landmark.{index}": points[:, index] for index in range(points.shape[1])}
        if self._with_masks:
            columns |= {f"area.{name}": mask.mean((1, 2)) for name, mask in self.world.masks(latents).items()}
            columns["seen.earrings"] = self._earrings(latents, images.pixels).mean((1, 2))
        return pa.table({name: pa.array(column, pa.float64()) for name, column in columns.items()})

    def _earrings(self, latents: Latents, pixels: UInt8[np.ndarray, "m h w 3"]) -> Bool[np.ndarray, "m h w"]:
        """Which pixels change when earrings are put on, or taken off: the renderer's own answer, there is no mask."""
        worn = self.world.read(latents)["earrings"].to_numpy()
        other = self.world.render(self.world.set(latents, {"earrings": 1 - worn})).pixels
        return np.asarray((np.abs(other / 255 - pixels / 255) > _CHANGED).any(axis=3))


_SIDES = ("x0", "y0", "x1", "y1")


def face_boxes(sample: Sample) -> Float[np.ndarray, "n 4"]:
    """The renderer's face box of every picture, x0, y0, x1, y1 in pixels."""
    return np.stack([sample.column(f"face.{side}") for side in _SIDES], axis=1)


def landmarks(sample: Sample) -> Float[np.ndarray, "n 68 2"]:
    """Dlib's 68 points of every picture, as the world knows them, in pixels."""
    flat = [sample.column(f"landmark.{index}") for index in range(136)]
    return np.stack(flat, axis=1).reshape(-1, 68, 2)
