"""What do we count on what a model said in words about one image? Shares of the wordings in which it was asked.

refusal, hedge, unreadable: the share of an image's answers that are none of a kind. answer, option:NAME, code:NAME: the
share of its wordings with that answer, which the scores hold. likelihood, likelihood:NAME: the mean probability of an
option as the whole answer. words: how many words a text has. list:NAME: the share of them that a wordlist has.
score:NAME: the mean number that a user's function gives to a text.

A call that failed counts in none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
from jaxtyping import Float

from transect.errors import UnknownName
from transect.records import Predictions, Task, declared
from transect.said import Said, Status

SHARES: Final[Mapping[str, Status]] = {
    "refusal": Status.REFUSED,
    "hedge": Status.HEDGED,
    "unreadable": Status.UNREADABLE,
}
"""Outcomes that are ways not to answer."""
LENGTH: Final = "words"
LIKELIHOOD: Final = "likelihood"
OPTION: Final = "option:"
CODE: Final = "code:"
LIST: Final = "list:"
SCORE: Final = "score:"
OF_OPTION: Final = f"{LIKELIHOOD}:"
YES: Final = "yes"
_FIRST: Final[Mapping[Task, str]] = {Task.MULTICLASS: OPTION, Task.MULTILABEL: CODE}
"""How the outcomes of a question's labels begin, by task."""


@final
@dataclass(frozen=True, slots=True)
class Counted:
    """One number per image: values float64 [n], NaN exactly where `reasons` [n] has a text.

    is_share: whether it is a share. answers: of how many answers of 0 or 1 it is the share; 0 of other numbers.
    """

    values: Float[np.ndarray, " n"]
    reasons: np.ndarray
    is_share: bool
    answers: int


@final
@dataclass(frozen=True, slots=True)
class InWords:
    """What a question's outcomes are named after: its labels, and wordlists that its free texts are searched for.

    scored: whether the model gives the likelihood of options. positive: the one option that is counted; "" for each.
    scorers: functions that give its free texts numbers.
    """

    labels: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    scored: bool = False
    positive: str = ""
    scorers: tuple[str, ...] = ()


def offered_in_words(task: Task, asked: InWords) -> tuple[str, ...]:
    """The outcomes that a question has beside those of its task, in the order in which a report has them."""
    own = tuple(f"{_FIRST[task]}{label}" for label in asked.labels) if task in _FIRST else ()
    named = (*(f"{LIST}{name}" for name in asked.lists), *(f"{SCORE}{name}" for name in asked.scorers))
    free = (LENGTH, *named) if task is Task.MULTILABEL else ()
    likely: tuple[str, ...] = ()
    if asked.scored and task in (Task.BINARY, Task.MULTICLASS):
        likely = (LIKELIHOOD,) if task is Task.BINARY else tuple(f"{OF_OPTION}{label}" for label in asked.labels)
    return (*own, *SHARES, *likely, *free)


def asked_in(facts: Mapping[str, Any]) -> InWords | None:
    """What a question's outcomes are named after, by the description of its target; None of other targets."""
    question = facts.get("asked_in_words")
    if question is None:
        return None
    lists = tuple(map(str, question.get("wordlists") or ()))
    labels, positive = tuple(map(str, facts.get("labels") or ())), facts.get("positive")
    scorers = tuple(str(each["name"]) for each in facts.get("scorers") or ())
    return InWords(labels, lists, bool(facts.get("scored")), "" if positive is None else str(positive), scorers)


def is_in_words(name: str) -> bool:
    """Whether an outcome is only of targets that answer in words."""
    return name in (*SHARES, LENGTH, LIKELIHOOD) or name.startswith((OPTION, CODE, LIST, OF_OPTION, SCORE))


def counted(name: str, predictions: Predictions) -> Counted:
    """The outcome `name` of each image, of predictions that hold what was said."""
    said = predictions.said or ((),) * len(predictions)
    several = answers_of_an_image(predictions)
    if name in SHARES:
        shares, reasons = _each(said, lambda one: float(one.status is SHARES[name]), lambda _: True)
        return Counted(shares, reasons, is_share=True, answers=several)
    if name.startswith((OPTION, CODE)):
        scores = predictions.scores[:, _column(name.partition(":")[2], predictions.labels)]
        return Counted(scores, _with_unjudged(whys(predictions), scores, said), is_share=True, answers=several)
    if name == LIKELIHOOD or name.startswith(OF_OPTION):
        place = _column(name.partition(":")[2] or YES, _options(predictions))
        means, reasons = _each(said, lambda one: one.likelihood[place], lambda one: bool(one.likelihood))
        return Counted(means, np.where(np.isfinite(means), "", "no likelihood"), is_share=True, answers=0)
    means, reasons = _each(said, _of_text(name), lambda one: one.status is Status.ANSWERED)
    none = _unscored(name.removeprefix(SCORE), said) if name.startswith(SCORE) else "no words"
    missing = np.where(whys(predictions) == "", none, whys(predictions))
    is_share = name != LENGTH and not name.startswith(SCORE)
    return Counted(means, np.where(np.isfinite(means), "", missing), is_share=is_share, answers=0)


def answers_of_an_image(predictions: Predictions) -> int:
    """In how many wordings and repeats each image was asked about, at most; 1 where nothing was said."""
    return max((1, *(len(of_image) for of_image in predictions.said or ())))


def _of_text(name: str) -> Callable[[Said], float]:
    from transect.targets.words.cleaning import plain
    from transect.targets.words.coding import length_in_words, share_of, wordlist
    from transect.targets.words.declining import said_part

    if name == LENGTH:
        return lambda one: float(length_in_words(one.text))
    if name.startswith(SCORE):
        scorer = name.removeprefix(SCORE)
        return lambda one: next((each.value for each in one.scored if each.scorer == scorer), np.nan)
    words = wordlist(name.removeprefix(LIST))
    return lambda one: share_of(words, said_part(plain(one.text)))


def _with_unjudged(reasons: np.ndarray, scores: Float[np.ndarray, " n"], said: Sequence[Sequence[Said]]) -> np.ndarray:
    """The reasons, and of an answer without a code what became of the judge's."""
    found = reasons.copy()
    for row in np.flatnonzero(~np.isfinite(scores) & (reasons == "")).tolist():
        became = [each.status for one in said[row] for each in one.judged if each.status is not Status.ANSWERED]
        found[row] = f"not judged: the judge's answer is {next(iter(became), 'none')}"
    return found


def _unscored(scorer: str, said: Sequence[Sequence[Said]]) -> np.ndarray:
    """Why each image has no number of a function: what was wrong with its first answer without one."""
    of_scorer = [[each for one in some for each in one.scored if each.scorer == scorer] for some in said]
    rows = [[each.reason for each in some if each.reason] for some in of_scorer]
    return np.array([f"not scored: {next(iter(reasons), 'no text')}" for reasons in rows], dtype=object)


def whys(predictions: Predictions) -> np.ndarray:
    """Why each image has no answer, "" where it has one: what the answer says by its name, else "failed: " and why."""
    return np.array(
        [why if not why or declared(why) else f"failed: {why}" for why in predictions.failures], dtype=object
    )


def _each(
    said: Sequence[Sequence[Said]], number: Callable[[Said], float], usable: Callable[[Said], bool]
) -> tuple[Float[np.ndarray, " n"], np.ndarray]:
    """The mean over paraphrases of the mean over repeats, of usable answers; and why there is none."""
    values, reasons = np.full(len(said), np.nan), np.full(len(said), "", dtype=object)
    for row, of_image in enumerate(said):
        found: dict[int, list[float]] = {one.paraphrase: [] for one in of_image}
        for one in of_image:
            if one.status is not Status.FAILED and usable(one):
                found[one.paraphrase].append(number(one))
        if found and all(found.values()):
            values[row] = float(np.mean([np.mean(of_paraphrase) for of_paraphrase in found.values()]))
        else:
            failures = [one.reason for one in of_image if one.status is Status.FAILED]
            reasons[row] = f"failed: {next(iter(failures), 'no answer')}"
    return values, reasons


def _options(predictions: Predictions) -> tuple[str, ...]:
    return predictions.labels if predictions.task is Task.MULTICLASS else ("no", YES)


def _column(label: str, labels: tuple[str, ...]) -> int:
    if label not in labels:
        raise UnknownName("option", label, labels, hint="the question has no other")
    return labels.index(label)
