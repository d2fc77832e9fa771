"""From predictions to outcomes: errors, misses, scores, detections, answers in words, and what is right."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, final

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

from transect.designs.levels import unknown_attribute
from transect.errors import BadInput, UnknownName
from transect.records import Attribute, Predictions, Task, declared
from transect.spoken_answers import Said, Status
from transect.texts import whole_number

IOU = 0.4
"""Overlap from which a box counts as the face; detectors draw their boxes by conventions that differ."""


def overlap(a: Float[np.ndarray, "*#n 4"], b: Float[np.ndarray, "*#n 4"]) -> Float[np.ndarray, "*n"]:
    """Overlap of boxes, in [0, 1]; 0 where neither has an area."""
    sides = np.minimum(a[..., 2:], b[..., 2:]) - np.maximum(a[..., :2], b[..., :2])
    intersection = np.prod(np.clip(sides, 0, None), axis=-1)
    union = _area(a) + _area(b) - intersection
    return np.asarray(np.divide(intersection, union, out=np.zeros_like(intersection), where=union > 0))


def matching_boxes(
    boxes: Sequence[Float[np.ndarray, "_ 5"]], expected: Float[np.ndarray, "n 4"] | None, iou: float = IOU
) -> list[Float[np.ndarray, "_ 5"]]:
    """Per image the boxes that count as the face: those with at least `iou` overlap, or all without `expected`."""
    if expected is None:
        return list(boxes)
    if len(expected) != len(boxes):
        raise BadInput(
            f"expected one face box per image, got {len(expected)} for {len(boxes)} images; pass one row for each image"
        )
    lengths = [len(detected) for detected in boxes]
    if not sum(lengths):
        return list(boxes)
    each = np.concatenate([detected[:, :4] for detected in boxes])
    counts = overlap(each, np.repeat(expected, lengths, axis=0)) >= iou
    ends = np.cumsum(lengths).tolist()
    return [detected[counts[start:end]] for detected, start, end in zip(boxes, [0, *ends[:-1]], ends, strict=True)]


def detected(
    boxes: Sequence[Float[np.ndarray, "_ 5"]], expected: Float[np.ndarray, "n 4"] | None = None, iou: float = IOU
) -> Bool[np.ndarray, " n"]:
    """Whether each image has a box that counts: overlap >= `iou` with the expected face, or any box without one.

    boxes: per image float64 [m, 5], the fifth column the confidence, which plays no part. An expected box of NaN is
    never found.
    """
    return np.array([len(matches) > 0 for matches in matching_boxes(boxes, expected, iou)], dtype=bool)


def _area(boxes: Float[np.ndarray, "... 4"]) -> Float[np.ndarray, " ..."]:
    return np.asarray(np.prod(np.clip(boxes[..., 2:] - boxes[..., :2], 0, None), axis=-1))


FACE = "face"
"""The truth that every image shows a face."""

_COMPARISONS: dict[str, Callable[[np.ndarray, float], np.ndarray]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
_ASSIGNMENT = re.compile(r"(?<![=<>!])=(?!=)")
"""The "=" of TARGET=TRUTH, which is no part of a comparison."""
_ORDERED = (">", ">=", "<", "<=")
"""Comparisons that part a scale, and whether its low end is the yes."""
_GRAMMAR = re.compile(
    r"\s*(?P<name>[A-Za-z_]\w*)\s*(?:(?P<comparison>>=|<=|==|!=|>|<)(?P<value>[^<>=!]*[^\s<>=!])\s*)?",
)


@final
@dataclass(frozen=True, slots=True)
class Truth:
    """A stated truth: an attribute compared with a number (label 0 or 1), a bare attribute (its value), or "face" (1).

    A bare attribute whose first level is "none" (glasses, hat) is a label: 1 at any other level.

    >>> Truth.parse("smile>0.5").of({"smile": [0.2, 0.9]})
    array([0., 1.])
    """

    text: str
    attribute: str
    comparison: str = ""
    value: float = 0.0

    @classmethod
    def parse(cls, text: str, attributes: Mapping[str, Attribute] | None = None) -> Truth:
        """Reads `name`, `name > number` (also >= < <= == !=) or `face`.

        With `attributes`, the name must be one of them and the value may be a level's name or a value in range.

        Raises BadInput for another syntax, UnknownName for another attribute.

        >>> glasses = Attribute("glasses", "binary", "wears glasses", levels=("off", "on"))
        >>> Truth.parse("glasses == on", {"glasses": glasses}).value
        1.0
        """
        match = _GRAMMAR.fullmatch(text)
        if match is None:
            raise BadInput(
                f"truth {text!r}: expected an attribute, or an attribute compared with a value; write for example "
                "'smile>0.5', 'glasses' or 'face'"
            )
        name, comparison, value = match["name"], match["comparison"] or "", (match["value"] or "").strip()
        if attributes is not None and name not in attributes and (name != FACE or comparison):
            raise unknown_attribute(name, attributes, "see: transect list attributes")
        attribute = None if attributes is None else attributes.get(name)
        if attribute is not None and attribute.optional and not comparison:
            comparison, value = "!=", "none"
        return cls(text.strip(), name, comparison, _number(text, value, attribute) if comparison else 0.0)

    def of(self, columns: Mapping[str, ArrayLike]) -> Float[np.ndarray, " n"]:
        """The truth of each image: 0 or 1 for a comparison, the attribute's value otherwise; NaN stays NaN.

        Raises UnknownName when the columns lack the attribute, BadInput when there is no column at all to count the
        images of "face" by.
        """
        if self.attribute == FACE and FACE not in columns:
            if not columns:
                raise BadInput(
                    "truth 'face': expected at least one column of values, got none; pass the images' values"
                )
            return np.ones(len(np.asarray(next(iter(columns.values())))), dtype=np.float64)
        if self.attribute not in columns:
            raise UnknownName("attribute", self.attribute, columns, hint="see: transect list attributes")
        values = np.array(columns[self.attribute], dtype=np.float64)
        if not self.comparison:
            return values
        label = _COMPARISONS[self.comparison](values, self.value).astype(np.float64)
        return np.where(np.isnan(values), np.nan, label)

    def as_rated(self, means: Float[np.ndarray, " n"], attribute: Attribute | None = None) -> Float[np.ndarray, " _"]:
        """The truth as raters saw it: label 0 or 1 of each image; empty where there is none.

        means: mean ratings of the truth's attribute, NaN for an image without one. Of an attribute of two levels (0 and
        1 where the attribute is not known) the label is the majority's, NaN at a tie; of another with == or != that of
        the nearest value. There is none for a number as the truth, and for two levels with ratings beyond them.

        >>> glasses = Attribute("glasses", "binary", "wears glasses", levels=("off", "on"))
        >>> Truth.parse("glasses").as_rated(np.array([0.25, 1.0, np.nan]), glasses)
        array([ 0.,  1., nan])
        """
        if self.comparison in _ORDERED:
            return self.of({self.attribute: means})
        if attribute is None or (attribute.discrete and not attribute.nominal):
            return self._majority(means)
        return self.of({self.attribute: np.floor(means + 0.5)}) if self.comparison else np.empty(0)

    def _majority(self, means: Float[np.ndarray, " n"]) -> Float[np.ndarray, " _"]:
        """The label of two levels, 0 and 1, by mean ratings between them; empty where some lie beyond."""
        known = means[np.isfinite(means)]
        if len(known) and not 0 <= known.min() <= known.max() <= 1:
            return np.empty(0)
        names_first_level = (self.comparison == "==") == (self.value == 0)
        yes = 1 - means if self.comparison and names_first_level else means
        return np.where(np.isnan(yes) | (yes == 0.5), np.nan, yes > 0.5)


def truths_of(
    texts: Sequence[str], targets: Sequence[str], attributes: Mapping[str, Attribute] | None = None
) -> dict[str, Truth]:
    """The truth of each target by name: "TRUTH" for all that have none of their own, "TARGET=TRUTH" for one."""
    stated: dict[str, str] = {}
    for text in texts:
        name, truth = _assigned(text.strip(), targets)
        if name in stated:
            whose = f"target {name}" if name else "all targets"
            raise BadInput(f"--truth: expected one truth for {whose}, got {stated[name]!r} and {truth!r}")
        stated[name] = truth
    parsed = {name: Truth.parse(text, attributes) for name, text in stated.items()}
    everyone = dict.fromkeys(targets, parsed[""]) if "" in parsed else {}
    return everyone | {name: truth for name, truth in parsed.items() if name}


def _assigned(text: str, targets: Sequence[str]) -> tuple[str, str]:
    """The target that a truth is of, "" for all, and the truth."""
    own = [name for name in targets if text.startswith(f"{name}=") and not text.startswith(f"{name}==")]
    if own:
        name = max(own, key=len)
        return name, text[len(name) + 1 :]
    if _ASSIGNMENT.search(text):
        name = _ASSIGNMENT.split(text)[0].strip()
        raise UnknownName("target", name, targets, hint=f"to compare, write ==, as '{name}==1'")
    return "", text


def _number(text: str, value: str, attribute: Attribute | None) -> float:
    """The value after the comparison: a level's name, or any finite number."""
    if attribute is not None and value in attribute.levels:
        return float(attribute.levels.index(value))
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    low, high = (-np.inf, np.inf) if attribute is None else attribute.bounds
    if np.isfinite(number) and not low <= number <= high:
        raise BadInput(f"truth {text!r}: {attribute.name if attribute else ''} lies between {low:g} and {high:g}")
    if not np.isfinite(number):
        levels = f" or one of {', '.join(attribute.levels)}" if attribute is not None and attribute.levels else ""
        raise BadInput(
            f"truth {text!r}: expected a finite number{levels}, got {value!r}; write for example 'smile>0.5'"
        )
    return number


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
        scores = predictions.scores[:, _spoken_column(name.partition(":")[2], predictions.labels)]
        return Counted(scores, _with_unjudged(whys(predictions), scores, said), is_share=True, answers=several)
    if name == LIKELIHOOD or name.startswith(OF_OPTION):
        options = predictions.labels if predictions.task is Task.MULTICLASS else ("no", YES)
        place = _spoken_column(name.partition(":")[2] or YES, options)
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
    from transect.targets.words.coding import length_in_words, share_of, wordlist
    from transect.targets.words.reading import plain, said_part

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


def _spoken_column(label: str, labels: tuple[str, ...]) -> int:
    if label not in labels:
        raise UnknownName("option", label, labels, hint="the question has no other options")
    return labels.index(label)


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
_YES_OR_NO: Final = ("answer", "miss", "false_alarm", "non_match", "error")
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
    with several options or codes has the outcomes of each, and no yes. A detector's confidence is no probability, so it
    has no loss.
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


def kind_of(outcome: str, task: Task | None = None) -> Literal["yes or no", "share", "number"]:
    """What an outcome is of one answer: had or not, a share from 0 to 1, or any other number.

    task: None where it is not known, so that an error may be that of a number.

    >>> kind_of("error", Task.BINARY), kind_of("error", Task.REGRESSION), kind_of("likelihood")
    ('yes or no', 'number', 'share')
    """
    if outcome == LIKELIHOOD or outcome.startswith((OF_OPTION, LIST)):
        return "share"
    if outcome in SHARES or outcome.startswith((OPTION, CODE)):
        return "yes or no"
    is_number = task is Task.REGRESSION or (task is None and outcome == "error")
    return "yes or no" if outcome in _YES_OR_NO and not is_number else "number"


def span(outcome: str, task: Task) -> float:
    """How far two values of an outcome can be apart, whatever is observed; NaN where that has no limit."""
    if kind_of(outcome, task) == "yes or no":
        return 1.0
    known = {"score": 1.0} if task in _CLASSIFICATION else {"distance": 2.0} if task is Task.EMBEDDING else {}
    return known.get(outcome, np.nan)


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
    is_binary = kind_of(name, task) == "yes or no"
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
        raise UnknownName("outcome", name, possible, hint="these are the outcomes of a yes-or-no question")
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
        raise BadInput(f"outcome {name} needs a truth; give one, for example --truth 'smile>0.5'")
    if truth is None:
        return
    if len(truth) != len(predictions):
        raise BadInput(f"expected one truth per image, got {len(truth)} for {len(predictions)} images")
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
        raise BadInput("no boxes from a detection target; give one array [m, 5] per image")
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
        raise BadInput(f"a {predictions.task} target needs the positive class: one of {', '.join(known[:8])}")
    if isinstance(positive, str) and positive in labels:
        return labels.index(positive)
    text = str(positive)
    number = whole_number(text)
    if number is not None and number < k:
        return number
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
        raise BadInput("distance needs the row of each image's reference")
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
