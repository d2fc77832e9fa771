"""A question about two images at once, asked of a model in words: each pair is shown in both orders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final, final

from transect.records import Quote
from transect.said import Pixels, Said, Spoken, Status
from transect.targets.words import reading_rules
from transect.targets.words.asked import image_key
from transect.targets.words.questions import WordQuestion
from transect.targets.words.reading import read
from transect.targets.words.speakers import PATIENCE, MeteredSpeaker, SharedSpeaker, described
from transect.targets.words.wordings import Wording, wordings

SWAPPED: Final = (1, 0)
"""How the order of a wording begins that shows the second image first."""
TwoImages = tuple[Pixels, Pixels]


@final
class AskedOfTwo:
    """One question about two images, asked of one model.

    speaker: the model, which questions about one image may share; close this when it is no longer asked.
    """

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
        return self.asks * float(getattr(self._shared.speaker, "patience", PATIENCE))

    @property
    def metered(self) -> bool:
        """Whether the model's calls are counted and may cost something."""
        return bool(getattr(self._shared.speaker, "metered", False))

    def describe(self) -> Mapping[str, Any]:
        """The question in full and its digest, that of the rules of reading, and what the model says of itself."""
        speaker = self._shared.speaker
        return {
            "name": self.name,
            "kind": "pairs",
            "asked_in_words": self.question.facts(),
            "question_sha256": self.question.digest,
            "reading_sha256": reading_rules.digest(),
            "model": {"name": speaker.name, **described(speaker)},
        }

    def quote(self, pairs: int) -> Quote:
        """The most that it costs to ask about N pairs; nothing for a model whose calls are not counted."""
        speaker = self._shared.speaker
        if not self.metered or not isinstance(speaker, MeteredSpeaker):
            return Quote(self.name, pairs, metered=False)
        # Either order is a call about two images, so that each is quoted by itself.
        asks = [wording.ask for wording in wordings(self.question, "") if not swapped(wording.order)]
        quote = speaker.quote(2 * pairs, asks, shown=2)
        return Quote(**{**asdict(quote), "target": self.name, "images": pairs})

    def ask(self, pairs: Sequence[TwoImages]) -> tuple[tuple[Said, ...], ...]:
        """What was said about each pair, wording by wording; a value of 0 is the first image, whichever stood first."""
        asked = [wordings(self.question, image_key(first) + image_key(second)) for first, second in pairs]
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
    """Whether the second image of a pair is shown first.

    >>> swapped((0, 1, 2)), swapped((1, 0, 2))
    (False, True)
    """
    return tuple(order[:2]) == SWAPPED


def failure_of(said: Sequence[Said]) -> str:
    """Why a pair was not asked: the reason of its first failed call where all have failed, else ""."""
    reasons = [one.reason or "no answer came" for one in said if one.status is Status.FAILED]
    return reasons[0] if said and len(reasons) == len(said) else ""
