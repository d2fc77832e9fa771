"""All sensitivities of one attribute: of the score and the answer, of all subjects and of those near the boundary."""

from __future__ import annotations

from typing import Final

import numpy as np
from jaxtyping import Bool

from transect.analysis.sections.answers import Answers, words
from transect.designs.steps import DIRECTION
from transect.effects.sensitivity import (
    LEFT_OUT,
    NEAR,
    NOT_NEAR,
    ClassificationSensitivity,
    Curve,
    ScoreSensitivity,
    classification_sensitivity,
    score_sensitivity,
)

ALL: Final = "all subjects"
BOUNDARY: Final = "near the boundary"


class Measured:
    """One target's sensitivities along one attribute; `score` and `classes` by whether subjects are near the boundary.

    scored: there are scores (a detector without confidences has none; its answers are then all there is). bounded:
    the boundary can be told: by default from probabilities cut within the band, with a band of the user's from any
    scores of a target that says yes or no.
    """

    def __init__(self, answers: Answers) -> None:
        self.own = answers
        self.attribute = next(iter(answers.design.levels))
        self.name = words(self.attribute)
        self.steps = np.array(answers.design.levels[self.attribute])
        self.band = answers.boundary or NEAR
        self.scored = bool(np.isfinite(answers.scores).any())
        cut = answers.cut and self.band[0] < answers.threshold < self.band[1]
        self.bounded = self.scored and answers.binary and (answers.boundary is not None or cut)
        self.places = (False, True) if self.bounded else (False,)
        self.score = {near: self._score(near) for near in self.places}
        self.classes = {near: self._classes(near) for near in self.places} if answers.binary else {}

    @property
    def by_direction(self) -> bool:
        """Whether λ is in units of the direction, and not of half-ranges."""
        return self.own.steps is not None and self.own.steps.by == DIRECTION

    @property
    def axis(self) -> str:
        """What λ is, below an axis."""
        return f"λ, {'units of the direction' if self.by_direction else 'half-ranges'} from the subject's own value"

    @property
    def moved(self) -> list[int]:
        """Places of the steps other than λ = 0."""
        return np.flatnonzero(self.steps != 0).tolist()

    @property
    def near(self) -> Bool[np.ndarray, " subjects"]:
        """Which subjects are near the boundary at λ = 0."""
        base = self.own.grid(self.own.scores)[:, self.steps == 0][:, 0]
        return np.asarray((base > self.band[0]) & (base < self.band[1]))

    def _score(self, near: bool) -> ScoreSensitivity:
        answers, band = self.own, self.band if near else None
        scores = answers.grid(answers.scores if self.scored else answers.answers)
        return score_sensitivity(scores, self.steps, near=band, seed=answers.design.seed)

    def _classes(self, near: bool) -> ClassificationSensitivity:
        return self.kept(self.near) if near else self.kept(None)

    def kept(self, keep: Bool[np.ndarray, " n"] | Bool[np.ndarray, "n k"] | None) -> ClassificationSensitivity:
        """Of the answers, over the subjects (or images) to keep."""
        answers = self.own
        return classification_sensitivity(
            answers.grid(answers.answers), self.steps, keep=keep, seed=answers.design.seed
        )


def where(near: bool) -> str:
    """Of which subjects, in words."""
    return BOUNDARY if near else ALL


def left_out(curve: Curve, place: int) -> str:
    """Why subjects do not count at a step, with counts; those that are kept on request are those near the boundary."""
    counts = curve.excluded[place].items()
    return "; ".join(f"{NOT_NEAR if why == LEFT_OUT else why}: {n}" for why, n in counts) or "none"
