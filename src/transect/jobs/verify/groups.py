"""Does a classifier find a difference where there is none? Two groups of one population, separated by a network.

Nothing is set in the null splits: the groups differ in u alone, by chance or by the order of their seeds, and a
classifier that separates them would have found a trace of the renderer's making. In the control the same classifier
separates pairs of pictures of one subject whose smile was set to 0 and to 1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from transect.generators.faceworld.world import FaceWorld
from transect.jobs.verify.cache import Cache
from transect.jobs.verify.discrimination import Figure, auc, with_interval
from transect.jobs.verify.learning import Batch, Schedule, answers, train
from transect.jobs.verify.network import DESCRIPTION, new_network
from transect.jobs.verify.pictures import Draw, Sample
from transect.jobs.verify.places import Places
from transect.records import Latents

SPLITS = 3
CONTROL = "smile"

Labels = Callable[[int], Bool[np.ndarray, " n"]]
"""Which of n pictures are in the second group."""


def pairs_with(attribute: str, first_seed: int) -> Draw:
    """Rows 2i and 2i + 1 show one subject with the attribute at 0 and at 1."""

    def draw(world: FaceWorld, rows: Int[np.ndarray, " n"]) -> Latents:
        return world.set(world.sample(first_seed + rows // 2), {attribute: (rows % 2).astype(np.float64)})

    return draw


def split_labels(split: int) -> Labels:
    """The fake groups of one split: the first half of the seeds against the second, then halves drawn by chance.

    >>> split_labels(0)(4).tolist()
    [False, False, True, True]
    """

    def labels(count: int) -> Bool[np.ndarray, " n"]:
        late = np.asarray(np.arange(count) >= count // 2)
        if split == 0:
            return late
        shuffled = np.random.Generator(np.random.Philox(key=[split, count])).permutation(late)
        return np.asarray(shuffled, dtype=bool)

    return labels


def odd(count: int) -> Bool[np.ndarray, " n"]:
    """The second picture of each pair."""
    return np.asarray(np.arange(count) % 2 == 1)


def separation(
    name: str,
    taught: Sample,
    held_out: Sample,
    labels: Labels,
    schedule: Schedule,
    cache: Cache,
    *,
    cluster: int = 1,
    resamples: int = 1000,
    quiet: bool,
) -> Figure:
    """AUC, on held-out pictures, of a network that was trained to separate the groups.

    cluster: neighboring rows that show one subject and are resampled together.
    """
    second, places = labels(len(taught)), Places(taught)
    settings = {"network": DESCRIPTION, "pictures": taught.settings, "count": len(taught), "epochs": schedule.epochs}
    settings |= {"batch": schedule.batch, "seed": schedule.seed}
    checkpoint = cache.file(f"{name}-network", settings, ".safetensors")

    def loss(outputs: Tensor, batch: Batch) -> Tensor:
        wanted = torch.from_numpy(second[batch.rows].astype(np.float32)).to(outputs.device)
        return functional.binary_cross_entropy_with_logits(outputs[:, 0], wanted) + places.loss(outputs, batch)

    network = train(
        new_network(1, schedule.seed, places.average),
        taught.pixels,
        len(taught),
        loss,
        schedule,
        checkpoint,
        quiet=quiet,
    )
    outputs = answers(network, held_out.pixels, len(held_out), schedule.device)[:, 0]
    return _figure(outputs, labels(len(held_out)), cluster, resamples)


def _figure(outputs: Float[np.ndarray, " n"], second: Bool[np.ndarray, " n"], cluster: int, resamples: int) -> Figure:
    of_row = np.arange(len(outputs)) // cluster
    return with_interval(lambda w: auc(outputs, second, w[:, of_row]), int(of_row[-1]) + 1, resamples=resamples)
