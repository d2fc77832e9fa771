"""The image as a model gets it, made visible again, with the numbers that the model sees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, final

import numpy as np
from jaxtyping import UInt8

from transect.protocols import Target
from transect.targets.capabilities import describe
from transect.targets.model import ModelTarget
from transect.targets.preprocess import OF_FACES, OPTIONAL, Preprocess


@final
@dataclass(frozen=True, slots=True)
class ModelInput:
    """What one image becomes. assumed: the settings that nobody stated.

    picture: uint8 [h, w, 3], or [h, w] for one channel, with range, mean and standard deviation undone; None with the
    reason where that is not known. numbers: shape, type and values of what the model gets. text: the preprocessing, ""
    where nobody states it.
    """

    picture: np.ndarray | None
    reason: str
    numbers: str
    text: str
    assumed: tuple[str, ...]


def model_input(target: Target, pixels: UInt8[np.ndarray, "h w 3"]) -> ModelInput:
    """What the target makes of an image before its model sees it; the model is not asked."""
    facts = describe(target)
    stated = facts.get("preprocess")
    assumed = tuple(map(str, facts.get("assumed") or ()))
    if not isinstance(stated, Mapping):
        return ModelInput(None, "the target does not say how it reads images", "", "", assumed)
    text = str(stated.get("text", ""))
    if isinstance(stated.get("processor"), Mapping):
        return _of_processor(target, stated["processor"], pixels, text, assumed)
    if stated.get("align") is not None:
        return ModelInput(
            None, "it gets a face that landmarks align, which one picture does not bring", "", text, assumed
        )
    names = [field.name for field in fields(Preprocess) if field.name not in OF_FACES]
    if not set(names) - {*OPTIONAL} <= stated.keys():
        return ModelInput(pixels, "", _numbers(pixels[None], channels_last=True), text, assumed)
    preprocess = Preprocess.from_mapping({name: stated[name] for name in names if name in stated})
    ready = preprocess.apply(pixels[None])
    last = preprocess.layout == "NHWC"
    return ModelInput(_restored(preprocess, ready), "", _numbers(ready, channels_last=last), text, assumed)


def _restored(preprocess: Preprocess, ready: np.ndarray) -> np.ndarray:
    low, high = preprocess.range
    values = ready[0] if preprocess.layout == "NHWC" else ready[0].transpose(1, 2, 0)
    values = values * np.asarray(preprocess.std) + np.asarray(preprocess.mean)
    picture = _bytes((values - low) / (high - low))
    return (
        picture[..., ::-1]
        if preprocess.channel_order == "BGR"
        else picture[..., 0]
        if preprocess.channels == 1
        else picture
    )


def _of_processor(
    target: Target, settings: Mapping[str, Any], pixels: np.ndarray, text: str, assumed: tuple[str, ...]
) -> ModelInput:
    """A saved processor of another library, which a target of this process can be asked to apply."""
    if not isinstance(target, ModelTarget):
        return ModelInput(None, "its processor runs in a separate process; leave out --isolate", "", text, assumed)
    ready = target.inputs(pixels[None])
    values = ready[0].transpose(1, 2, 0).astype(np.float64)
    if settings.get("do_normalize"):
        values = values * np.asarray(settings["image_std"]) + np.asarray(settings["image_mean"])
    scale = float(settings.get("rescale_factor") or 1 / 255) if settings.get("do_rescale") else 1.0
    return ModelInput(_bytes(values / scale / 255), "", _numbers(ready, channels_last=False), text, assumed)


def _bytes(values: np.ndarray) -> np.ndarray:
    return np.asarray(np.rint(np.clip(values, 0, 1) * 255), dtype=np.uint8)


def _numbers(ready: np.ndarray, *, channels_last: bool) -> str:
    means = ready.mean(axis=(0, 1, 2) if channels_last else (0, 2, 3))
    channels = " ".join(f"{mean:.3g}" for mean in means)
    shape = ", ".join(map(str, ready.shape))
    return (
        f"{ready.dtype} [{shape}], values {ready.min():.3g} to {ready.max():.3g}, mean {ready.mean():.3g}, by channel "
        f"{channels}"
    )
