"""From a question and the images shown with it to the texts that are sent.

Each paraphrase is asked as often as `repeats` says. The options stand in an order that is drawn from the digests of the
images and of the question, the paraphrase and the repeat, so that it depends on nothing else: not on the batch, the
other images or when the image is asked about. Over images each order is equally likely. A question about two images is
asked in both orders of the images, each time.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, final

from transect.said import Ask
from transect.targets.words.questions import LETTERS, PAIR, Kind, WordQuestion

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

    @property
    def images(self) -> tuple[int, int]:
        """Of a question about two images: which of the caller's two is shown first, and which second."""
        return self.order[0], self.order[1]


def wordings(question: WordQuestion, images_key: str) -> tuple[Wording, ...]:
    r"""Every wording of a question about some images, in the order in which they are asked.

    images_key: the digest of the images shown, or any text that is the same for the same images and no others.

    Returns paraphrases × repeats wordings, of a pair twice as many, paraphrase by paraphrase.

    >>> from transect.targets.words.questions import Kind, WordQuestion
    >>> job = WordQuestion("job", Kind.CHOICE, ("Which job? {options}",), options=("nurse", "pilot"))
    >>> [one] = wordings(job, "of-an-image")
    >>> one.order, one.ask.prompt, one.ask.options
    ((0, 1), 'Which job? A) nurse\nB) pilot', ('A', 'B'))
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

    >>> from transect.targets.words.questions import Kind, WordQuestion
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
