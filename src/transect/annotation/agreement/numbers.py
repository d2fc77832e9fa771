"""Figures of agreement as records, NaN where not known. Simulated raters say nothing of people: they count apart."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, final

from transect.effects.identity_pairs import SameRow
from transect.effects.pair_perception import PairRanking, PerceivedDifference
from transect.runs.wording import counted

NAME: Final = "simulated"
"""Simulated raters are simulated-001, simulated-002 and so on."""
NO_PEOPLE: Final = "which say nothing about people"


def simulated_count(raters: Iterable[str | None]) -> int:
    """How many answers come from simulated raters. raters: of each answer.

    >>> simulated_count(["simulated-001", "rater-0001", None, "simulated-001"])
    2
    """
    return sum((rater or "").startswith(f"{NAME}-") for rater in raters)


def notice(simulated: int, answers: int) -> str:
    """That answers come from simulated raters, in words; "" where none is.

    >>> notice(2, 3), notice(0, 3)
    ('2 of 3 answers come from simulated raters, which say nothing about people', '')
    """
    return f"{simulated:,} of {counted(answers, 'answer')} come from simulated raters, {NO_PEOPLE}" if simulated else ""


@final
@dataclass(frozen=True, slots=True)
class Share:
    """A share and the number of cases that it is of; NaN for none."""

    share: float
    of: int


@final
@dataclass(frozen=True, slots=True)
class RaterFigures:
    """One rater against the mean of the others; NaN: levels in no order; right_by_dawid_skene: mean probability."""

    rater: str
    units: int
    correlation: float
    bias: float
    right_by_dawid_skene: float


@final
@dataclass(frozen=True, slots=True)
class LatentLevels:
    """Units, of those with one level of most answers, whose most probable level by Dawid and Skene is another."""

    of: int
    differs_from_majority: tuple[tuple[str, ...], ...]
    tied: int
    reason: str


@final
@dataclass(frozen=True, slots=True)
class QuestionAgreement:
    """Agreement on one question.

    alpha: Krippendorff's, with its interval by subject, for these raters; alpha_reason: why alpha or the interval is
    NaN; median_spread: of the answers on a unit, as a share of the scale;
    known_right: answers to items whose answer is known that meet it; repeats_equal: repeated items that got the same
    answer again.
    """

    question: str
    scale: str
    units: int
    raters: int
    answers: int
    cannot_tell: int
    percent_agreement: float
    alpha: float
    alpha_low: float
    alpha_high: float
    alpha_reason: str
    median_spread: float
    known_right: Share
    repeats_equal: Share
    by_rater: tuple[RaterFigures, ...]
    dawid_skene: LatentLevels


@final
@dataclass(frozen=True, slots=True)
class PairFigures:
    """What raters saw between the two images of pairs, for one study and question; raters, answers: those that count.

    simulated: answers of simulated raters.
    difference: of questions whether, or by how much, two images differ; its size is in the units `low` to `high`.
    ranking: of questions which image shows more; levels: names of the levels that it compares. same: shares of the
    first answer by kind of pair, where the kinds are known. reason: why there is no figure.
    """

    study: str
    question: str
    text: str
    attribute: str
    raters: int
    answers: int
    low: float
    high: float
    difference: PerceivedDifference | None
    ranking: PairRanking | None
    levels: tuple[str, ...]
    same: tuple[SameRow, ...]
    reason: str
    simulated: int = 0


@final
@dataclass(frozen=True, slots=True)
class Agreement:
    """A project's agreement, by question, and of pairs by study; simulated: answers of simulated raters."""

    answers: int
    simulated: int
    excluded_raters: tuple[str, ...]
    questions: tuple[QuestionAgreement, ...]
    pairs: tuple[PairFigures, ...] = ()
