"""Networks of mitigation: the small one and backbones, the published critics and the mask, and hooks into modules.

Source of critics and mask: Wang et al. 2019, arXiv:1811.08489, section 5.3. The paper says no widths; ours are
arguments.
"""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, final

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from transect.errors import BadInput, MissingExtra, UnknownName
from transect.runs.environment import check_torchvision
from transect.runs.model_files import read_weights
from transect.runs.trust import check_trusted
from transect.targets.hf.loading import checked_files
from transect.texts import words_of
from transect.training.classifier import new_resnet, start_from
from transect.training.schedules import LAYERS

_SLOPE = 0.2


class MapCritic(nn.Module):
    """The vectorised map into four linear layers, with batch norm and leaky rectifiers between."""

    def __init__(self, inputs: int, classes: int, width: int = 300) -> None:
        super().__init__()
        self.layers = _perceptron((inputs, width, width, width, classes))

    def forward(self, x: Tensor) -> Float[Tensor, "b c"]:
        """Logits of the classes from a representation [b, ...] of that many numbers."""
        logits: Tensor = self.layers(x.flatten(1))
        return logits


class ConvolutionCritic(nn.Module):
    """Three convolutions, each of which halves, an average over the places, and four linear layers."""

    def __init__(self, channels: int, classes: int, width: int = 128) -> None:
        super().__init__()
        blocks: list[nn.Module] = []
        for inputs in (channels, width, width):
            blocks += [nn.Conv2d(inputs, width, 3, 2, 1, bias=False), nn.BatchNorm2d(width), nn.LeakyReLU(_SLOPE)]
        self.convolutions = nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.layers = _perceptron((width, width, width, width, classes))

    def forward(self, x: Float[Tensor, "b k h w"]) -> Float[Tensor, "b c"]:
        """Logits of the classes from a map."""
        logits: Tensor = self.layers(self.convolutions(x.contiguous()))
        return logits


class ResidualBlock(nn.Module):
    """The basic block of He et al."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        same = inputs == outputs and stride == 1
        self.shortcut: nn.Module = nn.Identity()
        if not same:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x: Tensor) -> Tensor:
        """The block's output."""
        inner = self.norm2(self.conv2(torch.relu(self.norm1(self.conv1(x)))))
        return torch.relu(inner + self.shortcut(x))


class ImageCritic(nn.Module):
    """A ResNet-18: eight basic blocks of four widths. small: a 3x3 stem without pooling, for small pictures."""

    def __init__(self, classes: int, width: int = 64, small: bool = True) -> None:
        super().__init__()
        stem: list[nn.Module] = [
            nn.Conv2d(3, width, 3 if small else 7, 1 if small else 2, 1 if small else 3, bias=False)
        ]
        stem += [nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
        self.stem = nn.Sequential(*stem, *([] if small else [nn.MaxPool2d(3, 2, 1)]))
        widths = (width, width, 2 * width, 4 * width, 8 * width)
        blocks = []
        for stage, (a, b) in enumerate(itertools.pairwise(widths)):
            blocks += [ResidualBlock(a, b, 1 if stage == 0 else 2), ResidualBlock(b, b, 1)]
        self.blocks = nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(widths[-1], classes)

    def forward(self, x: Float[Tensor, "b 3 h w"]) -> Float[Tensor, "b c"]:
        """Logits of the classes from pictures."""
        logits: Tensor = self.head(self.blocks(self.stem(x.contiguous())))  # see network.CHANNELS_LAST_FROM
        return logits


class Mask(nn.Module):
    """A U-Net that says of each pixel how much of it stays, 0 to 1; at the start nearly all. widths: channels from the
    picture's size down; each but the first halves.
    """

    def __init__(self, widths: Sequence[int] = (16, 32, 64, 64)) -> None:
        super().__init__()
        self.widths = tuple(widths)
        self.down = nn.ModuleList(_double(a, b) for a, b in itertools.pairwise((3, *widths)))
        self.up = nn.ModuleList(_double(a + b, b) for a, b in itertools.pairwise(reversed(widths)))
        self.head = nn.Conv2d(widths[0], 1, 1)
        nn.init.constant_(self.head.bias, 3.0)  # type: ignore[arg-type]

    def forward(self, images: Float[Tensor, "b 3 h w"]) -> Float[Tensor, "b 1 h w"]:
        """The mask of each picture. Raises BadInput for sides that cannot be halved so often."""
        times = 2 ** (len(self.widths) - 1)
        if images.shape[2] % times or images.shape[3] % times:
            raise BadInput(f"mask: expected sides in multiples of {times}, got {list(images.shape[2:])}; pad or resize")
        x, seen = images.contiguous(), []
        for index, block in enumerate(self.down):
            x = block(functional.max_pool2d(x, 2) if index else x)
            seen.append(x)
        for block, skip in zip(self.up, reversed(seen[:-1]), strict=True):
            x = block(torch.cat([functional.interpolate(x, scale_factor=2), skip], dim=1))
        return torch.sigmoid(self.head(x))


def critic_for(kind: str, representation: Tensor, classes: int, width: int | None = None) -> nn.Module:
    """The critic of that kind for representations of that shape: map, convolution or image. width: none for its own."""
    if kind != "map" and representation.dim() != 4:
        raise BadInput(f"critic {kind}: expected a representation [b, k, h, w], got {list(representation.shape)}")
    options = {} if width is None else {"width": width}
    if kind == "map":
        return MapCritic(representation[0].numel(), classes, **options)
    if kind == "convolution":
        return ConvolutionCritic(representation.shape[1], classes, **options)
    return ImageCritic(classes, small=representation.shape[-1] < 100, **options)


def _perceptron(widths: Sequence[int]) -> nn.Sequential:
    layers: list[nn.Module] = []
    for inputs, outputs in itertools.pairwise(widths):
        layers += [nn.Linear(inputs, outputs), nn.BatchNorm1d(outputs), nn.LeakyReLU(_SLOPE)]
    return nn.Sequential(*layers[:-2])


def _double(inputs: int, outputs: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for a in (inputs, outputs):
        layers += [nn.Conv2d(a, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)


WIDTHS: Final = (16, 32, 64)
CHANNELS_LAST_FROM: Final = 16
"""Fewest channels for which that layout is used: with 8, PyTorch 2.13 on a processor dies in the backward pass."""

_MIDDLE, _SPREAD = 0.5, 0.25


class SmallResNet(nn.Module):
    """A stem that halves, one basic residual block per width, each of which halves, an average, and a linear head."""

    def __init__(self, outputs: int, widths: Sequence[int] = WIDTHS) -> None:
        super().__init__()
        if not widths or min(widths) < 1:
            raise BadInput(f"widths: expected at least one number of channels of at least 1, got {list(widths)}")
        wide = min(widths) >= CHANNELS_LAST_FROM
        self._layout = torch.channels_last if wide else torch.contiguous_format  # a third faster on processors
        first = widths[0]
        self.stem = nn.Sequential(nn.Conv2d(3, first, 3, 2, 1, bias=False), nn.BatchNorm2d(first), nn.ReLU())
        self.blocks = nn.Sequential(*(ResidualBlock(a, b, 2) for a, b in itertools.pairwise((first, *widths))))
        self.embedding = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(widths[-1], outputs)

    def forward(self, images: Float[Tensor, "b 3 h w"]) -> Float[Tensor, "b k"]:
        """Logits of pictures in 0..1."""
        x = ((images - _MIDDLE) / _SPREAD).contiguous(memory_format=self._layout)
        logits: Tensor = self.head(self.embedding(self.blocks(self.stem(x))))
        return logits


def new_network(outputs: int, widths: Sequence[int], seed: int) -> SmallResNet:
    """A network whose weights come from the seed; PyTorch's own generator is left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return SmallResNet(outputs, widths)


MEAN: Final = (0.485, 0.456, 0.406)
SPREAD: Final = (0.229, 0.224, 0.225)
"""Of ImageNet's channels, for bodies that name none."""

LIBRARIES: Final = ("timm", "transformers")
_FILE: Final = "model.safetensors"


class Backbone(nn.Module):
    """A body, its output as one vector a picture (`embedding`), and a linear `head`. mean, spread: of the channels of
    pictures in 0..1. side: what pictures are resized to, for bodies that take one size alone.
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
    """The backbone of that name with a head whose weights come from the seed. pretrained: with its library's weights,
    fetched where they are not at hand; of our ResNets only a file has any.
    """
    library, colon, rest = name.partition(":")
    for source in ([name] if colon else []) + ([str(weights)] if weights is not None else []):
        check_trusted(source)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if name in LAYERS:
            network = new_resnet(name, 1000, seed)
            if weights is not None:
                start_from(network, read_weights(weights), weights)
            network.fc = nn.Identity()  # type: ignore[assignment]
            return Backbone(network, outputs)
        if not colon or library not in LIBRARIES or not rest:
            raise UnknownName("backbone", name, (*LAYERS, *(f"{library}:NAME" for library in LIBRARIES)), "in network")
        make: Mapping[str, Callable[..., Backbone]] = {"timm": _timm, "transformers": _transformers}
        return make[library](rest, outputs, pretrained, weights)


def _pooled(output: object) -> Tensor:
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
    if Path(name).is_dir():
        checked_files(Path(name))
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


def _fetched(repository: object, name: str) -> Path:
    """The safetensors that a model's authors keep on the Hugging Face hub."""
    if not repository:
        raise BadInput(f"{name}: no weights on the Hugging Face hub; set pretrained or weights")
    from huggingface_hub import hf_hub_download

    return Path(hf_hub_download(str(repository), _FILE))


def _library(name: str) -> Any:
    """The module. Raises MissingExtra where it is missing, BadInput where it does not run with this PyTorch."""
    import importlib

    check_torchvision()
    try:
        return importlib.import_module(name)
    except ImportError:
        raise MissingExtra("backbones", f"backbone {name}:…") from None


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


Change = Callable[[Tensor], Tensor]
_SHOWN = 8


@final
class Tap:
    """What a module put out in the last forward pass, with its graph. A context manager, which takes the hook off."""

    def __init__(self, model: nn.Module, name: str) -> None:
        self.name = name
        self._seen: Tensor | None = None
        self._hook = module_named(model, name).register_forward_hook(self._keep)

    @property
    def output(self) -> Tensor:
        """The last output [b, ...]. Raises BadInput where the module was not passed."""
        if self._seen is None:
            raise BadInput(f"module {self.name} is not used when the model runs; choose another")
        return self._seen

    def __enter__(self) -> Tap:
        return self

    def __exit__(self, *_: object) -> None:
        self._hook.remove()

    def _keep(self, _module: nn.Module, _inputs: object, output: object) -> None:
        if not isinstance(output, Tensor):
            raise BadInput(
                f"module {self.name}: expected one tensor as output, got {type(output).__name__}; choose a module "
                "within it"
            )
        self._seen = output


@contextmanager
def changed(model: nn.Module, name: str, change: Change) -> Iterator[None]:
    """While it is open, the module's output is replaced by `change(output)`: noise, erasure, another representation."""
    hook = module_named(model, name).register_forward_hook(lambda _module, _inputs, output: change(output))
    try:
        yield
    finally:
        hook.remove()


def module_named(model: nn.Module, name: str) -> nn.Module:
    """The module of that name."""
    known: dict[str, nn.Module] = {path: module for path, module in model.named_modules() if path}
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=_SHOWN, cutoff=0.3) or list(known)[-_SHOWN:]
    shown = list(known) if len(known) <= _SHOWN else near
    rest = f" and {len(known) - len(shown)} more" if len(known) > len(shown) else ""
    raise BadInput(f"module {name!r}: expected one of {', '.join(shown)}{rest}; see model.named_modules()")


def reverse_gradient(x: Tensor, weight: float) -> Tensor:
    """X itself, whose gradient is turned round and scaled (Ganin et al. 2016, arXiv:1505.07818)."""
    still = x.detach()
    return still + weight * (still - x)
