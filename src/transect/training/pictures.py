"""Pictures to train on: drawn from a world or read from a data set once, and stored as parts on disk."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, final, runtime_checkable

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int, UInt8

from transect.errors import BadInput, RunFolderError
from transect.records import Attribute, Images, Latents
from transect.runs.folder import disk_errors, spec_hash, write_atomically
from transect.runs.progress import Progress

PER_PART = 500


@runtime_checkable
class Source(Protocol):
    """FaceWorld, or a data set opened as one: row i is what `sample([i])` renders."""

    @property
    def image_size(self) -> int:
        """Width and height in pixels."""

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The attributes of the pictures."""

    def sample(self, seeds: Int[np.ndarray, " n"] | Sequence[int]) -> Latents:
        """The rows of those numbers."""

    def read(self, latents: Latents) -> pa.Table:
        """Their attributes."""

    def render(self, latents: Latents) -> Images:
        """The images of latents."""

    def describe(self) -> dict[str, object]:
        """Everything that the pictures depend on."""


@final
class Pictures:
    """The first `count` pictures of a source; those that `folder` does not hold are rendered when the first is needed.

    Raises BadInput for fewer than one picture.
    """

    def __init__(self, source: Source, count: int, folder: Path, *, quiet: bool = False) -> None:
        if count < 1:
            raise BadInput(f"pictures: expected at least 1, got {count}; give more")
        self.source, self.count, self.folder = source, count, folder
        self.settings = {"source": source.describe(), "per_part": PER_PART}
        self._key = spec_hash(self.settings)[:12]
        self._quiet = quiet
        self._parts: list[UInt8[np.ndarray, "p h w 3"]] = []

    @property
    def size(self) -> int:
        """Width and height in pixels."""
        return self.source.image_size

    def __len__(self) -> int:
        return self.count

    def pixels(self, rows: Int[np.ndarray, " m"]) -> UInt8[np.ndarray, "m h w 3"]:
        """The pictures of those rows, in that order."""
        self.prepare()
        return np.stack([self._parts[row // PER_PART][row % PER_PART] for row in rows.tolist()])

    def column(self, name: str) -> Float[np.ndarray, " n"]:
        """One attribute of every row. Raises BadInput for a name that the source lacks."""
        table = self.source.read(self.source.sample(np.arange(self.count)))
        if name not in table.column_names:
            raise BadInput(f"attribute {name!r}: expected one of {', '.join(table.column_names)}; choose one of them")
        return np.asarray(table[name], dtype=np.float64)

    def prepare(self) -> None:
        """Render the parts that the folder lacks or holds damaged."""
        if not self._parts:
            with disk_errors(self.folder):
                self.folder.mkdir(parents=True, exist_ok=True)
            self._parts = self._open()

    def _open(self) -> list[UInt8[np.ndarray, "p h w 3"]]:
        parts = []
        with Progress("pictures to learn from", self.count, quiet=self._quiet) as progress:
            for start in range(0, self.count, PER_PART):
                rows = np.arange(start, min(start + PER_PART, self.count))
                file = self.folder / f"pictures-{self._key}-{start // PER_PART:05d}-{len(rows)}.npy"
                part = self._read(file, len(rows))
                if part is None:
                    self._render(rows, file)
                    part = self._read(file, len(rows))
                if part is None:
                    raise RunFolderError(f"{file} does not read back as it was written: check the disk")
                parts.append(part)
                progress.advance(len(rows))
        return parts

    def _read(self, file: Path, count: int) -> UInt8[np.ndarray, "p h w 3"] | None:
        """A part of the folder; None where it is missing or damaged."""
        try:
            pixels = np.load(file, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError):
            return None
        sound = pixels.shape == (count, self.size, self.size, 3) and pixels.dtype == np.uint8
        return pixels if sound else None

    def _render(self, rows: Int[np.ndarray, " p"], file: Path) -> None:
        pixels = self.source.render(self.source.sample(rows)).pixels
        content = io.BytesIO()
        np.save(content, pixels, allow_pickle=False)
        write_atomically(file, content.getvalue())


def open_source(text: str, size: int, population: str = "balanced", device: str = "cpu") -> Source:
    """FaceWorld by its name, or the data set that READER:PATH names. Raises BadInput or UnknownName for another."""
    if text == "faceworld":
        from transect.generators.faceworld.world import FaceWorld

        return FaceWorld(image_size=size, population=population, device=device)
    from transect.datasets import open_dataset

    return open_dataset(text, image_size=size, labelled=False)
