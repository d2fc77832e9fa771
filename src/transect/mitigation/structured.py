"""Labels and the protected class predicted together, and the same under constraints on the whole set of answers.

The model is a star: S(y, g | x) = u_g(x) + Σ_k y_k (f_k(x) + e_kg), with y_k in {0, 1}. Given g the labels are
independent, so that the best answer, the likelihood and every marginal are exact. Reducing bias amplification (RBA)
keeps, over all answers together, the share of each class among the items with a label within a margin of its share in
training, by Lagrangian relaxation: the multipliers only change e. Source: Zhao et al. 2017, Men also like shopping,
arXiv:1707.09457, sections 3 and 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import expit, logsumexp

from transect.errors import BadInput

STEPS: Final = 200
RATE: Final = 1.0
_SATISFIED: Final = 1e-9
_EDGE: Final = 1e-12


@final
@dataclass(frozen=True)
class Energies:
    """labels: f [n, k]; classes: u [n, c]; pairs: e [k, c]. Raises BadInput for shapes that do not fit together."""

    labels: Float[np.ndarray, "n k"]
    classes: Float[np.ndarray, "n c"]
    pairs: Float[np.ndarray, "k c"]

    def __post_init__(self) -> None:
        wanted = (self.labels.shape[1], self.classes.shape[1])
        if len(self.labels) != len(self.classes) or self.pairs.shape != wanted:
            got = f"{list(self.labels.shape)}, {list(self.classes.shape)} and {list(self.pairs.shape)}"
            raise BadInput(f"energies: expected labels [n, k], classes [n, c] and pairs [k, c], got {got}")

    @property
    def together(self) -> Float[np.ndarray, "n k c"]:
        """f_k + e_kg of each item."""
        return np.asarray(self.labels[:, :, None] + self.pairs[None])


def best(energies: Energies) -> tuple[Bool[np.ndarray, "n k"], Int[np.ndarray, " n"]]:
    """The labels and the class of the highest S of each item; ties go to no, and to the first class.

    >>> labels, group = best(Energies(np.array([[-1.0]]), np.array([[0.0, -0.5]]), np.array([[0.0, 3.0]])))
    >>> labels.tolist(), group.tolist()  # class 1 with the label: -0.5 - 1 + 3; class 0 without: 0
    ([[True]], [1])
    """
    scores = energies.together
    group = (energies.classes + np.maximum(scores, 0).sum(axis=1)).argmax(axis=1)
    return scores[np.arange(len(group)), :, group] > 0, group


def class_chances(energies: Energies) -> Float[np.ndarray, "n c"]:
    """P(g | x), the labels summed out."""
    logits = energies.classes + np.logaddexp(0, energies.together).sum(axis=1)
    return np.asarray(np.exp(logits - logsumexp(logits, axis=1, keepdims=True)))


def marginal_logits(energies: Energies) -> Float[np.ndarray, "n k"]:
    """The log-odds of P(y_k = 1 | x), the class and the other labels summed out."""
    yes = np.einsum("nkc,nc->nk", expit(energies.together), class_chances(energies))
    yes = np.clip(yes, _EDGE, 1 - _EDGE)
    return np.asarray(np.log(yes) - np.log1p(-yes))


def log_likelihood(
    energies: Energies, labels: Bool[np.ndarray, "n k"], group: Int[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """Log P(y, g | x) of each item."""
    scores, at = energies.together, np.arange(len(group))
    energy = energies.classes[at, group] + (scores[at, :, group] * labels).sum(axis=1)
    every = energies.classes + np.logaddexp(0, scores).sum(axis=1)
    return np.asarray(energy - logsumexp(every, axis=1))


def class_shares(
    labels: Bool[np.ndarray, "n k"], group: Int[np.ndarray, " n"], classes: int
) -> Float[np.ndarray, "k c"]:
    """The share of each class among the items with each label; NaN for a label that none has."""
    counts = labels.T.astype(np.float64) @ (group[:, None] == np.arange(classes)[None])
    total = counts.sum(axis=1, keepdims=True)
    return np.where(total > 0, counts / np.where(total > 0, total, 1), np.nan)


@final
@dataclass(frozen=True)
class Constrained:
    """What the constraints did. energies: with the multipliers in `pairs`. worst: how far a share lies outside.

    worst: the farthest that a share of the answers lies outside its margin, 0 where all lie inside. steps: taken.
    """

    energies: Energies
    worst: float
    steps: int


def constrained(
    energies: Energies, shares: Float[np.ndarray, "k c"], margin: float = 0.05, steps: int = STEPS, rate: float = RATE
) -> Constrained:
    """Answers of which each label's class shares lie within `margin` of `shares`, as nearly as is found.

    With δ_kg = 1 for items answered with label k and class g, Σ δ_kg - (share_kg + margin) Σ_g' δ_kg' <= 0 gets the
    multiplier μ_kg >= 0, the lower bound ν_kg; the best answers under S less the multipliers' parts are taken again and
    again, each multiplier growing by `rate` times its violation as a share of the items with the label. The answers
    that violate least are kept. A label whose share is NaN is left free. Raises BadInput for a margin below 0.
    """
    if margin < 0:
        raise BadInput(f"margin: expected a share from 0, got {margin:g}; change it")
    known = np.isfinite(shares)
    wanted = np.where(known, shares, 0.0)
    over, under = np.zeros_like(wanted), np.zeros_like(wanted)
    closest = Constrained(energies, np.inf, 0)
    for step in range(steps + 1):
        shifted = Energies(energies.labels, energies.classes, energies.pairs + _price(over, under, wanted, margin))
        outside = _outside(shifted, wanted, known, margin)
        worst = float(np.maximum(outside[0], outside[1]).max(initial=0.0))
        if worst < closest.worst:
            closest = Constrained(shifted, max(worst, 0.0), step)
        if worst <= _SATISFIED:
            break
        over = np.maximum(0, over + rate * outside[0])
        under = np.maximum(0, under + rate * outside[1])
    return closest


def _price(over: np.ndarray, under: np.ndarray, wanted: np.ndarray, margin: float) -> Float[np.ndarray, "k c"]:
    """What the multipliers of a label add to its energy with each class."""
    net = over - under
    return np.asarray((net * wanted).sum(axis=1, keepdims=True) + margin * (over + under).sum(1, keepdims=True) - net)


def _outside(energies: Energies, wanted: np.ndarray, known: np.ndarray, margin: float) -> np.ndarray:
    """How far the answers' shares lie above and below what is allowed [2, k, c]; negative inside, 0 where free."""
    labels, group = best(energies)
    shares = class_shares(labels, group, energies.classes.shape[1])
    free = ~known | np.isnan(shares)
    shares = np.where(free, 0.0, shares)
    return np.where(free, 0.0, np.stack([shares - wanted - margin, wanted - margin - shares]))
