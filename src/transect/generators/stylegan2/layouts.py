"""The layouts in which StyleGAN2's weights travel, each turned into the official PyTorch names.

Official: `mapping.fc0.weight`, `synthesis.b4.conv1.weight`, ...; the community port: `style.1.weight`,
`convs.0.conv.weight`, ... Both hold the same numbers in other shapes.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from transect.errors import BadInput
from transect.generators.checkpoints.pickles import Record
from transect.generators.stylegan2.layers import make_filter

_DEEPEST, _MOST = 8, 20_000
_GROWTH, _SPARE_BYTES = 4, 16 << 20
"""Limit of the tensors' size as float32, relative to the file: twice for half precision; repeated views take more."""
_OFFICIAL = ("mapping.", "synthesis.")
_TF = "a network of the TensorFlow version: export it with the official legacy converter first"


@dataclass(frozen=True, slots=True)
class Weights:
    """A generator's tensors by official name, and where its activations are cut (None: nowhere).

    noise_drawn: whether the constant noise was drawn here, since the file has none.
    """

    tensors: dict[str, Tensor]
    clamp: float | None = None
    noise_drawn: bool = False


def of_pickle(content: object, source: str) -> Weights:
    """The averaged generator of an official pickle: a dictionary with G_ema, or the network itself."""
    network = content.get("G_ema", content.get("G")) if isinstance(content, dict) else content
    if isinstance(network, tuple | list) and len(network) == 3:
        raise BadInput(f"{source}: expected a PyTorch network, found {_TF}")
    if isinstance(network, dict) and network and all(isinstance(value, Tensor) for value in network.values()):
        return of_names(network, source)
    if not isinstance(network, Record):
        raise BadInput(f"{source}: expected a dictionary with G_ema, found {_kind(content)}; give a StyleGAN2 network")
    if "dnnlib.tflib" in network.class_name:
        raise BadInput(f"{source}: expected a PyTorch network, found {_TF}")
    tensors: dict[str, Tensor] = {}
    clamps: set[float | None] = set()
    _collect(network, "", 0, tensors, clamps, [_MOST])
    if not tensors:
        raise BadInput(f"{source}: expected a network with weights, found {network.class_name} without any")
    clamps.discard(None)
    return Weights(_as_float32(tensors, source), float(max(c for c in clamps if c is not None)) if clamps else None)


def _kind(content: object) -> str:
    if isinstance(content, dict):
        return f"one with {', '.join(sorted(map(str, content))[:6]) or 'nothing'}"
    return type(content).__name__


def check_clamp(value: object, where: str) -> float | None:
    """Where activations are cut: a finite number above 0, or None. Raises BadInput for another thing."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= sys.float_info.max:
        text = "a huge number" if isinstance(value, int) and value.bit_length() > 64 else f"{value!r:.40}"
        raise BadInput(f"{where}: expected a finite number above 0, or null, got {text}; correct it")
    return float(value)


def _collect(
    network: Record,
    prefix: str,
    depth: int,
    tensors: dict[str, Tensor],
    clamps: set[float | None],
    left: list[int],
) -> None:
    """left: how many parts may still be visited: parts that name one another many times are endless in a few bytes."""
    left[0] -= 1
    state = network.state if isinstance(network.state, dict) else {}
    if depth > _DEEPEST or left[0] < 0 or len(tensors) > _MOST:
        raise BadInput("expected a network of a few blocks, found an endless one; the file is damaged or hostile")
    for group in ("_parameters", "_buffers"):
        members = state.get(group)
        for name, value in members.items() if isinstance(members, dict) else ():
            if isinstance(value, Tensor):
                tensors[f"{prefix}{name}"] = value
    clamp = state.get("conv_clamp")
    clamps.add(check_clamp(clamp, "conv_clamp") if isinstance(clamp, int | float) else None)
    parts = state.get("_modules")
    for name, part in parts.items() if isinstance(parts, dict) else ():
        if isinstance(part, Record):
            _collect(part, f"{prefix}{name}.", depth + 1, tensors, clamps, left)


def of_names(tensors: Mapping[str, object], source: str, extra: Mapping[str, object] | None = None) -> Weights:
    """Weights from a flat dictionary of tensors in the official names (also below `G_ema.`) or the community's.

    extra: entries next to the dictionary in the file, such as the community's `latent_avg`.
    """
    named_tensors = {str(name): value.detach() for name, value in tensors.items() if isinstance(value, Tensor)}
    for prefix in ("G_ema.", "g_ema.", "generator.", "module."):
        if named_tensors and all(name.startswith(prefix) for name in named_tensors):
            named_tensors = {name.removeprefix(prefix): value for name, value in named_tensors.items()}
    if any(name.startswith("synthesis.b4.") for name in named_tensors):
        return Weights(_as_float32({n: v for n, v in named_tensors.items() if n.startswith(_OFFICIAL)}, source))
    if "input.input" in named_tensors and "conv1.conv.weight" in named_tensors:
        try:
            average = (extra or {}).get("latent_avg")
            average_entry = {"latent_avg": average} if isinstance(average, Tensor) else {}
            weights = _of_community(_as_float32({**named_tensors, **average_entry}, source), source)
            without = not any(name.startswith("noises.") for name in named_tensors)
            return Weights(weights | _drawn_noise(weights) if without else weights, noise_drawn=without)
        except (IndexError, RuntimeError):  # a tensor without the axes or numbers that its name implies
            raise BadInput(
                f"{source}: expected the community's StyleGAN2, found weights of other shapes; it is damaged"
            ) from None
    if any(re.match(r"synthesis\.L\d+_", name) for name in named_tensors):
        raise BadInput(f"{source}: expected StyleGAN2, found StyleGAN3, which has other layers; give StyleGAN2")
    names = ", ".join(sorted(named_tensors)[:4]) or "no tensor"
    raise BadInput(f"{source}: expected StyleGAN2's weights, found an unknown architecture ({names} …)")


def _as_float32(held: Mapping[str, Tensor], source: str) -> dict[str, Tensor]:
    """The same tensors in float32. Raises BadInput for one that is not numbers in memory, or far more than the file."""
    stored: dict[int, int] = {}
    for name, value in held.items():
        if fault := _unsound(value):
            raise BadInput(f"{source}: {name}: expected dense floating-point numbers, found {fault}; convert it first")
        memory = value.untyped_storage()
        stored[memory.data_ptr()] = memory.nbytes()
    if 4 * sum(value.numel() for value in held.values()) > _GROWTH * sum(stored.values()) + _SPARE_BYTES:
        raise BadInput(f"{source}: expected weights of about the file's size, found more; it is damaged or hostile")
    return {name: value.detach().float() for name, value in held.items()}


def _unsound(value: Tensor) -> str:
    """Why a tensor is not dense floating-point numbers in memory; empty where it is."""
    if value.is_nested:
        return "a nested tensor"
    if value.layout != torch.strided:
        return f"a {str(value.layout).removeprefix('torch.')} tensor"
    if value.device.type != "cpu":
        return f"a tensor on {value.device.type}"
    return "" if value.is_floating_point() else str(value.dtype).removeprefix("torch.")


_RENAMED = {"conv.modulation.": "affine.", "activate.bias": "bias", "noise.weight": "noise_strength"}


def _of_community(held: dict[str, Tensor], source: str) -> dict[str, Tensor]:
    tensors = {"synthesis.b4.const": held["input.input"][0]}
    for name, value in held.items():
        if name.endswith((".blur.kernel", ".upsample.kernel")) and not torch.allclose(value, 4 * make_filter()):
            raise BadInput(
                f"{source}: {name}: expected the filter 1, 3, 3, 1, found another; the file is not StyleGAN2's"
            )
        if match := re.fullmatch(r"style\.(\d+)\.(weight|bias)", name):
            tensors[f"mapping.fc{int(match[1]) - 1}.{match[2]}"] = value
        elif match := re.fullmatch(r"noises\.noise_(\d+)", name):
            tensors[f"synthesis.{_noisy(int(match[1]))}.noise_const"] = value[0, 0]
        elif place := _place(name):
            tensors |= _part(place, name.split(".", 2 if name.startswith(("convs.", "to_rgbs.")) else 1)[-1], value)
    if "latent_avg" in held:
        tensors["mapping.w_avg"] = held["latent_avg"].reshape(-1)
    return tensors


def _drawn_noise(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """A constant noise for each layer that takes one. The port's first versions drew it at every start."""
    draws = torch.Generator().manual_seed(0)
    sizes = {
        index: 4 << ((index + 1) // 2) for index in range(sum(name.endswith("noise_strength") for name in tensors))
    }
    return {
        f"synthesis.{_noisy(index)}.noise_const": torch.randn(size, size, generator=draws)
        for index, size in sizes.items()
    }


def _noisy(index: int) -> str:
    """The i-th noisy layer.

    >>> [_noisy(i) for i in (0, 1, 2, 3)]
    ['b4.conv1', 'b8.conv0', 'b8.conv1', 'b16.conv0']
    """
    return f"b{4 << ((index + 1) // 2)}.conv{(index + 1) % 2}"


def _place(name: str) -> str | None:
    """The official layer of a community name."""
    if match := re.match(r"(convs|to_rgbs)\.(\d+)\.", name):
        index = int(match[2])
        return _noisy(index + 1) if match[1] == "convs" else f"b{8 << index}.torgb"
    return {"conv1": "b4.conv1", "to_rgb1": "b4.torgb"}.get(name.partition(".")[0])


def _part(place: str, rest: str, value: Tensor) -> dict[str, Tensor]:
    """One tensor of a layer. Kernels are scaled as the community's code scales them before it demodulates."""
    if rest == "conv.weight":
        kernel = value[0]
        scale = 1.0 if place.endswith("torgb") else 1 / math.sqrt(kernel[0].numel())
        return {f"synthesis.{place}.weight": kernel * scale}
    if rest == "bias":
        return {f"synthesis.{place}.bias": value.reshape(-1)}
    if rest == "noise.weight":
        return {f"synthesis.{place}.noise_strength": value.reshape([])}
    for old, new in _RENAMED.items():
        if rest.startswith(old):
            return {f"synthesis.{place}.{new}{rest.removeprefix(old)}": value}
    return {}
