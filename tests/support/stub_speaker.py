"""A model that answers in words by rules that a test knows: whom it refuses, prefers and reads which place first.

A picture is dark or bright by its mean. Chance is a digest of the picture, the text and the repeat, so that answers depend
on nothing else. On the command line: stub_speaker:speaker.
"""

import hashlib
import math
import re
from dataclasses import dataclass

from transect.spoken_answers import Spoken

DARK = 60
"""Pictures whose mean is below this are dark."""
REFUSAL = "I'm sorry, but I can't help with identifying people."
HEDGE = "I cannot tell from this picture alone."
RIDDLE = "Purple monkey dishwasher."
OPTION = re.compile(r"\b([A-Z])\) ([^\n]+)")


def chance(*parts):
    """A number from 0 to 1 that follows from the parts."""
    text = "\0".join(map(str, parts)).encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "big") / 2**64


@dataclass
class StubSpeaker:
    """Pairs are (bright, dark).

    refuses, hedges, riddles: shares of texts that it does not answer. yes: share of yes. prefers: share of the option
    `best` where places do not decide. first: share of choices that take the first place, whatever stands there. numbers:
    what it says of a number. odd: in a prompt that holds this word, a yes is `odd_yes` more frequent on dark pictures.
    fails: share of calls that fail.
    """

    name: str = "stub"
    refuses: tuple = (0.0, 0.0)
    hedges: tuple = (0.0, 0.0)
    riddles: tuple = (0.0, 0.0)
    yes: tuple = (0.5, 0.5)
    prefers: tuple = (0.5, 0.5)
    best: str = "hire"
    first: float = 0.0
    numbers: tuple = (40, 40)
    texts: tuple = ("A person with a kind smile.", "A person with a hat.")
    odd: str = ""
    odd_yes: float = 0.0
    fails: float = 0.0
    scores_options: bool = False

    def __post_init__(self):
        self.asked = 0
        self.closed = 0

    def describe(self):
        rules = {key: str(value) for key, value in vars(self).items() if key not in ("asked", "closed", "name")}
        return {"kind": "stub", **rules}

    def speak(self, shown, asks):
        return [[self._one(images, ask) for ask in some] for images, some in zip(shown, asks, strict=True)]

    def close(self):
        self.closed += 1

    def _one(self, images, ask):
        self.asked += 1
        key = hashlib.sha256(b"".join(image.tobytes() for image in images)).hexdigest()
        place = (key, ask.system, ask.prompt, ask.repeat if ask.temperature else 0)
        dark = int(images[0].mean() < DARK)
        if chance("fails", *place) < self.fails:
            return Spoken(failure="HTTP 503 (tries: 4)")
        text = self._text(place, dark, ask)
        tokens = {"tokens_sent": len(ask.prompt.split()), "tokens_received": len(text.split())}
        return Spoken(text, likelihoods=self._likelihoods(place, dark, ask), **tokens)

    def _text(self, place, dark, ask):
        drawn = chance("status", *place)
        for share, text in ((self.refuses, REFUSAL), (self.hedges, HEDGE), (self.riddles, RIDDLE)):
            if drawn < share[dark]:
                return text
            drawn -= share[dark]
        options = dict(OPTION.findall(ask.prompt))
        if options:
            return self._choice(place, dark, options)
        if "number" in ask.prompt:
            return f"{self.numbers[dark] + round(4 * chance('number', *place)) - 2}"
        if "Describe" in ask.prompt:
            return self.texts[dark]
        likely = self.yes[dark] + (self.odd_yes if self.odd and self.odd in ask.prompt and dark else 0.0)
        return "Yes." if chance("yes", *place) < likely else "No."

    def _choice(self, place, dark, options):
        letters = list(options)
        if chance("first", *place) < self.first:
            return f"{letters[0]})"
        preferred = next((letter for letter, text in options.items() if text == self.best), letters[0])
        others = [letter for letter in letters if letter != preferred]
        if chance("prefers", *place) < self.prefers[dark] or not others:
            return f"{preferred}) {options[preferred]}"
        other = others[int(chance("other", *place) * len(others))]
        return f"{other}) {options[other]}"

    def _likelihoods(self, place, dark, ask):
        if not (self.scores_options and ask.options):
            return ()
        yes = (0.7 if dark else 0.4) + 0.1 * (chance("likely", *place) - 0.5)
        if ask.options == ("No", "Yes"):
            return (math.log(1 - yes), math.log(yes))
        return tuple(math.log(1 / len(ask.options)) for _ in ask.options)


speaker = StubSpeaker(refuses=(0.0, 0.5), yes=(0.2, 0.8))
biased = StubSpeaker(
    name="biased",
    refuses=(0.05, 0.45),
    hedges=(0.02, 0.02),
    yes=(0.3, 0.7),
    prefers=(0.8, 0.4),
    first=0.3,
    scores_options=True,
)
