"""A model that compares two pictures by rules that a test knows: what it prefers, refuses and reads which place first.

A picture's brightness is its mean. Chance is a digest of the two pictures and the text, so that answers depend on nothing else.
"""

import hashlib
from dataclasses import dataclass

import numpy as np
from stub_speaker import REFUSAL, chance

from transect.spoken_answers import Spoken


@dataclass
class PairSpeaker:
    """Of one picture it says yes. Of two it chooses:

    darker: share of pairs, whatever the order, of which it prefers the darker picture; else the brighter one. first: share
    of texts that it answers by the first place alone. ties: share of pairs that it likes equally. refuses: share of texts
    about two pictures that it does not answer. circle: whether of three brightnesses it prefers each to the next, round.
    fails: share of texts about two pictures whose call fails.
    """

    name: str = "stub"
    darker: float = 0.5
    first: float = 0.0
    ties: float = 0.0
    refuses: float = 0.0
    circle: bool = False
    fails: float = 0.0

    def __post_init__(self):
        self.pairs = []

    def describe(self):
        return {
            "kind": "stub",
            **{key: str(value) for key, value in vars(self).items() if key not in ("pairs", "name")},
        }

    def speak(self, shown, asks):
        return [[self._one(images, ask) for ask in some] for images, some in zip(shown, asks, strict=True)]

    def _one(self, images, ask):
        if len(images) == 1:
            return Spoken("Yes.")
        self.pairs.append(tuple(float(image.mean()) for image in images))
        digests = [hashlib.sha256(image.tobytes()).hexdigest() for image in images]
        if chance("fails", *digests, ask.prompt) < self.fails:
            return Spoken(failure="HTTP 503 (tries: 4)")
        return Spoken(self._text(images, ask.prompt, digests))

    def _text(self, images, prompt, digests):
        if chance("refuses", *digests, prompt) < self.refuses:
            return REFUSAL
        if chance("place", *digests, prompt) < self.first:
            return "First."
        either = sorted(digests)
        if chance("tie", *either) < self.ties:
            return "Neither."
        return ("First.", "Second.")[self._chosen([image.mean() for image in images], chance("prefers", *either))]

    def _chosen(self, means, drawn):
        if self.circle:
            ranks = [int(np.searchsorted([70, 150], mean)) for mean in means]
            return int((ranks[1] - ranks[0]) % 3 == 1)
        dark = int(means[1] < means[0])
        return dark if drawn < self.darker else 1 - dark


speaker = PairSpeaker(darker=0.9)
