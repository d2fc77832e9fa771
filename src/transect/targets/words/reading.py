"""From what a model said to a status and a value, and from all answers about one image to its value.

An answer is read where it stands plainly: as JSON; announced ("Answer: B") or alone on the first or the last line;
or in a text that mentions no other answer. A clause that refuses or hedges is no answer. Nothing is guessed. See
docs/concepts/how-answers-are-read.md. The value of an image is the mean over paraphrases of the mean over repeats;
one without an answer in some paraphrase has none.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Sequence
from typing import Final

from transect.spoken_answers import Said, Spoken, Status
from transect.targets.words.coding import codes_of, length_in_words, phrase
from transect.targets.words.extraction import (
    EMPHATIC,
    LONGEST,
    STATUS,
    Reason,
    clauses,
    declined,
    denies,
    is_foreign,
    json_answer,
    plain,
    said_part,
    stated,
)
from transect.targets.words.questions import Kind, Wording, WordQuestion
from transect.texts import one_line

_ANNOUNCED: Final = re.compile(r"\b(?:answer|choice|final|conclusion|decision|verdict)\b", re.IGNORECASE)
_CALL: Final = re.compile(
    r"<\|?(?:tool|function)_call|\[TOOL_CALLS\]"
    r"|^\s*\{\s*\"(?:name|function|tool)\"\s*:.*\"(?:arguments|parameters)\"\s*:",
    re.DOTALL,
)
"""A call of a tool that stands in the text itself."""
_PUNCTUATION: Final = " .,:;!\"'()[]"
_SORRY: Final = re.compile(r"^\W*sorry[,:]\s+", re.IGNORECASE)
_MOST_CLAUSES: Final = 500
_SUBSTANCE: Final = 8
"""Words outside refusing clauses from which on a free text says something."""


def read(question: WordQuestion, wording: Wording, spoken: Spoken) -> Said:
    """What a model said about an image in one wording, as a row of the tables of answers. Never raises.

    likelihood: of the options in the file's order, of yes-no those of no and yes, normalized to 1.
    """
    status, value, reason = _outcome(question, wording, spoken)
    codes = codes_of(question, said_part(plain(spoken.text))) if status is Status.ANSWERED else ()
    return Said(
        paraphrase=wording.paraphrase,
        order=wording.order,
        repeat=wording.repeat,
        system=wording.ask.system,
        prompt=wording.ask.prompt,
        text=spoken.text,
        status=status,
        value=value,
        codes=codes,
        likelihood=likelihood_of(wording, spoken.likelihoods),
        tokens_sent=spoken.tokens_sent,
        tokens_received=spoken.tokens_received,
        reason=reason,
    )


def likelihood_of(wording: Wording, logarithms: Sequence[float]) -> tuple[float, ...]:
    """Probabilities in the file's order, together 1, from logarithms by place; () where one is unknown, or all 0."""
    n = len(wording.ask.options)
    if len(logarithms) != n or not n or any(math.isnan(each) for each in logarithms):
        return ()
    highest = max(logarithms)
    if not math.isfinite(highest):
        return ()
    weights = [math.exp(each - highest) for each in logarithms]
    by_number = sorted(zip(wording.order or range(n), weights, strict=True))
    return tuple(weight / sum(weights) for _, weight in by_number)


def _outcome(question: WordQuestion, wording: Wording, spoken: Spoken) -> tuple[Status, float, str]:
    if spoken.failure:
        return Status.FAILED, math.nan, one_line(spoken.failure, 200)
    read_as = _before_text(spoken) or _of_text(question, wording, spoken)
    if isinstance(read_as, Reason):
        return STATUS[read_as], math.nan, str(read_as)
    return Status.ANSWERED, read_as, ""


def _before_text(spoken: Spoken) -> Reason | None:
    """Why there is no answer, whatever the text says."""
    if spoken.refusal:
        return Reason.DECLINED
    return {"filter": Reason.FILTERED, "tool": Reason.TOOL}.get(spoken.end)


def _of_text(question: WordQuestion, wording: Wording, spoken: Spoken) -> float | Reason:
    text = plain(spoken.text)
    cut = spoken.end == "length"
    if not any(letter.isalnum() for letter in text):
        return Reason.CUT if cut else Reason.EMPTY
    if _CALL.search(spoken.text[:LONGEST]):
        return Reason.TOOL
    if question.kind is Kind.TEXT:
        return _free(text, cut)
    if is_foreign(_without_options(question, text)):
        return Reason.FOREIGN
    if cut and question.kind is Kind.NUMBER and text[-1] in "0123456789,.":
        text = text.rpartition(" ")[0]  # the last number may go on
    return _closed(question, wording.order, text, cut)


def _without_options(question: WordQuestion, text: str) -> str:
    for option in question.options:
        text = phrase(option).sub(" ", text)
    return text


def _free(text: str, cut: bool) -> float | Reason:
    """NaN where a free text is an answer; why not, where it does little else than refuse, or nothing but hedge."""
    if cut or is_foreign(text):
        return Reason.CUT if cut else Reason.FOREIGN
    reasons = [reason for part in clauses(text) if (reason := declined(part)) is not None]
    words = length_in_words(said_part(text)) if reasons else 1
    if Reason.REFUSAL in reasons and words < _SUBSTANCE:
        return Reason.REFUSAL
    return reasons[0] if reasons and not words else math.nan


def _closed(question: WordQuestion, order: tuple[int, ...], text: str, cut: bool) -> float | Reason:
    """The answer to a question that is no free text, or why there is none."""
    answer = json_answer(text)
    if answer == "":
        return Reason.REFUSAL
    text = text if answer is None else answer
    if question.kind is Kind.YES_NO and (whole := EMPHATIC.get(text.strip(_PUNCTUATION).lower())) is not None:
        return whole
    counted, declining = _by_clause(question, order, text)
    every = _sure(text, counted) or {found for _, found in counted} - {Reason.NONE}
    value = next(iter(every), Reason.NONE)
    if len(every) == 1 and isinstance(value, float):
        return _checked(question, value, counted, declining)
    if cut:
        return Reason.CUT
    reasons = {*declining, *every}
    first = (Reason.REFUSAL, Reason.HEDGE, Reason.CONFLICT, Reason.RANGE)
    rest = Reason.SEVERAL if len(every) > 1 or isinstance(value, float) else value
    return next((reason for reason in first if reason in reasons), rest)


_Counted = list[tuple[str, float | Reason]]
"""Clauses that neither refuse nor hedge, with the answer that each states, or why it states none."""


def _by_clause(question: WordQuestion, order: tuple[int, ...], text: str) -> tuple[_Counted, set[Reason]]:
    """The clauses that count, and the reasons of those that refuse or hedge.

    Where an option is itself worded as a hedge, "cannot tell", a clause that states it counts.
    """
    counted: _Counted = []
    declining: set[Reason] = set()
    for part in clauses(text)[:_MOST_CLAUSES]:
        if part.endswith("?") and question.kind is not Kind.NUMBER:
            continue  # "A doctor?" names none
        found, why = stated(question, order, _SORRY.sub("", part)), declined(part)
        if why is not None and not (_offers_hedge(question) and isinstance(found, float)):
            declining.add(why)
            continue
        polite = question.kind is Kind.YES_NO and part.strip(_PUNCTUATION).lower() in EMPHATIC
        counted.append((part, Reason.UNCLEAR if polite else found))
    return counted, declining


def _sure(text: str, counted: _Counted) -> set[float | Reason]:
    """Answers that are announced, or alone on the first or the last of several lines: others count for nothing then."""
    lines = text.split("\n")
    alone = {line.strip(_PUNCTUATION) for line in (lines[0], lines[-1])} if len(lines) > 1 else set()
    values = [(part, found) for part, found in counted if isinstance(found, float)]
    return {found for part, found in values if part.strip(_PUNCTUATION) in alone or _ANNOUNCED.search(part)}


def _checked(question: WordQuestion, value: float, counted: _Counted, declining: set[Reason]) -> float | Reason:
    """A yes or no only where it is one to the question: no "no" beside a refusal, no "yes" beside a denial."""
    if question.kind is Kind.YES_NO and value == 0.0 and Reason.REFUSAL in declining:
        return Reason.REFUSAL
    if (
        question.kind is Kind.YES_NO
        and value == 1.0
        and any(found != value and denies(part) for part, found in counted)
    ):
        return Reason.UNCLEAR
    return value


@functools.lru_cache(maxsize=256)
def _offers_hedge(question: WordQuestion) -> bool:
    """Whether an option is itself worded as a hedge, such as "cannot tell"."""
    return any(declined(option) for option in question.options)


def value_of(saids: Sequence[Said], question: WordQuestion) -> tuple[float, ...]:
    """The value of an image from its answers in all wordings, in any order; NaN where a paraphrase has no answer.

    Of yes-no the share of yes; of a choice that of each option, in the file's order; of a number its mean; of a free
    text the share of each code, of those that a judge gives over the repeats that it could judge.
    """
    by_paraphrase = []
    for number in range(len(question.paraphrases)):
        answered = [one for one in saids if one.paraphrase == number and one.status is Status.ANSWERED]
        if not answered:
            return (math.nan,) * (len(question.labels) or 1)
        columns = zip(*(_scores(one, question) for one in answered), strict=True)
        by_paraphrase.append([_mean([score for score in column if not math.isnan(score)]) for column in columns])
    return tuple(map(_mean, zip(*by_paraphrase, strict=True)))


def _scores(said: Said, question: WordQuestion) -> tuple[float, ...]:
    """The numbers of an answer: 1 for the option chosen and 0 for the others, the codes, or the number itself."""
    if question.kind is Kind.TEXT:
        return said.codes
    if question.options:
        return tuple(float(number == said.value) for number in range(len(question.options)))
    return (said.value,)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan
