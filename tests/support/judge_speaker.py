"""A judge by rules that a test knows, and functions that score texts. On the command line: judge_speaker:warm."""

import re
import time

from transect.spoken_answers import Spoken

BETWEEN = re.compile(r"\[text ([0-9a-f]{12})\]\n(.*)\n\[end \1\]", re.DOTALL)

FILE = """
[[question]]
name = "alt"
kind = "text"
prompt = "Describe this picture."

[[question.code]]
name = "hat"
labels = ["hat"]

[[question.code]]
name = "warm"
judge = "Does this text describe the person as warm?"
"""
"""A question with a code by rules and one by a judge."""


class JudgeSpeaker:
    """Says yes to a text that holds a word; `says` overrides it for texts that hold another word.

    prompts: every prompt that it was sent, in order.
    """

    def __init__(self, word="kind", says=None, name="judge"):
        self.word, self.says, self.name = word, dict(says or {}), name
        self.prompts, self.shown = [], []

    def describe(self):
        return {"kind": "stub", "word": self.word, "says": {key: str(value) for key, value in self.says.items()}}

    def speak(self, shown, asks):
        self.shown += shown
        return [[self._one(ask) for ask in some] for some in asks]

    def _one(self, ask):
        self.prompts.append(ask.prompt)
        text = BETWEEN.search(ask.prompt)[2]
        for held, answer in self.says.items():
            if held in text:
                return answer if isinstance(answer, Spoken) else Spoken(answer, tokens_sent=9, tokens_received=1)
        return Spoken("Yes." if self.word in text else "No.", tokens_sent=9, tokens_received=1)


warm = JudgeSpeaker(name="judge_speaker:warm")


def lengths(texts):
    return [len(text) for text in texts]


def picky(texts):
    if any("hat" in text for text in texts):
        raise ValueError("no hats")
    return [1.0 for _ in texts]


def hanging(texts):
    time.sleep(2)
    return [0.0 for _ in texts]


def one_for_all(texts):
    return [0.5]
