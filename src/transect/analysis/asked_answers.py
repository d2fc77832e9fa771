"""What a model said in words about the images of one study, as arrays: image, paraphrase, repeat."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
from jaxtyping import Float

from transect.runs import judge_agreement as kept
from transect.runs.judge_agreement import CodeAgreement
from transect.said import Said, Status
from transect.targets.words.questions import Kind, WordQuestion


@final
@dataclass(frozen=True, slots=True)
class Coding:
    """What codes a question's texts beside rules: the judge's name ("" for none), and the names of functions.

    agreement: what people's codes say of this judge, by code; () where they were not asked.
    """

    judge: str = ""
    scorers: tuple[str, ...] = ()
    agreement: tuple[CodeAgreement, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Asked:
    """A question and all that was said to it. said: of each image, () of one that rules leave out."""

    question: WordQuestion
    said: tuple[tuple[Said, ...], ...]
    coding: Coding = Coding()

    def grid(self, number: Callable[[Said], float]) -> Float[np.ndarray, "n wordings repeats"]:
        """A number of each answer; NaN where there is no such answer."""
        shape = (len(self.said), len(self.question.paraphrases), self.question.repeats)
        numbers = np.full(shape, np.nan)
        for row, of_image in enumerate(self.said):
            for one in of_image:
                numbers[row, one.paraphrase, one.repeat] = number(one)
        return numbers

    def values(self) -> Float[np.ndarray, "n wordings repeats"]:
        """Yes or no as 1 or 0, the number of the option, or the number; NaN without an answer."""
        return self.grid(lambda one: one.value if one.status is Status.ANSWERED else math.nan)

    def places(self) -> Float[np.ndarray, "n wordings repeats"]:
        """At which place the chosen option stood; NaN without a choice."""
        return self.grid(lambda one: math.nan if one.place is None else float(one.place))

    def became(self, status: Status) -> Float[np.ndarray, "n wordings repeats"]:
        """1 where an answer has this status, 0 where it has another; NaN where the call failed or there was none."""
        return self.grid(lambda one: math.nan if one.status is Status.FAILED else float(one.status is status))

    def likelihoods(self) -> Float[np.ndarray, "n options"]:
        """The mean probability of each option, over an image's wordings; NaN where it was not scored."""
        options = len(self.question.options)
        means = np.full((len(self.said), options), np.nan)
        for row, of_image in enumerate(self.said):
            scored = [one.likelihood for one in of_image if len(one.likelihood) == options]
            if scored and len(scored) == len(of_image):
                means[row] = np.mean(scored, axis=0)
        return means

    @property
    def is_choice(self) -> bool:
        """Whether one of several options is chosen."""
        return self.question.kind is Kind.CHOICE


def coding_of(facts: Mapping[str, Any], folder: Path, target: str) -> Coding:
    """What codes the texts of a target, by its description; folder: of the run, which may hold people's codes."""
    judge, scorers = facts.get("judge"), tuple(str(each["name"]) for each in facts.get("scorers") or ())
    if judge is None:
        return Coding(scorers=scorers)
    found, digest = kept.read(folder), kept.digest_of(judge)
    codes = () if found is None else found.codes
    checked = tuple(each for each in codes if each.target == target and each.judge_sha256 == digest)
    return Coding(str(judge["name"]), scorers, checked)
