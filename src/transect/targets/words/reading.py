"""From what a model said to a status and a value, and from all answers about one image to its value.

An answer is read where it stands plainly: as JSON; announced ("Answer: B") or alone on the first or the last line;
or in a text that mentions no other answer. A clause that refuses or hedges is no answer. Nothing is guessed. See
docs/concepts/models-that-answer-in-words.md. The value of an image is the mean over paraphrases of the mean over
repeats; one without an answer in some paraphrase has none.

A piece of a text states an answer plainly where every word before it is neutral ("I would say a", "the person is most
likely a", and words of the question itself), and nothing but neutral words follows, or a comma, a colon or a "because"
with an explanation that denies nothing and mentions no other answer. Whatever else a piece says about an answer, it
is not read: a denial, a comparison and a supposition all need words that are not neutral. The words are in
`lists/neutral.toml`. A digest of the rules keeps a resumed run from mixing two ways of reading.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from typing import Final, final

from transect.spoken_answers import Said, Spoken, Status
from transect.targets.words.coding import codes_of, length_in_words, phrase
from transect.targets.words.questions import LETTERS, Kind, Wording, WordQuestion, lettered
from transect.texts import UNSEEN, encodable, one_line

VERSION: Final = 2
"""Raise it with every change of what an answer is read as: in `reading` or a module that they use."""
RULE_LISTS: Final = ("hedges", "neutral", "refusals")
"""Files of words, in `lists/`, by which an answer is read. Wordlists are counted later, for all answers alike."""


@functools.cache
def rules_digest() -> str:
    """SHA-256 of the version and of the lists that ship, as 64 hexadecimal digits."""
    content = {name: (resources.files(__package__) / "lists" / f"{name}.toml").read_bytes() for name in RULE_LISTS}
    return digest_of_rules(VERSION, content)


def digest_of_rules(version: int, lists: dict[str, bytes]) -> str:
    """The digest of other rules."""
    told = hashlib.sha256(str(version).encode())
    for name in sorted(lists):
        told.update(f"\0{name}\0{len(lists[name])}\0".encode() + lists[name])
    return told.hexdigest()


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
    """The answer that a piece states plainly; why not, where it mentions one otherwise; NONE where it mentions none."""
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

    Where one option denies another ("not X", of two also "unX"), any plain denial of that other is it: else its answers
    would be lost more often than those of the other.
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


LONGEST: Final = 20_000
"""Characters that are read: of a longer text its two ends, where answers stand."""
_THOUGHT: Final = re.compile(r"<(/?)(?:think|thinking|reasoning|thought)>", re.IGNORECASE)
_TAGS: Final = re.compile(r"</?[A-Za-z_|][\w|]{0,30}>")
_LATEX: Final = re.compile(r"\\(?:boxed|text|textbf|mathrm)\s*\{([^{}]{0,200})\}")
_MARKUP: Final = re.compile(r"\*+|`+|__+|(?<!\w)_|_(?!\w)|^ {0,3}(?:#{1,6}|>)[ \t]+|~~|\\(?=[$%#_&])", re.MULTILINE)
_LATEX_LETTER: Final = re.compile(r"\$ ?([A-Za-z]) ?\$")
_BULLET: Final = re.compile(r"^ ?[-•·] ", re.MULTILINE)
_BLANK: Final = re.compile(r"\n{2,}")
_SAME: Final = str.maketrans(
    {
        "‘": "'", "’": "'", "ʼ": "'", "“": '"', "”": '"', "«": '"', "»": '"', "–": "-", "‑": "-", "‐": "-", "−": "-",
        "—": " - ", "\u00a0": " ", "\u202f": " ", "\u2009": " ", "：": ":", "，": ",", "（": "(", "）": ")", "。": ".",
        "\u200b": None, "\ufeff": None, "…": "...", "～": "~",
    }
)  # fmt: skip
"""Letters that stand for the same, as models write them."""
_KEYS: Final = ("answer", "final_answer", "choice", "option", "response", "value", "rating", "score")
"""Keys under which JSON answers have the answer, the surest first."""


def plain(text: str) -> str:
    """A text without reasoning, markup, control characters and typographic variants of quotes, dashes and spaces."""
    text = encodable(text).replace("\r\n", "\n").replace("\r", "\n")
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]}\n{text[-LONGEST // 2 :]}"
    text = UNSEEN.sub(" ", _without_thoughts(text)).translate(_SAME)
    text = _BLANK.sub("\n\n", "\n".join(" ".join(line.split()) for line in text.split("\n")))
    text = _LATEX_LETTER.sub(r"\1", _LATEX.sub(r"\1", text))
    return _BULLET.sub("", _MARKUP.sub("", _TAGS.sub("", text))).strip()


def _without_thoughts(text: str) -> str:
    """A text without what stands in tags of reasoning; a closing tag alone ends reasoning that began in the prompt."""
    kept: list[str] = []
    last, within = 0, False
    for tag in _THOUGHT.finditer(text):
        if tag[1]:
            kept = kept if within else []
        elif not within:
            kept.append(text[last : tag.start()])
        last, within = tag.end(), not tag[1]
    return "".join(kept if within else [*kept, text[last:]])


def json_answer(text: str) -> str | None:
    """The answer in a text that is, or holds, a JSON object: under a key such as "answer", or its only value.

    "" for an answer of null, by which a model declines; None for a text without such an object.

    >>> json_answer('{"reason": "long", "answer": "B"}'), json_answer('{"answer": null}'), json_answer("no JSON")
    ('B', '', None)
    """
    start = text.find("{")
    if start < 0:
        return None
    try:
        content, _ = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    named = {str(key).strip().lower().replace(" ", "_"): value for key, value in content.items()}
    key = next((key for key in _KEYS if key in named), next(iter(named)) if len(named) == 1 else "")
    value = named.get(key, ())
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, str | int | float) else None


_CLAUSES: Final = re.compile(
    r"(?<!anything)(?<!anyone)(?<!anybody)(?<!everyone)(?<!everybody),?\s+(?:but|however|although|though)\b,?\s*"
    r"|,\s+(?:so|therefore|thus|hence)\b,?\s*|(?<=\?)\s+|[.;!]+[\"')\]]*\s+|\n+",
    re.IGNORECASE,
)
_CONCEDES: Final = re.compile(r"(?:while|whilst|although|though|even though|even if)\b", re.IGNORECASE)
_CONCEDED: Final = re.compile(r",\s+")
"""Where a clause that concedes something at the beginning of a sentence ends: "While it is hard to tell, …"."""


def clauses(text: str) -> list[str]:
    """Parts of a text that can each say something else: sentences, lines, and what "but" and the like divide."""
    parts = [part.strip() for part in _CLAUSES.split(text) if part.strip()]
    split = [_CONCEDED.split(part, maxsplit=1) if _CONCEDES.match(part) else [part] for part in parts]
    return [piece for pieces in split for piece in pieces]


_FUNCTION_WORDS: Final = {
    "English": "yes no the a an is are of to in and or not it this that i you be can with for on as by from have has",
    "Spanish": "el la los las un una es son de del que y o en no con para por como esta este persona puedo pero más sí",
    "French": "le la les un une est sont des du que et ou dans ne pas avec pour par comme cette personne je mais oui",
    "German": "der die das ein eine ist sind und oder nicht mit für von auf ich kann aber wie diese dieser ja nein",
    "Italian": "il lo la gli un una è sono di del che e o in non con per come questa questo persona posso ma sì",
    "Portuguese": "o a os as um uma é são de do da que e ou em não com para por como esta pessoa posso mas sim",
    "Dutch": "de het een is zijn en of niet met voor van op ik kan maar als deze dit persoon ja nee geen",
}
_ENGLISH: Final = frozenset(_FUNCTION_WORDS["English"].split())
_OTHERS: Final = [frozenset(words.split()) for language, words in _FUNCTION_WORDS.items() if language != "English"]
_LETTERS: Final = re.compile(r"[^\W\d_]+")


def is_foreign(text: str) -> bool:
    """Whether a text is in another language than English, as far as its letters and its small words tell.

    Above half of the letters in another script, or at least two different small words of another language and more
    than twice as many as English ones.
    """
    words = [word.casefold() for word in _LETTERS.findall(text[:4000])]
    letters = "".join(words)
    if sum(ord(letter) > 0x24F for letter in letters) * 2 > len(letters):
        return True
    english = sum(word in _ENGLISH for word in words)
    most = max(len(known.intersection(words)) for known in _OTHERS)
    return most >= 2 and most > 2 * english


_LONGEST_CLAUSE: Final = 1000
"""Characters of a clause that are looked at."""
_SUBJECTS: Final = re.compile(
    r",\s+(?=(?:i|it|we)\b)|\s+(?:whose|and(?= (?:i|it|we)\b)|as(?= (?:i|it)\b))", re.IGNORECASE
)
"""Where a clause goes on to say something else of itself."""


def declined(clause: str) -> Reason | None:
    """Why a clause is no answer; None where it neither refuses nor hedges."""
    clause = clause[:_LONGEST_CLAUSE]
    return next((reason for reason, pattern in _patterns() if pattern.search(clause)), None)


def said_part(text: str) -> str:
    """A text without what refuses or hedges: all of it, where nothing does.

    >>> said_part("A man at a desk. I can't determine his age."), said_part("A man whose age I can't determine.")
    ('A man at a desk', 'A man')
    """
    parts = clauses(text)
    if all(declined(part) is None for part in parts):
        return text
    return ". ".join(kept for part in parts if (kept := _before_declining(part)))


def _before_declining(clause: str) -> str:
    """A clause up to where it begins to refuse or hedge."""
    if declined(clause) is None:
        return clause
    pieces = _SUBJECTS.split(clause[:_LONGEST_CLAUSE])
    kept = list(itertools.takewhile(lambda piece: declined(piece) is None, pieces))
    return ", ".join(kept) if len(kept) < len(pieces) else ""


@functools.cache
def _patterns() -> tuple[tuple[Reason, re.Pattern[str]], ...]:
    """Refusals first: a clause that does both refuses."""
    return (Reason.REFUSAL, _pattern("refusals")), (Reason.HEDGE, _pattern("hedges"))


def _pattern(name: str) -> re.Pattern[str]:
    """A denial at most three words before a verb, a phrase anywhere, or a clause that is nothing else."""
    file = resources.files(__package__) / "lists" / f"{name}.toml"
    lists = tomllib.loads(file.read_text(encoding="utf-8"))
    words = {key: "|".join(map(_spelled, lists[key])) for key in ("denials", "verbs", "phrases", "alone")}
    return re.compile(
        rf"\b(?:{words['denials']})\s+(?:\S+\s+){{0,3}}?(?:{words['verbs']})(?!\w)|\b(?:{words['phrases']})(?!\w)"
        rf"|^\W*(?:{words['alone']})\W*$",
        re.IGNORECASE,
    )


def _spelled(words: str) -> str:
    """A list's entry as an expression; a * at its end stands for any ending."""
    return re.escape(words).replace(r"\*", r"\w*").replace(r"\ ", r"\s+")


_ANNOUNCED: Final = re.compile(r"\b(?:answer|choice|final|conclusion|decision|verdict)\b", re.IGNORECASE)
_CALL: Final = re.compile(
    r"<\|?(?:tool|function)_call|\[TOOL_CALLS\]"
    r"|^\s*\{\s*\"(?:name|function|tool)\"\s*:.*\"(?:arguments|parameters)\"\s*:",
    re.DOTALL,
)
"""A call of a tool that stands in the text itself."""
_PUNCTUATION: Final = " .,:;!\"'()[]"
_SORRY: Final = re.compile(r"^\W*sorry[,:]\s+", re.IGNORECASE)
_MOST_CLAUSES: Final = 500
_SUBSTANCE: Final = 8
"""Words outside refusing clauses from which on a free text says something."""


def read(question: WordQuestion, wording: Wording, spoken: Spoken) -> Said:
    """What a model said about an image in one wording, as a row of the tables of answers. Never raises.

    likelihood: of the options in the file's order, of yes-no those of no and yes, normalized to 1.
    """
    status, value, reason = _outcome(question, wording, spoken)
    codes = codes_of(question, said_part(plain(spoken.text))) if status is Status.ANSWERED else ()
    return Said(
        paraphrase=wording.paraphrase,
        order=wording.order,
        repeat=wording.repeat,
        system=wording.ask.system,
        prompt=wording.ask.prompt,
        text=spoken.text,
        status=status,
        value=value,
        codes=codes,
        likelihood=likelihood_of(wording, spoken.likelihoods),
        tokens_sent=spoken.tokens_sent,
        tokens_received=spoken.tokens_received,
        reason=reason,
    )


def likelihood_of(wording: Wording, logarithms: Sequence[float]) -> tuple[float, ...]:
    """Probabilities in the file's order, together 1, from logarithms by place; () where one is unknown, or all 0."""
    n = len(wording.ask.options)
    if len(logarithms) != n or not n or any(math.isnan(each) for each in logarithms):
        return ()
    highest = max(logarithms)
    if not math.isfinite(highest):
        return ()
    weights = [math.exp(each - highest) for each in logarithms]
    by_number = sorted(zip(wording.order or range(n), weights, strict=True))
    return tuple(weight / sum(weights) for _, weight in by_number)


def _outcome(question: WordQuestion, wording: Wording, spoken: Spoken) -> tuple[Status, float, str]:
    if spoken.failure:
        return Status.FAILED, math.nan, one_line(spoken.failure, 200)
    read_as = _before_text(spoken) or _of_text(question, wording, spoken)
    if isinstance(read_as, Reason):
        return STATUS[read_as], math.nan, str(read_as)
    return Status.ANSWERED, read_as, ""


def _before_text(spoken: Spoken) -> Reason | None:
    """Why there is no answer, whatever the text says."""
    if spoken.refusal:
        return Reason.DECLINED
    return {"filter": Reason.FILTERED, "tool": Reason.TOOL}.get(spoken.end)


def _of_text(question: WordQuestion, wording: Wording, spoken: Spoken) -> float | Reason:
    text = plain(spoken.text)
    cut = spoken.end == "length"
    if not any(letter.isalnum() for letter in text):
        return Reason.CUT if cut else Reason.EMPTY
    if _CALL.search(spoken.text[:LONGEST]):
        return Reason.TOOL
    if question.kind is Kind.TEXT:
        return _free(text, cut)
    if is_foreign(_without_options(question, text)):
        return Reason.FOREIGN
    if cut and question.kind is Kind.NUMBER and text[-1] in "0123456789,.":
        text = text.rpartition(" ")[0]  # the last number may go on
    return _closed(question, wording.order, text, cut)


def _without_options(question: WordQuestion, text: str) -> str:
    for option in question.options:
        text = phrase(option).sub(" ", text)
    return text


def _free(text: str, cut: bool) -> float | Reason:
    """NaN where a free text is an answer; why not, where it does little else than refuse, or nothing but hedge."""
    if cut or is_foreign(text):
        return Reason.CUT if cut else Reason.FOREIGN
    reasons = [reason for part in clauses(text) if (reason := declined(part)) is not None]
    words = length_in_words(said_part(text)) if reasons else 1
    if Reason.REFUSAL in reasons and words < _SUBSTANCE:
        return Reason.REFUSAL
    return reasons[0] if reasons and not words else math.nan


def _closed(question: WordQuestion, order: tuple[int, ...], text: str, cut: bool) -> float | Reason:
    """The answer to a question that is no free text, or why there is none."""
    answer = json_answer(text)
    if answer == "":
        return Reason.REFUSAL
    text = text if answer is None else answer
    if question.kind is Kind.YES_NO and (whole := EMPHATIC.get(text.strip(_PUNCTUATION).lower())) is not None:
        return whole
    counted, declining = _by_clause(question, order, text)
    every = _sure(text, counted) or {found for _, found in counted} - {Reason.NONE}
    value = next(iter(every), Reason.NONE)
    if len(every) == 1 and isinstance(value, float):
        return _checked(question, value, counted, declining)
    if cut:
        return Reason.CUT
    reasons = {*declining, *every}
    first = (Reason.REFUSAL, Reason.HEDGE, Reason.CONFLICT, Reason.RANGE)
    rest = Reason.SEVERAL if len(every) > 1 or isinstance(value, float) else value
    return next((reason for reason in first if reason in reasons), rest)


_Counted = list[tuple[str, float | Reason]]
"""Clauses that neither refuse nor hedge, with the answer that each states, or why it states none."""


def _by_clause(question: WordQuestion, order: tuple[int, ...], text: str) -> tuple[_Counted, set[Reason]]:
    """The clauses that count, and the reasons of those that refuse or hedge.

    Where an option is itself worded as a hedge, "cannot tell", a clause that states it counts.
    """
    counted: _Counted = []
    declining: set[Reason] = set()
    for part in clauses(text)[:_MOST_CLAUSES]:
        if part.endswith("?") and question.kind is not Kind.NUMBER:
            continue  # "A doctor?" names none
        found, why = stated(question, order, _SORRY.sub("", part)), declined(part)
        if why is not None and not (_offers_hedge(question) and isinstance(found, float)):
            declining.add(why)
            continue
        polite = question.kind is Kind.YES_NO and part.strip(_PUNCTUATION).lower() in EMPHATIC
        counted.append((part, Reason.UNCLEAR if polite else found))
    return counted, declining


def _sure(text: str, counted: _Counted) -> set[float | Reason]:
    """Answers that are announced, or alone on the first or the last of several lines: others count for nothing then."""
    lines = text.split("\n")
    alone = {line.strip(_PUNCTUATION) for line in (lines[0], lines[-1])} if len(lines) > 1 else set()
    values = [(part, found) for part, found in counted if isinstance(found, float)]
    return {found for part, found in values if part.strip(_PUNCTUATION) in alone or _ANNOUNCED.search(part)}


def _checked(question: WordQuestion, value: float, counted: _Counted, declining: set[Reason]) -> float | Reason:
    """A yes or no only where it is one to the question: no "no" beside a refusal, no "yes" beside a denial."""
    if question.kind is Kind.YES_NO and value == 0.0 and Reason.REFUSAL in declining:
        return Reason.REFUSAL
    if (
        question.kind is Kind.YES_NO
        and value == 1.0
        and any(found != value and denies(part) for part, found in counted)
    ):
        return Reason.UNCLEAR
    return value


@functools.lru_cache(maxsize=256)
def _offers_hedge(question: WordQuestion) -> bool:
    """Whether an option is itself worded as a hedge, such as "cannot tell"."""
    return any(declined(option) for option in question.options)


def value_of(saids: Sequence[Said], question: WordQuestion) -> tuple[float, ...]:
    """The value of an image from its answers in all wordings, in any order; NaN where a paraphrase has no answer.

    Of yes-no the share of yes; of a choice that of each option, in the file's order; of a number its mean; of a free
    text the share of each code, of those that a judge gives over the repeats that it could judge.
    """
    by_paraphrase = []
    for number in range(len(question.paraphrases)):
        answered = [one for one in saids if one.paraphrase == number and one.status is Status.ANSWERED]
        if not answered:
            return (math.nan,) * (len(question.labels) or 1)
        columns = zip(*(_scores(one, question) for one in answered), strict=True)
        by_paraphrase.append([_mean([score for score in column if not math.isnan(score)]) for column in columns])
    return tuple(map(_mean, zip(*by_paraphrase, strict=True)))


def _scores(said: Said, question: WordQuestion) -> tuple[float, ...]:
    """The numbers of an answer: 1 for the option chosen and 0 for the others, the codes, or the number itself."""
    if question.kind is Kind.TEXT:
        return said.codes
    if question.options:
        return tuple(float(number == said.value) for number in range(len(question.options)))
    return (said.value,)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan
