"""What is compared of a question's answers, one number per answer: yes, each option or code, or the number."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float

from transect.analysis.asked_answers import Asked
from transect.said import Status
from transect.targets.words.questions import Kind


@final
@dataclass(frozen=True, slots=True)
class Compared:
    """One number per answer, NaN without one. binary: each is 0 or 1."""

    name: str
    values: Float[np.ndarray, "n wordings repeats"]
    binary: bool


def compared(asked: Asked) -> Iterator[Compared]:
    """The numbers of a question: those of its positive option alone where it has one."""
    question, values = asked.question, asked.values()
    if question.kind is Kind.YES_NO:
        yield Compared("yes", values, binary=True)
    elif question.kind is Kind.NUMBER:
        yield Compared(question.unit or "number", values, binary=False)
    elif question.kind is Kind.TEXT:
        for place, code in enumerate(question.codes):
            yield Compared(f"code “{code.name}”", _codes(asked, place), binary=True)
    else:
        chosen = range(len(question.options)) if question.positive is None else [question.positive]
        for option in chosen:
            picked = np.where(np.isfinite(values), (values == option).astype(np.float64), np.nan)
            yield Compared(f"“{question.options[option]}”", picked, binary=True)


def _codes(asked: Asked, place: int) -> Float[np.ndarray, "n wordings repeats"]:
    return asked.grid(lambda one: one.codes[place] if one.status is Status.ANSWERED and one.codes else math.nan)
