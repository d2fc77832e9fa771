"""The numbers of a comparison of models: rows, conclusions, images on which they differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, final

from transect.effects.paired_models import Standing

Kind = Literal["rate", "gap", "rate at a level", "effect"]
"""What is compared: the first two are concluded upon, the other two are details."""


@final
@dataclass(frozen=True, slots=True)
class Row:
    """One number of two models on the images that both answered, and its difference.

    kind: rate (mean over subjects of each one's mean outcome), gap (size of an effect), rate at a level, or effect (of
    going from one level to another). observed: an effect or gap is an association, between groups of observed images.
    scope: the study in words, "" where the comparison has only one. attribute: "" for the rate. name: the levels in
    words. first, second: of the reference and of the model. estimate: second minus first, with its 95 % interval, by
    subject. p_adjusted: Holm, over all rates and gaps of the comparison, or over all its details. NaN with `reason`
    where nothing can be estimated.
    """

    study: str
    model: str
    reference: str
    outcome: str
    unit: str
    kind: Kind
    observed: bool
    attribute: str
    name: str
    first: float
    second: float
    estimate: float
    low: float
    high: float
    p: float
    p_adjusted: float
    n_subjects: int
    reason: str = ""
    scope: str = ""


@final
@dataclass(frozen=True, slots=True)
class Conclusion:
    """What is concluded of a model against the reference, on the rate or on the gap of one attribute.

    verdict: better and worse, or differs where neither direction is better (a rate of yes without a truth) or levels
    disagree; no difference (larger than the margin, at every pair of levels); cannot tell. row: index of the row that
    it rests on. levels: those of that row in words, where it was picked of several pairs. low, high: its interval, at
    `confidence`, which allows for the listed differences being picked. least, most: outermost ends of the 90 %
    intervals of all pairs of levels. margin: NaN where none was stated. no_worse: worse by less than the margin, at
    5 %; None where neither direction is better. subjects_needed: with which the data could tell. text: in a sentence.
    """

    study: str
    model: str
    reference: str
    outcome: str
    attribute: str
    verdict: Standing
    row: int
    levels: str
    low: float
    high: float
    confidence: float
    least: float
    most: float
    margin: float
    no_worse: bool | None
    subjects_needed: int | None
    text: str = ""


@final
@dataclass(frozen=True, slots=True)
class Disagreement:
    """Images on which a model and the reference differ in one outcome, of those that both answered.

    only_reference, only_model: images on which the outcome (a miss, a yes) is that of one of them alone. Of outcomes
    that are no yes or no: images on which one is larger than the other.
    """

    study: str
    model: str
    reference: str
    outcome: str
    images: int
    only_reference: int
    only_model: int


@final
@dataclass(frozen=True, slots=True)
class DifferingImage:
    """One image on which two models differ: its row and id, its settings in words, and both outcomes."""

    study: str
    model: str
    reference: str
    outcome: str
    id: str
    row: int
    settings: tuple[tuple[str, str], ...]
    of_reference: float
    of_model: float


@final
@dataclass(frozen=True, slots=True)
class Left:
    """The combination of levels at which a model errs most.

    settings: names and levels in words. rate: of the images; low, high: Wilson's interval, so wide that those of all
    combinations hold together with 95 % (Bonferroni), since this one was picked. combinations: how many there are.
    """

    study: str
    model: str
    outcome: str
    settings: tuple[tuple[str, str], ...]
    rate: float
    low: float
    high: float
    images: int
    combinations: int


@final
@dataclass(frozen=True, slots=True)
class CompareNumbers:
    """A comparison. models: in order; each is compared with the first, or, where questions are asked in words, with the
    first that was asked the same, which its rows name as the reference. folders: of the runs. margins: by outcome, ""
    for all rates. answer: the conclusions in words, a few sentences for each model. notes: what was not compared, and
    why. left: where each model but the reference errs most.
    """

    folders: tuple[str, ...]
    models: tuple[str, ...]
    margins: Mapping[str, float]
    confidence: float
    answer: tuple[str, ...]
    conclusions: tuple[Conclusion, ...]
    rows: tuple[Row, ...]
    disagreements: tuple[Disagreement, ...]
    images: tuple[DifferingImage, ...]
    notes: tuple[str, ...]
    works: tuple[str, ...]
    left: tuple[Left, ...] = ()
