"""The model under audit: a small network, trained on the confounded population to recognise smiles."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from transect.generators.faceworld.world import FaceWorld
from transect.jobs.verify.cache import Cache, Figures
from transect.jobs.verify.images.asking import Model
from transect.jobs.verify.images.sizes import FIRST_SEEDS, SMILING, Sizes
from transect.jobs.verify.learning import Batch, Schedule, answers, train
from transect.jobs.verify.network import DESCRIPTION, new_network
from transect.jobs.verify.pictures import Pictures, plain
from transect.jobs.verify.places import Places
from transect.records import Latents


def trained_model(sizes: Sizes, world: FaceWorld, cache: Cache, *, quiet: bool) -> Model:
    """The network, trained unless the cache holds it."""
    first = FIRST_SEEDS["training"]
    taught = Pictures(cache, world, "training", sizes.training, plain(first), key={"first_seed": first}, quiet=quiet)
    smiling, places = taught.column("smile") > SMILING, Places(taught)
    settings = {"network": DESCRIPTION, "pictures": taught.settings, "count": len(taught), "epochs": sizes.epochs}
    settings |= {"seed": sizes.seed}
    schedule = Schedule(sizes.epochs, seed=sizes.seed)

    def loss(outputs: Tensor, batch: Batch) -> Tensor:
        wanted = torch.from_numpy(smiling[batch.rows].astype(np.float32))
        return functional.binary_cross_entropy_with_logits(outputs[:, 0], wanted) + places.loss(outputs, batch)

    checkpoint = cache.file("smile-network", settings, ".safetensors")
    network = new_network(1, sizes.seed, places.average)
    network = train(network, taught.pixels, len(taught), loss, schedule, checkpoint, quiet=quiet)

    def scores(latents: Latents) -> Float[np.ndarray, " n"]:
        pixels = world.render(latents).pixels
        return answers(network, lambda rows: pixels[rows], len(pixels))[:, 0]

    return Model(scores, settings)


def performance(sizes: Sizes, world: FaceWorld, model: Model) -> Figures:
    """How good the model is on new subjects of the population that it was taught on, smiling or not.

    Returns pictures, accuracy, false_positive_rate and false_negative_rate; None where there is nobody to count.

    >>> world = FaceWorld(image_size=32)
    >>> performance(Sizes(held_out=9), world, Model(lambda latents: np.ones(len(latents)), {}))["false_negative_rate"]
    0.0
    """
    first = FIRST_SEEDS["held_out"]
    latents = world.sample(np.arange(first, first + sizes.held_out))
    smiling = world.read(latents)["smile"].to_numpy() > SMILING
    positive = model.scores(latents) > 0
    return {
        "pictures": len(positive),
        "accuracy": float((positive == smiling).mean()),
        "false_positive_rate": float(positive[~smiling].mean()) if (~smiling).any() else None,
        "false_negative_rate": float((~positive)[smiling].mean()) if smiling.any() else None,
    }
