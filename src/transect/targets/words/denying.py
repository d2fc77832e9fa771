"""Denials and comparisons in a clause: what a text says not to be so, or to be so less than something else.

A denial anywhere in a clause denies the answers that the clause names, since "I don't think that this is a nurse" and
"a nurse is unlikely" both deny the nurse. Only a plain contrast ("a doctor, not a nurse", "rather than a nurse", "than
the second") denies what follows it and leaves the rest of its clause. What remains unclear has no value.

Answers stand in a clause as marks, one character each, so that words of an option are never taken for a denial.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from typing import Final

from transect.targets.words.cleaning import clauses
from transect.targets.words.found import Found, found
from transect.targets.words.questions import WordQuestion

_FIRST_MARK: Final = 0xE000
MARKS: Final = re.compile(r"[\ue000-\ue0ff]")
"""Characters that stand for answers: of no use in any text."""
_MARK: Final = MARKS.pattern
_AFFIRMED: Final = re.compile(
    r"\b(?:(?:there is |there's )?no (?:doubt|question)|without (?:an?y? )?(?:doubt|question|hesitation)|doubtless"
    r"|(?:would not|wouldn't|do not|don't|will not|won't) hesitate to)\b",
    re.IGNORECASE,
)
_LESSER: Final = (
    r"less|least|lesser|worse|worst|weaker|weakest|inferior|fewer|fewest|lower|lowest|poorer|poorest"
    r"|un(?:trustworthy|reliable|friendly|qualified|pleasant|professional|attractive|kind|convincing|approachable"
    r"|certain|suitable|intelligent|likable|likeable)|in(?:competent|capable|experienced|sincere)|dis(?:honest|likable|like[ds]?)"
    r"|dumber|suspicious|shady|hostile|threatening|nervous|tense|stern|careful|cautious|wary|worried"
    r"|concerned"
)
"""Of two images: words that speak against the one that they are said of, unless the question asks for them."""
_GREATER: Final = r"more|most|better|best"
_DENIES: Final = re.compile(
    r"\b(?:not|never|neither|nor|no|none|nothing|nobody|without|cannot|against|except|excluding|unlike|unlikely"
    r"|improbable|implausible|doubt\w*|hardly|barely|scarcely|exclud\w+|(?:ruled?|ruling)(?:\s+\S+)?\s+out"
    r"|reject\w*|avoid\w*|eliminat\w+|dismiss\w*|discard\w*|turn(?:ed|ing)?(?:\s+\S+){0,3}\s+down|far from"
    r"|(?:anything|anyone|anybody|everyone|everybody) but|other than|wrong|incorrect|mistake\w*|mistaken|inaccurate"
    r"|last|(?<!\ba )little|hardest|hesitat\w*|disagree\w*"
    r"|(?:you|one|some|many|others|people) (?:might|may|could|would)"
    r"|if (?!i\b|we\b|you\b|one\b|it\b|forced|pressed|asked)\w+(?: \w+){0,3}? (?:were|was|had)"
    r"|lacks?|lacking|fails?|opposite|distrust\w*|mistrust\w*|rather than|instead of|as opposed to|over"
    r"|less|least|lesser|worse|worst)\b|n't\b",
    re.IGNORECASE,
)
_COMPARES: Final = re.compile(rf"\b(?:{_LESSER})\b", re.IGNORECASE)
_DENIES_TURNED: Final = re.compile(rf"{_DENIES.pattern}|\b(?:{_GREATER})\b", re.IGNORECASE)
_SMALL: Final = r"(?:[\s\"'(\[]*(?:an?|the|like|in|from|for|option|answer|really|exactly|quite|even)\b)*[\s\"'(\[]*"
_CONTRAST: Final = re.compile(
    rf"\b(?:not|rather than|instead of|as opposed to|over){_SMALL}{_MARK}"
    rf"(?:[\s\"')\].]*(?:,|\bor\b|\bnor\b|\band\b)+{_SMALL}{_MARK})*"
    rf"|\b(?:than|unlike|compared (?:to|with))(?:\s+[\w'\-]+){{0,4}}?[\s\"'(\[]*{_MARK}"
    rf"(?:\s*\b(?:or|nor|and)\b{_SMALL}{_MARK})*",
    re.IGNORECASE,
)
"""What denies only the answers behind it."""
_PARTS: Final = re.compile(r"\s*\|\s*|,?\s+(?:so|therefore|thus|hence)\b,?\s+", re.IGNORECASE)
_NO_ALONE: Final = re.compile(
    r"^\W*(?:no|nope|not (?:likely|really|at all)|unlikely|wrong|incorrect|false|excluded"
    r"|ruled out|definitely not)\W*$",
    re.IGNORECASE,
)
_NO_FIRST: Final = re.compile(r"^\W*no[,:]\s*(?:wait[,:]?\s*|actually[,:]?\s*)*", re.IGNORECASE)
_BENIGN: Final = (
    r"(?:i|we|you|he|she|they|it|this|that|the|person|candidate|applicant|individual|man|woman|would|should|to|be|is|are"
    r"|looks?|seems?|appears?|recommend|advise|think|believe|feel|want|really|particularly|at all|come|across|as|strike"
    r"|me|an?|either)"
)
"""Words that may stand between a denial and an option, the other option of which is then meant."""


def mark(number: int) -> str:
    """The character that stands for an answer, with spaces around it."""
    return f" {chr(_FIRST_MARK + number)} "


def unmarked(text: str) -> str:
    """A text without characters that would pass for marks."""
    return MARKS.sub(" ", text)


def parts_of(piece: str) -> list[str]:
    """Clauses of a piece, each with the bare "no" that follows it: "Nurse: no." denies in one part.

    >>> parts_of("Nurse: no. Teacher, so B")
    ['Nurse not', 'Teacher', 'B']
    """
    parts: list[str] = []
    for part in (clause for whole in _PARTS.split(piece) for clause in clauses(whole)):
        bare, rest = bool(_NO_ALONE.match(part)), _NO_FIRST.sub("", part)
        if parts and (bare or rest != part):
            parts[-1] += " not"
        if not bare:
            parts.append(rest)
    return parts


def denies(question: WordQuestion, text: str) -> bool:
    """Whether a text denies or says "less", of what the question does not ask for itself.

    >>> from transect.targets.words.questions import Kind
    >>> job = WordQuestion("job", Kind.CHOICE, ("Which job? {options}",), options=("nurse", "pilot"))
    >>> denies(job, "It is hardly"), denies(job, "No doubt it is")
    (True, False)
    """
    return first_denial(question, text) < len(text)


def first_denial(question: WordQuestion, text: str) -> int:
    """Where a text first denies; its length where it nowhere does."""
    return next((match.start() for match in _denials(question, _affirmed(text))), len(text))


def named(question: WordQuestion, parts: Sequence[str], compared: bool = False) -> Found:
    """The answers that marked clauses name and do not deny. compared: of two images, so that "worse" denies as well."""
    said: set[float] = set()
    negated = False
    for part in parts:
        marked = _opposites(question, _affirmed(part))
        rest = _CONTRAST.sub(" ", marked)
        left = {float(ord(each) - _FIRST_MARK) for each in MARKS.findall(rest)}
        denied = denies(question, rest) or (compared and _compares(question, marked))
        negated |= denied or rest != marked
        said |= set() if denied else left
    return found(said, negated)


def _affirmed(text: str) -> str:
    """A text with blanks for "no doubt" and the like."""
    return _AFFIRMED.sub(lambda match: " " * len(match[0]), text)


def _denials(question: WordQuestion, text: str) -> Iterator[re.Match[str]]:
    """Words that deny, but for "less" and the like where the question has the word; then "more" denies."""
    asked = _asked(question)
    pattern = _DENIES_TURNED if asked else _DENIES
    return (match for match in pattern.finditer(text) if match[0].lower() not in asked)


def _compares(question: WordQuestion, text: str) -> bool:
    return any(match[0].lower() not in _asked(question) for match in _COMPARES.finditer(text))


@functools.lru_cache(maxsize=256)
def _asked(question: WordQuestion) -> frozenset[str]:
    """Words of comparison downwards that the question itself has: "Which is less trustworthy?"."""
    return frozenset(match[0].lower() for each in question.paraphrases for match in _COMPARES.finditer(each))


def _opposites(question: WordQuestion, part: str) -> str:
    """A marked clause in which "not X" is the option that says so, where there is one and nothing else is denied."""
    pairs = _complements(question)
    if not pairs or sum(1 for _ in _denials(question, part)) != 1:
        return part
    for number, other in pairs:
        there = rf"(?:\b(?:not|never)|(?:do|does|did|would|should|is|are|wo|could|must)?n't)(?:\s+{_BENIGN}){{0,9}}\s+"
        part = re.sub(f"{there}{chr(_FIRST_MARK + number)}", mark(other), part, flags=re.IGNORECASE)
    return part


@functools.lru_cache(maxsize=256)
def _complements(question: WordQuestion) -> tuple[tuple[int, int], ...]:
    """Numbers of options and of those that deny them: "hire" and "do not hire"; of two options also "un-" and "in-"."""
    plain = [option.strip().lower() for option in question.options]
    pairs: list[tuple[int, int]] = []
    for number, option in enumerate(plain):
        for other, text in enumerate(plain):
            if text in (f"not {option}", f"do not {option}", f"don't {option}"):
                pairs.append((number, other))
            elif len(plain) == 2 and text in {f"{start}{option}" for start in ("un", "in", "im", "dis", "non-")}:
                pairs.extend([(number, other), (other, number)])
    return tuple(pairs)
