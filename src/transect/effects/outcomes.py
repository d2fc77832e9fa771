"""What do we count on one image? From predictions, and the truth where one is stated, to one number per image.

An image without a valid number is NaN and has a reason, "category" or "category: detail"; tables count the categories.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int

from transect.effects.overlap import IOU, matching_boxes
from transect.effects.said_outcomes import (
    LENGTH,
    LIKELIHOOD,
    SCORE,
    SHARES,
    InWords,
    answers_of_an_image,
    counted,
    is_in_words,
    offered_in_words,
    whys,
)
from transect.errors import BadInput, UnknownName
from transect.records import Predictions, Task, declared

FAILED: Final = "failed"
TRUTH_IS_NO: Final = "truth is no"
TRUTH_IS_YES: Final = "truth is yes"
NO_TRUTH: Final = "no truth"
NO_SCORE: Final = "no score"
NOT_A_PROBABILITY: Final = "not a probability"
NO_REFERENCE: Final = "reference failed"
NO_THRESHOLD: Final = "no threshold"

_OTHER_TRUTH: Final = {"miss": TRUTH_IS_NO, "false_alarm": TRUTH_IS_YES}
CLIP: Final = 1e-15
"""Probabilities are clipped to [CLIP, 1 - CLIP] before the logarithm: a loss is at most 34.5 nats."""

_CLASSIFICATION = (Task.BINARY, Task.MULTICLASS, Task.MULTILABEL)
OF_TRUTH: Final = ("miss", "false_alarm", "error", "loss")
"""Outcomes that the truth enters."""
WORSE_WHEN_LARGER: Final = (*OF_TRUTH, "non_match", "distance", *SHARES)
"""Outcomes of which more is worse, so that an increase can be limited."""
OUTCOMES = ("answer", "score", "distance", "non_match", *OF_TRUTH, *SHARES, LENGTH, LIKELIHOOD)
"""Every outcome by name, without those that are named after an option, a code or a list of words."""
_BINARY_OUTCOMES = ("answer", "miss", "false_alarm", "error", "non_match")
_NOT_IN_WORDS = ((Task.BINARY, "score"), (Task.BINARY, "loss"))
"""The score of a yes is its share of the wordings, which is the answer, and no probability."""


@final
@dataclass(frozen=True, slots=True)
class Outcome:
    """One number per image: values float64 [n], NaN exactly where `reasons` [n] has a text.

    unit: "proportion" for 0/1 outcomes, else "score", "score squared", "nats" or "cosine distance". is_binary: every
    value is 0, 1 or NaN. answers: of how many answers of 0 or 1 a value is the share; 1 where it is no such share.
    """

    name: str
    values: Float[np.ndarray, " n"]
    reasons: np.ndarray
    unit: str
    is_binary: bool
    answers: int = 1

    @property
    def is_share(self) -> bool:
        """Whether values are 0 or 1, or shares of such answers."""
        return self.is_binary or self.answers > 1


def category(reason: str) -> str:
    """The short category under which tables count a reason."""
    return reason.partition(":")[0]


def offered(task: Task, truth: bool, asked: InWords | None = None) -> tuple[str, ...]:
    """The outcomes that a task can have; those that need the truth only where one is stated.

    asked: of a question that is asked in words, after what its outcomes are named; None of other targets. A question
    with several options or codes has the outcomes of each, and no yes.

    A detector's confidence is no probability, so it has no loss.

    >>> offered(Task.DETECTION, truth=True)
    ('answer', 'score', 'miss', 'false_alarm', 'error')
    >>> offered(Task.REGRESSION, truth=False)
    ('score',)
    """
    if asked is not None and task in (Task.MULTICLASS, Task.MULTILABEL):
        return offered_in_words(task, asked)
    if asked is not None:
        of_task = tuple(name for name in offered(task, truth) if (task, name) not in _NOT_IN_WORDS)
        return (*of_task, *offered_in_words(task, asked))
    if task is Task.EMBEDDING:
        return ("distance", "non_match")
    if task is Task.REGRESSION:
        return ("score", "error", "loss") if truth else ("score",)
    with_truth = ("miss", "false_alarm", "error") + (("loss",) if task in _CLASSIFICATION else ())
    return ("answer", "score", *(with_truth if truth else ()))


def compute(
    name: str,
    predictions: Predictions,
    *,
    truth: Float[np.ndarray, " n"] | None = None,
    threshold: float = 0.5,
    positive: str | int | None = None,
    expected_boxes: Float[np.ndarray, "n 4"] | None = None,
    iou: float = IOU,
    reference: Int[np.ndarray, " n"] | None = None,
) -> Outcome:
    """The outcome `name` of each image.

    answer: 1 for yes (detection: a box counts; binary and multilabel: score >= threshold; multiclass: the largest
    score is the positive class's). score: the score, or the positive class's or label's; detection: the confidence of
    the best box that counts, 0 without one. miss: no where the truth is yes (other images have no value).
    false_alarm: yes where the truth is no. error: answer differs from truth; regression: |score - truth|. loss: -ln
    of the probability given to the truth, clipped at 1e-15; regression: (score - truth)^2. distance: 1 - cosine
    similarity with the image of row `reference`, which is the subject's first cell. non_match: that distance is at or
    above the threshold, so that a verifier would take the two for different people.

    positive: label or index of the class or label that means yes; needed for multiclass and multilabel. iou: overlap
    from which a box counts as the expected one; without expected_boxes any box counts.

    Raises UnknownName for an outcome that the task does not have or a label that the target does not know; BadInput
    when the truth or the positive class is missing, a label is neither 0 nor 1, or the lengths differ.

    >>> predictions = Predictions(Task.BINARY, np.array([[0.9], [0.2], [np.nan]]), ("", "", "timed out"))
    >>> miss = compute("miss", predictions, truth=np.array([1.0, 1.0, 1.0]))
    >>> miss.values, miss.reasons.tolist()
    (array([ 0.,  1., nan]), ['', '', 'failed: timed out'])
    """
    if predictions.said is not None and (is_in_words(name) or (predictions.task is Task.BINARY and name != "score")):
        return _in_words(name, predictions, truth)
    _check(name, predictions, truth)
    task = predictions.task
    reasons = _reasons(predictions)
    if task is Task.EMBEDDING:
        values = _distances(predictions, reference, reasons)
        if name == "non_match":
            _mark(reasons, np.full(len(values), not np.isfinite(threshold)), NO_THRESHOLD)
            values = (values >= threshold).astype(np.float64)
    else:
        answers, scores = _answers_and_scores(predictions, threshold, positive, expected_boxes, iou)
        if task is not Task.DETECTION or name == "score":
            _mark(reasons, ~np.isfinite(scores), NO_SCORE)
        values = _values(name, task, answers, scores, truth, reasons)
    valid = np.array([not reason for reason in reasons], dtype=bool)
    is_binary = name in _BINARY_OUTCOMES and task is not Task.REGRESSION
    return Outcome(name, np.where(valid, values, np.nan), reasons, _unit(name, task), is_binary)


def _reasons(predictions: Predictions) -> np.ndarray:
    if predictions.said is not None:
        return whys(predictions)
    return np.array([f"{FAILED}: {why}" if why else "" for why in predictions.failures], dtype=object)


def unanswered(reason: str) -> bool:
    """Whether an image has no value since the target gave no answer to it."""
    return category(reason) == FAILED or declared(reason)


def _in_words(name: str, predictions: Predictions, truth: Float[np.ndarray, " n"] | None) -> Outcome:
    """An outcome of what was said in words; of yes or no, the share of an image's wordings."""
    if is_in_words(name):
        found = counted(name, predictions)
        unit = "proportion" if found.is_share else "score" if name.startswith(SCORE) else LENGTH
        return Outcome(name, found.values, found.reasons, unit, found.answers == 1, max(found.answers, 1))
    if name not in (possible := offered(Task.BINARY, True, InWords())):
        raise UnknownName("outcome", name, possible, hint="of a yes or no in words")
    _check(name, predictions, truth)
    reasons, yes = whys(predictions), predictions.scores[:, 0]
    _mark(reasons, ~np.isfinite(yes), NO_SCORE)
    values = yes
    if name != "answer" and truth is not None:
        _mark(reasons, ~np.isfinite(truth), NO_TRUTH)
        _mark(reasons, truth == {"miss": 0, "false_alarm": 1}.get(name, np.nan), _OTHER_TRUTH.get(name, ""))
        values = np.asarray(np.abs(yes - truth))
    valid = reasons == ""
    several = answers_of_an_image(predictions)
    return Outcome(name, np.where(valid, values, np.nan), reasons, "proportion", several == 1, several)


def _check(name: str, predictions: Predictions, truth: Float[np.ndarray, " n"] | None) -> None:
    task = predictions.task
    if name not in offered(task, truth=True):
        raise UnknownName("outcome", name, offered(task, truth is not None), hint=f"the target's task is {task}")
    if name not in offered(task, truth=truth is not None):
        raise BadInput(f"outcome {name} needs the truth, got none; state it, for example --truth 'smile>0.5'")
    if truth is None:
        return
    if len(truth) != len(predictions):
        raise BadInput(
            f"expected one truth per image, got {len(truth)} for {len(predictions)} images; pass one for each"
        )
    if task not in (Task.REGRESSION, Task.EMBEDDING) and not np.isin(truth[np.isfinite(truth)], (0.0, 1.0)).all():
        raise BadInput(
            f"the truth of a {task} target must be 0 or 1, got {truth[~np.isin(truth, (0.0, 1.0))][0]:g}; "
            "compare the attribute with a number, for example 'age>40'"
        )


def _answers_and_scores(
    predictions: Predictions,
    threshold: float,
    positive: str | int | None,
    expected_boxes: Float[np.ndarray, "n 4"] | None,
    iou: float,
) -> tuple[Bool[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Yes or no, and the score of yes, by task."""
    scores = predictions.scores
    if predictions.task is Task.DETECTION:
        return _detections(predictions, expected_boxes, iou)
    if predictions.task in (Task.BINARY, Task.REGRESSION):
        return scores[:, 0] >= threshold, scores[:, 0]
    column = _column(predictions, positive)
    if predictions.task is Task.MULTILABEL:
        return scores[:, column] >= threshold, scores[:, column]
    complete = np.isfinite(scores).all(axis=1)
    return np.argmax(scores, axis=1) == column, np.where(complete, scores[:, column], np.nan)


def _detections(
    predictions: Predictions, expected_boxes: Float[np.ndarray, "n 4"] | None, iou: float
) -> tuple[Bool[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    boxes = predictions.boxes
    if boxes is None:
        raise BadInput("expected boxes from a detection target, got none; give one array [m, 5] per image")
    counting = matching_boxes(boxes, expected_boxes, iou)
    answers = np.array([len(counted) > 0 for counted in counting], dtype=bool)
    best = np.zeros(len(counting))
    if answers.any():
        starts = np.cumsum([0, *(len(counted) for counted in counting)])[:-1][answers]
        best[answers] = np.maximum.reduceat(np.concatenate([counted[:, 4] for counted in counting]), starts)
    return answers, best


def _column(predictions: Predictions, positive: str | int | None) -> int:
    """Index of the class or label that means yes."""
    k, labels = predictions.scores.shape[1], predictions.labels
    known = labels or tuple(str(index) for index in range(k))
    if positive is None:
        raise BadInput(f"a {predictions.task} target needs the positive class: one of {', '.join(known[:8])}; name it")
    if isinstance(positive, str) and positive in labels:
        return labels.index(positive)
    text = str(positive)
    if text.isdecimal() and int(text) < k:
        return int(text)
    raise UnknownName("class", text, known, hint="name the positive class")


def _values(
    name: str,
    task: Task,
    answers: Bool[np.ndarray, " n"],
    scores: Float[np.ndarray, " n"],
    truth: Float[np.ndarray, " n"] | None,
    reasons: np.ndarray,
) -> Float[np.ndarray, " n"]:
    """Values by outcome; `reasons` gains what has no value."""
    if name == "answer":
        return answers.astype(np.float64)
    if name == "score" or truth is None:
        return scores
    _mark(reasons, ~np.isfinite(truth), NO_TRUTH)
    if name == "miss":
        _mark(reasons, truth == 0, TRUTH_IS_NO)
        return (~answers).astype(np.float64)
    if name == "false_alarm":
        _mark(reasons, truth == 1, TRUTH_IS_YES)
        return answers.astype(np.float64)
    return _errors_and_losses(name, task, answers, scores, truth, reasons)


def _errors_and_losses(
    name: str,
    task: Task,
    answers: Bool[np.ndarray, " n"],
    scores: Float[np.ndarray, " n"],
    truth: Float[np.ndarray, " n"],
    reasons: np.ndarray,
) -> Float[np.ndarray, " n"]:
    if task is Task.REGRESSION:
        residual = scores - truth
        return np.asarray(np.abs(residual) if name == "error" else residual**2)
    if name == "error":
        return np.asarray((answers != (truth == 1)).astype(np.float64))
    _mark(reasons, (scores < 0) | (scores > 1), NOT_A_PROBABILITY)
    given_to_truth = np.clip(np.where(truth == 1, scores, 1 - scores), CLIP, 1 - CLIP)
    return np.asarray(-np.log(given_to_truth))


def _distances(
    predictions: Predictions, reference: Int[np.ndarray, " n"] | None, reasons: np.ndarray
) -> Float[np.ndarray, " n"]:
    """Cosine distance to the reference row, in [0, 2]."""
    if reference is None or len(reference) != len(predictions):
        raise BadInput(
            "distance needs the row of each image's reference, got none or another number; pass one per image"
        )
    norms = np.linalg.norm(predictions.scores, axis=1)
    _mark(reasons, ~(np.isfinite(norms) & (norms > 0)), NO_SCORE)
    failed = np.array([bool(reason) for reason in reasons], dtype=bool)
    _mark(reasons, failed[reference], NO_REFERENCE)
    unit = np.divide(predictions.scores, norms[:, None], where=~failed[:, None], out=np.zeros_like(predictions.scores))
    return np.where(reference == np.arange(len(norms)), 0.0, 1 - np.einsum("nd,nd->n", unit, unit[reference]))


def _mark(reasons: np.ndarray, rows: np.ndarray, reason: str) -> None:
    """The first reason found for an image stays."""
    for row in np.flatnonzero(rows):
        reasons[row] = reasons[row] or reason


def _unit(name: str, task: Task) -> str:
    if name == "distance":
        return "cosine distance"
    if task is Task.REGRESSION:
        return "score squared" if name == "loss" else "score"
    return {"score": "score", "loss": "nats"}.get(name, "proportion")
