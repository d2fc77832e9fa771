"""Embeddings of images: CLIP, SigLIP, DINOv2, ViT and other networks without a head."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from transect.errors import BadInput
from transect.records import Task
from transect.targets.hf.folder import ModelFolder
from transect.targets.hf.loading import input_tensor, load_network
from transect.targets.hf.made import Made
from transect.targets.hf.options import Options
from transect.targets.output import OutputSpec

_PROJECTED: Final = "WithProjection"
_POOLER: Final = "pooler"
_WHAT: Final = "a network that embeds images"


def embedder(folder: ModelFolder, options: Options) -> Made:
    """A network whose vector of each image is compared.

    The vector is the one in the space of images and texts where the network has that (CLIP, SigLIP), else its pooled
    output, else the class token; "vector" says which. Raises BadInput for a network that takes no images, and
    for classes that it does not have.
    """
    if options.task not in (None, Task.EMBEDDING) or options.positive is not None or options.labels:
        raise BadInput(
            f"model folder {folder.path}: the network embeds images and has no classes: leave --task, --labels and "
            "--positive out, or, of a network of images and texts, give --labels without --task embedding"
        )
    kind = folder.architecture if folder.architecture.endswith(_PROJECTED) else "AutoModel"
    network, missing = load_network(folder, kind, _WHAT, options, unused=_POOLER)
    if not hasattr(network, "get_image_features") and network.main_input_name != "pixel_values":
        raise BadInput(f"model folder {folder.path}: expected {_WHAT}, got {folder.architecture}, which takes none")
    name = _name(network, kind, pooled=not missing)

    def run(inputs: np.ndarray) -> np.ndarray:
        import torch

        with torch.inference_mode():
            vectors = _vectors(network, input_tensor(inputs, options), name)
        return np.asarray(vectors.flatten(1).double().cpu().numpy())

    return Made(run, OutputSpec(Task.EMBEDDING, threshold=options.threshold), {"vector": name})


def image_features(network: Any, pixels: Any) -> Any:
    """The vectors of images in the space that images and texts share."""
    return pooled_of(network.get_image_features(pixel_values=pixels))


def pooled_of(answer: Any) -> Any:
    """The vectors themselves; later versions of the library return them inside an output."""
    return getattr(answer, "pooler_output", answer)


def _name(network: Any, kind: str, *, pooled: bool) -> str:
    if hasattr(network, "get_image_features"):
        return "image features"
    if kind.endswith(_PROJECTED):
        return "image embeds"
    return "pooled output" if pooled else "class token"


def _vectors(network: Any, pixels: Any, name: str) -> Any:
    if name == "image features":
        return image_features(network, pixels)
    answer = network(pixel_values=pixels)
    if name == "image embeds":
        return answer.image_embeds
    pooled = getattr(answer, "pooler_output", None)
    if name == "pooled output" and pooled is not None:
        return pooled
    return answer.last_hidden_state[:, 0]
