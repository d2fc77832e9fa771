"""What each network learns by: how it grows, the losses, and one step of a progressive GAN, a StyleGAN2 and an
encoder.

The condition's objective is McDuff et al.'s equations 1 to 3 as meant. As printed, equation 2 asks the critic for a
*high* D(G(z, θ)) and shows its class head generated pictures alone, and equation 3 has one player minimise and the
other maximise sums of both losses. Here, as in their source (Thekumparampil et al. 2018, arXiv:1811.03205; Odena et
al. 2017, arXiv:1610.09585), the critic makes -log D(x, θ) - log(1 - D(G, θ)) - w log C(θ | x) small, and the
generator -log D(G, θ) - w log C(θ | G). D sees the condition too: a class head alone can be satisfied by patterns
that no other classifier reads as the condition, which the critic then never corrects.

Sources: Goodfellow et al. 2014, arXiv:1406.2661; Gulrajani et al. 2017, arXiv:1704.00028; Karras et al. 2018,
arXiv:1710.10196; Mescheder et al. 2018, arXiv:1801.04406 (R1); Denton et al. 2019, arXiv:1906.06439, equations 1
and 2; Karras et al. 2020, arXiv:1912.04958 and arXiv:2006.06676 (R1 by size).
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, UInt8
from torch import Tensor, nn
from torch.nn import functional

from transect.errors import BadInput
from transect.generators.encoder import KIND, SPACES
from transect.generators.encoder import Network as EncoderNetwork
from transect.generators.faceworld.chance import exogenous_noise
from transect.generators.progressive.generator import Network as ProgressiveNetwork
from transect.generators.progressive.generator import Progressive, Shape
from transect.generators.stylegan2.generator import StyleGAN2
from transect.generators.stylegan2.network import Configuration, Network, Noise
from transect.protocols import Generator
from transect.training.critics import Critic, Discriminator
from transect.training.distillation import TAUGHT_MAPPING, Distillation, kept
from transect.training.loop import Batch, Share, adam, descend, follow, in_parts, quicken, replacements
from transect.training.options import GanOptions


@final
@dataclass(frozen=True, slots=True)
class Growth:
    """sizes: phase by phase, doubling; shown: images of each but the last; fade: images in which a size comes in."""

    sizes: tuple[int, ...]
    shown: tuple[int, ...] = ()
    fade: int = 0

    def __post_init__(self) -> None:
        doubled = all(b == 2 * a for a, b in zip(self.sizes, self.sizes[1:], strict=False))
        if not self.sizes or not doubled or len(self.shown) != len(self.sizes) - 1 or min((0, *self.shown)) < 0:
            raise BadInput(
                f"growth: expected sizes that double and images for each but the last, got sizes {list(self.sizes)}"
                f" and images {list(self.shown)}; for example 16, 32, 64 and 50000, 50000"
            )

    def at(self, shown: int) -> tuple[int, float]:
        """The size after `shown` images, and how far it is faded in, 0 to 1."""
        start = 0
        for phase, size in enumerate(self.sizes):
            length = self.shown[phase] if phase < len(self.shown) else None
            if length is None or shown < start + length:
                whole = phase == 0 or self.fade == 0
                return size, 1.0 if whole else min(1.0, (shown - start) / self.fade)
            start += length
        raise AssertionError("the last phase does not end")


def even(sizes: Sequence[int], images: int) -> Growth:
    """The published plan over `images` images: half of each phase fades, half settles; all phases equally long."""
    part = images // (2 * len(sizes) - 1)
    return Growth(tuple(sizes), tuple(part if index == 0 else 2 * part for index in range(len(sizes) - 1)), part)


def shrunk(images: Float[Tensor, "b 3 h w"], size: int, share: float) -> Float[Tensor, "b 3 s s"]:
    """Real pictures as the network of that size sees them: averaged, and as blurred as its fading size still is."""
    small = functional.adaptive_avg_pool2d(images, size)
    if share >= 1:
        return small
    coarse = functional.interpolate(functional.avg_pool2d(small, 2), scale_factor=2)
    return torch.lerp(coarse, small, share)


LossesCritic = Callable[[Tensor], Tensor]
"""Pictures [b, 3, h, w] ► scores [b], high for real."""

Scores = Float[Tensor, " b"]


def generator_loss(fake: Scores) -> Tensor:
    """-log D(G(z)), averaged: the non-saturating loss."""
    loss: Tensor = functional.softplus(-fake).mean()
    return loss


def discriminator_loss(real: Scores, fake: Scores) -> Tensor:
    """-log D(x) - log(1 - D(G(z))), averaged."""
    total: Tensor = functional.softplus(-real).mean() + functional.softplus(fake).mean()
    return total


def r1_penalty(critic: LossesCritic, images: Float[Tensor, "b c h w"]) -> Tensor:
    """The squared norm of the gradient of the score at real pictures, averaged."""
    return _gradient(critic, images).square().sum(dim=(1, 2, 3)).mean()


def gradient_penalty(
    critic: LossesCritic, real: Float[Tensor, "b c h w"], fake: Float[Tensor, "b c h w"], where: Scores
) -> Tensor:
    """(‖∇D‖ - 1)² between pictures, averaged (Denton et al. 2019, equation 1). where: 0 at the real one."""
    between = torch.lerp(real, fake, where.view(-1, 1, 1, 1)).detach()
    lengths: Tensor = _gradient(critic, between).flatten(1).norm(dim=1)
    return (lengths - 1).square().mean()


def wasserstein_loss(real: Scores, fake: Scores, drift: float = 0.001) -> Tensor:
    """The critic's loss: E D(G(z)) - E D(x), plus a small multiple of E D(x)², which keeps the scores near 0."""
    return fake.mean() - real.mean() + drift * real.square().mean()


def path_lengths(
    images: Float[Tensor, "b c h w"], w: Float[Tensor, "b l d"], noise: Tensor, layers: int | None = None
) -> Scores:
    """How far the picture moves with w: ‖Jᵀ y‖ for pictures y of unit normal noise over the root of the pixels.

    The square is averaged over the first `layers`, None for all: those of sizes not grown to would dilute it.
    """
    scaled = (images * noise).sum() / math.sqrt(images.shape[2] * images.shape[3])
    (gradient,) = torch.autograd.grad(scaled, w, create_graph=True)
    return gradient[:, :layers].square().sum(dim=2).mean(dim=1).sqrt()


def _gradient(critic: LossesCritic, images: Tensor) -> Tensor:
    at = images.detach().requires_grad_()
    (gradient,) = torch.autograd.grad(critic(at).sum(), at, create_graph=True)
    return gradient


def _train_only(name: str, parts: Mapping[str, nn.Module]) -> None:
    """Let gradients reach one of the two networks."""
    for each in ("generator", "critic"):
        parts[each].requires_grad_(each == name)


PRECISIONS: Final = {"full": torch.float32, "half": torch.bfloat16}
LAZY = 4
"""Steps from one R1 penalty to the next, which counts as often: Karras et al. 2020, arXiv:1912.04958, appendix B."""
_PENALTY = 10.0
"""λ of the gradient penalty."""


@final
@dataclass
class ProgressiveRecipe:
    """Both networks of a shape, from a seed; with classes the objective is the conditional one.

    Its R1 stands in for the gradient penalty: McDuff et al. do not state what stabilised their training; R1 does.
    """

    shape: Shape
    options: GanOptions
    growth: Growth
    conditions: Sequence[tuple[str, Sequence[str]]] = ()
    seed: int = 0
    device: str = "cpu"
    parts: dict[str, nn.Module] = field(init=False)
    optimizers: dict[str, torch.optim.Adam] = field(init=False)

    def __post_init__(self) -> None:
        chosen = self.options
        self._r1 = 1.0 if chosen.r1 is None else chosen.r1
        self._class_weight = 1.0 if chosen.class_weight is None else chosen.class_weight
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            generator, critic = ProgressiveNetwork(self.shape), Critic(self.shape.channels, self.shape.classes)
        if self.shape.classes:
            _weigh_conditions(generator, self.shape)
        generator, critic = generator.to(self.device), critic.to(self.device)
        average = copy.deepcopy(generator).eval().requires_grad_(False)
        self.parts = {"generator": generator, "critic": critic, "average": average}
        rate = 0.001 if chosen.rate is None else chosen.rate
        self.optimizers = {
            "generator": adam(generator.parameters(), rate, 0.99),
            "critic": adam(critic.parameters(), rate, 0.99, LAZY if self.shape.classes else None),
        }

    def step(self, batch: Batch, share: Share) -> dict[str, float]:
        """One step of the critic, one of the generator, and the average follows."""
        grown = self.growth.at(batch.shown)
        real = shrunk(batch.images, *grown)
        figures = self._critic_step(batch, real, grown, share) | self._generator_step(batch, grown, share)
        after = batch.shown + batch.whole
        follow(self.parts["average"], self.parts["generator"], batch.whole, after, self.options.half_life)
        return {**figures, "size": float(grown[0]), "fade": grown[1]}

    def draw(self, seeds: Sequence[int], shown: int) -> Float[Tensor, "b 3 h w"]:
        """Pictures in about -1..1 of those seeds; conditions in turn."""
        z = torch.from_numpy(exogenous_noise(np.asarray(seeds), self.shape.z_dim)).to(self.device, torch.float32)
        places = torch.arange(len(z), device=self.device) % max(self.shape.classes, 1)
        c = functional.one_hot(places, self.shape.classes).float() if self.shape.classes else None
        codes = [None] * len(z) if c is None else in_parts(c)
        grown = self.growth.at(shown)
        with torch.no_grad():
            images = [self.parts["average"](part, code, grown) for part, code in zip(in_parts(z), codes, strict=False)]
            return torch.cat(images)

    def metadata(self) -> dict[str, str]:
        """The metadata of the generator's file."""
        return {"architecture": "progressive", "conditions": json.dumps(self.conditions)}

    def _make(self, batch: Batch, classes: Tensor | None, grown: tuple[int, float]) -> Tensor:
        z = batch.normal(len(batch.images), self.shape.z_dim)
        images: Tensor = self.parts["generator"](z, classes, grown, PRECISIONS[self.options.precision])
        return images

    def _classes(self, batch: Batch) -> Tensor | None:
        """Conditions drawn uniformly, independent of their shares in the data: 'sampling in a balanced manner'."""
        if not self.shape.classes:
            return None
        drawn = (batch.uniform(len(batch.images)) * self.shape.classes).long().clamp(max=self.shape.classes - 1)
        return functional.one_hot(drawn, self.shape.classes).float()

    def _judge(self, images: Tensor, part: float, asked: Tensor | None, *, full: bool = False) -> tuple[Tensor, Tensor]:
        precision = torch.float32 if full else PRECISIONS[self.options.precision]
        answers: tuple[Tensor, Tensor] = self.parts["critic"](images, part, precision, asked)
        return answers

    def _critic_step(self, batch: Batch, real: Tensor, grown: tuple[int, float], share: Share) -> dict[str, float]:
        _train_only("critic", self.parts)
        asked = self._classes(batch)
        with torch.no_grad():
            fake_images = self._make(batch, asked, grown)
        true, named = self._judge(real, grown[1], batch.classes)
        fake, _ = self._judge(fake_images, grown[1], asked)
        if batch.classes is None:
            figures = self._wasserstein(batch, (real, fake_images), (true, fake), grown[1])
        else:
            figures = self._adversarial(batch, batch.classes, real, (true, fake, named), grown[1])
        replaced = descend(self.optimizers["critic"], torch.stack(list(figures.values())).sum(), share)
        scores = {"real_score": true.mean().item(), "fake_score": fake.mean().item()} | replacements("critic", replaced)
        return {f"critic_{name}": value.item() for name, value in figures.items()} | scores

    def _wasserstein(
        self, batch: Batch, pictures: tuple[Tensor, Tensor], scores: tuple[Tensor, Tensor], part: float
    ) -> dict[str, Tensor]:
        where = batch.uniform(len(pictures[0]))
        penalty = gradient_penalty(lambda x: self._judge(x, part, None, full=True)[0], *pictures, where)
        return {"loss": wasserstein_loss(*scores), "penalty": _PENALTY * penalty}

    def _adversarial(
        self, batch: Batch, classes: Tensor, real: Tensor, answers: tuple[Tensor, Tensor, Tensor], part: float
    ) -> dict[str, Tensor]:
        true, fake, named = answers
        figures = {
            "loss": discriminator_loss(true, fake),
            "classes": self._class_weight * functional.cross_entropy(named, classes),
        }
        if batch.step % LAZY == 0:
            penalty = r1_penalty(lambda x: self._judge(x, part, classes, full=True)[0], real)
            figures["penalty"] = LAZY * self._r1 / 2 * penalty
        return figures

    def _generator_step(self, batch: Batch, grown: tuple[int, float], share: Share) -> dict[str, float]:
        _train_only("generator", self.parts)
        classes = self._classes(batch)
        fake, named = self._judge(self._make(batch, classes, grown), grown[1], classes)
        if classes is None:
            loss, figures = -fake.mean(), {}
        else:
            wrong = functional.cross_entropy(named, classes)
            loss = generator_loss(fake) + self._class_weight * wrong
            figures = {"generator_classes": wrong.item()}
        replaced = descend(self.optimizers["generator"], loss, share)
        return {"generator_loss": loss.item(), **figures, **replacements("generator", replaced)}


@torch.no_grad()
def _weigh_conditions(generator: ProgressiveNetwork, shape: Shape) -> None:
    """Let the condition weigh as much as the latent at the start.

    A one-hot vector has length 1, a latent of d coordinates sqrt(d): the first layer would hardly see the condition.
    """
    first = generator.blocks["4"].get_submodule("conv0")
    weight = first.get_parameter("weight")
    weight[:, shape.z_dim :] *= math.sqrt(shape.z_dim)


R1_EVERY, PATH_EVERY = 16, 8
"""Steps from one penalty to the next."""
PATH_SHRINK = 2
"""The path length is measured on a batch that many times smaller."""
_FOLLOW_W, _FOLLOW_PATH = 0.005, 0.01
"""How far the mean w, and the mean path length, move towards each batch's."""


@final
@dataclass
class StyleGAN2Recipe:
    """Both networks of a shape, from a seed. R1's weight is 0.0002 size² / batch (2006.06676) where none is given."""

    shape: Configuration
    options: GanOptions
    growth: Growth | None = None
    distillation: Distillation | None = None
    seed: int = 0
    device: str = "cpu"
    parts: dict[str, nn.Module] = field(init=False)
    optimizers: dict[str, torch.optim.Adam] = field(init=False)

    def __post_init__(self) -> None:
        chosen = self.options
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            generator = Network(self.shape)
            critic = Discriminator(self.shape.channels, grows=self.growth is not None)
        generator.mapping.register_buffer("path_mean", torch.zeros([]))
        generator, critic = generator.to(self.device), critic.to(self.device)
        average = copy.deepcopy(generator).eval().requires_grad_(False)
        self.parts = {"generator": generator, "critic": critic, "average": average}
        rate = 0.0025 if chosen.rate is None else chosen.rate
        self.optimizers = {
            "generator": adam(generator.parameters(), rate, 0.99, PATH_EVERY if chosen.path else None),
            "critic": adam(critic.parameters(), rate, 0.99, R1_EVERY),
        }
        if self.distillation is not None:
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
        """Pictures in about -1..1 of those seeds, with the network's constant noise."""
        average: Network = self.parts["average"]  # type: ignore[assignment]
        z = torch.from_numpy(exogenous_noise(np.asarray(seeds), self.shape.z_dim)).to(self.device, torch.float32)
        with torch.no_grad():
            w = average.mapping(z, None).unsqueeze(1).repeat(1, self.shape.layers, 1)
            grown, draw = self._grown(shown), average.synthesis
            return torch.cat([draw(draw.styles(part), growth=grown) for part in in_parts(w)])

    def metadata(self) -> dict[str, str]:
        """As a converted checkpoint's file."""
        return {"architecture": "stylegan2", "clamp": json.dumps(self.shape.clamp)}

    @property
    def _generator(self) -> Network:
        return self.parts["generator"]  # type: ignore[return-value]

    def _grown(self, shown: int) -> tuple[int, float]:
        return (self.shape.image_size, 1.0) if self.growth is None else self.growth.at(shown)

    def _judge(self, images: Tensor, part: float, *, full: bool = False) -> Tensor:
        precision = torch.float32 if full else PRECISIONS[self.options.precision]
        scores: Tensor = self.parts["critic"](images, precision, part)
        return scores

    def _adversarial(self, batch: Batch) -> float:
        """The weight of the adversarial loss."""
        return 1.0 if self.distillation is None else self.distillation.adversarial(batch.shown)

    def _map(
        self, batch: Batch, count: int, latents: Tensor | None = None
    ) -> tuple[Float[Tensor, "b layers w"], Bool[Tensor, " b"]]:
        """One w a layer; some pictures take another latent's from a layer on (style mixing). True: of one latent."""
        network = self._generator
        z = batch.normal(count, self.shape.z_dim) if latents is None else latents
        first: Tensor = network.mapping(z, None)
        with torch.no_grad():
            network.average.lerp_(first.mean(dim=0), _FOLLOW_W)
        w = first.unsqueeze(1).repeat(1, self.shape.layers, 1)
        if not (self.options.mixing and self._adversarial(batch)):
            return w, torch.ones(count, dtype=torch.bool, device=w.device)
        second: Tensor = network.mapping(batch.normal(count, self.shape.z_dim), None)
        cut = (1 + batch.uniform(count) * (self.shape.layers - 1)).floor()
        cut = torch.where(batch.uniform(count) < self.options.mixing, cut, float(self.shape.layers))
        later = torch.arange(self.shape.layers, device=w.device) >= cut.unsqueeze(1)
        return torch.where(later.unsqueeze(2), second.unsqueeze(1), w), cut >= self.shape.layers

    def _synthesize(self, w: Tensor, batch: Batch, grown: tuple[int, float], *, full: bool = False) -> Tensor:
        synthesis = self._generator.synthesis
        precision = torch.float32 if full else PRECISIONS[self.options.precision]
        images: Tensor = synthesis(synthesis.styles(w), _fresh_noise(batch, len(w), precision), precision, grown)
        return images

    def _generator_step(self, batch: Batch, real: Tensor, grown: tuple[int, float], share: Share) -> dict[str, float]:
        _train_only("generator", self.parts)
        taught, strength = self.distillation, self._adversarial(batch)
        w, whole = self._map(batch, len(real), None if taught is None else batch.latents)
        images = self._synthesize(w, batch, grown)
        figures: dict[str, float] = {}
        loss = torch.zeros([], device=images.device)
        if strength:
            adversarial = generator_loss(self._judge(images, grown[1]))
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
        lengths = path_lengths(images, w, batch.normal(*images.shape), layers)
        mean = self._generator.mapping.get_buffer("path_mean")
        mean.lerp_(lengths.detach().mean(), _FOLLOW_PATH)
        return (lengths - mean).square().mean(), float(lengths.detach().mean())

    def _critic_step(self, batch: Batch, real: Tensor, grown: tuple[int, float], share: Share) -> dict[str, float]:
        _train_only("critic", self.parts)
        with torch.no_grad():
            fake_images = self._synthesize(self._map(batch, len(real))[0], batch, grown)
        fake, true = self._judge(fake_images, grown[1]), self._judge(real, grown[1])
        loss = discriminator_loss(true, fake)
        figures = {"critic_loss": loss.item(), "real_score": true.mean().item(), "fake_score": fake.mean().item()}
        if batch.step % R1_EVERY == 0:
            weight = 0.0002 * grown[0] ** 2 / batch.whole if self.options.r1 is None else self.options.r1
            penalty = r1_penalty(lambda x: self._judge(x, grown[1], full=True), real)
            loss = loss + weight / 2 * R1_EVERY * penalty
            figures["r1"] = penalty.item()
        return figures | replacements("critic", descend(self.optimizers["critic"], loss, share))


def _fresh_noise(batch: Batch, count: int, precision: torch.dtype) -> Noise:
    def draw(index: int) -> Tensor:
        size = 4 << ((index + 1) // 2)
        return batch.normal(count, 1, size, size).to(precision)

    return draw


Make = Callable[[Tensor], Tensor]


@final
class Generated:
    """Stands in for pictures, for a training that generates its own."""

    def __len__(self) -> int:
        """One row, which is empty."""
        return 1

    def pixels(self, rows: Int[np.ndarray, " m"]) -> UInt8[np.ndarray, "m h w 3"]:
        """Empty pictures."""
        return np.zeros((len(rows), 1, 1, 3), dtype=np.uint8)


@final
@dataclass
class EncoderRecipe:
    """An encoder for a generator. images: of the whole training, over which the rate falls to 0 as a cosine."""

    generator: Generator
    images: int
    space: str = "z"
    size: int = 64
    widths: tuple[int, ...] = (16, 32, 64, 128, 128)
    rate: float = 0.002
    half_life: float = 2_000.0
    seed: int = 0
    parts: dict[str, nn.Module] = field(init=False)
    optimizers: dict[str, torch.optim.Adam] = field(init=False)

    def __post_init__(self) -> None:
        self._latents, self._make, coordinates, self._device = _space_of(self.generator, self.space)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            network = EncoderNetwork(self.size, self.widths, coordinates)
        network = network.to(self._device)
        self.parts = {"encoder": network, "average": copy.deepcopy(network).eval().requires_grad_(False)}
        self.optimizers = {"encoder": torch.optim.Adam(network.parameters(), lr=self.rate)}

    def step(self, batch: Batch, share: Share) -> dict[str, float]:
        """One step; the distance is of the averaged network, on pictures that it has not seen."""
        count = len(batch.images)
        with torch.no_grad():
            latents = self._latents(batch.normal(count, self.generator.latent_dim))
            pictures = self._make(latents)
            held_out = _distance(self.parts["average"](pictures), latents)
        for group in self.optimizers["encoder"].param_groups:
            group["lr"] = self.rate * 0.5 * (1 + math.cos(math.pi * min(1.0, batch.shown / self.images)))
        loss = _distance(self.parts["encoder"](pictures), latents)
        replaced = descend(self.optimizers["encoder"], loss, share)
        after = batch.shown + batch.whole
        follow(self.parts["average"], self.parts["encoder"], batch.whole, after, self.half_life)
        return {"distance": loss.item(), "held_out_distance": held_out.item(), **replacements("encoder", replaced)}

    def draw(self, seeds: Sequence[int], shown: int) -> Float[Tensor, "b 3 h w"]:
        """Pictures, and below each the picture of the latent that the encoder read from it."""
        del shown
        z = torch.from_numpy(self.generator.sample(list(seeds)[: len(seeds) // 2]).values).float()
        with torch.no_grad():
            parts = in_parts(z.to(self._device))
            first = torch.cat([self._make(self._latents(part)) for part in parts])
            second = torch.cat([self._make(self.parts["average"](part)) for part in in_parts(first)])
        rows = [half[i : i + 8] for i in range(0, len(first), 8) for half in (first, second)]
        return torch.cat(rows)

    def metadata(self) -> dict[str, str]:
        """The metadata of the encoder's file."""
        facts, options = getattr(self.generator, "facts", {}), getattr(self.generator, "options", {})
        return {
            "kind": KIND,
            "space": self.space,
            "size": str(self.size),
            "generator_sha256": str(facts.get("weights_sha256", "")),
            **({"generator_options": json.dumps(options, sort_keys=True)} if options else {}),
        }


def _distance(latents: Tensor, wanted: Tensor) -> Tensor:
    """The mean length of the difference."""
    lengths: Tensor = (latents - wanted).norm(dim=1)
    return lengths.mean()


def _space_of(generator: Generator, space: str) -> tuple[Make, Make, int, torch.device]:
    """From z to the space's latent; from that to pictures; its number of coordinates; where both compute."""
    if space not in SPACES:
        raise BadInput(f"space: expected one of {', '.join(SPACES)}, got {space!r}")
    if isinstance(generator, StyleGAN2):
        if space == "w":
            return (
                lambda z: generator.map(z)[:, 0],
                lambda w: generator.synthesize(w.unsqueeze(1).repeat(1, generator.layers, 1)),
                generator.shape.w_dim,
                generator.device,
            )
        return lambda z: z, lambda z: generator.synthesize(generator.map(z)), generator.latent_dim, generator.device
    if isinstance(generator, Progressive) and space == "z" and not generator.attributes:
        return lambda z: z, generator.generate, generator.latent_dim, generator.device
    got = f"{type(generator).__name__} in space {space}" + (
        " with conditions" if isinstance(generator, Progressive) and generator.attributes else ""
    )
    raise BadInput(f"generator: expected a StyleGAN2, or a progressive GAN without conditions in space z, got {got}")
