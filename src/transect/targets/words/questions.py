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
import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Literal, final

from transect.errors import UnknownName
from transect.records import Task
from transect.runs.folder import canonical_json
from transect.spoken_answers import Ask

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
        """What each of the value's numbers is of: options, or codes; () where there is one number."""
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


PLACEHOLDER: Final = re.compile(r"\{([A-Za-z_]+)\}")
OPTIONS: Final = "{options}"


@final
@dataclass(frozen=True, slots=True)
class Wording:
    """One text about one image, or two.

    order: the option's number in the file at each place; of two images the caller's number of each image as shown,
    and 2 for "neither" where it is offered; () without options.
    """

    paraphrase: int
    repeat: int
    order: tuple[int, ...]
    ask: Ask


def wordings(question: WordQuestion, images_key: str) -> tuple[Wording, ...]:
    """Every wording of a question about some images, paraphrase by paraphrase, then repeat; of a pair in both orders.

    images_key: the digest of the images shown, or any text that is the same for the same images and no others.
    """
    places = itertools.product(range(len(question.paraphrases)), range(question.repeats))
    return tuple(
        Wording(paraphrase, repeat, order, _ask(question, paraphrase, repeat, order))
        for paraphrase, repeat in places
        for order in _orders(question, images_key, paraphrase, repeat)
    )


def prompt_of(question: WordQuestion, paraphrase: int, order: Sequence[int]) -> str:
    """The prompt that is sent: a paraphrase with its placeholders filled in.

    {options} becomes the options in that order, one a line behind the letters A), B), … (`shown` "letters") or as
    "nurse, pilot or judge" ("list", and of every pair). A prompt of a choice or a pair without it gets them at its
    end. {low}, {high} and {unit} are a number's.
    """
    text = question.paraphrases[paraphrase]
    if question.options and OPTIONS not in text:
        text = f"{text}\n{OPTIONS}"
    fills = {
        "options": options_text(question, order),
        "low": f"{question.low:.15g}",
        "high": f"{question.high:.15g}",
        "unit": question.unit,
    }
    return PLACEHOLDER.sub(lambda found: fills.get(found[1], found[0]), text)


def options_text(question: WordQuestion, order: Sequence[int]) -> str:
    """The options as a prompt shows them; "" without options.

    >>> job = WordQuestion("job", Kind.CHOICE, ("Which?",), options=("nurse", "pilot", "judge"), shown="list")
    >>> options_text(job, (2, 0, 1))
    'judge, nurse or pilot'
    """
    texts = texts_in_place(question, order)
    if lettered(question):
        return "\n".join(f"{letter}) {text}" for letter, text in zip(LETTERS, texts, strict=False))
    return " or ".join(filter(None, [", ".join(texts[:-1]), *texts[-1:]]))


def texts_in_place(question: WordQuestion, order: Sequence[int]) -> tuple[str, ...]:
    """The option at each place; of a pair "first", "second" always, since it is the images that change places."""
    if question.kind is Kind.PAIR:
        return PAIR[: len(order)]
    return tuple(question.options[number] for number in order)


def lettered(question: WordQuestion) -> bool:
    """Whether the options stand behind letters."""
    return question.kind is Kind.CHOICE and question.shown == "letters"


def _ask(question: WordQuestion, paraphrase: int, repeat: int, order: tuple[int, ...]) -> Ask:
    prompt = prompt_of(question, paraphrase, order)
    scored = _scored(question, order)
    return Ask(
        question.system, prompt, repeat, question.temperature, question.max_tokens, scored, question.kind is Kind.NUMBER
    )


def _scored(question: WordQuestion, order: tuple[int, ...]) -> tuple[str, ...]:
    """The answers whose likelihood is wanted: no and yes, the letters shown, or the options' texts by place."""
    if question.kind is Kind.YES_NO:
        return ("No", "Yes")
    return tuple(LETTERS[: len(order)]) if lettered(question) else texts_in_place(question, order)


def _orders(question: WordQuestion, images_key: str, paraphrase: int, repeat: int) -> Iterator[tuple[int, ...]]:
    if question.kind is Kind.PAIR:
        rest = tuple(range(2, len(question.options)))
        yield from ((0, 1, *rest), (1, 0, *rest))
        return
    text = f"{images_key}\0{question.digest}\0{paraphrase}\0{repeat}".encode(errors="surrogatepass")
    number = int.from_bytes(hashlib.sha256(text).digest(), "big")
    yield _permutation(number, len(question.options))


def _permutation(number: int, n: int) -> tuple[int, ...]:
    """The permutation of 0 … n - 1 of that number, counted from 0 and modulo n!, in the order of a dictionary.

    Of the 2²⁵⁶ numbers of a digest each permutation of up to 26 options has the same share, to 1 part in 2¹⁶⁷.
    """
    left = list(range(n))
    number %= math.factorial(n)
    chosen = []
    for rest in range(n - 1, -1, -1):
        place, number = divmod(number, math.factorial(rest))
        chosen.append(left.pop(place))
    return tuple(chosen)
