"""Where the parts of a face lie, from the world's landmarks: what the network is taught to look at closely."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transect.jobs.verify.learning import Batch
from transect.jobs.verify.network import PLACES
from transect.jobs.verify.pictures import Sample, landmarks

_WEIGHT = 30.0
"""Of a squared distance in widths of the picture, relative to errors of standardized answers."""

_MIRRORED = (1, 0, 3, 2, 4, 5, 6)
"""Which part a mirror shows where another one was."""


def part_places(sample: Sample) -> Float[np.ndarray, "n parts 2"]:
    """X and y of the middle of each of PARTS, in widths of the picture."""
    p = landmarks(sample) / sample.pixels(np.arange(1)).shape[2]
    bridge, chin = p[:, 27], p[:, 8]
    mouth = p[:, 48:60].mean(1)
    middles = (p[:, 36:42].mean(1), p[:, 42:48].mean(1), p[:, 2], p[:, 14], p[:, 30], (mouth + chin) / 2)
    return np.stack([*middles, bridge + 0.5 * (bridge - chin)], axis=1)


class Places:
    """The places of the parts in a sample, and how far a network's are from them."""

    def __init__(self, sample: Sample) -> None:
        self.places = part_places(sample).astype(np.float32)

    @property
    def average(self) -> Tensor:
        """Where the parts lie on average: PLACES numbers."""
        return torch.from_numpy(self.places.mean(0).reshape(PLACES))

    def shown(self, batch: Batch) -> Float[np.ndarray, "m parts 2"]:
        """The places in the batch's pictures, as they are moved and mirrored."""
        places = self.places[batch.rows]
        turned = places[:, _MIRRORED] * np.array([-1, 1], dtype=np.float32) + np.array([1, 0], dtype=np.float32)
        places = np.where(batch.mirrored[:, None, None], turned, places)
        return np.asarray(places - batch.shifts[:, None, ::-1].astype(np.float32) / 1000)

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Squared distance of the last PLACES answers from the places, on the scale of the other errors."""
        wanted = torch.from_numpy(self.shown(batch).reshape(-1, PLACES)).to(outputs.device)
        return _WEIGHT * ((outputs[:, -PLACES:] - wanted) ** 2).mean()
