"""The parts of an inversion: pictures ► rows with codes, in this process or by a worker."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
import pyarrow as pa

from transect.inversion.pictures import Pictures
from transect.inversion.recipes import Tools, ToolsRecipe
from transect.inversion.rows import identity_distances
from transect.reports.codes import ENCODER_R2
from transect.runs.png import png

if TYPE_CHECKING:
    from transect.inversion.optimisation import Search


@final
@dataclass(frozen=True, slots=True)
class InversionParts:
    """What makes parts. advance: told of steps as they are made."""

    tools: Tools
    search: Search
    batch: int
    device: str
    advance: Callable[[int], None] = lambda _: None

    def make(self, pictures: Pictures) -> pa.Table:
        """The rows of these pictures."""
        from transect.inversion import optimisation
        from transect.inversion.encoder import RidgeEncoder

        pixels, encoder = pictures.pixels(range(len(pictures))), self.tools.encoder
        inverted = optimisation.invert(
            self.tools.network, pixels, self.search, self.tools.appearance, encoder=encoder,
            batch=self.batch, device=self.device, advance=self.advance,
        )  # fmt: skip
        apart = identity_distances(pixels, inverted.reconstructions, inverted.failures)
        table = pa.table(
            {
                "id": pa.array(pictures.ids),
                "failure": pa.array(inverted.failures),
                "perceptual": pa.array(inverted.perceptual.astype(np.float64)),
                "pixels": pa.array(inverted.pixels.astype(np.float64)),
                "restriction": pa.array(inverted.restriction.astype(np.float64)),
                "identity_distance": pa.array(apart),
                "steps": pa.array(inverted.steps),
                "objective": pa.array(list(inverted.history.astype(np.float64)), pa.list_(pa.float64())),
                "codes": pa.array(list(inverted.codes.reshape(len(inverted), -1)), pa.list_(pa.float32())),
                "image": pa.array([png(image) for image in inverted.reconstructions], pa.binary()),
            }
        )
        # Kept with the part: a finished run fits no encoder again.
        quality = encoder.quality if isinstance(encoder, RidgeEncoder) else None
        return table.replace_schema_metadata({ENCODER_R2: json.dumps(quality).encode()})

    def close(self) -> None:
        """Nothing is held."""


@final
@dataclass(frozen=True, slots=True)
class InversionWork:
    """The same for a worker."""

    tools: ToolsRecipe
    search: Search
    batch: int

    @property
    def gpus(self) -> int:
        """As of the tools."""
        return self.tools.gpus

    def open(self) -> InversionParts:
        """Open the tools. Raises as that does."""
        return InversionParts(self.tools.open(), self.search, self.batch, self.tools.device)
