"""The training of a progressive GAN: WGAN-GP as Denton et al. 2019 used it, or with a condition as McDuff et al. 2019.

The condition's objective is McDuff et al.'s equations 1 to 3 as meant. As printed, equation 2 asks the critic for a
*high* D(G(z, θ)) and shows its class head generated pictures alone, and equation 3 has one player minimise and the
other maximise sums of both losses. Here, as in their source (Thekumparampil et al. 2018, arXiv:1811.03205; Odena et al.
2017, arXiv:1610.09585), the critic makes -log D(x, θ) - log(1 - D(G, θ)) - w log C(θ | x) small, and the generator
-log D(G, θ) - w log C(θ | G). D sees the condition too: a class head alone can be satisfied by patterns that no other
classifier reads as the condition, which the critic then never corrects.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from transect.generators.faceworld.chance import exogenous_noise
from transect.generators.progressive.network import Network, Shape
from transect.training import losses
from transect.training.critic import Critic
from transect.training.growth import Growth, shrunk
from transect.training.recipe import Batch, Share, adam, descend, follow, in_parts, replacements

WASSERSTEIN, CONDITIONAL = "wasserstein", "conditional"
LAZY = 4
"""Steps from one R1 penalty to the next, which counts as often: Karras et al. 2020, arXiv:1912.04958, appendix B."""


@final
@dataclass(frozen=True, slots=True)
class Options:
    """How it is trained. penalty: λ of the gradient penalty; the condition's objective has R1 of weight `r1` instead.

    McDuff et al. do not state what stabilised their training; R1 does, every `LAZY`-th step. class_weight: w of the
    class head's loss. half_life: of the average, in pictures.
    """

    growth: Growth
    rate: float = 0.001
    penalty: float = 10.0
    r1: float = 1.0
    class_weight: float = 1.0
    half_life: float = 10_000.0
    precision: torch.dtype = torch.float32
    conditions: tuple[tuple[str, tuple[str, ...]], ...] = ()


@final
@dataclass
class ProgressiveRecipe:
    """Both networks of a shape, from a seed; with classes the objective is the conditional one."""

    shape: Shape
    options: Options
    seed: int = 0
    device: str = "cpu"
    parts: dict[str, nn.Module] = field(init=False)
    optimizers: dict[str, torch.optim.Adam] = field(init=False)

    def __post_init__(self) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            generator, critic = Network(self.shape), Critic(self.shape.channels, self.shape.classes)
        if self.shape.classes:
            _weigh_conditions(generator, self.shape)
        generator, critic = generator.to(self.device), critic.to(self.device)
        average = copy.deepcopy(generator).eval().requires_grad_(False)
        self.parts = {"generator": generator, "critic": critic, "average": average}
        intervals = {"generator": None, "critic": LAZY if self.shape.classes else None}
        self.optimizers = {
            name: adam(self.parts[name].parameters(), self.options.rate, 0.99, interval)
            for name, interval in intervals.items()
        }

    def step(self, batch: Batch, share: Share) -> dict[str, float]:
        """One step of the critic, one of the generator, and the average follows."""
        grown = self.options.growth.at(batch.shown)
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
        grown = self.options.growth.at(shown)
        with torch.no_grad():
            images = [self.parts["average"](part, code, grown) for part, code in zip(in_parts(z), codes, strict=False)]
            return torch.cat(images)

    def metadata(self) -> dict[str, str]:
        """The metadata of the generator's file."""
        return {"architecture": "progressive", "conditions": json.dumps(self.options.conditions)}

    def _make(self, batch: Batch, classes: Tensor | None, grown: tuple[int, float]) -> Tensor:
        z = batch.normal(len(batch.images), self.shape.z_dim)
        images: Tensor = self.parts["generator"](z, classes, grown, self.options.precision)
        return images

    def _classes(self, batch: Batch) -> Tensor | None:
        """Conditions drawn uniformly, independent of their shares in the data: 'sampling in a balanced manner'."""
        if not self.shape.classes:
            return None
        drawn = (batch.uniform(len(batch.images)) * self.shape.classes).long().clamp(max=self.shape.classes - 1)
        return functional.one_hot(drawn, self.shape.classes).float()

    def _judge(self, images: Tensor, part: float, asked: Tensor | None, *, full: bool = False) -> tuple[Tensor, Tensor]:
        precision = torch.float32 if full else self.options.precision
        answers: tuple[Tensor, Tensor] = self.parts["critic"](images, part, precision, asked)
        return answers

    def _critic_step(self, batch: Batch, real: Tensor, grown: tuple[int, float], share: Share) -> dict[str, float]:
        self._train(generator=False)
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
        penalty = losses.gradient_penalty(lambda x: self._judge(x, part, None, full=True)[0], *pictures, where)
        return {"loss": losses.wasserstein_loss(*scores), "penalty": self.options.penalty * penalty}

    def _adversarial(
        self, batch: Batch, classes: Tensor, real: Tensor, answers: tuple[Tensor, Tensor, Tensor], part: float
    ) -> dict[str, Tensor]:
        true, fake, named = answers
        figures = {
            "loss": losses.discriminator_loss(true, fake),
            "classes": self.options.class_weight * functional.cross_entropy(named, classes),
        }
        if batch.step % LAZY == 0:
            penalty = losses.r1_penalty(lambda x: self._judge(x, part, classes, full=True)[0], real)
            figures["penalty"] = LAZY * self.options.r1 / 2 * penalty
        return figures

    def _generator_step(self, batch: Batch, grown: tuple[int, float], share: Share) -> dict[str, float]:
        self._train(generator=True)
        classes = self._classes(batch)
        fake, named = self._judge(self._make(batch, classes, grown), grown[1], classes)
        if classes is None:
            loss, figures = -fake.mean(), {}
        else:
            wrong = functional.cross_entropy(named, classes)
            loss = losses.generator_loss(fake) + self.options.class_weight * wrong
            figures = {"generator_classes": wrong.item()}
        replaced = descend(self.optimizers["generator"], loss, share)
        return {"generator_loss": loss.item(), **figures, **replacements("generator", replaced)}

    def _train(self, *, generator: bool) -> None:
        self.parts["generator"].requires_grad_(generator)
        self.parts["critic"].requires_grad_(not generator)


@torch.no_grad()
def _weigh_conditions(generator: Network, shape: Shape) -> None:
    """Let the condition weigh as much as the latent at the start.

    A one-hot vector has length 1, a latent of d coordinates sqrt(d): the first layer would hardly see the condition.
    """
    first = generator.blocks["4"].get_submodule("conv0")
    weight = first.get_parameter("weight")
    weight[:, shape.z_dim :] *= math.sqrt(shape.z_dim)
