"""The parts of an encoding: pictures ► rows with codes, in this process or by a worker."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast, final

import numpy as np
import pyarrow as pa

from transect.inversion.pictures import Pictures
from transect.inversion.recipes import Tools, ToolsRecipe
from transect.inversion.rows import identity_distances
from transect.reports.codes import ENCODER_R2
from transect.runs.png import png

if TYPE_CHECKING:
    from transect.inversion.encoder import RidgeEncoder, TrainedEncoder


@final
@dataclass(frozen=True, slots=True)
class EncodingParts:
    """What makes parts, with an encoder among the tools."""

    tools: Tools
    space: str
    device: str

    def make(self, pictures: Pictures) -> pa.Table:
        """The rows of these pictures."""
        from transect.inversion import encoding as encodings
        from transect.inversion.encoder import RidgeEncoder

        tools, rows = self.tools, range(len(pictures))
        encoder = cast("RidgeEncoder | TrainedEncoder", tools.encoder)
        pixels, failures = pictures.readable(rows)
        encoded = encodings.encode(tools.network, self.space, encoder, tools.appearance, pixels, failures, self.device)
        # Row by row: the last bit of a distance would depend on the images beside it.
        each = [slice(row, row + 1) for row in rows]
        measured = [identity_distances(pixels[at], encoded.reconstructions[at], encoded.failures[at]) for at in each]
        table = pa.table(
            {
                "id": pa.array(pictures.ids),
                "failure": pa.array(encoded.failures),
                "perceptual": pa.array(encoded.perceptual),
                "pixels": pa.array(encoded.pixels),
                "identity_distance": pa.array(np.concatenate(measured)),
                "codes": pa.array(list(encoded.codes.reshape(len(rows), -1)), pa.list_(pa.float32())),
                "image": pa.array([png(image) for image in encoded.reconstructions], pa.binary()),
            }
        )
        # Kept with the part: a finished run fits no encoder again.
        quality = encoder.quality if isinstance(encoder, RidgeEncoder) else None
        return table.replace_schema_metadata({ENCODER_R2: json.dumps(quality).encode()})

    def close(self) -> None:
        """Nothing is held."""


@final
@dataclass(frozen=True, slots=True)
class EncodingWork:
    """The same for a worker."""

    tools: ToolsRecipe

    @property
    def gpus(self) -> int:
        """As of the tools."""
        return self.tools.gpus

    def open(self) -> EncodingParts:
        """Open the tools. Raises as that does."""
        return EncodingParts(self.tools.open(), self.tools.space, self.tools.device)
