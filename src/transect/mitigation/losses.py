"""Losses of the task: reweighed items, the worst group first, and the likelihood of labels and class together."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor, nn
from torch.nn import functional

from transect.mitigation.adversarial import Loss
from transect.mitigation.data import TaskData
from transect.mitigation.weights import GroupWeights, reweighed


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
