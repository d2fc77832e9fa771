"""Answers in a piece of text: which it mentions, and which of them it states plainly.

A piece states an answer plainly where every word before it is neutral ("I would say a", "the person is most likely a",
and words of the question itself), and nothing but neutral words follows, or a comma, a colon or a "because" with an
explanation that denies nothing and mentions no other answer. Whatever else a piece says about an answer, it is not
read: a denial, a comparison and a supposition all need words that are not neutral. The words are in
`lists/neutral.toml`.
"""

from __future__ import annotations

import functools
import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from typing import Final, final

from transect.said import Status
from transect.targets.words.coding import phrase
from transect.targets.words.questions import LETTERS, Kind, WordQuestion
from transect.targets.words.wordings import lettered


class Reason(StrEnum):
    """Why a text has no value: the categories that tables count. `STATUS` says what each amounts to."""

    DECLINED = "declined by the interface"
    FILTERED = "content filter"
    REFUSAL = "refusal"
    HEDGE = "cannot tell"
    TOOL = "tool call"
    CUT = "cut off"
    EMPTY = "empty"
    FOREIGN = "another language"
    SEVERAL = "several answers"
    UNCLEAR = "no plain answer"
    CONFLICT = "letter and text disagree"
    RANGE = "out of range"
    NONE = "no answer found"


STATUS: Final = dict.fromkeys(Reason, Status.UNREADABLE) | {
    Reason.DECLINED: Status.REFUSED,
    Reason.FILTERED: Status.REFUSED,
    Reason.REFUSAL: Status.REFUSED,
    Reason.HEDGE: Status.HEDGED,
}
"""What each reason amounts to."""
EMPHATIC: Final = {"absolutely": 1.0, "correct": 1.0, "definitely": 1.0, "true": 1.0, "false": 0.0, "incorrect": 0.0}
"""Of a yes-or-no question: an answer as the whole text alone, before other words often no more than polite."""


@final
@dataclass(frozen=True, slots=True)
class Mention:
    """An answer that a piece mentions, from `start` to `end`. by_letter: as a letter that stands for an option."""

    value: float
    start: int
    end: int
    by_letter: bool = False


def stated(question: WordQuestion, order: tuple[int, ...], piece: str) -> float | Reason:
    """The answer that a piece states plainly; why not, where it mentions one otherwise; NONE where it mentions none.

    >>> job = WordQuestion("job", Kind.CHOICE, ("Which job? {options}",), options=("nurse", "pilot"))
    >>> stated(job, (0, 1), "The person is most likely a pilot, since the cap is white.")
    1.0
    >>> stated(job, (0, 1), "I doubt that it is a pilot."), stated(job, (0, 1), "A) pilot")
    (<Reason.UNCLEAR: 'no plain answer'>, <Reason.CONFLICT: 'letter and text disagree'>)
    """
    piece = _INTRODUCES.sub("", _QUOTES.sub('"', piece))
    found = sorted(_mentions(question, order, piece), key=lambda mention: mention.start)
    if not found:
        return Reason.NONE
    first, last = found[0], found[-1]
    is_pair = len(found) == 2 and last.start - first.end <= _NEXT
    if any(other.value != first.value for other in found[1:]):
        return Reason.CONFLICT if is_pair and first.by_letter and not last.by_letter else Reason.SEVERAL
    if not math.isfinite(first.value) or not _is_neutral(question, piece[: first.start]):
        return Reason.UNCLEAR
    if not _is_harmless(question, first.value, piece[(last if is_pair else first).end :]):
        return Reason.UNCLEAR
    if question.kind is Kind.NUMBER and not question.low <= first.value <= question.high:
        return Reason.RANGE
    return first.value


def denies(text: str) -> bool:
    """Whether a text has a word that may take an answer back."""
    words = _words(text)
    return not _lists()["denials"].isdisjoint(words) or any(word.endswith("n't") for word in words)


_NEXT: Final = 4
"""Characters between a letter and the option's text that belongs to it."""
_QUOTES: Final = re.compile(r"(?<!\w)'|'(?!\w)")
_INTRODUCES: Final = re.compile(
    r"^\W*(?:based on|given|looking at|judging (?:by|from)|considering|in (?:my|this|the)|from (?:this|the)|among"
    r"|if (?:i|we) (?:had|have|must)|if forced)\b[^,:]{0,80}[,:]\s+",
    re.IGNORECASE,
)
_SIGNS: Final = re.compile(r"[^\s\w.,:;!?\-\"'()\[\]*/=>&%$€£]")
"""Signs that are not neutral, such as "+", "±" and "<"."""
_EXPLAINS: Final = re.compile(r"[,:;(\[)\]\"'.!]|-+\s|\b(?:because|since|given|due|based|as)\b", re.IGNORECASE)
_BELONGS: Final = re.compile(r"'s\b|-(?!year)\w")
"""Right behind an answer: it is part of another word, such as "nurse-like"."""
_OFFERS: Final = re.compile(
    r"\b(?:i|me|i'd|i'll|we|let)\b.{0,25}\b(?:help|assist|look|check|examine|see|view|do|try|answer|analy[sz]e|describe"
    r"|happy|glad)\b|\bgladly\b|\bof course\b",
    re.IGNORECASE,
)
"""Behind a yes: it may be a yes to the task alone."""


@functools.cache
def _lists() -> dict[str, frozenset[str]]:
    file = resources.files(__package__) / "lists" / "neutral.toml"
    return {key: frozenset(text.split()) for key, text in tomllib.loads(file.read_text(encoding="utf-8")).items()}


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+(?:'[^\W_]+)*", text.lower())


def _is_neutral(question: WordQuestion, text: str) -> bool:
    known = _neutral(question)
    return not _SIGNS.search(text) and all(word.removesuffix("'s") in known for word in _words(text))


def _is_harmless(question: WordQuestion, value: float, tail: str) -> bool:
    """Whether what follows an answer leaves it as it is."""
    explains = _EXPLAINS.search(tail)
    if _BELONGS.match(tail) or not _is_neutral(question, tail[: explains.start()] if explains else tail):
        return False
    if explains is None or (question.kind is Kind.YES_NO and value == 0.0):
        return True
    tail = tail[explains.end() :]
    return not denies(tail) and not (question.kind is Kind.YES_NO and _OFFERS.search(tail))


@functools.lru_cache(maxsize=256)
def _neutral(question: WordQuestion) -> frozenset[str]:
    """Words that are neutral around an answer: also those of the question and its unit, but none that denies."""
    lists = _lists()
    own = {word.removesuffix("'s") for text in question.paraphrases for word in _words(text)}
    known = lists["words"] | own - (lists["denials"] - {"less", "least"})
    return known - lists["bounds"] | _units(question) if question.kind is Kind.NUMBER else known


def _mentions(question: WordQuestion, order: tuple[int, ...], piece: str) -> Iterable[Mention]:
    """Every answer that a piece mentions, whatever it says about it."""
    if question.kind is Kind.NUMBER:
        return _numbers(question, piece)
    if question.kind is Kind.YES_NO:
        return _named(enumerate(_YES_NO), piece)
    if question.kind is Kind.PAIR:
        return _named(zip(order, _PLACES, strict=False), piece)
    options = _named(_options(question), piece)
    return [*options, *_letters(order, piece)] if lettered(question) else options


def _named(patterns: Iterable[tuple[int, re.Pattern[str]]], piece: str) -> list[Mention]:
    """Mentions by pattern, of those that overlap the first pattern's."""
    found: list[Mention] = []
    taken = bytearray(len(piece) + 1)
    for value, pattern in patterns:
        for match in pattern.finditer(piece):
            if not any(taken[match.start() : match.end()]):
                taken[match.start() : match.end()] = b"\1" * (match.end() - match.start())
                found.append(Mention(float(value), *match.span()))
    return found


_YES_NO: Final = (
    re.compile(
        r"(?<![\w'])(?:no(?! (?:answer|face|image|number|one|opinion|person|rating|way)\b)|nope|nah|not really"
        r"|(?:definitely|absolutely|probably|certainly) not|i (?:don't|do not) (?:think|believe) so)(?![\w'])",
        re.IGNORECASE,
    ),
    re.compile(r"(?<![\w'])(?:yes|yeah|yep|i (?:think|believe) so)(?![\w'])", re.IGNORECASE),
)
_ONES: Final = r"(?:image|picture|photo|person|individual|candidate|applicant|face|option)"
_PLACES: Final = tuple(
    re.compile(rf"(?<!\w)(?:{words}|{_ONES} {number}|^\W*{number}(?=\W*$))(?!\w)", re.IGNORECASE)
    for words, number in (
        (r"(?:first|1st)(?!,? (?:i|let|we|of all|glance|sight|impressions?)\b)|former|left", "(?:1|one|(?-i:A))"),
        (r"second|2nd|latter|(?<=the )right", "(?:2|two|(?-i:B))"),
        (r"neither(?: of them)?", "(?!)"),
    )
)
_NOT: Final = (
    r"(?<!\w)(?:(?:do|does|would|should|is|are)(?:n't| not)|not)"
    r"(?:\s+(?:be|look|seem|appear|strike me as|come across as|recommend|to))?"
)


@functools.lru_cache(maxsize=256)
def _options(question: WordQuestion) -> Sequence[tuple[int, re.Pattern[str]]]:
    """Each option's number with its text, the longest first, since "hire" stands within "do not hire".

    Where one option denies another ("not X", "do not X", of two also "unX" and the like), any plain denial of that
    other is it: else its answers would be lost more often than those of the other.
    """
    plain = [option.strip().lower() for option in question.options]
    starts = ("un", "in", "im", "dis", "non-") if len(plain) == 2 else ()
    denials = [
        (number, re.compile(rf"{_NOT}\s+{phrase(option).pattern}", re.IGNORECASE))
        for option in plain
        for number, other in enumerate(plain)
        if other in (f"not {option}", f"do not {option}", f"don't {option}")
        or any(other == start + option or option == start + other for start in starts)
    ]
    longest_first = sorted(range(len(plain)), key=lambda number: -len(plain[number]))
    return denials + [(number, phrase(question.options[number])) for number in longest_first]


_LETTER: Final = re.compile(
    r"(?<![\w'])(?:(?i:option)\s*:?\s*[\"'(\[]*([A-Za-z])(?![\w'\-])"
    r"|(?i:choice|answer|letter)\s*:?\s*[\"'(\[]*([A-Z])(?![\w'\-])"
    r"|[(\[\"]([A-Za-z])[)\]\"]|^\W*([a-z])[).:]|^\W*([A-Za-z])(?=\W*$)|([B-HJ-Z])(?![\w'])"
    r"|(A)(?=[).:,]|\s*$|\s+-|\s+(?:and|or|to|[B-Z])\b|\s*[/&]))"
)
"""A letter that may stand for an option: not the article "a", nor "I"."""


def _letters(order: tuple[int, ...], piece: str) -> Iterator[Mention]:
    for match in _LETTER.finditer(piece):
        group = match.lastindex or 0
        place = LETTERS.find(match[group].upper())
        if place < len(order):
            yield Mention(float(order[place]), match.start(group), match.end(group), by_letter=True)


_UNITS: Final = {
    "usd": "$ us$ us dollar dollars",
    "eur": "€ euro euros",
    "gbp": "£ pound pounds",
    "year": "a annum annual annually yearly yr",
    "years": "year yrs yr old",
    "%": "percent per cent chance",
}
"""Words and signs that say the same as a word of a unit."""
_NUMBER: Final = re.compile(
    r"(?<![\w.,+±<>])(?P<sign>US\$|[$€£₹¥])?\s?(?P<minus>(?<![\w)])-)?"
    r"(?P<digits>(?:\d{1,3}(?:[,' ]\d{3}){1,4}|\d{1,15})(?:\.\d{1,9})?)(?![+±]|[.,]?\d)"
    r"(?:\s?(?P<multiple>k|K|thousand|million)(?!\w))?(?P<scale>\s?(?:/|out of)\s?(?P<most>\d{1,9})(?!\d))?(?![^\W\d])"
)
_MULTIPLES: Final = {"k": 1000, "thousand": 1000, "million": 1_000_000}


@functools.lru_cache(maxsize=256)
def _units(question: WordQuestion) -> frozenset[str]:
    own = set(re.split(r"[\s/]+", question.unit.lower())) - {""}
    return frozenset(own.union(*(_UNITS.get(word, "").split() for word in own)))


def _numbers(question: WordQuestion, piece: str) -> Iterator[Mention]:
    """Numbers, each as NaN where it stands in another unit or on another scale."""
    units = _units(question)
    for match in _NUMBER.finditer(piece):
        value = float(re.sub(r"[,' ]", "", match["digits"])) * _MULTIPLES.get((match["multiple"] or "").lower(), 1)
        sign, percent = (match["sign"] or "").lower(), piece[match.end() : match.end() + 2].strip().startswith("%")
        if (sign and sign not in units) or (percent and "%" not in units):
            value = math.nan
        if match["most"] and float(match["most"]) != question.high:
            value = math.nan
        yield Mention(-value if match["minus"] else value, *match.span())
