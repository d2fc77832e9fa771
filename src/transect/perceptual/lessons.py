"""The attributes of FaceWorld that the feature network learns, and its accuracy on held-out subjects.

It answers every attribute and nuisance and every trait of the identity code, from images of the balanced population, in
which no attribute predicts another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from transect.generators.faceworld.attributes import ATTRIBUTES, IDENTITY

_TURNED_ROUND = ("yaw", "roll", "light_azimuth", "identity.hair_parting")
"""Answers whose sign a mirror changes."""

_NO_SPREAD = 1e-9


@final
@dataclass(frozen=True, slots=True)
class Answer:
    """One answer and its columns: one, or one per level of a choice."""

    name: str
    levels: int
    """0 for a number, 2 for a switch, more for a choice."""
    start: int

    @property
    def columns(self) -> slice:
        """Its columns among the outputs."""
        return slice(self.start, self.start + (self.levels if self.levels > 2 else 1))


def answers() -> tuple[Answer, ...]:
    """All answers, attributes and nuisances first, then the identity code.

    >>> answers()[0].name, answers()[-1].name.split(".")[0]
    ('skin_tone', 'identity')
    """
    sizes = [(attribute.name, len(attribute.levels)) for attribute in ATTRIBUTES] + [
        (f"identity.{trait}", 0) for trait in IDENTITY
    ]
    entries, start = [], 0
    for name, levels in sizes:
        entries.append(Answer(name, levels, start))
        start = entries[-1].columns.stop
    return tuple(entries)


OUTPUTS = answers()[-1].columns.stop
"""Columns of all answers."""


@final
class Lessons:
    """The truths of some subjects [n, answers], as a loss on the network's outputs. Numbers count in spreads."""

    def __init__(self, truths: Float[np.ndarray, "n k"]) -> None:
        self.truths, self.answers = truths, answers()
        self.center, spread = truths.mean(axis=0), truths.std(axis=0)
        self.scale = np.where(spread > _NO_SPREAD, spread, 1.0)
        self._signs = np.array([-1.0 if answer.name in _TURNED_ROUND else 1.0 for answer in self.answers])
        self._numbers = [index for index, answer in enumerate(self.answers) if not answer.levels]
        self._switches = [index for index, answer in enumerate(self.answers) if answer.levels == 2]
        self._choices = [index for index, answer in enumerate(self.answers) if answer.levels > 2]

    def loss(
        self, outputs: Float[Tensor, "b o"], rows: slice | Int[np.ndarray, " b"], mirrored: Bool[np.ndarray, " b"]
    ) -> Tensor:
        """Mean over answers: squared errors of numbers, cross entropies of switches and choices."""
        truth = self.truths[rows] * np.where(mirrored[:, None], self._signs, 1.0)
        numbers = torch.from_numpy(((truth - self.center) / self.scale)[:, self._numbers]).float().to(outputs.device)
        switches = torch.from_numpy(truth[:, self._switches]).float().to(outputs.device)
        errors = [
            (outputs[:, self._starts(self._numbers)] - numbers).square().mean(dim=0),
            functional.binary_cross_entropy_with_logits(
                outputs[:, self._starts(self._switches)], switches, reduction="none"
            ).mean(dim=0),
        ]
        for index in self._choices:
            level = torch.from_numpy(truth[:, index].astype(np.int64)).to(outputs.device)
            errors.append(functional.cross_entropy(outputs[:, self.answers[index].columns], level).view(1))
        return torch.cat(errors).mean()

    def _starts(self, which: list[int]) -> list[int]:
        return [self.answers[index].start for index in which]


def quality(
    outputs: Float[np.ndarray, "n o"], truths: Float[np.ndarray, "n k"], center: np.ndarray, scale: np.ndarray
) -> dict[str, dict[str, str | float | None]]:
    """By name: R2 of numbers (of 1; 0 is no better than the mean), AUC of switches, mean AUC over levels of choices.

    None with a reason where the held-out subjects do not vary.
    """
    figures = {}
    for index, answer in enumerate(answers()):
        measure = "auc" if answer.levels else "r2"
        value = (
            _areas(outputs[:, answer.columns], truths[:, index], answer.levels)
            if answer.levels
            else _r_squared(center[index] + scale[index] * outputs[:, answer.start], truths[:, index])
        )
        finite = bool(np.isfinite(value))
        reason = {} if finite else {"reason": "the held-out subjects do not vary"}
        figures[answer.name] = {"measure": measure, "value": value if finite else None, "n": len(truths), **reason}
    return figures


def _r_squared(predicted: Float[np.ndarray, " n"], truth: Float[np.ndarray, " n"]) -> float:
    spread = truth.var()
    return float(1 - ((predicted - truth) ** 2).mean() / spread) if spread > _NO_SPREAD else float("nan")


def _areas(outputs: Float[np.ndarray, "n l"], truth: Float[np.ndarray, " n"], levels: int) -> float:
    """The area under the ROC curve, each level against the rest where there are several."""
    from sklearn.metrics import roc_auc_score

    columns = {1: outputs[:, 0]} if levels == 2 else {level: outputs[:, level] for level in range(levels)}
    present = [level for level in columns if 0 < (truth == level).sum() < len(truth)]
    areas = [roc_auc_score(truth == level, columns[level]) for level in present]
    return float(np.mean(areas)) if areas else float("nan")
