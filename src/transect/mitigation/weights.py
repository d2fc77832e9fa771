"""What items weigh in training: so that label and protected class are independent, or so that the worst group leads.

Sources: Kamiran and Calders 2012, Data preprocessing techniques for classification without discrimination,
doi:10.1007/s10115-011-0463-8 (reweighing); Sagawa et al. 2020, Distributionally robust neural networks for group
shifts, arXiv:1911.08731, algorithm 1 (group DRO).
"""

from __future__ import annotations

from typing import final

import numpy as np
from jaxtyping import Bool, Float, Int

from transect.errors import BadInput


def reweighed(labels: Bool[np.ndarray, "n k"], protected: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n k"]:
    """A weight for each item and label, P(label) P(class) / P(label, class): then they are independent, label by label.

    The weights of each label have the mean 1. A combination that never occurs has no item to weigh.

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
        if groups < 2 or rate < 0:
            raise BadInput(f"groups and rate: expected 2 or more and 0 or more, got {groups} and {rate:g}")
        self.rate = rate
        self.values = np.full(groups, 1 / groups)

    def update(self, losses: Float[np.ndarray, " g"]) -> Float[np.ndarray, " g"]:
        """The weights after a batch's mean losses by group; NaN where a group had no items, whose weight stays."""
        known = np.isfinite(losses)
        grown = np.where(known, self.values * np.exp(self.rate * np.where(known, losses, 0.0)), self.values)
        self.values = grown / grown.sum()
        return self.values
