"""Networks of others as the body of the audited model: ResNets of ours, and those of timm and transformers.

`resnet18`, `resnet34` and `resnet50` need nothing installed. `timm:NAME` and `transformers:NAME_OR_FOLDER` need that
library, and take safetensors alone: nothing that came with weights is run or unpickled. A backbone's modules are called
`body.…`, `embedding` and `head`, so that hooks and the head's own phase find them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from transect.errors import BadInput, MissingExtra, UnknownName
from transect.runs.weights import read_weights
from transect.texts import words_of
from transect.training.resnet import LAYERS, new_resnet, start_from

MEAN: Final = (0.485, 0.456, 0.406)
SPREAD: Final = (0.229, 0.224, 0.225)
"""Of ImageNet's channels, for bodies that name none."""

LIBRARIES: Final = ("timm", "transformers")
_FILE: Final = "model.safetensors"


class Backbone(nn.Module):
    """A body, its output as one vector a picture (`embedding`), and a linear `head`.

    mean, spread: of the channels, by which pictures in 0..1 are normalized. side: what pictures are resized to, for
    bodies that take one size alone; None leaves them. Raises BadInput for a body that puts out no features.
    """

    mean: Tensor
    spread: Tensor

    def __init__(
        self,
        body: nn.Module,
        outputs: int,
        mean: Sequence[float] = MEAN,
        spread: Sequence[float] = SPREAD,
        side: int | None = None,
    ) -> None:
        super().__init__()
        self.body, self.side = body, side
        self.embedding = nn.Flatten()
        self.register_buffer("mean", torch.tensor(mean).view(1, 3, 1, 1), persistent=False)
        self.register_buffer("spread", torch.tensor(spread).view(1, 3, 1, 1), persistent=False)
        with torch.no_grad():
            features = self.embedding(_pooled(body.eval()(torch.zeros(1, 3, side or 64, side or 64)))).shape[1]
        self.head = nn.Linear(features, outputs)

    def forward(self, images: Float[Tensor, "b 3 h w"]) -> Float[Tensor, "b k"]:
        """Logits of pictures in 0..1."""
        x = (images - self.mean) / self.spread
        if self.side is not None and x.shape[-2:] != (self.side, self.side):
            x = functional.interpolate(x, (self.side, self.side), mode="bilinear", align_corners=False, antialias=True)
        logits: Tensor = self.head(self.embedding(_pooled(self.body(x))))
        return logits


def new_backbone(name: str, outputs: int, seed: int, pretrained: bool = True, weights: Path | None = None) -> Backbone:
    """The backbone of that name with a head whose weights come from the seed.

    pretrained: with the weights that its library has for that name, fetched where they are not at hand; of our ResNets
    only a file has any. weights: a safetensors file instead.
    """
    library, colon, rest = name.partition(":")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if name in LAYERS:
            return _resnet(name, outputs, seed, weights)
        if not colon or library not in LIBRARIES or not rest:
            raise UnknownName("backbone", name, (*LAYERS, *(f"{library}:NAME" for library in LIBRARIES)), "in network")
        make: Mapping[str, Callable[..., Backbone]] = {"timm": _timm, "transformers": _transformers}
        return make[library](rest, outputs, pretrained, weights)


def _pooled(output: Any) -> Tensor:
    """One vector, or map, a picture: as the body pools, else the mean over its tokens or places."""
    pooled = getattr(output, "pooler_output", None)
    features = output
    if not isinstance(output, Tensor):
        features = getattr(output, "last_hidden_state", None) if pooled is None else pooled
    if not isinstance(features, Tensor) or features.dim() < 2:
        raise BadInput(f"backbone: expected features [b, d], got {type(output).__name__}; choose another")
    if features.dim() == 3:
        return features.mean(dim=1)
    return features.mean(dim=(2, 3)) if features.dim() == 4 and min(features.shape[2:]) > 1 else features


def _resnet(name: str, outputs: int, seed: int, weights: Path | None) -> Backbone:
    network = new_resnet(name, 1000, seed)
    if weights is not None:
        start_from(network, read_weights(weights), weights)
    network.fc = nn.Identity()  # type: ignore[assignment]
    return Backbone(network, outputs)


def _timm(name: str, outputs: int, pretrained: bool, weights: Path | None) -> Backbone:
    timm = _library("timm")
    with _refused(f"timm:{name}"):
        body = timm.create_model(name, pretrained=False, num_classes=0)
        facts = dict(body.pretrained_cfg)
        if pretrained or weights is not None:
            tensors = read_weights(weights or _fetched(facts.get("hf_hub_id"), f"timm:{name}"))
            options = {"state_dict": tensors, "custom_load": False}
            body = timm.create_model(name, pretrained=True, pretrained_cfg_overlay=options, num_classes=0)
    side = int(facts["input_size"][-1]) if facts.get("fixed_input_size") else None
    return Backbone(body, outputs, facts.get("mean", MEAN), facts.get("std", SPREAD), side)


def _transformers(name: str, outputs: int, pretrained: bool, weights: Path | None) -> Backbone:
    transformers = _library("transformers")
    with _refused(f"transformers:{name}"):
        if pretrained and weights is None:
            model = transformers.AutoModel.from_pretrained(name, use_safetensors=True, trust_remote_code=False)
        else:
            settings = transformers.AutoConfig.from_pretrained(name, trust_remote_code=False)
            model = transformers.AutoModel.from_config(settings, trust_remote_code=False)
        body = getattr(model, "vision_model", model)  # of a network of pictures and texts its first half
        if weights is not None:
            body.load_state_dict(read_weights(weights))
    side = getattr(body.config, "image_size", None)
    mean, spread = _normalizing(name)
    return Backbone(body, outputs, mean, spread, side if isinstance(side, int) else None)


def _normalizing(name: str) -> tuple[Sequence[float], Sequence[float]]:
    """Mean and spread of the channels as the model's own file says; ImageNet's where it has none."""
    from transformers.image_processing_base import ImageProcessingMixin

    try:
        settings: dict[str, Any] = ImageProcessingMixin.get_image_processor_dict(name)[0]
    except (OSError, ValueError):
        settings = {}
    return settings.get("image_mean") or MEAN, settings.get("image_std") or SPREAD


def _fetched(repository: Any, name: str) -> Path:
    """The safetensors that a model's authors keep on the Hugging Face hub."""
    if not repository:
        raise BadInput(f"{name}: expected weights on the Hugging Face hub, got none; set pretrained or weights")
    from huggingface_hub import hf_hub_download

    return Path(hf_hub_download(str(repository), _FILE))


def _library(name: str) -> Any:
    """The module. Raises MissingExtra where it is missing, BadInput where it does not run with this PyTorch."""
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError:
        raise MissingExtra("backbones", f"backbone {name}:…") from None
    except RuntimeError as error:  # torchvision built for another PyTorch
        reason = words_of(error, 120)
        raise BadInput(f"backbone {name}:…: {name} cannot be imported here ({reason}); install one that fits") from None


@contextmanager
def _refused(name: str) -> Iterator[None]:
    """What a library says of a name or of weights, in one line."""
    try:
        yield
    except (BadInput, MemoryError):
        raise
    except Exception as error:
        reason = words_of(error, 160)
        raise BadInput(
            f"{name}: expected a model that can be opened, got: {reason}; fix the name or the weights"
        ) from None
