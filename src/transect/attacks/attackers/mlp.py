"""The attacker of Wang et al. 2019 and its ablations: networks that are all trained together.

The paper's text has four linear layers, the released code five; Table 2 also has one and two. As released: Adam at
5e-5, weight decay 1e-5, batches of 128, 100 epochs. By default the last epoch speaks; in the published protocol the
snapshot that was best on the development rows does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
from jaxtyping import Float, Int

from transect.attacks.records import Problem
from transect.runs.progress import Progress

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from transect.attacks.attackers.networks import Batch, Networks

HIDDEN: Final[dict[str, tuple[int, ...]]] = {
    "mlp": (300, 300, 300, 300),
    "mlp-4": (300, 300, 300),
    "mlp-2": (300,),
    "mlp-2x100": (100,),
    "mlp-1": (),
}
EPOCHS: Final = 100
BATCH: Final = 128
TOGETHER: Final = {"cpu": 4, "cuda": 64}
"""Networks trained at the same time: more would leave a processor's cache, fewer would leave a GPU idle."""
_ROWS_AT_ONCE: Final = 4096
_SEEDS: Final = 1 << 62


@final
@dataclass
class Mlp:
    """Networks with these hidden layers; `device` is cpu, cuda or cuda:N; `together` 0 takes what suits it.

    Answers are the same whatever else is asked, on one kind of device.
    """

    name: str = "mlp"
    epochs: int = EPOCHS
    device: str = "cpu"
    together: int = 0
    is_slow: bool = True
    is_random: bool = True
    knows_noise: bool = False

    @property
    def hidden(self) -> tuple[int, ...]:
        """Units of each hidden layer."""
        return HIDDEN[self.name]

    def attack(self, problems: Sequence[Problem], stage: str = "") -> list[Float[np.ndarray, "_ _"]]:
        """A score for each tested item and class; see `Attacker`."""
        together = self.together or TOGETHER[self.device.split(":")[0]]
        answers: list[Float[np.ndarray, "_ _"]] = [np.empty((0, 0))] * len(problems)
        with Progress(f"{stage}: {self.name}", len(problems), quiet=not stage) as progress:
            for group in _of_equal_shape(problems):
                for start in range(0, len(group), together):
                    batch = group[start : start + together]
                    for number, answer in zip(batch, self._train([problems[i] for i in batch]), strict=True):
                        answers[number] = answer
                    progress.advance(len(batch))
        return answers

    def _train(self, problems: Sequence[Problem]) -> list[Float[np.ndarray, "_ _"]]:
        import torch

        from transect.attacks.attackers.networks import Networks

        first = problems[0]
        seeds = [problem.seed % _SEEDS for problem in problems]
        looks_up = first.evidence.category is not None and bool(self.hidden)
        train = Rows.of(problems, [problem.train for problem in problems], self.device, looks_up)
        test = Rows.of(problems, [problem.test for problem in problems], self.device, looks_up)
        development = Rows.of(problems, [problem.development for problem in problems], self.device, looks_up)
        networks = Networks((len(first.evidence.names), *self.hidden, first.n_classes), seeds, self.device)
        generators = [torch.Generator().manual_seed(seed + 1) for seed in seeds]
        best, answers = np.full(len(problems), -1.0), list[np.ndarray]()
        for epoch in range(self.epochs):
            _one_epoch(networks, train, generators)
            if len(development):
                scores = development.accuracy(networks)
                better = np.flatnonzero(scores > best)
                best[better] = scores[better]
                latest = test.scores(networks) if len(better) else []
                answers = [latest[i] if i in better else answers[i] for i in range(len(problems))]
            elif epoch == self.epochs - 1:
                answers = test.scores(networks)
        return answers


@final
@dataclass
class Rows:
    """The same number of rows for every network, on its device: categories or values, and classes."""

    classes: Tensor
    category: Any = None
    values: Any = None

    @classmethod
    def of(
        cls, problems: Sequence[Problem], rows: Sequence[Int[np.ndarray, " _"]], device: str, looks_up: bool
    ) -> Rows:
        """Rows of each problem. looks_up: keep categories as they are instead of as one-hot rows."""
        import torch

        classes = torch.from_numpy(np.stack([p.protected[taken] for p, taken in zip(problems, rows, strict=True)]))
        if looks_up:
            categories = [p.evidence.category for p in problems]
            taken = [
                category[chosen] for category, chosen in zip(categories, rows, strict=True) if category is not None
            ]
            return cls(classes.to(device), category=torch.from_numpy(np.stack(taken)).to(device))
        dense = np.stack([p.evidence.dense(chosen) for p, chosen in zip(problems, rows, strict=True)])
        return cls(classes.to(device), values=torch.from_numpy(dense).to(device))

    def __len__(self) -> int:
        return self.classes.shape[1]

    def batch(self, order: Tensor) -> tuple[Batch, Tensor]:
        """The rows order[N, b] of each network, and their classes."""
        import torch

        from transect.attacks.attackers.networks import Batch

        classes = self.classes.gather(1, order)
        if self.category is not None:
            return Batch(category=self.category.gather(1, order)), classes
        return Batch(
            values=torch.stack([values[rows] for values, rows in zip(self.values, order, strict=True)])
        ), classes

    def scores(self, networks: Networks) -> list[Float[np.ndarray, "_ _"]]:
        """What each network says of its rows; equal categories are asked about once."""
        import torch

        from transect.attacks.attackers.networks import Batch

        if self.category is not None:
            every = torch.arange(networks.sizes[0], device=self.category.device).expand(networks.n, -1)
            table = networks.logits(Batch(category=every))
            return [logits[rows].cpu().numpy() for logits, rows in zip(table, self.category, strict=True)]
        parts = [
            networks.logits(Batch(values=self.values[:, start : start + _ROWS_AT_ONCE]))
            for start in range(0, len(self), _ROWS_AT_ONCE)
        ]
        return list(torch.cat(parts, dim=1).cpu().numpy()) if parts else [np.empty((0, 0))] * networks.n

    def accuracy(self, networks: Networks) -> Float[np.ndarray, " _"]:
        """Share of the rows that each network classifies correctly."""
        truth = self.classes.cpu().numpy()
        guesses = [scores.argmax(axis=1) for scores in self.scores(networks)]
        return np.array([(guess == right).mean() for guess, right in zip(guesses, truth, strict=True)])


def _one_epoch(networks: Networks, rows: Rows, generators: Sequence[Generator]) -> None:
    """Every row once, in an order drawn by each network's own generator; a last batch of a single row is left out."""
    import torch

    order = torch.stack([torch.randperm(len(rows), generator=g) for g in generators]).to(networks.device)
    for start in range(0, len(rows), BATCH):
        chosen = order[:, start : start + BATCH]
        if chosen.shape[1] > 1:
            networks.train_step(*rows.batch(chosen))


def _of_equal_shape(problems: Sequence[Problem]) -> list[list[int]]:
    """Positions of problems whose networks have the same shape and numbers of rows."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for number, p in enumerate(problems):
        shape = (p.evidence.format, len(p.evidence.names), p.n_classes, len(p.train), len(p.test), len(p.development))
        groups.setdefault(shape, []).append(number)
    return list(groups.values())
