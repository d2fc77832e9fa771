"""`timm:NAME@weights.safetensors`: a network of timm by its name, with weights that are the user's own.

timm's data config preprocesses. A config.json beside the weights, as timm writes it for the hub, replaces it and names
the classes. Nothing is downloaded.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np

from transect.errors import BadInput
from transect.records import Task
from transect.runs import model_files
from transect.runs.environment import check_torchvision
from transect.runs.json_records import loads
from transect.runs.model_files import check_weights, read_weights
from transect.targets.hf.loading import NetworkOptions, input_tensor, on_device
from transect.targets.hf.opening import reading
from transect.targets.kinds import Kind
from transect.targets.model import ModelTarget
from transect.targets.output import OutputSpec
from transect.targets.preprocess import Preprocess
from transect.texts import words_of

KIND: Final = Kind(
    prefix="timm",
    trust="data",
    listed=(("timm:name@weights", "any", "a timm network with safetensors weights"),),
    extra="timm",
    needs=("timm",),
)
Options = NetworkOptions
_CONFIG: Final = "config.json"
_FILTERS: Final = ("nearest", "box", "bilinear", "bicubic", "lanczos")


def load(argument: str, options: Options) -> ModelTarget:
    """The network as a target: a classifier of as many classes as the weights have, without a head an embedding."""
    import torch

    name, at, file = argument.rpartition("@")
    if not at or not name or not file:
        raise BadInput(f"timm:{argument}: expected a name and weights, got one of them: timm:NAME@weights.safetensors")
    path = model_files.check_readable(Path(file))
    config = _config(path.parent / _CONFIG, name)
    tensors = read_weights(path)
    network, settings = _network(name, tensors, config, path)
    classes = _classes(network, config, options)
    output, column = _output(classes, options)
    network = on_device(network, options.device, getattr(torch, options.dtype)).eval()

    def run(inputs: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            raw = network(input_tensor(inputs, options)).flatten(1).double()
            chosen = raw if column is None else torch.softmax(raw, dim=1)[:, column]
        return np.asarray(chosen.cpu().numpy())

    facts = {
        "library": f"timm {_library().__version__}, PyTorch {torch.__version__}",
        "device": options.device,
        "dtype": options.dtype,
        "file": path.name,
        "sha256": model_files.sha256(path),
        "classes": list(classes),
        "positive": options.positive,
    }
    return ModelTarget(f"timm:{name}@{path.name}", run, output, options.preprocess or settings, facts)


def preprocess_of(settings: Mapping[str, Any]) -> Preprocess:
    """The preprocessing that a data config of timm states. Raises BadInput for one that cannot be had here.

    >>> print(preprocess_of({"input_size": (3, 8, 8), "crop_pct": 0.5, "interpolation": "bicubic"}))
    central square (0.5 of the shorter side), RGB, resized to 8x8 (bicubic), range 0 to 1, NCHW
    """
    channels, height, width = (int(side) for side in settings["input_size"])
    mode, crop = str(settings.get("crop_mode") or "center"), float(settings.get("crop_pct") or 1.0)
    if mode not in ("center", "squash") or channels not in (1, 3) or (mode == "center" and height != width):
        raise BadInput(
            f"timm: expected a square central crop of 1 or 3 channels, got {channels}x{height}x{width} and "
            f"crop mode {mode}; give --preprocess FILE"
        )
    filter_name = str(settings.get("interpolation") or "bilinear")
    return Preprocess(
        size=(height, width),
        crop=None if mode == "squash" else min(crop, 1.0),
        channel_order="gray" if channels == 1 else "RGB",
        mean=tuple(map(float, settings.get("mean") or (0.0,))),
        std=tuple(map(float, settings.get("std") or (1.0,))),
        filter=filter_name if filter_name in _FILTERS else "bilinear",  # type: ignore[arg-type]
    )


def _network(name: str, tensors: Mapping[str, Any], config: Mapping[str, Any], path: Path) -> tuple[object, Preprocess]:
    """The network with its weights, and its own preprocessing."""
    timm = _library()
    overlay = config.get("pretrained_cfg")
    given = {"pretrained_cfg_overlay": dict(overlay)} if isinstance(overlay, Mapping) else {}
    try:
        plain = timm.create_model(name, pretrained=False, **given)
        # How many classes the weights have; 0 without a head.
        heads = plain.pretrained_cfg.get("classifier") or ()
        first = next(iter((heads,) if isinstance(heads, str) else heads), "")
        weight = tensors.get(f"{first}.weight")
        classes = 0 if weight is None else int(weight.shape[0])
        network = timm.create_model(name, pretrained=False, num_classes=classes, **given)
        settings = timm.data.resolve_data_config({}, model=network)
    except Exception as error:  # the library raises many kinds
        raise BadInput(f"timm:{name}: expected the name of a timm model, got: {words_of(error, 160)}") from None
    check_weights(tensors, network.state_dict(), str(path), finite=False)
    network.load_state_dict(tensors)
    return network, preprocess_of(settings)


def _classes(network: Any, config: Mapping[str, Any], options: Options) -> tuple[str, ...]:
    """Names of the classes: the user's, the config's, or numbers; none for an embedding."""
    count = int(network.num_classes)
    names = options.labels or tuple(map(str, config.get("label_names") or ())) or tuple(map(str, range(count)))
    if len(names) != count:
        raise BadInput(f"labels: expected {count}, one per output of the weights, got {len(names)}")
    return names


def _output(classes: tuple[str, ...], options: Options) -> tuple[OutputSpec, int | None]:
    if classes:
        return reading(classes, None, options)
    if options.task not in (None, Task.EMBEDDING) or options.positive is not None:
        raise BadInput("task: the weights have no classes, so that the network embeds; leave --task and --positive out")
    return OutputSpec(Task.EMBEDDING, threshold=options.threshold), None


def _config(file: Path, name: str) -> Mapping[str, Any]:
    """What a config.json of timm's beside the weights says; nothing where there is none, or one of another network."""
    if not file.is_file():
        return {}
    try:
        config = loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"{file}: expected JSON, got {words_of(error, 100)}; remove it, or save it again") from None
    known = isinstance(config, dict) and config.get("architecture") == name.partition(".")[0]
    return config if known else {}


def _library() -> ModuleType:
    """The library. Raises BadInput where it does not run with this PyTorch."""
    check_torchvision()
    importlib.import_module("timm.data")
    return importlib.import_module("timm")
