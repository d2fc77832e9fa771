"""Questions to a model that answers in words: frozen records, as the other modules know them.

A question has a kind, which says what an answer is:

| kind | answer | value |
| --- | --- | --- |
| yes-no | yes or no | 1 or 0 |
| choice | one of the options | the option's number in the file, from 0 |
| number | a number between `low` and `high` | the number |
| text | any text | none; 1 or 0 for each code |
| pair | of two images the first or the second, or neither | 0 or 1 as the caller numbers the images; 2 neither |
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Literal, final

from transect.errors import UnknownName
from transect.records import Task
from transect.runs.folder import canonical_json

PAIR: Final = ("first", "second", "neither")
"""Options of a question about two images; the third only where the question offers it."""
LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
Shown = Literal["letters", "list"]


class Kind(StrEnum):
    """What an answer to a question is."""

    YES_NO = "yes-no"
    CHOICE = "choice"
    NUMBER = "number"
    TEXT = "text"
    PAIR = "pair"


@final
@dataclass(frozen=True, slots=True)
class Code:
    """What is looked for in a free text: any of the labels as whole words or of the patterns; or what a judge says.

    labels: words or phrases; capitals do not count. patterns: regular expressions in the syntax of the Rust crate
    regex, which needs time in proportion to the text's length whatever the pattern. judge: a yes-or-no question about
    the text that a judge model answers, in place of labels and patterns.
    """

    name: str
    labels: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    judge: str = ""


@final
@dataclass(frozen=True, slots=True)
class WordQuestion:
    """One question.

    paraphrases: prompts that ask the same, of which the first is `prompt`. options: of a choice or a pair. shown: how
    the prompt shows options, see `wordings`. positive: number of the option whose probability is the outcome, None
    for each option in turn. low, high: the range of a number, both included. unit: of a number, such as "USD per year".
    codes, wordlists: what is measured in a free text. repeats: how often each wording is asked. max_tokens: the
    longest answer. meaning: of the value, in words.
    """

    name: str
    kind: Kind
    paraphrases: tuple[str, ...]
    system: str = ""
    options: tuple[str, ...] = ()
    shown: Shown = "letters"
    positive: int | None = None
    low: float = 0.0
    high: float = 0.0
    unit: str = ""
    codes: tuple[Code, ...] = ()
    wordlists: tuple[str, ...] = ()
    repeats: int = 1
    temperature: float = 0.0
    max_tokens: int = 64
    meaning: str = ""
    sources: tuple[str, ...] = ()
    may_be_used_for: str = ""
    may_not_be_used_for: str = ""

    @property
    def prompt(self) -> str:
        """The first paraphrase."""
        return self.paraphrases[0]

    @property
    def task(self) -> Task:
        """The task of a target that asks this question."""
        return _TASKS[self.kind]

    @property
    def labels(self) -> tuple[str, ...]:
        """What each of the value's numbers is of: options, or codes; () where there is one number.

        >>> WordQuestion("a", Kind.TEXT, ("Describe it.",), codes=(Code("hat", ("hat",)),)).labels
        ('hat',)
        """
        return tuple(code.name for code in self.codes) if self.kind is Kind.TEXT else self.options

    @property
    def judged(self) -> tuple[Code, ...]:
        """The codes that a judge model gives."""
        return tuple(code for code in self.codes if code.judge)

    def facts(self) -> dict[str, Any]:
        """Every field as plain values, as run.json holds it; a code that rules give says nothing of a judge."""
        stated = {**dataclasses.asdict(self), "kind": str(self.kind)}
        for code in stated["codes"]:
            if not code["judge"]:
                del code["judge"]
        return stated

    @property
    def images(self) -> int:
        """How many images are shown with it: 1, or 2."""
        return 2 if self.kind is Kind.PAIR else 1

    @property
    def digest(self) -> str:
        """SHA-256 of what is asked and how it is read, as 64 hexadecimal digits; notes and sources do not count."""
        return _digest(self)


@final
@dataclass(frozen=True, slots=True)
class QuestionSet:
    """The questions of one file. version: as the file states it, for people; the digest is what counts."""

    name: str
    questions: tuple[WordQuestion, ...]
    title: str = ""
    version: str = "1"

    def __len__(self) -> int:
        """How many questions there are."""
        return len(self.questions)

    def __iter__(self) -> Iterator[WordQuestion]:
        """Each question, in the file's order."""
        return iter(self.questions)

    def named(self, name: str) -> WordQuestion:
        """The question of that name. Raises UnknownName."""
        for question in self.questions:
            if question.name == name:
                return question
        raise UnknownName("question", name, [question.name for question in self.questions])

    @property
    def digest(self) -> str:
        """SHA-256 of all that the records hold, notes and sources too, but not of the file's layout."""
        return _hash([self.version, self.title, *(question.facts() for question in self.questions)])


_TASKS: Final = {
    Kind.YES_NO: Task.BINARY,
    Kind.CHOICE: Task.MULTICLASS,
    Kind.NUMBER: Task.REGRESSION,
    Kind.TEXT: Task.MULTILABEL,
    Kind.PAIR: Task.MULTICLASS,
}
_NOTES: Final = ("meaning", "sources", "may_be_used_for", "may_not_be_used_for")


@functools.lru_cache(maxsize=256)
def _digest(question: WordQuestion) -> str:
    return _hash({key: value for key, value in question.facts().items() if key not in _NOTES})


def _hash(content: object) -> str:
    return hashlib.sha256(canonical_json(content).encode()).hexdigest()
