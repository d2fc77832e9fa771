"""The shape of a network, read from its weights; errors name what is missing or wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping

from torch import Tensor

from transect.errors import BadInput
from transect.generators.stylegan2.network import Configuration
from transect.runs.weights import check_weights

_AVERAGE = "mapping.w_avg"


def configuration_of(tensors: Mapping[str, Tensor], clamp: float | None, source: str) -> Configuration:
    """The configuration that fits tensors in official names. Raises BadInput when none does."""
    depth = len({name for name in tensors if re.fullmatch(r"mapping\.fc\d+\.weight", name)})
    embedded = "mapping.embed.weight" in tensors
    matrices = ["synthesis.b4.conv1.affine.weight", "mapping.fc0.weight", *["mapping.embed.weight"] * embedded]
    _need(tensors, source, "synthesis.b4.const", *matrices)
    _check_axes(tensors, source, 2, *matrices)
    w_dim = tensors["synthesis.b4.conv1.affine.weight"].shape[1]
    classes = tensors["mapping.embed.weight"].shape[1] if embedded else 0
    z_dim = tensors["mapping.fc0.weight"].shape[1] - (w_dim if embedded else 0)
    sizes = sorted({int(match[1]) for name in tensors if (match := re.match(r"synthesis\.b(\d+)\.", name))})
    if sizes != [4 << index for index in range(len(sizes))]:
        raise BadInput(f"{source}: expected blocks of 4, 8, 16 ... pixels, found {', '.join(map(str, sizes))}")
    kernels = [f"synthesis.b{size}.conv1.weight" for size in sizes]
    _need(tensors, source, *kernels)
    _check_axes(tensors, source, 4, *kernels)
    if z_dim < 1:
        raise BadInput(
            f"{source}: mapping.fc0.weight: expected more than {w_dim} inputs, of z and a class, got {w_dim + z_dim}"
        )
    channels = {size: tensors[name].shape[0] for size, name in zip(sizes, kernels, strict=True)}
    if any(name.endswith(".skip.weight") for name in tensors):
        raise BadInput(f"{source}: expected a generator with color layers (skip or orig), found the residual one")
    return Configuration(
        z_dim, w_dim, classes, depth, channels, skip="synthesis.b4.torgb.weight" in tensors, clamp=clamp
    )


def fitting_weights(tensors: Mapping[str, Tensor], expected: Mapping[str, Tensor], source: str) -> dict[str, Tensor]:
    """The tensors that a network of that shape takes.

    w_avg may be missing, since it can be estimated, and the filters, which are the paper's then.
    """
    known = {name: tensors[name] for name in expected if name in tensors}
    optional = {name for name in expected if name == _AVERAGE or name.endswith("resample_filter")}
    check_weights(known, {n: place for n, place in expected.items() if n in known or n not in optional}, source)
    return known


def _check_axes(tensors: Mapping[str, Tensor], source: str, axes: int, *names: str) -> None:
    for name in names:
        if tensors[name].dim() != axes or not tensors[name].numel():
            shape = list(tensors[name].shape)
            raise BadInput(f"{source}: {name}: expected {axes} axes that are not empty, got {shape}; it is damaged")


def _need(tensors: Mapping[str, Tensor], source: str, *names: str) -> None:
    missing = [name for name in names if name not in tensors]
    if missing:
        more = f" and {len(missing) - 4} more" if len(missing) > 4 else ""
        raise BadInput(f"{source}: expected {', '.join(missing[:4])}{more}, which the file lacks; it is incomplete")
