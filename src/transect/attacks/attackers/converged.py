"""The same network trained on distinct rows until it no longer changes. This is not the published protocol.

Every distinct row of labels enters once, with its number of items in each class as weight; a step sees all of them, so
that there is neither a batch nor an epoch. It answers what the published attacker would if it were trained to the end,
many times faster where rows repeat, as categories do; where all rows differ it saves little. A network, not a ridge
regression, so scikit-learn's solvers do not apply.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

import numpy as np
from jaxtyping import Float, Int

from transect.attacks.attackers.distinct import distinct_rows
from transect.attacks.attackers.mlp import HIDDEN
from transect.attacks.attackers.protocol import watched
from transect.attacks.records import Problem

if TYPE_CHECKING:
    from torch import Tensor

STEPS: Final = 400
LEARNING_RATE: Final = 3e-3
_SETTLED: Final = 1e-5
_PATIENCE: Final = 10
_EPSILON: Final = 1e-5
_SLOPE: Final = 0.01
_SEEDS: Final = 1 << 62


@final
@dataclass
class Converged:
    """Five linear layers as released, Adam at 3e-3 on all distinct rows, at most `steps` steps.

    Stops when the weighted loss has fallen by less than 1e-5 of itself in each of ten steps.
    """

    name: str = "converged"
    steps: int = STEPS
    device: str = "cpu"
    is_slow: bool = True
    is_random: bool = True
    knows_noise: bool = False

    def attack(self, problems: Sequence[Problem], stage: str = "") -> list[Float[np.ndarray, "_ _"]]:
        """A score for each tested item and class; see `Attacker`."""
        return [self._scores(problem) for problem in watched(self.name, stage, problems)]

    def _scores(self, problem: Problem) -> Float[np.ndarray, "_ _"]:
        import torch

        train_rows, weights = _weighted(problem)
        tested, which = distinct_rows(problem.evidence, problem.test)
        x = torch.from_numpy(problem.evidence.dense(train_rows)).to(self.device)
        targets = torch.from_numpy(weights).to(self.device)
        layers = _layers((x.shape[1], *HIDDEN["mlp"], problem.n_classes), problem.seed % _SEEDS, self.device)
        statistics = _fit(layers, x, targets, self.steps)
        with torch.no_grad():
            logits = _say(layers, torch.from_numpy(problem.evidence.dense(tested)).to(self.device), statistics)
        return np.asarray(logits.cpu().numpy()[which])


def _weighted(problem: Problem) -> tuple[Int[np.ndarray, " m"], Float[np.ndarray, "m c"]]:
    """A training row for each distinct one, and its share of the items of each class, float32; all sums to 1."""
    rows, merged = distinct_rows(problem.evidence, problem.train)
    c = problem.n_classes
    counts = np.bincount(merged * c + problem.protected[problem.train], minlength=len(rows) * c).reshape(-1, c)
    return rows, (counts / (c * np.maximum(counts.sum(axis=0), 1))).astype(np.float32)


def _layers(sizes: Sequence[int], seed: int, device: str) -> list[list[Tensor]]:
    """Scale, shift and weight of each layer, and the last bias."""
    import torch

    from transect.attacks.attackers.networks import initial_weights

    drawn = initial_weights(sizes, seed)
    layers = [
        [torch.ones(inputs), torch.zeros(inputs), weight] for inputs, weight in zip(sizes[:-1], drawn[:-1], strict=True)
    ]
    return [[p.to(device).requires_grad_() for p in layer] for layer in [*layers, [drawn[-1]]]]


def _fit(layers: list[list[Tensor]], x: Tensor, targets: Tensor, steps: int) -> list[tuple[Tensor, Tensor]]:
    """Trains in place; returns the mean and variance that each BatchNorm ended with."""
    import torch

    adam = torch.optim.Adam([p for layer in layers for p in layer], lr=LEARNING_RATE, fused=True)
    share, before, calm = targets.sum(dim=1, keepdim=True), float("inf"), 0
    for _ in range(steps):
        loss = -(targets * torch.log_softmax(_say(layers, x, [], share), dim=1)).sum()
        adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()
        now = float(loss.detach())
        calm = calm + 1 if before - now < _SETTLED * abs(before) else 0
        before = min(before, now)
        if calm >= _PATIENCE:
            break
    statistics: list[tuple[Tensor, Tensor]] = []
    with torch.no_grad():
        _say(layers, x, statistics, share)
    return statistics


def _say(
    layers: list[list[Tensor]], h: Tensor, statistics: list[tuple[Tensor, Tensor]], share: Tensor | None = None
) -> Tensor:
    """Logits; with `share` each BatchNorm uses, and appends, the weighted statistics of its input."""
    import torch

    for number, (scale, shift, weight) in enumerate(layers[:-1]):
        if share is not None:
            mean = (share * h).sum(dim=0)
            statistics.append((mean, (share * (h - mean) ** 2).sum(dim=0)))
        mean, variance = statistics[number]
        h = (h - mean) * torch.rsqrt(variance + _EPSILON) * scale + shift
        h = (torch.nn.functional.leaky_relu(h, _SLOPE) if number else h) @ weight
    return torch.add(h, layers[-1][0])
