"""Adversarial training as published, and losses of training: weights of items, worst groups, stars.

The predictor makes L(p(X), Y) - λ L_c(c(h), g) small with the critic held still, the critic L_c(c(h), g) on batches
with as many of every class. Three phases: the predictor alone until it no longer gains, the critic alone, both. At
the picture the representation is the picture times a mask, and β |X - M·X| keeps what it need not hide. Source:
Wang et al. 2019, arXiv:1811.08489, section 5. `reverse` turns the critic's gradient round instead of alternating
(Ganin et al. 2016, arXiv:1505.07818).
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from transect.attacks.outputs import performance
from transect.errors import BadInput
from transect.mitigation.data import Pixels, TaskData, balanced_batches, batches, images_of
from transect.mitigation.networks import Tap, critic_for, reverse_gradient


def reweighed(labels: Bool[np.ndarray, "n k"], protected: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n k"]:
    """A weight for each item and label, P(label) P(class) / P(label, class): then they are independent, label by label.

    >>> reweighed(np.array([[True], [True], [False], [False]]), np.array([0, 0, 0, 1]))[:, 0].round(3).tolist()
    [0.75, 0.75, 1.5, 0.5]
    """
    _, group = np.unique(protected, return_inverse=True)
    n, k = labels.shape
    shares = np.bincount(group) / n
    weights = np.empty((n, k))
    for column in range(k):
        code = 2 * group + labels[:, column]
        joint = np.bincount(code, minlength=2 * len(shares)) / n
        yes = labels[:, column].mean()
        alone = np.where(labels[:, column], yes, 1 - yes)
        weights[:, column] = alone * shares[group] / joint[code]
    return weights


@final
class GroupWeights:
    """Weights of groups that grow with their losses: q_g becomes q_g exp(rate · loss_g), scaled to sum 1."""

    def __init__(self, groups: int, rate: float = 0.01) -> None:
        self.rate = rate
        self.values = np.full(groups, 1 / groups)

    def update(self, losses: Float[np.ndarray, " g"]) -> Float[np.ndarray, " g"]:
        """The weights after a batch's mean losses by group; NaN where a group had no items, whose weight stays."""
        known = np.isfinite(losses)
        grown = np.where(known, self.values * np.exp(self.rate * np.where(known, losses, 0.0)), self.values)
        self.values = grown / grown.sum()
        return self.values


IMAGE = "image"
"""In place of a module's name: the critic sees the picture behind the mask."""

Tell = Callable[[str, int, dict[str, float]], None]
"""Told the phase, the epoch and its figures."""

Loss = Callable[[Tensor, Int[np.ndarray, " m"]], Tensor]
"""The task's mean loss of what the model put out for those rows, instead of cross-entropy by label."""

Read = Callable[[Float[np.ndarray, "m o"]], Float[np.ndarray, "m k"]]
"""A score for each label from what the model put out, where these differ."""


@final
@dataclass(frozen=True, slots=True)
class Settings:
    """weight: λ; reconstruction: β, at the image. where: a module's name, or "image".

    critic: its kind; critic_width: of its layers, none for the kind's own.

    The published rates are for a pretrained network: 1e-4 for its classification layer (`head`, names that start so; ""
    for all), then 5e-6. patience: epochs without gain that end the first phase.
    """

    where: str
    critic: str = "map"
    critic_width: int | None = None
    weight: float = 1.0
    reconstruction: float = 1.0
    reverse: bool = False
    head: str = ""
    batch: int = 32
    rate: float = 1e-4
    joint_rate: float = 5e-6
    critic_rate: float = 1e-4
    epochs: int = 50
    patience: int = 3
    critic_epochs: int = 5
    joint_epochs: int = 20
    seed: int = 0
    device: str = "cpu"

    def __post_init__(self) -> None:
        if (self.where == IMAGE) != (self.critic == IMAGE):
            raise BadInput(f"critic: expected image if and only if where is image, got {self.critic} at {self.where}")


def fit_predictor(
    model: nn.Module,
    data: TaskData,
    train: Int[np.ndarray, " n"],
    check: Int[np.ndarray, " m"],
    settings: Settings,
    tell: Tell,
    loss: Loss | None = None,
    read: Read = np.asarray,
) -> nn.Module:
    """The first phase: head or all, until macro F1 on `check` has not risen for `patience` epochs; the best stays."""
    task = loss or cross_entropy_of(data, settings.device)
    parameters = _chosen(model, settings.head)
    optimizer = torch.optim.Adam(parameters, lr=settings.rate)
    best, weights, waited = -1.0, copy.deepcopy(model.state_dict()), 0
    for epoch in range(settings.epochs):
        model.train()
        losses = [
            _step(optimizer, task(model(data.images(rows, settings.device)), rows))
            for rows in batches(train, settings.batch, settings.seed, epoch)
        ]
        f1 = performance(read(scores_of(model, data.pictures, check, settings.device)), data.labels[check]).macro_f1
        tell("predictor", epoch, {"loss": float(np.mean(losses)), "f1": f1})
        if f1 > best:
            best, weights, waited = f1, copy.deepcopy(model.state_dict()), 0
        else:
            waited += 1
        if waited >= settings.patience:
            break
    model.load_state_dict(weights)
    return model


@final
class Adversary:
    """A critic on a model's representation, and the mask where it stands at the image."""

    def __init__(
        self,
        model: nn.Module,
        data: TaskData,
        settings: Settings,
        mask: nn.Module | None = None,
        loss: Loss | None = None,
    ) -> None:
        self.model, self.data, self.settings = model, data, settings
        self._task = loss or cross_entropy_of(data, settings.device)
        self.mask = None if mask is None else mask.to(settings.device)
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            model.eval()
            _, seen, _ = self._pass(np.arange(2))
            torch.manual_seed(settings.seed)
            self.critic = critic_for(settings.critic, seen, data.classes, settings.critic_width).to(settings.device)

    def fit_critic(self, train: Int[np.ndarray, " n"], tell: Tell) -> None:
        """The second phase: the critic alone, so that its gradients mean something when they count."""
        optimizer = torch.optim.Adam(self.critic.parameters(), lr=self.settings.critic_rate)
        for epoch in range(self.settings.critic_epochs):
            self.model.eval()
            losses = [self._teach(optimizer, rows) for rows in self._balanced(train, epoch)]
            tell("critic", epoch, {"loss": float(np.mean(losses))})

    def fit_both(self, train: Int[np.ndarray, " n"], tell: Tell) -> None:
        """The third phase."""
        trained = itertools.chain(self.model.parameters(), [] if self.mask is None else self.mask.parameters())
        predictor = torch.optim.Adam(trained, lr=self.settings.joint_rate)
        critic = torch.optim.Adam(self.critic.parameters(), lr=self.settings.critic_rate)
        first = self.settings.critic_epochs
        for epoch in range(self.settings.joint_epochs):
            losses = []
            batches_of_epoch = batches(train, self.settings.batch, self.settings.seed, 10_000 + epoch)
            for rows, even in zip(batches_of_epoch, self._balanced(train, first + epoch), strict=False):
                if self.settings.reverse:
                    losses.append(self._reversed(predictor, critic, rows, even))
                else:
                    critic_loss = self._teach(critic, even)
                    losses.append((*self._hide(predictor, rows, even), critic_loss))
            names = ("loss", "adversary", "critic")
            tell("both", epoch, dict(zip(names, np.mean(losses, axis=0).tolist(), strict=True)))

    def _balanced(self, train: Int[np.ndarray, " n"], epoch: int) -> Iterable[Int[np.ndarray, " m"]]:
        return balanced_batches(train, self.data.protected, self.settings.batch, self.settings.seed, epoch)

    def _pass(self, rows: Int[np.ndarray, " m"]) -> tuple[Tensor, Tensor, Tensor]:
        """Logits, what the critic sees, and what the mask takes away, of a batch."""
        images = self.data.images(rows, self.settings.device)
        if self.mask is not None:
            hidden = images * self.mask(images)
            return self.model(hidden), hidden, (images - hidden).abs().mean()
        with Tap(self.model, self.settings.where) as tap:
            logits = self.model(images)
            return logits, tap.output, logits.new_zeros(())

    def _teach(self, optimizer: torch.optim.Optimizer, rows: Int[np.ndarray, " m"]) -> float:
        with torch.no_grad():
            _, seen, _ = self._pass(rows)
        self.critic.train()
        return _step(optimizer, functional.cross_entropy(self.critic(seen), self._hidden(rows)))

    def _hide(
        self, optimizer: torch.optim.Optimizer, rows: Int[np.ndarray, " m"], even: Int[np.ndarray, " e"]
    ) -> tuple[float, float]:
        """One step of the predictor: the task on its batch, against the critic on a balanced one."""
        self.model.train()
        logits, _, lost = self._pass(rows)
        _, seen, _ = self._pass(even)
        self.critic.train().requires_grad_(False)  # by the batch: running statistics lag behind what h becomes
        critic_loss = functional.cross_entropy(self.critic(seen), self._hidden(even))
        self.critic.requires_grad_(True)
        task = self._task(logits, rows)
        loss = task + self.settings.reconstruction * lost - self.settings.weight * critic_loss
        _step(optimizer, loss)
        return task.item(), critic_loss.item()

    def _reversed(
        self,
        predictor: torch.optim.Optimizer,
        critic: torch.optim.Optimizer,
        rows: Int[np.ndarray, " m"],
        even: Int[np.ndarray, " e"],
    ) -> tuple[float, float, float]:
        """One step of both at once: the critic learns from what it says, the predictor from the opposite."""
        self.model.train()
        self.critic.train()
        logits, _, lost = self._pass(rows)
        _, seen, _ = self._pass(even)
        guesses = self.critic(reverse_gradient(seen, self.settings.weight))
        critic_loss = functional.cross_entropy(guesses, self._hidden(even))
        task = self._task(logits, rows)
        for optimizer in (predictor, critic):
            optimizer.zero_grad(set_to_none=True)
        (task + self.settings.reconstruction * lost + critic_loss).backward()  # type: ignore[no-untyped-call]
        predictor.step()
        critic.step()
        return task.item(), critic_loss.item(), critic_loss.item()

    def _hidden(self, rows: Int[np.ndarray, " m"]) -> Tensor:
        return self.data.hidden(rows, self.settings.device)


def scores_of(
    model: nn.Module, pictures: Pixels, rows: Int[np.ndarray, " m"], device: str = "cpu"
) -> Float[np.ndarray, "m k"]:
    """The model's logits for those rows, in evaluation."""
    model.eval()
    with torch.no_grad():
        parts = [model(images_of(pictures, rows[start : start + 256], device)) for start in range(0, len(rows), 256)]
    return torch.cat(parts).double().cpu().numpy()


def cross_entropy_of(data: TaskData, device: str = "cpu") -> Loss:
    """Binary cross-entropy, the mean over labels and items."""
    return lambda logits, rows: functional.binary_cross_entropy_with_logits(logits, data.targets(rows, device))


def _step(optimizer: torch.optim.Optimizer, loss: Tensor) -> float:
    optimizer.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    return loss.item()


def _chosen(model: nn.Module, head: str) -> list[nn.Parameter]:
    chosen = [value for name, value in model.named_parameters() if name.startswith(head)]
    if chosen and head and isinstance(pairs := getattr(model, "pairs", None), nn.Parameter):
        chosen.append(pairs)  # of a star: they are of its last layer, too
    if not chosen:
        known = ", ".join(sorted({name.split(".")[0] for name, _ in model.named_parameters()}))
        raise BadInput(f"head: expected the start of a parameter's name, got {head!r}; choose from {known}")
    return chosen


def reweighed_loss(data: TaskData, train: Int[np.ndarray, " n"]) -> Loss:
    """Cross-entropy in which label and protected class are independent; see `reweighed`."""
    weights = np.zeros(data.labels.shape)
    weights[train] = reweighed(data.labels[train], data.protected[train])
    table = torch.from_numpy(weights).float()

    def loss(logits: Tensor, rows: Int[np.ndarray, " m"]) -> Tensor:
        targets = data.targets(rows, str(logits.device))
        return functional.binary_cross_entropy_with_logits(logits, targets, table[rows].to(logits.device))

    return loss


def worst_group_loss(data: TaskData, rate: float) -> Loss:
    """Group DRO, label by label: the groups of a label are its answer with each protected class."""
    groups = 2 * data.classes
    weights = [GroupWeights(groups, rate) for _ in data.names]

    def loss(logits: Tensor, rows: Int[np.ndarray, " m"]) -> Tensor:
        targets, hidden = data.targets(rows, str(logits.device)), data.hidden(rows, str(logits.device))
        each = functional.binary_cross_entropy_with_logits(logits, targets, reduction="none")
        losses = []
        for label, weighing in enumerate(weights):
            code = 2 * hidden + targets[:, label].long()
            counts = torch.bincount(code, minlength=groups)
            sums = each.new_zeros(groups).index_add(0, code, each[:, label])
            means = sums / counts.clamp(min=1)
            seen = torch.where(counts > 0, means, torch.nan).detach().double().cpu().numpy()
            losses.append((torch.from_numpy(weighing.update(seen)).to(means) * means).sum())
        return torch.stack(losses).mean()

    return loss


def star(network: nn.Module, labels: int, classes: int) -> nn.Module:
    """The network, whose outputs are now energies of labels and classes, with those of their pairs."""
    network.register_parameter("pairs", nn.Parameter(torch.zeros(labels, classes)))
    return network


def pairs_of(network: nn.Module) -> nn.Parameter | None:
    """The energies of pairs of label and class; None for a network that has none."""
    pairs = getattr(network, "pairs", None)
    return pairs if isinstance(pairs, nn.Parameter) else None


def star_loss(data: TaskData, pairs: Tensor) -> Loss:
    """Minus the mean log-likelihood of labels and class together; see `structured.log_likelihood`."""
    k = pairs.shape[0]

    def loss(energies: Tensor, rows: Int[np.ndarray, " m"]) -> Tensor:
        targets, hidden = data.targets(rows, str(energies.device)), data.hidden(rows, str(energies.device))
        together = energies[:, :k, None] + pairs[None]
        classes = energies[:, k:]
        scores_in_class = together.gather(2, hidden[:, None, None].expand(-1, k, 1))[:, :, 0]
        energy = classes.gather(1, hidden[:, None])[:, 0] + (scores_in_class * targets).sum(dim=1)
        every = torch.logsumexp(classes + functional.softplus(together).sum(dim=1), dim=1)
        return (every - energy).mean()

    return loss
