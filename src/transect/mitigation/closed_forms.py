"""Mitigations without training: linear concept erasure, thresholds by group, and constraints on structured
predictions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import expit, logsumexp

from transect.errors import BadInput

_SMALLEST = 1e-10
"""Directions whose share of the largest variance is smaller count as none."""

_UNCORRELATED = 1e-7
"""Correlations with the classes that are smaller are of rounding."""


@final
@dataclass(frozen=True)
class Eraser:
    """x ► x - change (x - center). `rank`: how many directions are lost, at most the classes less one."""

    change: Float[np.ndarray, "d d"]
    center: Float[np.ndarray, " d"]
    rank: int

    def __call__(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """The representation without the concept."""
        return np.asarray(x - (x - self.center) @ self.change.T)


def fit_eraser(x: Float[np.ndarray, "n d"], protected: Int[np.ndarray, " n"]) -> Eraser:
    """The eraser of the protected classes from a representation.

    With W = Σ_xx^(-1/2) (pseudo-inverse) and P the projection on the columns of W Σ_xz, x becomes
    x - W⁺ P W (x - E x). Afterwards the classes have one mean, which is the same as that no linear model with any
    convex loss beats a constant; of all affine maps with that property it moves x least, in every norm. Held-out items
    differ by what the estimated covariances miss: with n near d, much.
    """
    classes = np.unique(protected)
    if len(classes) < 2:
        raise BadInput(f"protected: expected at least two classes, got {len(classes)}; there is nothing to erase")
    if len(x) != len(protected) or not np.isfinite(x).all():
        raise BadInput(f"expected {len(protected)} rows of finite numbers, got {list(x.shape)} or NaN")
    center = x.mean(axis=0)
    apart = x - center
    coded = (protected[:, None] == classes[None]).astype(np.float64)
    across = apart.T @ (coded - coded.mean(axis=0)) / len(x)
    variances, axes = np.linalg.eigh(apart.T @ apart / len(x))
    large = variances > _SMALLEST * variances.max()
    roots = np.sqrt(variances[large])
    whiten = (axes[:, large] / roots) @ axes[:, large].T
    back = (axes[:, large] * roots) @ axes[:, large].T
    left, sizes, _ = np.linalg.svd(whiten @ across, full_matrices=False)
    basis = left[:, sizes > _UNCORRELATED]
    return Eraser(back @ basis @ basis.T @ whiten, center, basis.shape[1])


def fit_thresholds(
    scores: Float[np.ndarray, " n"],
    truth: Bool[np.ndarray, " n"],
    group: Int[np.ndarray, " n"],
    goal: str = "true_positive_rate",
    rate: float | None = None,
) -> dict[int, float]:
    """Thresholds at which every group's rate is the same, as nearly as its scores allow. rate: None for that of all
    items at 0.5 (0 for logits). With inferred groups it is theirs that are equal: how close the true ones are depends
    on the inference.
    """
    counted = {"true_positive_rate": truth, "false_positive_rate": ~truth, "positive_rate": np.ones_like(truth)}[goal]
    common = 0.5 if scores.min() >= 0 and scores.max() <= 1 else 0.0
    wanted = float((scores[counted] >= common).mean()) if rate is None else rate
    if not 0 <= wanted <= 1:
        raise BadInput(f"rate: expected a share from 0 to 1, got {wanted:g}; NaN means that no item counts towards it")
    values = {}
    for group_index in np.unique(group):
        group_scores = np.sort(scores[counted & (group == group_index)])[::-1]
        if not len(group_scores):
            raise BadInput(f"group {group_index}: no items count towards the {goal.replace('_', ' ')}")
        yes = round(wanted * len(group_scores))
        values[int(group_index)] = float(group_scores[yes - 1]) if yes else float(np.nextafter(group_scores[0], np.inf))
    return values


STEPS: Final = 200
RATE: Final = 1.0
_SATISFIED: Final = 1e-9
_EDGE: Final = 1e-12


@final
@dataclass(frozen=True)
class Energies:
    """labels: f [n, k]; classes: u [n, c]; pairs: e [k, c]."""

    labels: Float[np.ndarray, "n k"]
    classes: Float[np.ndarray, "n c"]
    pairs: Float[np.ndarray, "k c"]

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
    """The energies with multipliers in `pairs`; how far a share lies outside its margin at most; steps."""

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
    that violate least are kept. A label whose share is NaN is left free.
    """
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
