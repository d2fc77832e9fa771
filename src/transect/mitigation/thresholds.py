"""Thresholds of their own for groups, also where the group is only inferred.

Source: Hardt et al. 2016, Equality of opportunity in supervised learning, arXiv:1610.02413.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int

from transect.errors import BadInput

GOALS: Final = ("true_positive_rate", "false_positive_rate", "positive_rate")


@final
@dataclass(frozen=True)
class GroupThresholds:
    """A threshold per group; a score at its threshold or above is a yes."""

    values: Mapping[int, float]
    goal: str
    rate: float

    def decide(self, scores: Float[np.ndarray, " n"], group: Int[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
        """Yes or no for each item by its group, true or inferred. Raises BadInput for a group that was not fitted."""
        if unknown := sorted(set(np.unique(group).tolist()) - set(self.values)):
            raise BadInput(f"group {unknown[0]}: expected one of {sorted(self.values)}; fit thresholds for it")
        return np.asarray(scores >= np.array([self.values[int(index)] for index in group]))


def fit_thresholds(
    scores: Float[np.ndarray, " n"],
    truth: Bool[np.ndarray, " n"],
    group: Int[np.ndarray, " n"],
    goal: str = "true_positive_rate",
    rate: float | None = None,
) -> GroupThresholds:
    """Thresholds at which every group's rate is the same, as nearly as its scores allow.

    rate: in 0..1; None for the rate of all items at a threshold of 0.5 (0 for logits, where a score lies outside 0..1).
    With inferred groups the rates are equal for the inferred groups: how close they are for the true ones depends on
    the inference.
    """
    if goal not in GOALS:
        raise BadInput(f"goal: expected one of {', '.join(GOALS)}, got {goal!r}; choose one")
    counted = {"true_positive_rate": truth, "false_positive_rate": ~truth, "positive_rate": np.ones_like(truth)}[goal]
    common = 0.5 if scores.min() >= 0 and scores.max() <= 1 else 0.0
    wanted = float((scores[counted] >= common).mean()) if rate is None else rate
    if not 0 <= wanted <= 1:
        raise BadInput(f"rate: expected a share from 0 to 1, got {wanted:g}; no items count towards it, or change it")
    values = {}
    for group_index in np.unique(group):
        group_scores = np.sort(scores[counted & (group == group_index)])[::-1]
        if not len(group_scores):
            raise BadInput(
                f"group {group_index}: expected items that count towards the {goal.replace('_', ' ')}, got none"
            )
        yes = round(wanted * len(group_scores))
        values[int(group_index)] = float(group_scores[yes - 1]) if yes else float(np.nextafter(group_scores[0], np.inf))
    return GroupThresholds(values, goal, wanted)
