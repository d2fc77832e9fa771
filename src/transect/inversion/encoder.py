"""Images ► codes by an encoder: a ridge regression fitted in seconds, or a trained network (Denton et al. 2019, eq. 2).

The regression is fitted on the generator's own images, whose codes are known (Zhu et al. 2016, arXiv:1609.03552, §3.2).
Each image is encoded and rendered alone, so that its code does not depend on the images beside it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transect.errors import BadInput
from transect.generators.encoder import Encoder
from transect.inversion.protocol import Invertible, InvertibleStyleGAN2, check_space
from transect.perceptual.features import FeatureNetwork, resized
from transect.runs import model_files
from transect.runs.parts import Progress, announced, stage

SAMPLES = 2_000
FEWEST = 20
_FIRST_SEED = 7_000_000
_PENALTIES = np.logspace(-3, 4, 15)
_AT_ONCE = 50
_GRIDS = (4, 4, 2, 2)
"""Places per side at which stages 2 to 5 are averaged for the regression."""

_COMPONENTS = 512


@final
@dataclass(frozen=True, slots=True, eq=False)
class FittedRidge:
    """A regression as numbers: mean of the features, weights, mean of the codes, held-out R²; layers: alike in w+."""

    center: Float[np.ndarray, " d"]
    weights: Float[np.ndarray, "d k"]
    mean: Float[np.ndarray, " k"]
    quality: float
    layers: int | None = None


@final
class RidgeEncoder:
    """Images [b, 3, h, w] in 0..1 ► codes [b, ...]: mean + features B."""

    def __init__(self, network: FeatureNetwork, fitted: FittedRidge) -> None:
        self._network, self.fitted = network, fitted
        center, weights, mean = (torch.from_numpy(a).float() for a in (fitted.center, fitted.weights, fitted.mean))
        if fitted.layers is not None:
            weights, mean = weights.repeat(1, fitted.layers), mean.expand(fitted.layers, -1).clone()
        self._center, self._weights, self._mean = center, weights, mean

    def __call__(self, images: Float[Tensor, "b 3 h w"]) -> Tensor:
        """The codes, without gradients."""
        with torch.no_grad():
            flat = (seen(self._network, images) - self._center.to(images)) @ self._weights.to(images)
            return self._mean.to(images) + flat.view(len(images), *self._mean.shape)


@final
class TrainedEncoder:
    """The network of a file that `transect train encoder` wrote, as a start of a search: images ► codes [b, ...].

    In w and w+ an encoder to z is followed by the generator's own mapping; in w+ all layers get the same w. Raises
    BadInput for an encoder of another generator, to w where z is searched, or with another number of coordinates.
    """

    def __init__(self, encoder: Encoder, generator: Invertible, space: str) -> None:
        self._encoder, self._mean = encoder, generator.codes(check_space(generator, space)).mean
        self._map = generator.network.map if isinstance(generator, InvertibleStyleGAN2) else None
        basis = space.rstrip("+")
        if encoder.space != basis and (basis == "z" or self._map is None):
            raise BadInput(f"{encoder.name}: expected an encoder to {basis}, found one to {encoder.space}; train one")
        self._maps = encoder.space != basis
        outputs = encoder.network.head.out_features
        coordinates = generator.codes(encoder.space).mean.shape[-1]
        if outputs != coordinates:
            raise BadInput(
                f"{encoder.name}: expected {coordinates} coordinates, as {generator.name} has in {encoder.space}, found"
                f" {outputs}; it belongs to a different generator"
            )

    def __call__(self, images: Float[Tensor, "b 3 h w"]) -> Tensor:
        """The codes, without gradients."""
        pixels = (images * 255).round().clamp(0, 255).to(torch.uint8).permute(0, 2, 3, 1)
        with torch.no_grad():
            codes = self._encoder(pixels)
            if self._maps and self._map is not None:
                codes = self._map(codes)[:, 0]
            codes = codes.clone()  # inference tensors take no gradients
            return codes.unsqueeze(1).repeat(1, len(self._mean), 1) if self._mean.dim() == 2 else codes


def open_encoder(file: Path, generator: Invertible, space: str, device: str = "cpu") -> TrainedEncoder:
    """The start in that file. Raises BadInput for other files, and where it was trained on another generator."""
    encoder = Encoder.from_file(file, device)
    metadata, network = model_files.metadata_of(file), getattr(generator, "network", None)
    made_for, facts = metadata.get("generator_sha256", ""), getattr(network, "facts", {})
    recorded, current = metadata.get("generator_options", "{}"), getattr(network, "options", {})
    if recorded != (options := json.dumps(current, sort_keys=True)):
        raise BadInput(
            f"{file}: expected an encoder of {generator.name} with the options {options}, found {recorded:.200};"
            " make one: transect train encoder"
        )
    if made_for and made_for != facts.get("weights_sha256", made_for):
        raise BadInput(
            f"{file}: expected an encoder of {generator.name}, found one of the generator {made_for[:12]}…; make one: "
            "transect train encoder"
        )
    return TrainedEncoder(encoder, generator, space)


def seen(network: FeatureNetwork, images: Float[Tensor, "b 3 h w"]) -> Float[Tensor, "b d"]:
    """Inputs of the regression: features, stages averaged over a coarse grid, and the image in 16 x 16 pixels."""
    stages = network.stages(images)
    parts = [torch.relu(network.hidden(network.reduce(stages[-1]).flatten(1))), resized(images, 16).flatten(1)]
    for features, grid in zip(stages[1:], _GRIDS, strict=True):
        parts.append(torch.nn.functional.adaptive_avg_pool2d(features, grid).flatten(1))
    return torch.cat(parts, dim=1)


def fit_encoder(
    generator: Invertible, space: str, network: FeatureNetwork, *, samples: int = SAMPLES, seed: int = _FIRST_SEED
) -> RidgeEncoder:
    """An encoder from `samples` images of the generator; the penalty is chosen on a fifth. w+: all layers alike."""
    check_space(generator, space)
    if samples < FEWEST:
        raise BadInput(f"encoder samples: expected at least {FEWEST}, got {samples}")
    single = "w" if space == "w+" else space
    codes = generator.sample(single, samples, seed)
    rows = []
    with torch.no_grad(), Progress("images of the encoder", samples, quiet=not announced()) as progress:
        for start in range(0, samples, _AT_ONCE):
            images = generator.show(codes[start : start + _AT_ONCE], single)
            rows.append(seen(network, (images * 255).round().clamp(0, 255) / 255).double().cpu().numpy())
            progress.advance(len(images))
    stage("ridge regression of the encoder")
    held = samples // 5
    center, weights, mean, quality = _ridge(np.concatenate(rows), codes.double().numpy(), held)
    layers = int(generator.codes(space).mean.shape[0]) if space == "w+" else None
    center, weights, mean = (each.astype(np.float32) for each in (center, weights, mean))
    return RidgeEncoder(network, FittedRidge(center, weights, mean, quality, layers))


def _ridge(
    x: Float[np.ndarray, "n d"], y: Float[np.ndarray, "n k"], held: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Center of x, weights [d, k], mean of y, and the R² of the best penalty on the first `held` rows."""
    center, mean = x[held:].mean(axis=0), y[held:].mean(axis=0)
    u, s, vt = np.linalg.svd(x[held:] - center, full_matrices=False)
    components = slice(0, min(_COMPONENTS, int((s > 1e-9 * s[0]).sum())))
    u, s, vt = u[:, components], s[components], vt[components]
    turned, seen_there = u.T @ (y[held:] - mean), (x[:held] - center) @ vt.T
    spread = ((y[:held] - mean) ** 2).sum()

    def left(penalty: float) -> float:
        scale = s / (s**2 + penalty * s[0])
        return float(((y[:held] - mean - seen_there @ (scale[:, None] * turned)) ** 2).sum())

    best = min(_PENALTIES, key=left)
    weights = vt.T @ ((s / (s**2 + best * s[0]))[:, None] * turned)
    return center, weights, mean, float(1 - left(best) / spread)
