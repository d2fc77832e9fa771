"""What one image's answers come to: a value for each number that the question asks for, and how often there was none.

The value is the mean over paraphrases of the mean over repeats. A paraphrase without an answered repeat makes the image
incomplete: it has no value, since the mean of the other paraphrases is the answer to another question. A call that
failed says nothing about the model and counts nowhere.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

from transect.said import Said, Status
from transect.targets.words.questions import Kind, WordQuestion

Row = tuple[float, ...]


@final
@dataclass(frozen=True, slots=True)
class AskedValue:
    """One question about one image, all wordings together.

    scores: of yes-no the share of yes; of a choice and a pair the share of each option, in the file's order; of a
    number its mean; of a free text the share of each code. NaN throughout for an incomplete image. by_paraphrase:
    the same for each paraphrase alone, NaN for one without an answer. refusal, hedge, unreadable: shares from 0 to 1 of
    the wordings whose call did not fail, NaN where a paraphrase has no other. failed: calls that failed. likelihood:
    mean probability of each option over the paraphrases, () where not scored. reason: why there is no value, else "".
    """

    scores: Row
    by_paraphrase: tuple[Row, ...]
    refusal: float
    hedge: float
    unreadable: float
    failed: int = 0
    likelihood: Row = ()
    reason: str = ""

    @property
    def complete(self) -> bool:
        """Whether each paraphrase has an answer."""
        return not self.reason


def value_of(saids: Sequence[Said], question: WordQuestion) -> AskedValue:
    """What the answers about one image come to. saids: of all wordings, in any order.

    A question about two images needs an answer in both orders of the images in each paraphrase: their mean is the
    preference that does not depend on the place.

    >>> from transect.targets.words.questions import Kind, WordQuestion
    >>> question = WordQuestion("a", Kind.YES_NO, ("Yes?", "Is it yes?"))
    >>> row = lambda paraphrase, value: Said(paraphrase, (), 0, "", "", "", Status.ANSWERED, value)
    >>> value_of([row(0, 1.0), row(1, 0.0)], question).scores
    (0.5,)
    >>> value_of([row(0, 1.0)], question).reason
    'no answer in 1 of 2 paraphrases'
    """
    rows = [[said for said in saids if said.paraphrase == number] for number in range(len(question.paraphrases))]
    by_paraphrase = tuple(_paraphrase(each, question) for each in rows)
    missing = sum(not _is_answered(of_paraphrase, question) for of_paraphrase in rows)
    return AskedValue(
        _means(by_paraphrase),
        by_paraphrase,
        refusal=_mean_of(rows, _share(Status.REFUSED)),
        hedge=_mean_of(rows, _share(Status.HEDGED)),
        unreadable=_mean_of(rows, _share(Status.UNREADABLE)),
        failed=sum(said.status is Status.FAILED for said in saids),
        likelihood=_likelihood(rows),
        reason=_reason(missing, rows),
    )


def scores_of(said: Said, question: WordQuestion) -> Row:
    """The numbers of one answer: 1 for the option chosen and 0 for the others, the codes, or the number itself.

    Of an answer that is none, NaN throughout.

    >>> from transect.targets.words.questions import Kind, WordQuestion
    >>> job = WordQuestion("job", Kind.CHOICE, ("?",), options=("nurse", "pilot"))
    >>> scores_of(Said(0, (1, 0), 0, "", "", "B", Status.ANSWERED, 0.0), job)
    (1.0, 0.0)
    """
    width = width_of(question)
    if said.status is not Status.ANSWERED:
        return (math.nan,) * width
    if question.kind is Kind.TEXT:
        return said.codes
    if question.options:
        return tuple(float(number == said.value) for number in range(width))
    return (said.value,)


def width_of(question: WordQuestion) -> int:
    """How many numbers the value of a question has: one for each option or code, else 1."""
    return len(question.labels) or 1


def _paraphrase(saids: Sequence[Said], question: WordQuestion) -> Row:
    """The mean over answered repeats; of a pair the mean of both orders' means, NaN where one has no answer.

    A code that a judge gives is the mean over the repeats that it could judge, NaN without one.
    """
    if not _is_answered(saids, question):
        return (math.nan,) * width_of(question)
    answered: dict[tuple[int, ...], list[Row]] = defaultdict(list)
    for said in saids:
        if said.status is Status.ANSWERED:
            answered[said.order if question.kind is Kind.PAIR else ()].append(scores_of(said, question))
    mean = _known_means if question.judged else _means
    return _means([mean(rows) for rows in answered.values()])


def _is_answered(saids: Sequence[Said], question: WordQuestion) -> bool:
    """Whether a paraphrase has an answer; of a pair in both orders of the images."""
    orders = {said.order if question.kind is Kind.PAIR else () for said in saids if said.status is Status.ANSWERED}
    return len(orders) >= (2 if question.kind is Kind.PAIR else 1)


def _known_means(rows: Sequence[Row]) -> Row:
    """The mean of what is known in each column; NaN where nothing is."""
    known = [[value for value in column if not math.isnan(value)] for column in zip(*rows, strict=True)]
    return tuple(math.fsum(column) / len(column) if column else math.nan for column in known)


def _means(rows: Sequence[Row]) -> Row:
    """The mean of each column; NaN where one is."""
    return tuple(math.fsum(column) / len(rows) for column in zip(*rows, strict=True))


def _share(status: Status) -> Callable[[Said], float]:
    return lambda said: float(said.status is status)


def _mean_of(rows: Sequence[Sequence[Said]], number: Callable[[Said], float]) -> float:
    """The mean over paraphrases of the mean over answers whose call did not fail."""
    heard = [[number(said) for said in each if said.status is not Status.FAILED] for each in rows]
    if not all(heard):
        return math.nan
    return math.fsum(math.fsum(each) / len(each) for each in heard) / len(heard)


def _likelihood(rows: Sequence[Sequence[Said]]) -> Row:
    """The mean over paraphrases of the mean over repeats; () unless each paraphrase has one."""
    scored = [[said.likelihood for said in each if said.likelihood] for each in rows]
    return _means([_means(each) for each in scored]) if scored and all(scored) else ()


def _reason(missing: int, rows: Sequence[Sequence[Said]]) -> str:
    """Why there is no value: where calls failed in a paraphrase without an answer, the first call's reason."""
    if not missing:
        return ""
    unheard = [each for each in rows if all(said.status is Status.FAILED for said in each)]
    failures = [said.reason for each in unheard for said in each]
    if failures:
        return next(filter(None, failures), "call failed")
    return f"no answer in {missing} of {len(rows)} paraphrases"
