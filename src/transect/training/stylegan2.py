"""The training of StyleGAN2: non-saturating loss, R1 and path length lazy penalties, style mixing, a running average.

It may grow as Karras et al. 2018 do, which saves most of the cost on small machines; the published
StyleGAN2 does not. It may first learn a world's pictures (`distillation`). Sources: Karras et
al. 2020, arXiv:1912.04958; the same, arXiv:2006.06676 (R1 by size).
"""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from transect.generators.faceworld.chance import exogenous_noise
from transect.generators.stylegan2.network import Configuration, Network, Noise
from transect.training import losses
from transect.training.discriminator import Discriminator
from transect.training.distillation import TAUGHT_MAPPING, Distillation, kept
from transect.training.growth import Growth, shrunk
from transect.training.recipe import Batch, Share, adam, descend, follow, in_parts, quicken, replacements

R1_EVERY, PATH_EVERY = 16, 8
"""Steps from one penalty to the next."""
PATH_SHRINK = 2
"""The path length is measured on a batch that many times smaller."""
_FOLLOW_W, _FOLLOW_PATH = 0.005, 0.01
"""How far the mean w, and the mean path length, move towards each batch's."""


@final
@dataclass(frozen=True, slots=True)
class Options:
    """How it is trained. r1: weight of the penalty; None for 0.0002 size² / batch (Karras et al. 2020, 2006.06676).

    path: weight of the path length penalty, 0 for none. mixing: share of pictures of two latents. half_life: of the
    average, in pictures. precision: of the convolutions. distillation: None without a teacher.
    """

    rate: float = 0.0025
    r1: float | None = None
    path: float = 2.0
    mixing: float = 0.9
    half_life: float = 10_000.0
    precision: torch.dtype = torch.float32
    growth: Growth | None = None
    distillation: Distillation | None = None


@final
@dataclass
class StyleGAN2Recipe:
    """Both networks of a shape, from a seed."""

    shape: Configuration
    options: Options
    seed: int = 0
    device: str = "cpu"
    parts: dict[str, nn.Module] = field(init=False)
    optimizers: dict[str, torch.optim.Adam] = field(init=False)

    def __post_init__(self) -> None:
        chosen, grows = self.options, self.options.growth is not None
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            generator = Network(self.shape)
            critic = Discriminator(self.shape.channels, self.shape.classes, grows=grows)
        generator.mapping.register_buffer("path_mean", torch.zeros([]))
        generator, critic = generator.to(self.device), critic.to(self.device)
        average = copy.deepcopy(generator).eval().requires_grad_(False)
        self.parts = {"generator": generator, "critic": critic, "average": average}
        self.optimizers = {
            "generator": adam(generator.parameters(), chosen.rate, 0.99, PATH_EVERY if chosen.path else None),
            "critic": adam(critic.parameters(), chosen.rate, 0.99, R1_EVERY),
        }
        if chosen.distillation is not None:
            quicken(self.optimizers["generator"], generator.mapping.parameters(), TAUGHT_MAPPING)

    def step(self, batch: Batch, share: Share) -> dict[str, float]:
        """One step of each network, and the average follows; the critic rests while only the teacher counts."""
        size, part = self._grown(batch.shown)
        real = shrunk(batch.images, size, part)
        figures = self._generator_step(batch, real, (size, part), share)
        if self._adversarial(batch):
            figures |= self._critic_step(batch, real, (size, part), share)
        follow(self.parts["average"], self._generator, batch.whole, batch.shown + batch.whole, self.options.half_life)
        return {**figures, "size": float(size), "fade": part}

    def draw(self, seeds: Sequence[int], shown: int) -> Float[Tensor, "b 3 h w"]:
        """Pictures in about -1..1 of those seeds, with the network's constant noise; classes in turn."""
        average: Network = self.parts["average"]  # type: ignore[assignment]
        z = torch.from_numpy(exogenous_noise(np.asarray(seeds), self.shape.z_dim)).to(self.device, torch.float32)
        classes = None
        if self.shape.classes:
            places = torch.arange(len(seeds), device=self.device) % self.shape.classes
            classes = nn.functional.one_hot(places, self.shape.classes).float()
        with torch.no_grad():
            w = average.mapping(z, classes).unsqueeze(1).repeat(1, self.shape.layers, 1)
            grown, draw = self._grown(shown), average.synthesis
            return torch.cat([draw(draw.styles(part), growth=grown) for part in in_parts(w)])

    def metadata(self) -> dict[str, str]:
        """As a converted checkpoint's file."""
        return {"architecture": "stylegan2", "clamp": json.dumps(self.shape.clamp)}

    @property
    def _generator(self) -> Network:
        return self.parts["generator"]  # type: ignore[return-value]

    def _grown(self, shown: int) -> tuple[int, float]:
        return (self.shape.image_size, 1.0) if self.options.growth is None else self.options.growth.at(shown)

    def _judge(self, images: Tensor, classes: Tensor | None, part: float, *, full: bool = False) -> Tensor:
        precision = torch.float32 if full else self.options.precision
        scores: Tensor = self.parts["critic"](images, classes, precision, part)
        return scores

    def _adversarial(self, batch: Batch) -> float:
        """The weight of the adversarial loss."""
        taught = self.options.distillation
        return 1.0 if taught is None else taught.adversarial(batch.shown)

    def _map(
        self, batch: Batch, count: int, latents: Tensor | None = None
    ) -> tuple[Float[Tensor, "b layers w"], Bool[Tensor, " b"]]:
        """One w a layer; some pictures take another latent's from a layer on (style mixing). True: of one latent."""
        classes = None if batch.classes is None else batch.classes[:count]
        network = self._generator
        z = batch.normal(count, self.shape.z_dim) if latents is None else latents
        first: Tensor = network.mapping(z, classes)
        with torch.no_grad():
            network.average.lerp_(first.mean(dim=0), _FOLLOW_W)
        w = first.unsqueeze(1).repeat(1, self.shape.layers, 1)
        if not (self.options.mixing and self._adversarial(batch)):
            return w, torch.ones(count, dtype=torch.bool, device=w.device)
        second: Tensor = network.mapping(batch.normal(count, self.shape.z_dim), classes)
        cut = (1 + batch.uniform(count) * (self.shape.layers - 1)).floor()
        cut = torch.where(batch.uniform(count) < self.options.mixing, cut, float(self.shape.layers))
        later = torch.arange(self.shape.layers, device=w.device) >= cut.unsqueeze(1)
        return torch.where(later.unsqueeze(2), second.unsqueeze(1), w), cut >= self.shape.layers

    def _synthesize(self, w: Tensor, batch: Batch, grown: tuple[int, float], *, full: bool = False) -> Tensor:
        synthesis = self._generator.synthesis
        precision = torch.float32 if full else self.options.precision
        images: Tensor = synthesis(synthesis.styles(w), _fresh_noise(batch, len(w), precision), precision, grown)
        return images

    def _generator_step(self, batch: Batch, real: Tensor, grown: tuple[int, float], share: Share) -> dict[str, float]:
        self._train(generator=True)
        taught, strength = self.options.distillation, self._adversarial(batch)
        w, whole = self._map(batch, len(real), None if taught is None else batch.latents)
        images = self._synthesize(w, batch, grown)
        figures: dict[str, float] = {}
        loss = torch.zeros([], device=images.device)
        if strength:
            adversarial = losses.generator_loss(self._judge(images, batch.classes, grown[1]))
            loss, figures["generator_loss"] = loss + strength * adversarial, adversarial.item()
        if taught is not None and bool(whole.any()):
            distance = taught.distance(kept(images, whole), kept(real, whole))
            loss, figures["teacher_distance"] = loss + taught.weight * distance, distance.item()
        if self.options.path and strength and batch.step % PATH_EVERY == 0:
            penalty, length = self._path(batch, grown)
            loss = loss + self.options.path * PATH_EVERY * penalty
            figures["path_length"] = length
        return figures | replacements("generator", descend(self.optimizers["generator"], loss, share))

    def _path(self, batch: Batch, grown: tuple[int, float]) -> tuple[Tensor, float]:
        """The squared distance of path lengths from their running mean, on a part of the batch."""
        w, _ = self._map(batch, max(1, len(batch.images) // PATH_SHRINK))
        images = self._synthesize(w, batch, grown, full=True)
        layers = 2 * grown[0].bit_length() - 4  # 2 log2(size) - 2
        lengths = losses.path_lengths(images, w, batch.normal(*images.shape), layers)
        mean = self._generator.mapping.get_buffer("path_mean")
        mean.lerp_(lengths.detach().mean(), _FOLLOW_PATH)
        return (lengths - mean).square().mean(), float(lengths.detach().mean())

    def _critic_step(self, batch: Batch, real: Tensor, grown: tuple[int, float], share: Share) -> dict[str, float]:
        self._train(generator=False)
        with torch.no_grad():
            fake_images = self._synthesize(self._map(batch, len(real))[0], batch, grown)
        fake, true = self._judge(fake_images, batch.classes, grown[1]), self._judge(real, batch.classes, grown[1])
        loss = losses.discriminator_loss(true, fake)
        figures = {"critic_loss": loss.item(), "real_score": true.mean().item(), "fake_score": fake.mean().item()}
        if batch.step % R1_EVERY == 0:
            weight = 0.0002 * grown[0] ** 2 / batch.whole if self.options.r1 is None else self.options.r1
            penalty = losses.r1_penalty(lambda x: self._judge(x, batch.classes, grown[1], full=True), real)
            loss = loss + weight / 2 * R1_EVERY * penalty
            figures["r1"] = penalty.item()
        return figures | replacements("critic", descend(self.optimizers["critic"], loss, share))

    def _train(self, *, generator: bool) -> None:
        self._generator.requires_grad_(generator)
        self.parts["critic"].requires_grad_(not generator)


def _fresh_noise(batch: Batch, count: int, precision: torch.dtype) -> Noise:
    def draw(index: int) -> Tensor:
        size = 4 << ((index + 1) // 2)
        return batch.normal(count, 1, size, size).to(precision)

    return draw
