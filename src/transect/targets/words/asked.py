"""A question asked of a model in words, as a target of one image, or about two images at once; beside each value
everything that was said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final, final

import numpy as np
from numpy import ndarray

from transect.protocols import Canaries, CountsCalls, RepeatsCanaries, Target
from transect.records import DECLARED, CallCounts, Images, Predictions, Quote
from transect.runs.json_records import record_of
from transect.spoken_answers import UNANSWERED, Pixels, Said, Speaker, Spoken, Status
from transect.targets.python_objects import array_digest
from transect.targets.words import reading
from transect.targets.words.judging import Coders, coders_of, failure_of
from transect.targets.words.questions import Kind, Wording, WordQuestion, wordings
from transect.targets.words.reading import read, value_of
from transect.targets.words.speakers import SharedSpeaker, described

INCOMPLETE: Final = "incomplete"
"""The category of an image that is answered in some paraphrases and not in all."""
SCORED: Final = (Kind.YES_NO, Kind.CHOICE)
"""Kinds of questions whose options a local model gives a probability."""
NO_CODERS: Final = Coders()


class AskedTarget:
    """A target that asks one question about each image, in every wording.

    An image without a value says why: what became of most of its answers (`refused`, `hedged`, `unreadable`),
    `incomplete` where some paraphrases have an answer, or the reason of a call that failed. coders: what judges or
    scores its free texts; a text that could not be judged makes its image fail.
    """

    in_words = True

    def __init__(self, speaker: SharedSpeaker, question: WordQuestion, coders: Coders = NO_CODERS) -> None:
        speaker.join(self)
        self.question, self._shared, self.coders = question, speaker, coders
        self.coded = coders.there
        if coders.judge is not None:
            coders.judge.join()
        self.name = f"{speaker.speaker.name}/{question.name}"
        self.task, self.labels = question.task, question.labels
        self.threshold: float | None = 0.5 if question.kind is Kind.YES_NO else None
        self.positive: str | None = None if question.positive is None else question.options[question.positive]

    @property
    def asks(self) -> int:
        """Texts that are sent about one image."""
        return len(self.question.paraphrases) * self.question.repeats

    @property
    def patience(self) -> float:
        """Seconds that one image may take."""
        judge = self.coders.judge
        judging = len(self.question.judged) * judge.patience if judge else 0.0
        scoring = sum(each.patience for each in self.coders.scorers)
        return self.asks * (self._shared.patience + judging + scoring)

    def describe(self) -> Mapping[str, object]:
        """The question, the rules of reading, the model, and how its texts are coded."""
        facts = _facts(self.question, self._shared.speaker)
        scores = getattr(self._shared.speaker, "scores_options", "likelihood" in facts["model"])
        return {
            "kind": "words",
            **facts,
            "labels": list(self.labels),
            "threshold": self.threshold,
            "positive": self.positive,
            "scored": self.question.kind in SCORED and bool(scores),
            **self.coders.facts(),
        }

    def predict(self, images: Images) -> Predictions:
        """One value per image, and what was said in each wording, whose order depends on image and question alone."""
        asked = [wordings(self.question, array_digest(pixels)) for pixels in images.pixels]
        shown = [(pixels,) for pixels in images.pixels]
        spoken = self._shared.speaker.speak(shown, [[wording.ask for wording in of_image] for of_image in asked])
        said = tuple(
            tuple(read(self.question, wording, one) for wording, one in zip(of_image, answers, strict=True))
            for of_image, answers in zip(asked, spoken, strict=True)
        )
        if self.coded:
            coded = iter(self.coders.coded(self.question, [one for of_image in said for one in of_image]))
            said = tuple(tuple(islice(coded, len(of_image))) for of_image in said)
        rows = [self._row(of_image) for of_image in said]
        return Predictions(
            self.task,
            np.array([scores for scores, _ in rows]).reshape(len(rows), max(len(self.labels), 1)),
            tuple(reason for _, reason in rows),
            labels=self.labels,
            said=said,
        )

    def close(self) -> None:
        """Close the model, once no other question needs it."""
        self._shared.leave(self)
        if self.coders.judge is not None:
            self.coders.judge.close()

    def _row(self, said: Sequence[Said]) -> tuple[ndarray, str]:
        reason = why_not(said) or failure_of(said)
        nothing = np.full(max(len(self.labels), 1), np.nan)
        return (nothing, reason) if reason else (np.asarray(value_of(said, self.question), dtype=np.float64), "")


@final
class MeteredAskedTarget(AskedTarget):
    """As AskedTarget, of a model or a judge whose calls are counted and may cost money.

    Calls, money and canaries are the model's: its first question states them, so that they are counted once. What
    judging costs is quoted by the judge (`coders.judge`); its calls made count here.
    """

    metered = True

    def quote(self, images: int) -> Quote:
        """The most that this question costs about N new images of a size that the model supposes."""
        return self._quoted(images, None)

    def quote_of(self, images: int, side: int) -> Quote:
        """As `quote`, for square images with so many pixels a side."""
        return self._quoted(images, (side, side))

    def calls_made(self) -> tuple[int, float]:
        """Calls and money of this process for all questions of the model; none of a further question."""
        meter, judge = self._shared.meter, self.coders.judge
        calls, cost = meter.calls_made() if meter and self._shared.is_first(self) else (0, 0.0)
        more = judge.calls_made() if judge is not None else (0, 0.0)
        return calls + more[0], cost + more[1]

    def call_counts(self) -> CallCounts | None:
        """The model's calls; None of a further question."""
        speaker = self._shared.stated_by(self)
        return speaker.call_counts() if isinstance(speaker, CountsCalls) else None

    def asked_again(self) -> Canaries | None:
        """The canaries' record; None of a further question, or without canaries."""
        speaker = self._shared.stated_by(self)
        return speaker.asked_again() if isinstance(speaker, RepeatsCanaries) else None

    def _quoted(self, images: int, size: tuple[int, int] | None) -> Quote:
        if (model := self._shared.meter) is None:
            return Quote(self.name, images, metered=False)
        asks = [wording.ask for wording in wordings(self.question, "")]
        return replace(model.quote(images, asks, size=size), target=self.name)


def ask(speaker: SharedSpeaker, question: WordQuestion, coders: Coders | None = None) -> Target:
    """The target that asks a model this question. coders: what judges or scores its texts."""
    coders = coders_of(question) if coders is None else coders
    metered = speaker.meter is not None or (coders.judge is not None and coders.judge.metered)
    return MeteredAskedTarget(speaker, question, coders) if metered else AskedTarget(speaker, question, coders)


def _facts(question: WordQuestion, speaker: Speaker) -> dict[str, Any]:
    """The question in full and its digest, that of the rules of reading, and what the model says of itself."""
    return {
        "asked_in_words": question.facts(),
        "question_sha256": question.digest,
        "reading_sha256": reading.rules_digest(),
        "model": {"name": speaker.name, **described(speaker)},
    }


def why_not(said: Sequence[Said]) -> str:
    """Why an image has no value: "" where each paraphrase has an answer in one of its repeats.

    Where all calls of a paraphrase failed, what the model would have said is not known: that counts before the rest.
    """
    found: dict[int, list[Said]] = {}
    for one in said:
        found.setdefault(one.paraphrase, []).append(one)
    without = [rows for rows in found.values() if all(one.status is not Status.ANSWERED for one in rows)]
    if found and not without:
        return ""
    unheard = [rows for rows in without if all(one.status is Status.FAILED for one in rows)]
    if unheard or not found:
        return next((one.reason for rows in unheard for one in rows if one.reason), "no answer came")
    counts = Counter(one.status for rows in without for one in rows)
    kind = max(UNANSWERED, key=lambda status: counts[status])
    if len(without) == len(found):
        return f"{kind}: {DECLARED}"
    return f"{INCOMPLETE}: {kind} in {len(without)} of {len(found)} paraphrases: {DECLARED}"


def asked_of(facts: Mapping[str, object]) -> WordQuestion:
    """The question that the description of a target holds. Raises BadInput for a description that holds none."""
    return record_of(WordQuestion, facts["asked_in_words"], "asked_in_words")


TwoImages = tuple[Pixels, Pixels]


@final
class PairwiseQuestion:
    """One question about two images, asked of one model; close it when it is no longer asked."""

    def __init__(self, speaker: SharedSpeaker, question: WordQuestion, model: str) -> None:
        speaker.join(self)
        self.question, self._shared = question, speaker
        self.name = f"{model}/{question.name}"

    @property
    def asks(self) -> int:
        """Texts that are sent about one pair, both orders together."""
        return len(wordings(self.question, ""))

    @property
    def patience(self) -> float:
        """Seconds that one pair may take."""
        return self.asks * self._shared.patience

    @property
    def metered(self) -> bool:
        """Whether the model's calls are counted and may cost something."""
        return self._shared.meter is not None

    def describe(self) -> Mapping[str, object]:
        """The question, the rules of reading, and the model."""
        return {"name": self.name, "kind": "pairs", **_facts(self.question, self._shared.speaker)}

    def quote(self, pairs: int) -> Quote:
        """The most that it costs to ask about N pairs; nothing for a model whose calls are not counted."""
        if (model := self._shared.meter) is None:
            return Quote(self.name, pairs, metered=False)
        # Either order is a call about two images, so that each is quoted by itself.
        asks = [wording.ask for wording in wordings(self.question, "") if not swapped(wording.order)]
        return replace(model.quote(2 * pairs, asks, shown=2), target=self.name, images=pairs)

    def ask(self, pairs: Sequence[TwoImages]) -> tuple[tuple[Said, ...], ...]:
        """What was said about each pair, wording by wording; a value of 0 is the first image, whichever stood first."""
        asked = [wordings(self.question, array_digest(first) + array_digest(second)) for first, second in pairs]
        shown, rows = [], []
        for (first, second), of_pair in zip(pairs, asked, strict=True):
            for turned, images in ((False, (first, second)), (True, (second, first))):
                shown.append(images)
                rows.append([wording.ask for wording in of_pair if swapped(wording.order) is turned])
        answers = self._shared.speaker.speak(shown, rows)
        return tuple(
            self._read(of_pair, {False: answers[2 * place], True: answers[2 * place + 1]})
            for place, of_pair in enumerate(asked)
        )

    def failed(self, reason: str) -> tuple[Said, ...]:
        """What the tables keep of a pair about which the call failed as a whole."""
        spoken = Spoken(failure=reason)
        return tuple(read(self.question, wording, spoken) for wording in wordings(self.question, ""))

    def close(self) -> None:
        """Close the model, once no other question needs it."""
        self._shared.leave(self)

    def _read(self, of_pair: Sequence[Wording], answers: Mapping[bool, Sequence[Spoken]]) -> tuple[Said, ...]:
        left = {turned: iter(spoken) for turned, spoken in answers.items()}
        return tuple(read(self.question, wording, next(left[swapped(wording.order)])) for wording in of_pair)


def swapped(order: Sequence[int]) -> bool:
    """Whether the second image of a pair is shown first."""
    return tuple(order[:2]) == (1, 0)


def pair_failure_of(said: Sequence[Said]) -> str:
    """Why a pair was not asked: the reason of its first failed call where all have failed, else ""."""
    reasons = [one.reason or "no answer came" for one in said if one.status is Status.FAILED]
    return reasons[0] if said and len(reasons) == len(said) else ""
