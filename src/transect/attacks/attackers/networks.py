"""The attacking networks of Wang et al. 2019, many trained as one model: axis 0 of every array is the network.

Each network is BatchNorm, then linear layers with BatchNorm and LeakyReLU between them, trained by Adam with weight
decay on cross-entropy. Gradients are written out, so that work which changes nothing is left out: a bias in front
of a BatchNorm and the shift of the first one cancel (with a single linear layer that shift is one with its bias),
no gradient flows to the input, and the first layer of one-hot rows is a look-up. What a network says depends on its
own data and seed alone. The paper's text has four linear layers, the released code five; Table 2 also has one and
two. As released: Adam at 5e-5, weight decay 1e-5, batches of 128, 100 epochs; by default the last epoch speaks, in
the published protocol the snapshot that was best on the development rows.

Shapes: N networks, b rows, k inputs, c classes. Everything is float32.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
from jaxtyping import Float, Int

from transect.attacks.records import Problem
from transect.runs.parts import Progress

if TYPE_CHECKING:
    from torch import Generator, Tensor


EPSILON: Final = 1e-5
MOMENTUM: Final = 0.1
SLOPE: Final = 0.01
LEARNING_RATE: Final = 5e-5
WEIGHT_DECAY: Final = 1e-5
_ALIGNED: Final = 16


@final
@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of every network: categories int64 [N, b] or values [N, b, k], exactly one of the two."""

    category: Any = None
    values: Any = None


class Networks:
    """N networks of one shape. sizes: inputs, hidden units …, classes. seeds: of each network's first weights."""

    def __init__(self, sizes: Sequence[int], seeds: Sequence[int], device: str = "cpu") -> None:
        import torch

        if len(sizes) < 2:
            raise ValueError("expected at least the numbers of inputs and of classes")
        n, depth = len(seeds), len(sizes) - 1
        self.sizes, self.n, self.device = tuple(sizes), n, device
        shapes = [*itertools.pairwise(sizes), (1, sizes[-1]), *((width,) for width in (*sizes[:-1], *sizes[1:-1]))]
        values, parameters = _views(n, shapes, device)
        gradients, written = _views(n, shapes, device)
        self.weights, self._weight_gradients = parameters[:depth], written[:depth]
        self.bias, self._bias_gradient = parameters[depth], written[depth]
        self.scales, self._scale_gradients = parameters[depth + 1 : 2 * depth + 1], written[depth + 1 : 2 * depth + 1]
        self.shifts, self._shift_gradients = parameters[2 * depth + 1 :], written[2 * depth + 1 :]
        for i, seed in enumerate(seeds):
            for weights, drawn in zip([*self.weights, self.bias], initial_weights(sizes, seed), strict=True):
                weights[i] = drawn
        for scale in self.scales:
            scale.fill_(1.0)
        running = [(width,) for width in sizes[:-1]]
        self.means, self.variances = _views(n, running, device)[1], _views(n, running, device)[1]
        for variance in self.variances:
            variance.fill_(1.0)
        values.grad = gradients
        self._adam = torch.optim.Adam([values], lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY, fused=True)

    @property
    def depth(self) -> int:
        """Number of linear layers."""
        return len(self.weights)

    def train_step(self, batch: Batch, classes: Tensor) -> None:
        """One step of Adam on the mean cross-entropy of each network's own rows; classes int64 [N, b]."""
        import torch

        entering, normalized, hidden, saved = self._forward(batch)
        logits = torch.baddbmm(self.bias, hidden[-1], self.weights[-1]) if hidden else entering + self.bias
        error = torch.softmax(logits, dim=2)
        error.scatter_add_(2, classes.unsqueeze(2), error.new_full((*classes.shape, 1), -1.0))
        self._backward(batch, normalized, hidden, saved, error / classes.shape[1])
        self._adam.step()

    def logits(self, batch: Batch) -> Tensor:
        """What the networks say, with the running statistics: [N, b, c]."""
        import torch

        factor = self.scales[0] * torch.rsqrt(self.variances[0] + EPSILON)
        weight = factor.unsqueeze(2) * self.weights[0]
        z = _looked_up(weight, batch.category) if batch.values is None else torch.bmm(batch.values, weight)
        z -= torch.bmm(self.means[0].unsqueeze(1), weight)
        for layer in range(1, self.depth):
            factor = self.scales[layer] * torch.rsqrt(self.variances[layer] + EPSILON)
            z = (z - self.means[layer].unsqueeze(1)) * factor.unsqueeze(1) + self.shifts[layer - 1].unsqueeze(1)
            z = torch.bmm(torch.nn.functional.leaky_relu(z, SLOPE), self.weights[layer])
        return z + self.bias

    def _forward(self, batch: Batch) -> tuple[Tensor, Any, list[Tensor], list[Any]]:
        """The first layer's output, its normalized input, and each hidden layer's input with what BatchNorm saved."""
        import torch

        if batch.values is None:
            z, normalized = self._first_of_categories(batch.category)
        else:
            normalized = self._normalized(batch.values)
            z = torch.bmm(normalized, self.scales[0].unsqueeze(2) * self.weights[0])
        entering, hidden, saved = z, [], []
        for layer in range(1, self.depth):
            h, statistics = self._batch_norm(layer, z)
            torch.nn.functional.leaky_relu_(h, SLOPE)
            hidden.append(h)
            saved.append((z, statistics))
            if layer < self.depth - 1:
                z = torch.bmm(h, self.weights[layer])
        return entering, normalized, hidden, saved

    def _backward(self, batch: Batch, normalized: Any, hidden: list[Tensor], saved: list[Any], error: Tensor) -> None:
        """Writes the gradient of every parameter; `error` [N, b, c] is that of the logits."""
        import torch

        self._bias_gradient.copy_(error.sum(dim=1, keepdim=True))
        for layer in range(self.depth - 1, 0, -1):
            torch.bmm(hidden[layer - 1].transpose(1, 2), error, out=self._weight_gradients[layer])
            error = torch.bmm(error, self.weights[layer].transpose(1, 2))
            # LeakyReLU keeps signs, so that its own output tells on which side each value lay.
            error = torch.ops.aten.leaky_relu_backward(error, hidden[layer - 1], SLOPE, True)
            error = self._batch_norm_backward(layer, error, saved[layer - 1])
        if batch.values is None:
            product = _added_up(batch.category, error, self.sizes[0]) * normalized.unsqueeze(2)
        else:
            product = torch.bmm(normalized.transpose(1, 2), error)
        self._weight_gradients[0].copy_(product * self.scales[0].unsqueeze(2))
        self._scale_gradients[0].copy_(product.mul_(self.weights[0]).sum(dim=2))

    def _first_of_categories(self, category: Tensor) -> tuple[Tensor, Tensor]:
        """BatchNorm and the first layer on one-hot rows: a look-up, centered. Returns it and 1 / SD of each input."""
        import torch

        rows = category.shape[1]
        share = torch.zeros_like(self.means[0]).scatter_add_(1, category, self.means[0].new_ones(category.shape)) / rows
        variance = share * (1 - share)
        self._remember(0, share, variance, rows)
        inverse = torch.rsqrt(variance + EPSILON)
        weight = (inverse * self.scales[0]).unsqueeze(2) * self.weights[0]
        looked_up = _looked_up(weight, category)
        return looked_up - looked_up.mean(dim=1, keepdim=True), inverse

    def _normalized(self, values: Tensor) -> Tensor:
        import torch

        variance, mean = torch.var_mean(values, dim=1, correction=0)
        self._remember(0, mean, variance, values.shape[1])
        return (values - mean.unsqueeze(1)) * torch.rsqrt(variance + EPSILON).unsqueeze(1)

    def _remember(self, layer: int, mean: Tensor, variance: Tensor, rows: int) -> None:
        """Moves the running statistics a tenth of the way; the variance by its unbiased estimate."""
        self.means[layer].lerp_(mean, MOMENTUM)
        self.variances[layer].lerp_(variance * (rows / (rows - 1)), MOMENTUM)

    def _batch_norm(self, layer: int, z: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """PyTorch's own kernel, one network at a time: its rows stay in the cache."""
        import torch

        out, mean = torch.empty_like(z), torch.empty_like(self.means[layer])
        inverse = torch.empty_like(mean)
        shift = self.shifts[layer - 1]
        for i in range(self.n):
            parameters = (self.scales[layer][i], shift[i], self.means[layer][i], self.variances[layer][i])
            torch.ops.aten.native_batch_norm.out(
                z[i], *parameters, True, MOMENTUM, EPSILON, out=out[i], save_mean=mean[i], save_invstd=inverse[i]
            )
        return out, (mean, inverse)

    def _batch_norm_backward(self, layer: int, error: Tensor, saved: Any) -> Tensor:
        import torch

        z, (mean, inverse) = saved
        scale, shift = self._scale_gradients[layer], self._shift_gradients[layer - 1]
        out = torch.empty_like(error)
        for i in range(self.n):
            parameters = (self.scales[layer][i], self.means[layer][i], self.variances[layer][i], mean[i], inverse[i])
            torch.ops.aten.native_batch_norm_backward.out(
                error[i],
                z[i],
                *parameters,
                True,
                EPSILON,
                [True, True, True],
                out0=out[i],
                out1=scale[i],
                out2=shift[i],
            )
        return out


def initial_weights(sizes: Sequence[int], seed: int) -> list[Tensor]:
    """PyTorch's initial weights of linear layers, uniform within 1 / sqrt(inputs), then the last bias [1, c]."""
    import torch

    generator = torch.Generator().manual_seed(seed)

    def uniform(inputs: int, *shape: int) -> Tensor:
        return (2 * torch.rand(*shape, generator=generator) - 1) / math.sqrt(inputs)

    layers = (uniform(inputs, inputs, units) for inputs, units in itertools.pairwise(sizes))
    return [*layers, uniform(sizes[-2], 1, sizes[-1])]


def _views(n: int, shapes: Sequence[tuple[int, ...]], device: str) -> tuple[Tensor, list[Tensor]]:
    """One array of zeros [n, all numbers] and a view [n, *shape] into it for each shape.

    Each view begins at a multiple of 16 numbers, as does each network: vector instructions then treat every network
    the same, so its numbers do not depend on which others it is trained with, to the last bit.
    """
    import torch

    sizes = [math.prod(shape) for shape in shapes]
    starts = [0, *itertools.accumulate(-(-size // _ALIGNED) * _ALIGNED for size in sizes)]
    whole = torch.zeros(n, starts[-1], device=device)
    places = zip(starts, sizes, shapes, strict=False)
    return whole, [whole[:, start : start + size].view(n, *shape) for start, size, shape in places]


def _looked_up(weight: Tensor, category: Tensor) -> Tensor:
    """Row category[N, b] of each network's weight [N, k, units]."""
    return weight.gather(1, category.unsqueeze(2).expand(-1, -1, weight.shape[2]))


def _added_up(category: Tensor, error: Tensor, k: int) -> Tensor:
    """Sum of the errors [N, b, units] of each category: [N, k, units]."""
    import torch

    n, _, units = error.shape
    total = torch.zeros(n, k, units, device=error.device)
    for i in range(n):
        total[i].index_add_(0, category[i], error[i])
    return total


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

        classes = self.classes.gather(1, order)
        if self.category is not None:
            return Batch(category=self.category.gather(1, order)), classes
        return Batch(
            values=torch.stack([values[rows] for values, rows in zip(self.values, order, strict=True)])
        ), classes

    def scores(self, networks: Networks) -> list[Float[np.ndarray, "_ _"]]:
        """What each network says of its rows; equal categories are asked about once."""
        import torch

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
