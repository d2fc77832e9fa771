"""What a free text holds: codes by rules, its length, shares of wordlists, and the number of a user's function.

Such a function is named on the command line or in Python alone, never in a question file: it is code.
"""

from __future__ import annotations

import functools
import math
import re
import threading
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from pydantic_core import SchemaError, SchemaValidator, core_schema

from transect.errors import BadInput, TooManyFailures, UnknownName
from transect.runs.trust import check_trusted
from transect.spoken_answers import Said, Scored, Status
from transect.targets.guard import attempt
from transect.targets.python_objects import fingerprint, import_object
from transect.texts import encodable, one_line

if TYPE_CHECKING:
    from transect.targets.words.questions import Code, WordQuestion

WORDLISTS: Final = ("competence", "warmth")
"""Lists that ship, in `lists/`, each with its sources."""
LONGEST: Final = 100_000
"""Characters of a text that are looked at."""
_WORD: Final = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")
Scorer = Callable[[Sequence[str]], Sequence[float]]
"""A user's function of texts: one number for each, such as the probability that it is toxic."""


@final
@dataclass(frozen=True, slots=True)
class Wordlist:
    """Words whose share of a text is measured. words: in small letters; one that ends in * stands for all it begins."""

    name: str
    title: str
    words: tuple[str, ...]
    sources: tuple[str, ...]


def codes_of(question: WordQuestion, text: str) -> tuple[float, ...]:
    """1 or 0 for each code of a question: whether a label or a pattern of it occurs in the text; NaN of a judged code.

    A label occurs as whole words, whatever the capitals and spaces; "no hat" names a hat. Never raises.
    """
    text = encodable(text[:LONGEST])
    return tuple(math.nan if code.judge else float(_holds(code, text)) for code in question.codes)


def words_of_text(text: str) -> list[str]:
    """The words of a text, in small letters; a hyphen or an apostrophe within a word is part of it.

    >>> words_of_text("A well-dressed man's 2 hats - he smiles.")
    ['a', 'well-dressed', "man's", '2', 'hats', 'he', 'smiles']
    """
    return [word.replace("’", "'").casefold() for word in _WORD.findall(text[:LONGEST])]


def length_in_words(text: str) -> int:
    """How many words a text has, numbers too."""
    return len(words_of_text(text))


def share_of(wordlist: Wordlist, text: str) -> float:
    """Which share of a text's words is on a list, from 0 to 1; NaN for a text without words."""
    words = words_of_text(text)
    whole, stems = _split(wordlist)
    found = sum(word in whole or word.startswith(stems) for word in words)
    return found / len(words) if words else math.nan


@functools.cache
def wordlist(name: str) -> Wordlist:
    """A wordlist that ships. Raises UnknownName."""
    if name not in WORDLISTS:
        raise UnknownName("wordlist", name, WORDLISTS)
    file = resources.files(__package__) / "lists" / f"{name}.toml"
    content = tomllib.loads(file.read_text(encoding="utf-8"))
    return Wordlist(name, content["title"], tuple(content["words"]), tuple(content["sources"]))


@functools.lru_cache(maxsize=1024)
def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a regular expression occurs in a text, capitals or not; `(?-i)` at its start makes capitals count.

    It is one of the Rust crate regex, without backreferences and looking around, so that no pattern takes more time
    than in proportion to the text. Raises BadInput for one that is none, or is too large.

    >>> matcher("(a")
    Traceback (most recent call last):
    transect.errors.BadInput: expected a regular expression, got '(a': unclosed group
    """
    try:
        schema = core_schema.str_schema(pattern=f"(?i){pattern}", regex_engine="rust-regex")
        return SchemaValidator(schema).isinstance_python
    except SchemaError as error:
        raise BadInput(f"expected a regular expression, got {pattern!r}: {_complaint(error)}") from None


def scorer_named(reference: str | Scorer) -> Scorer:
    """A user's function of texts, by `module:function`, which runs their code. Raises BadInput for anything else."""
    if isinstance(reference, str):
        check_trusted(reference)
    found = import_object(reference) if isinstance(reference, str) else reference
    if not callable(found):
        raise BadInput(f"scorer {reference}: expected a function of a list of texts, got {type(found).__name__}")
    return found


def scores_by(score: Scorer, texts: Sequence[str], timeout: float = 60.0) -> tuple[Float[ndarray, " texts"], str]:
    """A user's scores of some texts, and "" or the reason why there are none. timeout: seconds in all.

    Where the function raises, hangs, or gives other than one finite number for each text, all are NaN: which text a
    number would be of is not known.
    """
    given = [encodable(text) for text in texts]
    values, reason = attempt(lambda: np.asarray(list(score(given)), dtype=np.float64), timeout)
    if values is not None and values.shape != (len(texts),):
        reason = f"wrong shape: expected {len(texts)} numbers, got {len(values)}"
    elif values is not None and not np.isfinite(values).all():
        reason = "not finite: expected a number for each text"
    return (np.full(len(texts), np.nan), reason) if values is None or reason else (values, "")


def _holds(code: Code, text: str) -> bool:
    labelled = any(phrase(label).search(text) for label in code.labels)
    return labelled or any(matcher(pattern)(text) for pattern in code.patterns)


@functools.lru_cache(maxsize=4096)
def phrase(words: str) -> re.Pattern[str]:
    """An expression that finds a phrase as whole words, whatever the capitals and the spaces between its words."""
    spaced = r"[\s\-]+".join(re.escape(word) for word in re.split(r"[\s\-]+", words.strip()) if word)
    return re.compile(rf"(?<!\w){spaced}(?!\w)", re.IGNORECASE)


@functools.lru_cache(maxsize=16)
def _split(words: Wordlist) -> tuple[frozenset[str], tuple[str, ...]]:
    """The list's whole words, and the beginnings of others."""
    stems = tuple(word[:-1] for word in words.words if word.endswith("*"))
    return frozenset(word for word in words.words if not word.endswith("*")), stems


def _complaint(error: SchemaError) -> str:
    """What the engine says last, which is the fault itself."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return one_line(lines[-1].removeprefix("error: ") if lines else "it is not one", 200)


SECONDS: Final = 10.0
"""For each text of a call."""
STARTING: Final = 60.0
"""The least for a first call, in which a function may open a model."""
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_FEWEST: Final = 20
"""Texts from which on a function that fails on more than half of them stops the run."""
_NONE: Final = 5
"""Texts on which a function may fail that has not scored any."""
Scorers = Sequence[str] | Mapping[str, Scorer | str]
"""Functions as "NAME=module:function", or by name."""


@final
class TextScorer:
    """One function under a name. A call that fails is repeated text by text, so that a text fails alone."""

    def __init__(self, name: str, source: Scorer | str, seconds: float = SECONDS) -> None:
        self.name, self._score = name, scorer_named(source)
        self.reference = source if isinstance(source, str) else _reference(source)
        self._seconds, self._lock = seconds, threading.Lock()
        self._known: dict[str, float] = {}
        self._failed: dict[str, str] = {}

    @property
    def patience(self) -> float:
        """Seconds that one text may take, alone and in a call with others."""
        return STARTING + 2 * self._seconds

    def describe(self) -> Mapping[str, Any]:
        """Its name, where its code is, and a digest of it."""
        return {"name": self.name, "function": self.reference, "code_sha256": fingerprint(self._score)}

    def scored(self, texts: Sequence[str]) -> list[Scored]:
        """One number for each text, NaN with the reason where there is none. An identical text is scored once.

        Raises TooManyFailures where it fails on more than half of 20 texts or more, or on each of the first 5.
        """
        with self._lock:
            missing = list(dict.fromkeys(text for text in texts if text not in self._known))
            if missing:
                self._score_all(missing)
            return [
                Scored(self.name, self._known.get(text, float("nan")), "" if text in self._known else
                self._failed[text]) for text in texts
            ]  # fmt: skip

    def _score_all(self, texts: Sequence[str]) -> None:
        first = 0.0 if self._known or self._failed else STARTING
        values, reason = scores_by(self._score, texts, max(first, self._seconds * len(texts)))
        if not reason:
            self._keep(texts, values.tolist())
            return
        for text in texts:
            (value,), why = scores_by(self._score, [text], self._seconds) if len(texts) > 1 else (values, reason)
            if not why:
                self._keep([text], [float(value)])
                continue
            self._failed[text] = why
            self._check()

    def _keep(self, texts: Sequence[str], values: Sequence[float]) -> None:
        self._known.update(zip(texts, values, strict=True))
        for text in texts:
            self._failed.pop(text, None)

    def _check(self) -> None:
        failed, seen = len(self._failed), len(self._failed) + len(self._known)
        if failed * 2 > seen and (seen >= _FEWEST or (not self._known and failed >= _NONE)):
            reason = list(self._failed.values())[-1]
            raise TooManyFailures(
                f"scorer {self.name} failed on {failed} of {seen} texts, last: {reason}; fix {self.reference}, and run "
                "again"
            )


def scorers_of(given: Scorers) -> tuple[TextScorer, ...]:
    """The functions that a user names. Raises BadInput for another form, a name twice, or what cannot be called.

    >>> scorers_of(["length"])
    Traceback (most recent call last):
    transect.errors.BadInput: --scorer 'length': expected NAME=module:function, such as toxicity=mine:toxicity
    """
    pairs = list(given.items()) if isinstance(given, Mapping) else [_parsed(text) for text in given]
    names = [name for name, _ in pairs]
    for name in names:
        if not _NAME.fullmatch(name):
            raise BadInput(f"--scorer {name!r}: expected a name of letters, digits and _, not starting with a digit")
        if names.count(name) > 1:
            raise BadInput(f"--scorer {name}: given twice; rename one")
    return tuple(TextScorer(name, source) for name, source in pairs)


def with_scores(saids: Sequence[Said], scorers: Sequence[TextScorer]) -> list[Said]:
    """The answers with every function's number for each that is one."""
    rows = [place for place, one in enumerate(saids) if one.status is Status.ANSWERED]
    columns = [scorer.scored([saids[row].text for row in rows]) for scorer in scorers]
    found = list(saids)
    for place, row in enumerate(rows):
        found[row] = replace(found[row], scored=tuple(column[place] for column in columns))
    return found


def _parsed(text: str) -> tuple[str, str]:
    name, _, reference = text.partition("=")
    if not (name and all(reference.partition(":"))):
        raise BadInput(f"--scorer {text!r}: expected NAME=module:function, such as toxicity=mine:toxicity")
    return name.strip(), reference.strip()


def _reference(source: Scorer) -> str:
    kind = source if hasattr(source, "__qualname__") else type(source)
    return f"{getattr(kind, '__module__', '')}:{getattr(kind, '__qualname__', kind)}"
